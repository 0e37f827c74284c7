-- CACHE TABLE people.
CACHE TABLE people
----
! UnsupportedError: CACHE TABLE

-- UNCACHE TABLE people.
UNCACHE TABLE people
----
! UnsupportedError: UNCACHE TABLE

-- ANALYZE TABLE people COMPUTE STATISTICS.
ANALYZE TABLE people COMPUTE STATISTICS
----
! UnsupportedError: ANALYZE TABLE

-- LOAD DATA INPATH 'x' INTO TABLE.
LOAD DATA INPATH 'x' INTO TABLE people
----
! UnsupportedError: LOAD DATA

-- REFRESH TABLE people.
REFRESH TABLE people
----
! UnsupportedError: REFRESH TABLE

-- MSCK REPAIR TABLE people.
MSCK REPAIR TABLE people
----
! UnsupportedError: MSCK REPAIR

-- GRANT SELECT ON people TO somebody.
GRANT SELECT ON people TO somebody
----
! UnsupportedError: GRANT SELECT

-- OPTIMIZE people.
OPTIMIZE people
----
! UnsupportedError: OPTIMIZE PEOPLE

-- VACUUM people.
VACUUM people
----
! UnsupportedError: VACUUM PEOPLE

-- CREATE FUNCTION f AS 'x'.
CREATE FUNCTION f AS 'x'
----
! UnsupportedError: CREATE FUNCTION

-- CREATE TEMPORARY VIEW x AS SELECT.
CREATE TEMPORARY VIEW x AS SELECT 1
----
! UnsupportedError: CREATE TEMPORARY

-- CREATE OR REPLACE TEMP VIEW x.
CREATE OR REPLACE TEMP VIEW x AS SELECT 1
----
! UnsupportedError: CREATE OR REPLACE TEMP

-- CREATE EXTERNAL TABLE x (a INT).
CREATE EXTERNAL TABLE x (a INT)
----
! UnsupportedError: CREATE EXTERNAL

-- CREATE TABLE x LIKE people.
CREATE TABLE x LIKE people
----
! UnsupportedError: 'LIKE' and what follows

-- FROM people INSERT INTO shop.people SELECT.
FROM people INSERT INTO shop.people SELECT id INSERT INTO shop.people SELECT id
----
! UnsupportedError: FROM … INSERT

-- INSERT INTO shop.people PARTITION (id).
INSERT INTO shop.people PARTITION (id) SELECT 1
----
! UnsupportedError: INSERT … PARTITION (id) without a value

-- INSERT INTO people PARTITION (id =.
INSERT INTO people PARTITION (id = 1) SELECT 1
----
! InvalidInputError: is partitioned by nothing, not by id

-- INSERT OVERWRITE DIRECTORY '/tmp/x' SELECT 1.
INSERT OVERWRITE DIRECTORY '/tmp/x' SELECT 1
----
! UnsupportedError: DIRECTORY

-- WITH c AS (SELECT 1) TRUNCATE.
WITH c AS (SELECT 1 AS id) TRUNCATE TABLE shop.people
----
! UnsupportedError: WITH … TRUNCATE

-- EXECUTE IMMEDIATE 'SELECT 1'.
EXECUTE IMMEDIATE 'SELECT 1'
----
! UnsupportedError: EXECUTE IMMEDIATE

-- DECLARE VARIABLE x INT.
DECLARE VARIABLE x INT
----
! UnsupportedError: DECLARE VARIABLE

-- SET VAR x = 1.
SET VAR x = 1
----
! UnsupportedError: SET VAR

-- SET spark.sql.shuffle.partitions = 1.
SET spark.sql.shuffle.partitions = 1
----
! UnsupportedError: spark.sql.shuffle.partitions

-- SET TIME ZONE 'UTC'.
SET TIME ZONE 'UTC'
----
! UnsupportedError: SET TIME

-- ALTER TABLE people SET TBLPROPERTIES ('a'.
ALTER TABLE people SET TBLPROPERTIES ('a' = 'b')
----
! UnsupportedError: 'SET' and what follows

-- ALTER TABLE people ADD PARTITION (id.
ALTER TABLE people ADD PARTITION (id = 1)
----
! UnsupportedError: 'ADD' and what follows

-- ALTER TABLE people REPLACE COLUMNS (a.
ALTER TABLE people REPLACE COLUMNS (a INT)
----
! UnsupportedError: 'REPLACE' and what follows

-- ALTER SCHEMA shop SET DBPROPERTIES ('a'.
ALTER SCHEMA shop SET DBPROPERTIES ('a' = 'b')
----
! UnsupportedError: ALTER SCHEMA

-- DROP TABLE people PURGE.
DROP TABLE people PURGE
----
! UnsupportedError: 'PURGE' and what follows

-- DROP FUNCTION f.
DROP FUNCTION f
----
! UnsupportedError: DROP FUNCTION

-- DESCRIBE EXTENDED people.
DESCRIBE EXTENDED people
----
! UnsupportedError: 'people' and what follows

-- SHOW FUNCTIONS.
SHOW FUNCTIONS
----
! UnsupportedError: SHOW FUNCTIONS

-- SHOW PARTITIONS people.
SHOW PARTITIONS people
----
! UnsupportedError: SHOW PARTITIONS

-- EXPLAIN DELETE FROM people.
EXPLAIN DELETE FROM people
----
! UnsupportedError: EXPLAIN DELETE

-- EXPLAIN EXTENDED SELECT 1.
EXPLAIN EXTENDED SELECT 1
----
! UnsupportedError: EXPLAIN EXTENDED

-- COMMIT AND CHAIN.
COMMIT AND CHAIN
----
! UnsupportedError: 'AND' and what follows

-- COPY INTO people FROM 'x'.
COPY INTO people FROM 'x'
----
! UnsupportedError: COPY INTO

-- PRAGMA show_tables.
PRAGMA show_tables
----
! UnsupportedError: PRAGMA

-- INSTALL httpfs.
INSTALL httpfs
----
! UnsupportedError: INSTALL

-- ADD JAR 'x'.
ADD JAR 'x'
----
! UnsupportedError: ADD JAR

-- RESET x.
RESET x
----
! UnsupportedError: RESET

-- CREATE PERSISTENT SECRET x (TYPE s3).
CREATE PERSISTENT SECRET x (TYPE s3)
----
! UnsupportedError: PERSISTENT

-- ATTACH 'thrift://host:9083' AS h.
ATTACH 'thrift://host:9083' AS h
----
! UnsupportedError: thrift

-- ATTACH 'x' AS h (TYPE metastore,.
ATTACH 'x' AS h (TYPE metastore, PROVIDER hive)
----
! UnsupportedError: TYPE metastore

-- SELECT * FROM IDENTIFIER('people').
SELECT * FROM IDENTIFIER('people')
----
! UnsupportedError: IDENTIFIER

-- A name that would be more than a name.
SELECT * FROM `people; DROP TABLE people`
----
! NotFoundError: there is no table

-- The same in a namespace.
SHOW TABLES IN `shop; DROP TABLE people`
----
! NotFoundError: there is no namespace

-- The same in a column.
SELECT `id FROM people; --` FROM people
----
! InvalidInputError: id FROM people; --

-- A parameter without a place.
SELECT 1 AS a
-- params: [1]
----
! InvalidInputError: has 0 ? and there are 1 values

-- A place without a parameter.
SELECT ? AS a
----
! InvalidInputError: has 1 ? and there are 0 values

-- Places without names and values with.
SELECT ? AS a
-- params: {"a": 1}
----
! InvalidInputError: values have names

-- A setting that is not there.
SET nonsense = 1
----
! InvalidInputError: nonsense

-- A wildcard that means nothing here.
SHOW TABLES LIKE 'peop%'
----
! InvalidInputError: * stands for anything

-- A catalog that is not there.
SHOW TABLES IN nobody.main
----
! NotFoundError: there is no catalog 'nobody'

-- A lake that is not attached.
DETACH nobody
----
! NotFoundError: there is no catalog 'nobody'

-- A bad option of ATTACH.
ATTACH 'sqlite:///x.db' AS x (NONSENSE 1)
----
! InvalidInputError: NONSENSE

-- Tables of the catalog.
SHOW TABLES IN lake.shop LIKE 'p*'
-- duckdb cannot: it shows in another way
----
["shop", "people"]
["shop", "places"]

-- Catalogs.
SHOW CATALOGS
-- duckdb cannot: it shows in another way
----
["lake"]

-- Namespaces of a catalog.
SHOW SCHEMAS IN lake
-- duckdb cannot: it shows in another way
----
["main"]
["shop"]
["empty"]

-- Columns.
SHOW COLUMNS IN shop.orders
-- duckdb cannot: it shows in another way
----
["person", "int64", "YES", null, null]
["amount", "float64", "YES", null, null]

-- How a table was made.
SHOW CREATE TABLE shop.places
-- duckdb cannot: it shows in another way
----
["CREATE TABLE shop.places (\n  id BIGINT,\n  place STRUCT<x: INT, inner: STRUCT<y: STRING>>\n)"]
