-- By name.
SELECT id FROM people WHERE country = :c AND id > :low
-- params: {"c": "DE", "low": 1}
-- duckdb cannot: its parameters are written in another way
----
[3]

-- In order.
SELECT id, ? AS x FROM people WHERE id > ? AND id < ?
-- params: ["q", 1, 3]
-- duckdb cannot: its parameters are given in another way
----
[2, "q"]

-- A text that would be more than a text, if it were put into the statement.
SELECT id FROM people WHERE name = :n
-- params: {"n": "x' OR '1' = '1"}
-- duckdb cannot: its parameters are written in another way
----

-- The same as what comes out.
SELECT :n AS t
-- params: {"n": "'); DROP TABLE people; --"}
-- duckdb cannot: its parameters are written in another way
----
["'); DROP TABLE people; --"]

-- A parameter is no name.
SELECT * FROM :t
-- params: {"t": "people"}
----
! UnsupportedError: is no name of a table

-- A parameter without a value.
SELECT id FROM people WHERE id = :missing
-- params: {"other": 1}
----
! InvalidInputError: missing

-- A version without a value.
SELECT id FROM people VERSION AS OF :missing
-- params: {"other": 1}
----
! InvalidInputError: there is no value for the parameter :missing
