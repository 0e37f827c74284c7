-- A cast that fails.
SELECT CAST('x' AS INT)
----
! InvalidInputError: x

-- A cast that may fail.
SELECT TRY_CAST('x' AS INT) AS n
----
[null]

-- The order of NULL.
SELECT x FROM (VALUES (1), (NULL), (2)) AS v(x) ORDER BY x
-- ordered
-- duckdb cannot: it puts NULL last
----
[null]
[1]
[2]

-- A division of whole numbers.
SELECT 7 / 2 AS n
----
[3.5]

-- A function that only Spark has.
SELECT str_to_map('a:1') AS m
-- only local: Spark runs it
----
! UnsupportedError: str_to_map

-- Groups of a PIVOT that have no rows.
SELECT * FROM (SELECT 1 AS id, 'a' AS w) PIVOT (count(*) FOR w IN ('a', 'b'))
-- only local: DuckDB counts 0 where Spark has NULL
----
! UnsupportedError: PIVOT

-- A function of DuckDB's own.
SELECT getenv('HOME') AS t
-- only local: Spark says so in its own words
----
! UnsupportedError: the function getenv

-- A pattern that DuckDB has no letters for.
SELECT date_format(DATE '2024-01-31', 'QQQ') AS t
-- only local: Spark runs it
----
! UnsupportedError: QQQ

-- Groups of a match in a replacement.
SELECT regexp_replace('a1', '([0-9])', '<$1>') AS t
-- only local: Spark runs it
----
! UnsupportedError: regexp_replace

-- A very large number as a text.
SELECT CAST(1e20D AS STRING) AS t
-- only local: Spark writes 1.0E20
----
! InvalidInputError: has another text on Spark

-- Date and interval.
SELECT DATE '2024-01-31' + INTERVAL 1 DAY > DATE '2024-01-31' AS b
----
[true]

-- A division of decimals, which Spark rounds.
SELECT CAST(1.00 AS DECIMAL(10, 2)) / 3 AS n
-- only spark: the local engine gives a double
-- duckdb cannot: it gives a double
----
[0.333333]

-- The same on the local engine.
SELECT round(CAST(1.00 AS DECIMAL(10, 2)) / 3, 9) AS n
-- only local: Spark gives a decimal
----
[0.333333333]
