-- A struct by every name.
SELECT place.x, p.place.x, p.place.inner.y FROM shop.places p
----
[1, 1, "q"]

-- A struct of a table that is called by its whole name.
SELECT shop.places.place.inner.y, lake.shop.places.id FROM shop.places WHERE lake.shop.places.place.x = 1
-- duckdb: SELECT place.inner.y, id FROM shop.places
----
["q", 1]

-- Names that are exchanged.
SELECT people.amount, orders.name FROM people AS orders JOIN shop.orders AS people ON people.person = orders.id AND people.amount > 15
----
[20.25, "Ada"]

-- Names of columns that are exchanged do not leave out files.
SELECT * FROM shop.orders AS o(amount, person) WHERE amount = 3
----
[3, 7.0]

-- A WITH inside a WITH.
WITH a AS (WITH people AS (SELECT 9 AS id) SELECT id FROM people) SELECT id FROM a UNION ALL SELECT id FROM people WHERE id < 2
----
[1]
[9]

-- The whole name goes past a WITH.
WITH people AS (SELECT 9 AS id) SELECT id FROM people UNION ALL SELECT id FROM main.people WHERE id = 1
----
[1]
[9]

-- A comment before a WITH, and a hint.
/* first */ WITH c AS (SELECT /*+ BROADCAST(people) */ id FROM people) SELECT count(*) FROM c -- last
----
[4]

-- A query that reads itself again.
WITH RECURSIVE r(n) AS (SELECT min(id) FROM people UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT r.n, people.name FROM r JOIN people ON r.n = people.id
----
[1, "Ada"]
[2, "Bo"]
[3, null]

-- Queries in every clause.
SELECT id, (SELECT count(*) FROM shop.orders o WHERE o.person = p.id) AS n FROM people p WHERE id IN (SELECT person FROM shop.orders) ORDER BY (SELECT max(amount) FROM shop.orders) - id
-- ordered
----
[3, 1]
[1, 2]

-- A query in HAVING.
SELECT country, count(*) AS n FROM people GROUP BY country HAVING count(*) > (SELECT min(person) FROM shop.orders)
----
["DE", 2]

-- Lateral queries.
SELECT p.id, l.amount FROM people p LEFT JOIN LATERAL (SELECT max(amount) AS amount FROM shop.orders o WHERE o.person = p.id) l ON true WHERE p.id < 3
----
[1, 20.25]
[2, null]

-- Joins by names.
SELECT id FROM people JOIN (SELECT id FROM shop.places) USING (id) WHERE id = 1
----
[1]

-- All columns but some.
SELECT * EXCEPT (tags, country) FROM people WHERE id = 1
-- duckdb: SELECT * EXCLUDE (tags, country) FROM people WHERE id = 1
----
[1, "Ada"]

-- A NULL in NOT IN.
SELECT id FROM people WHERE id NOT IN (SELECT NULLIF(person, 1) FROM shop.orders)
----

-- A sample of everything.
SELECT count(*) FROM people TABLESAMPLE (100 PERCENT) WHERE people.id > 1
----
[3]

-- Rows by themselves.
VALUES (1, 'a'), (2, 'b')
----
[1, "a"]
[2, "b"]

-- A table by itself.
TABLE shop.orders
----
[1, 10.5]
[1, 20.25]
[3, 7.0]

-- FROM comes first.
FROM people SELECT id WHERE id = 1
----
[1]

-- What is moved along by pipes.
FROM people |> WHERE id = 1 |> SELECT name
-- duckdb cannot: it has no such words
----
["Ada"]

-- A view of two tables beside another table.
SELECT p.id, v.amount FROM people p JOIN spenders v ON p.id = v.id JOIN few f ON f.id = v.id
----
[3, 7.0]

-- A view in another namespace reads its own tables first.
SELECT * FROM shop.near
----
[100]

-- A moment inside of queries.
WITH c AS (SELECT * FROM people VERSION AS OF 4) SELECT count(*) FROM c WHERE id IN (SELECT id FROM people VERSION AS OF 4)
-- duckdb: SELECT count(*) FROM people AT (VERSION => 4)
----
[2]

-- A plan.
EXPLAIN SELECT id FROM people WHERE id = 1
-- duckdb cannot: it explains in another way
----
["scan main.people at snapshot 24"]
["  columns: id, name, country, tags"]
["  files: 0 of 0, 0 rows, 0 bytes"]
["  left out in the catalog: 0 files, by statistics and partition values for id = 1"]
["  rows in the catalog itself: 4"]
["  where: (id = 1)"]
