-- A division by zero.
SELECT 1 / 0 AS n
----
! InvalidInputError: ivi

-- A remainder of nothing.
SELECT id % (id - id) AS n FROM people
----
! InvalidInputError: y zero

-- A division that is none.
SELECT 7 / 2 AS a, 7 % 4 AS b, 7 DIV 2 AS c, id / 2 AS d FROM people WHERE id = 3
-- duckdb: SELECT 7 / 2, 7 % 4, 7 // 2, id / 2 FROM people WHERE id = 3
----
[3.5, 3, 3, 1.5]

-- The position before the first counts as the first.
SELECT substring('hello', 0, 2) AS a, substring('hello', 2, 2) AS b, substring('hello', -3, 2) AS c
-- duckdb cannot: it counts from before the first
----
["he", "el", "ll"]

-- A percentile lies between two values.
SELECT percentile(x, 0.5) AS n FROM (VALUES (1), (2)) AS v(x)
-- duckdb: SELECT quantile_cont(x, 0.5) FROM (VALUES (1), (2)) AS v(x)
----
[1.5]

-- A cast to a whole number cuts off.
SELECT CAST(1.9 AS INT) AS a, CAST(-1.9D AS BIGINT) AS b, CAST(' 12 ' AS INT) AS c, CAST(true AS INT) AS d, TRY_CAST('1.9' AS INT) AS e
-- duckdb cannot: it rounds
----
[1, -1, 12, 1, null]

-- A text that is no whole number.
SELECT CAST('1.9' AS INT) AS n
----
! InvalidInputError: 1.9

-- Casts to texts.
SELECT CAST(TIMESTAMP '2024-01-31 12:00:00.5' AS STRING) AS a, CAST(DATE '2024-01-31' AS STRING) AS b, CAST(1.50 AS STRING) AS c, CAST(id AS STRING) AS d FROM people WHERE id = 1
----
["2024-01-31 12:00:00.5", "2024-01-31", "1.50", "1"]

-- Days of a week are counted from one, or from Monday.
SELECT dayofweek(DATE '2024-01-31') AS a, weekday(DATE '2024-01-31') AS b, extract(DOW FROM DATE '2024-01-31') AS c
-- duckdb cannot: it counts from zero
----
[4, 2, 4]

-- Dates stay dates.
SELECT CAST(date_add(DATE '2024-01-31', 1) AS STRING) AS a, CAST(add_months(DATE '2024-01-31', 1) AS STRING) AS b, CAST(trunc(DATE '2024-02-29', 'MM') AS STRING) AS c
-- duckdb cannot: they become timestamps
----
["2024-02-01", "2024-02-29", "2024-02-01"]

-- A backslash escapes in a pattern.
SELECT name FROM (VALUES ('a_b'), ('axb')) AS v(name) WHERE name LIKE 'a\_b'
-- duckdb: SELECT name FROM (VALUES ('a_b'), ('axb')) AS v(name) WHERE name LIKE 'a\_b' ESCAPE '\'
----
["a_b"]

-- Quotes in texts, and texts beside each other.
SELECT 'it''s' AS a, 'it\'s' AS b, "it's" AS c, 'a' 'b' AS d, '\u0041\t' AS e, r'\n' AS f
-- duckdb cannot: it has other escapes
----
["it's", "it's", "it's", "ab", "A\t", "\\n"]

-- Elements of a list, and none.
SELECT id, e FROM people LATERAL VIEW OUTER explode(tags) x AS e WHERE id > 1
-- duckdb cannot: it has no such words
----
[2, null]
[3, null]
[4, "z"]

-- A list that has a NULL may have anything.
SELECT array_contains(array(1, NULL), 1) AS a, array_contains(array(1, NULL), 2) AS b, array_contains(array(1), 2) AS c
-- duckdb cannot: it says no
----
[true, null, false]

-- The value of the last row may be NULL.
SELECT max_by(name, id) AS a, min_by(name, id) AS b FROM people WHERE id < 4
-- duckdb: SELECT arg_max_null(name, id), arg_min_null(name, id) FROM people WHERE id < 4
----
[null, "Ada"]

-- Columns of VALUES are counted from one.
SELECT col1, col2 FROM VALUES (1, 'a')
-- duckdb: SELECT col0, col1 FROM (VALUES (1, 'a'))
----
[1, "a"]

-- Groups of groups.
SELECT country, count(*) AS n, grouping(country) AS g FROM people GROUP BY ROLLUP (country)
----
["DE", 2, 0]
["FR", 1, 0]
["US", 1, 0]
[null, 4, 1]

-- Windows.
SELECT id, lag(name, 1, '-') OVER (ORDER BY id) AS a, sum(id) OVER w AS b FROM people WINDOW w AS (PARTITION BY country ORDER BY id)
----
[1, "-", 1]
[2, "Ada", 2]
[3, "Bo", 4]
[4, null, 4]

-- A pattern of a date.
SELECT date_format(TIMESTAMP '2024-01-31 12:34:56', 'yyyy-MM-dd HH:mm:ss') AS a, to_date('31/01/2024', 'dd/MM/yyyy') = DATE '2024-01-31' AS b
-- duckdb cannot: its patterns are other ones
----
["2024-01-31 12:34:56", true]
