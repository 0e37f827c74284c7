-- A version.
SELECT id FROM people VERSION AS OF 4
-- duckdb: SELECT id FROM people AT (VERSION => 4)
----
[1]
[2]

-- A version as DuckDB writes it, with an alias.
SELECT p.id FROM people AT (VERSION => 4) p WHERE p.id > 1
-- duckdb: SELECT id FROM people AT (VERSION => 4) WHERE id > 1
----
[2]

-- Two moments of one table.
SELECT count(*) FROM people n LEFT ANTI JOIN people VERSION AS OF 4 o ON n.id = o.id
-- duckdb: SELECT count(*) FROM people n ANTI JOIN (FROM people AT (VERSION => 4)) o ON n.id = o.id
----
[2]

-- A parameter for the version.
SELECT id FROM people VERSION AS OF :v WHERE id > :low
-- params: {"v": 4, "low": 1}
-- duckdb: SELECT id FROM people AT (VERSION => 4) WHERE id > 1
----
[2]

-- The table has the columns that it had then.
SELECT * FROM people VERSION AS OF 3
-- duckdb: SELECT * FROM people AT (VERSION => 3)
----

-- A moment before there was anything.
SELECT * FROM people TIMESTAMP AS OF '1999-12-31'
----
! NotFoundError: there is no snapshot as old as 1999-12-31

-- A moment to come is now.
SELECT count(*) FROM people TIMESTAMP AS OF TIMESTAMP '2999-01-01 00:00:00'
-- duckdb: SELECT count(*) FROM people
----
[4]

-- No moment.
SELECT * FROM people TIMESTAMP AS OF 'yesterday'
----
! InvalidInputError: 'yesterday' is not a moment

-- No version.
SELECT * FROM people VERSION AS OF 'three'
----
! InvalidInputError: 'three' is not the id of a snapshot

-- A version that was never there.
SELECT * FROM people VERSION AS OF 12345
----
! NotFoundError: 12345

-- A moment that must be computed.
SELECT * FROM people TIMESTAMP AS OF now()
----
! UnsupportedError: must be a literal or a parameter

-- A stretch of time.
SELECT * FROM people VERSION BETWEEN 1 AND 3
----
! InvalidInputError: the statement cannot be read

-- What happened to a table.
SELECT change_type, id FROM table_changes('people', 5, 6) c WHERE c.rowid >= 0
-- duckdb: SELECT change_type, id FROM ducklake_table_changes('lk', 'main', 'people', 5, 6)
----
["insert", 3]
["insert", 4]
["insert", 5]
["delete", 5]

-- What happened since a snapshot, by a parameter.
SELECT snapshot_id, count(*) FROM table_changes(:t, :first) GROUP BY snapshot_id
-- params: {"t": "main.people", "first": 4}
-- duckdb: SELECT snapshot_id, count(*) FROM ducklake_table_changes('lk', 'main', 'people', 4, 16) GROUP BY snapshot_id
----
[4, 2]
[5, 3]
[6, 1]

-- Every snapshot.
SELECT snapshot_id, changes FROM snapshots() WHERE snapshot_id IN (1, 4)
-- duckdb cannot: it tells the changes in another form
----
[1, "created_schema:\"shop\""]
[4, "inlined_insert:3"]

-- A range that ends before it begins.
SELECT * FROM table_changes('people', 6, 5)
----
! InvalidInputError: give the earlier one first

-- Too few words for a range.
SELECT * FROM table_changes('people')
----
! InvalidInputError: table_changes takes a table

-- The changes of a table that is not there.
SELECT * FROM table_changes('nobody', 1)
----
! NotFoundError: there is no table main.nobody
