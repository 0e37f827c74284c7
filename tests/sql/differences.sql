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

-- A division by zero on Spark.
SELECT 1 / 0 AS n
-- only spark: it raises
----
! InvalidInputError: DIVIDE_BY_ZERO

-- A division by zero in DuckDB.
SELECT 1 / 0 AS n
-- only local: it is NULL
-- duckdb cannot: its text means infinity
----
[null]

-- The position before the first on Spark.
SELECT substring('hello', 0, 2) AS t
-- only spark: it counts from the first
-- duckdb cannot: it counts from before the first
----
["he"]

-- The position before the first in DuckDB.
SELECT substring('hello', 0, 2) AS t
-- only local: DuckDB counts from before the first
----
["h"]

-- A percentile on Spark.
SELECT percentile(x, 0.5) AS n FROM (VALUES (1), (2)) AS v(x)
-- only spark: it lies between two values
-- duckdb cannot: it has another name there
----
[1.5]

-- A percentile in DuckDB.
SELECT percentile(x, 0.5) AS n FROM (VALUES (1), (2)) AS v(x)
-- only local: DuckDB takes one of the values
-- duckdb cannot: it has another name there
----
[1]

-- A function that only Spark has.
SELECT str_to_map('a:1') AS m
-- only local: Spark runs it
----
! InvalidInputError: str_to_map
