-- A view of a view.
SELECT * FROM few ORDER BY id
-- ordered
----
[3, "?"]
[4, "Dee"]

-- A view under another name, joined with a table.
SELECT f.id, p.country FROM few AS f JOIN people p ON f.id = p.id WHERE f.name <> '?'
----
[4, "US"]

-- A view with names of its own for its columns.
SELECT who, what FROM renamed WHERE who = 1
----
[1, "Ada"]

-- A view as it was.
SELECT * FROM few VERSION AS OF 14
----
! UnsupportedError: the view main.few as of a moment

-- A view that reads itself.
SELECT * FROM ring
----
! InvalidInputError: reads itself

-- A view that DuckDB made counts the elements of lists from one.
SELECT a, b, c FROM counted
----
["y", "x", "y"]

-- A star of a view over a join by names.
SELECT * FROM starred
-- only spark: DuckDB's order is that of the view
-- duckdb cannot: it runs it
----
! UnsupportedError: * over a join by names
