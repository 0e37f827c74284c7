-- A namespace and a table.
CREATE SCHEMA shop;
CREATE TABLE shop.t (id BIGINT NOT NULL, name STRING DEFAULT 'nobody' COMMENT 'who', n DECIMAL(10, 2)) PARTITIONED BY (bucket(4, id)) SORTED BY (name DESC) COMMENT 'it''s a table';
DESCRIBE shop.t
-- duckdb cannot: it describes in another way
----
["id", "int64", "NO", null, null]
["name", "varchar", "YES", null, "who"]
["n", "decimal(10,2)", "YES", null, null]

-- Rows, and rows of some columns, and rows by name.
INSERT INTO shop.t VALUES (1, 'a', 1.5), (2, 'b; c', NULL);
INSERT INTO shop.t (id) VALUES (3);
INSERT INTO shop.t BY NAME SELECT upper(name) AS name, id + 10 AS id FROM shop.t WHERE id < 3;
SELECT id, name, n FROM shop.t
----
[1, "a", 1.5]
[2, "b; c", null]
[3, "nobody", null]
[11, "A", null]
[12, "B; C", null]

-- An update by another name, with a parameter that is full of quotes.
UPDATE shop.t AS x SET x.name = concat(x.name, :s), n = CASE WHEN x.id = 1 THEN 7 ELSE n END WHERE x.id < 3
-- params: {"s": "'\\ \" `"}
----

-- What it did.
SELECT id, name, n FROM shop.t WHERE id < 3
----
[1, "a'\\ \" `", 7]
[2, "b; c'\\ \" `", null]

-- An update of every row, and a delete by the whole name.
UPDATE shop.t SET n = id;
DELETE FROM shop.t WHERE shop.t.id = 12 OR t.id = 2;
SELECT id, n FROM shop.t
----
[1, 1]
[3, 3]
[11, 11]

-- A merge with every kind of clause.
MERGE INTO shop.t AS tgt USING (SELECT id, 'm' AS name FROM shop.t WHERE id < 11 UNION ALL SELECT 99, 'new') AS src
ON tgt.id = src.id
WHEN MATCHED AND src.id = 1 THEN DELETE
WHEN MATCHED THEN UPDATE SET tgt.name = src.name || CASE WHEN src.id = 3 THEN '3' ELSE '' END, n = 0
WHEN NOT MATCHED BY TARGET THEN INSERT (id, name) VALUES (src.id, src.name)
WHEN NOT MATCHED BY SOURCE AND tgt.id = 11 THEN UPDATE SET name = 'lonely';
SELECT id, name, n FROM shop.t
----
[3, "m3", 0]
[11, "lonely", 11]
[99, "new", null]

-- A merge by stars, from a table of another name.
CREATE TABLE news AS SELECT 3L AS id, 'three' AS name, CAST(3 AS DECIMAL(10, 2)) AS n UNION ALL SELECT 4L, 'four', NULL;
MERGE INTO shop.t USING news ON t.id = news.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;
SELECT id, name, n FROM shop.t
----
[3, "three", 3]
[4, "four", null]
[11, "lonely", 11]
[99, "new", null]

-- Rows that take the place of others.
INSERT INTO shop.t REPLACE WHERE id > 10 SELECT id * 100, name, n FROM shop.t WHERE id < 4;
SELECT id, name FROM shop.t
----
[3, "three"]
[4, "four"]
[300, "three"]

-- All rows are replaced.
INSERT OVERWRITE TABLE shop.t SELECT 5, 'five', 5;
SELECT id, name, n FROM shop.t
----
[5, "five", 5]

-- A transaction that is rolled back.
BEGIN;
DELETE FROM shop.t;
CREATE TABLE gone (a INT);
SELECT count(*) FROM shop.t;
ROLLBACK;
SELECT count(*) FROM shop.t
----
[1]

-- A transaction that commits.
BEGIN TRANSACTION;
INSERT INTO shop.t VALUES (6, 'six', 6);
UPDATE shop.t SET n = n + 1;
COMMIT;
SELECT id, n FROM shop.t
----
[5, 6]
[6, 7]

-- Columns come and go.
ALTER TABLE shop.t ADD COLUMNS (tags ARRAY<STRING>, place STRUCT<x: INT> COMMENT 'where');
ALTER TABLE shop.t ADD COLUMN place.y INT;
ALTER TABLE shop.t ADD COLUMN k INT DEFAULT -3;
ALTER TABLE shop.t ALTER COLUMN k TYPE BIGINT;
ALTER TABLE shop.t RENAME COLUMN k TO kay;
ALTER TABLE shop.t DROP COLUMNS (tags, n);
ALTER TABLE shop.t ALTER COLUMN kay SET DEFAULT 8;
ALTER TABLE shop.t ALTER COLUMN id DROP NOT NULL;
INSERT INTO shop.t (id, place) SELECT NULL, named_struct('x', 1, 'y', 2);
SELECT id, name, place.y, kay FROM shop.t
----
[5, "five", null, -3]
[6, "six", null, -3]
[null, "nobody", 2, 8]

-- Other names, and comments.
ALTER TABLE shop.t RENAME TO u;
COMMENT ON TABLE shop.u IS NULL;
COMMENT ON COLUMN shop.u.kay IS 'the letter';
ALTER TABLE shop.u SET PARTITIONED BY (kay);
DESCRIBE TABLE shop.u
-- duckdb cannot: it describes in another way
----
["id", "int64", "YES", null, null]
["name", "varchar", "YES", null, "who"]
["place", "struct<x: int32, y: int32>", "YES", null, "where"]
["kay", "int64", "YES", "partition", "the letter"]

-- A table from a query, in place of another.
CREATE OR REPLACE TABLE news PARTITIONED BY (id) AS SELECT id, name FROM shop.u WHERE id = 5;
CREATE TABLE IF NOT EXISTS news AS SELECT 1 AS other;
SELECT * FROM news
----
[5, "five"]

-- Views.
CREATE VIEW v (a) AS SELECT id FROM news;
CREATE OR REPLACE VIEW v (a, b) AS SELECT id, name FROM news;
ALTER VIEW v RENAME TO w;
SELECT b, a FROM w
----
["five", 5]

-- What there is.
SHOW TABLES
-- duckdb cannot: it shows in another way
----
["main", "news"]
["shop", "u"]

-- What there is in a namespace, and namespaces, and views.
SHOW TABLES IN shop
-- duckdb cannot: it shows in another way
----
["shop", "u"]

-- Every namespace.
SHOW SCHEMAS
-- duckdb cannot: it shows in another way
----
["main"]
["shop"]

-- Every view.
SHOW VIEWS
-- duckdb cannot: it shows in another way
----
["main", "w"]

-- Rows go.
TRUNCATE TABLE news;
SELECT count(*) FROM news
----
[0]

-- A namespace that is not empty.
DROP SCHEMA shop
----
! InvalidInputError: is not empty

-- Things go.
DROP VIEW w;
DROP TABLE IF EXISTS nothing;
DROP SCHEMA shop CASCADE;
DROP TABLE news;
SHOW TABLES
-- duckdb cannot: it shows in another way
----

-- Nothing to end.
COMMIT
----
! InvalidInputError: there is no transaction to end

-- A query that does not fit.
CREATE TABLE t (id BIGINT, name STRING);
INSERT INTO t SELECT 1
----
! InvalidInputError: gives 1 columns for 2: id, name

-- A column that is not there.
INSERT INTO t (id, nobody) VALUES (1, 2)
----
! InvalidInputError: nobody

-- A value that does not fit.
INSERT INTO t (id) SELECT 1.5
----
! InvalidInputError: id

-- A column twice.
UPDATE t SET name = 'a', name = 'b'
----
! InvalidInputError: set twice

-- A subquery in a condition.
DELETE FROM t WHERE id IN (SELECT 1)
----
! InvalidInputError: subquer

-- A partition that is named.
INSERT INTO t PARTITION (id = 1) VALUES ('a')
----
! UnsupportedError: REPLACE WHERE

-- Words that are left over.
TRUNCATE TABLE t PARTITION (id = 1)
----
! UnsupportedError: 'PARTITION' and what follows

-- A property that would be lost.
CREATE TABLE p (a INT) TBLPROPERTIES ('a' = 'b')
----
! UnsupportedError: 'TBLPROPERTIES' and what follows

-- A format that tables of the lake do not have.
CREATE TABLE p (a INT) USING csv
----
! UnsupportedError: USING csv

-- A table without columns.
CREATE TABLE p
----
! InvalidInputError: needs columns or a query

-- A merge of a table with itself.
MERGE INTO t USING t ON t.id = t.id WHEN MATCHED THEN DELETE
----
! InvalidInputError: give one an alias

-- A function.
CREATE FUNCTION f AS 'x'
----
! UnsupportedError: CREATE FUNCTION

-- A parameter where a name must be.
DROP TABLE :t
-- params: {"t": "t"}
----
! InvalidInputError: a name is expected

-- Two statements.
DELETE FROM t WHERE id = 1; DROP TABLE t
----
! InvalidInputError: several statements
