-- Every column of a table.
SELECT * FROM people
----
[1, "Ada", "DE", ["x", "y"]]
[2, "Bo", "FR", []]
[3, null, "DE", null]
[4, "Dee", "US", ["z"]]

-- Names have one part or two, in any case.
SELECT P.Id FROM MAIN.People P WHERE p.ID < 3
----
[1]
[2]

-- Columns may be called by the whole name of their table.
SELECT people.id, shop.orders.amount FROM main.people JOIN shop.orders ON main.people.id = shop.orders.person
-- duckdb: SELECT people.id, orders.amount FROM main.people JOIN shop.orders ON people.id = orders.person
----
[1, 10.5]
[1, 20.25]
[3, 7.0]

-- A name in quotes.
SELECT `odd name`.`a b` FROM shop.`odd name`
-- duckdb: SELECT "odd name"."a b" FROM shop."odd name"
----
[1]

-- A query of its own hides a table of the same name, except from itself.
WITH people AS (SELECT id FROM people WHERE country = 'DE'), more AS (SELECT id + 10 AS id FROM people)
SELECT id FROM people UNION ALL SELECT id FROM more
----
[1]
[3]
[11]
[13]

-- Inside a subquery the outer name is seen again.
SELECT id FROM people WHERE id IN (SELECT person FROM shop.orders) AND EXISTS (SELECT 1 FROM shop.orders o WHERE o.person = people.id AND o.amount > 15)
----
[1]

-- The order is that of the statement.
SELECT id FROM people ORDER BY id DESC LIMIT 2
-- ordered
----
[4]
[3]

-- Groups and windows.
SELECT country, count(*) AS n, sum(count(*)) OVER () AS total FROM people GROUP BY country HAVING count(*) > 1
----
["DE", 2, 2]

-- Outer joins keep rows that match nothing.
SELECT p.id, o.amount FROM people p LEFT JOIN shop.orders o ON p.id = o.person AND o.amount > 8
----
[1, 10.5]
[1, 20.25]
[2, null]
[3, null]
[4, null]

-- A table twice.
SELECT a.id, b.id FROM people a JOIN people b ON a.country = b.country AND a.id < b.id
----
[1, 3]

-- Elements of arrays become rows.
SELECT id, tag FROM people LATERAL VIEW explode(tags) x AS tag
-- duckdb: SELECT id, unnest(tags) AS tag FROM people
----
[1, "x"]
[1, "y"]
[4, "z"]

-- Braces, percent signs and quotes in texts are texts.
SELECT id, '{people} 100 % $p0 :v ?' AS t FROM people WHERE name <> '{Bo}' AND id = 1
----
[1, "{people} 100 % $p0 :v ?"]

-- Letters that take more than one byte come before a name.
SELECT 'ä€😀' AS t, id FROM people WHERE name = 'Ada'
----
["ä€😀", 1]

-- No table at all.
SELECT 1 + 1 AS two
----
[2]

-- Rows that stand in the statement.
SELECT * FROM VALUES (1, 'a'), (2, 'b') AS v(n, t)
-- duckdb: SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v(n, t)
----
[1, "a"]
[2, "b"]

-- A function that gives rows.
SELECT r.id, p.name FROM range(1, 3) r JOIN people p ON r.id = p.id
-- duckdb: SELECT r.id, p.name FROM range(1, 3) r(id) JOIN people p ON r.id = p.id
----
[1, "Ada"]
[2, "Bo"]

-- A function that only Spark has there.
SELECT x FROM explode(array(1, 2)) AS e(x)
-- only local: Spark runs it
----
! UnsupportedError: in FROM

-- A semicolon at the end, and a comment with a name in it.
SELECT id FROM people /* FROM nothing */ WHERE id = 1; -- FROM nobody
----
[1]

-- Set operations.
SELECT id FROM people EXCEPT SELECT person FROM shop.orders
----
[2]
[4]

-- A table that is not there, with those that are like it.
SELECT * FROM poeple
----
! NotFoundError: did you mean main.people

-- A namespace that is not there.
SELECT * FROM nowhere.people
----
! NotFoundError: there is no namespace 'nowhere'

-- A catalog that is not there.
SELECT * FROM other.main.people
----
! NotFoundError: there is no catalog 'other'

-- Too many parts.
SELECT * FROM a.b.c.d
----
! InvalidInputError: has 4 parts

-- A column that is not there.
SELECT nobody FROM people
----
! InvalidInputError: nobody

-- A column that two tables have.
SELECT id FROM people, shop.`odd name`, people p2
----
! InvalidInputError: mbiguous

-- Two tables of one name, told apart by their namespaces.
SELECT main.people.id, count(shop.people.id) FROM people LEFT JOIN shop.people ON main.people.id = shop.people.id GROUP BY main.people.id
-- duckdb: SELECT a.id, count(b.id) FROM people a LEFT JOIN shop.people b ON a.id = b.id GROUP BY a.id
----
[1, 0]
[2, 0]
[3, 0]
[4, 0]

-- Two tables of one name in two queries.
SELECT people.id FROM people WHERE people.id > 3 UNION ALL SELECT people.id FROM shop.people
----
[4]

-- A table of the same name inside hides the one outside, but for who writes its whole name.
SELECT id FROM people WHERE NOT EXISTS (SELECT 1 FROM shop.people WHERE people.id = main.people.id) AND id = 1
-- duckdb: SELECT id FROM people WHERE NOT EXISTS (SELECT 1 FROM shop.people p WHERE p.id = people.id) AND id = 1
----
[1]

-- Two tables of one name that are not told apart.
SELECT people.id FROM people, shop.people
----
! InvalidInputError: give each of them an alias

-- Bad words.
SELEC 1
----
! InvalidInputError: the statement cannot be read

-- A bracket that is left open.
SELECT (1 FROM people
----
! InvalidInputError: the statement cannot be read

-- Several statements, as somebody may try who puts one into a name.
SELECT 1; DROP TABLE people
----
! InvalidInputError: several statements

-- Nothing.
;
----
! InvalidInputError: holds nothing

-- A file of Spark's is no table of the lake.
SELECT * FROM parquet.`/etc/passwd`
----
! NotFoundError: there is no namespace 'parquet'

-- The columns of a join by name come first.
SELECT * FROM (SELECT amount, person AS id FROM shop.orders) o JOIN (SELECT name, id FROM people) p USING (id) ORDER BY amount
-- ordered
-- duckdb cannot: it leaves the columns where they are
----
[3, 7.0, null]
[1, 10.5, "Ada"]
[1, 20.25, "Ada"]

-- The same for one of the tables.
SELECT p.*, o.amount FROM (SELECT amount, person AS id FROM shop.orders) o RIGHT JOIN (SELECT name, id FROM people WHERE id < 3) p USING (id)
-- duckdb cannot: it leaves the columns where they are
----
[1, "Ada", 10.5]
[1, "Ada", 20.25]
[2, "Bo", null]

-- A star over joins by different names.
SELECT * FROM (SELECT 1 AS a, 2 AS b) x JOIN (SELECT 1 AS a, 3 AS c) y USING (a) JOIN (SELECT 3 AS c) z USING (c)
-- only local: Spark runs it
----
! UnsupportedError: * over a join by names

-- A star over a natural join.
SELECT * FROM people NATURAL JOIN shop.people
-- only local: Spark runs it
----
! UnsupportedError: name the columns

-- An element of a list whose place is computed, and the value of a key that is a number.
SELECT a[i] AS x, a[i + 1] AS y, map(1, 'one', 2, 'two')[1] AS z FROM VALUES (array(10, 20, 30), 0), (array(1, NULL, 3), 1) AS v(a, i)
-- duckdb cannot: it counts from one
----
[10, 20, "one"]
[null, 3, "one"]

-- An element that is not there.
SELECT tags[1] FROM people WHERE id = 4
----
! InvalidInputError: out of bounds

-- The same, counted from one.
SELECT element_at(tags, 2) FROM people WHERE id = 4
----
! InvalidInputError: out of bounds

-- Moments that are made have a zone, and compare with those that have one.
SELECT to_timestamp('2024-01-31 12:00:00') = TIMESTAMP '2024-01-31 12:00:00Z' AS a, make_timestamp(2024, 1, 31, 12, 0, 0) = to_timestamp('31.01.2024 12', 'dd.MM.yyyy HH') AS b
-- duckdb cannot: it has other functions
----
[true, true]
