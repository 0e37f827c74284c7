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

-- Queries in conditions and values.
CREATE TABLE few (id BIGINT, k INT, n STRING);
INSERT INTO few VALUES (1, 1, 'a'), (2, 2, 'b'), (3, NULL, 'c'), (3, NULL, 'c'), (NULL, 5, NULL);
CREATE TABLE other (id BIGINT, w STRING);
INSERT INTO other VALUES (1, 'x'), (1, 'y'), (4, 'z');
DELETE FROM few WHERE id IN (SELECT id FROM other WHERE w = 'x');
UPDATE few AS q SET n = (SELECT max(w) FROM other WHERE other.id > q.id), k = k + 1 WHERE EXISTS (SELECT 1 FROM other WHERE other.id > q.id);
SELECT id, k, n FROM few
----
[2, 3, "z"]
[3, null, "z"]
[3, null, "z"]
[null, 5, null]

-- Queries that ask nothing of the table.
UPDATE main.few SET k = 9 WHERE main.few.k IS NULL AND (SELECT count(*) FROM other) = 3;
DELETE FROM few WHERE few.id NOT IN (SELECT id FROM other) AND k = (SELECT 9);
DELETE FROM few WHERE NOT EXISTS (SELECT 1 FROM other);
SELECT id, k FROM few
----
[2, 3]
[null, 5]

-- A WITH before an INSERT, and a table as the source.
WITH c AS (SELECT id, 'c' AS w FROM few WHERE id > 1) INSERT INTO other SELECT * FROM c;
INSERT INTO other (w) TABLE shelf
----
! NotFoundError: there is no table main.shelf

-- What came of it.
SELECT id, w FROM other WHERE w IN ('c', 'x')
----
[1, "x"]
[2, "c"]

-- A WITH before a DELETE, an UPDATE and a MERGE.
CREATE SCHEMA prelude;
USE prelude;
CREATE TABLE aim AS SELECT * FROM VALUES (1, 1, 'a'), (2, 2, 'b'), (3, NULL, 'c'), (4, 4, NULL) AS v(id, k, n);
CREATE TABLE feed AS SELECT * FROM VALUES (1, 10, 'A'), (2, 20, 'B'), (5, NULL, 'E'), (6, 60, 'F') AS v(id, k, n);
CREATE TABLE listed AS SELECT * FROM VALUES (1), (6), (NULL) AS v(id);
WITH c AS (SELECT 4 AS id), d (x) AS (SELECT id FROM c) DELETE FROM aim WHERE id IN (SELECT x FROM d);
WITH c AS (SELECT max(id) AS id FROM listed) UPDATE aim AS q SET n = (SELECT id FROM c), k = q.k + 1 WHERE q.id < (SELECT id FROM c) AND k = 1;
WITH c AS (SELECT * FROM feed WHERE id BETWEEN 2 AND 5) MERGE INTO aim USING c ON aim.id = c.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;
SELECT id, k, n FROM prelude.aim
----
[1, 2, "6"]
[2, 20, "B"]
[3, null, "c"]
[5, null, "E"]

-- Words that look like statements are columns of a query.
WITH c AS (SELECT 1 AS delete, 2 AS update) SELECT delete, update FROM c
-- duckdb cannot: only Spark takes the words as names
----
[1, 2]

-- A WITH that hides the table.
WITH aim AS (SELECT 1 AS id) DELETE FROM aim WHERE id = 1
----
! InvalidInputError: aim is a query of the WITH

-- A WITH of the table's name beside the table, and the target of an INSERT.
WITH aim AS (SELECT 5 AS id) DELETE FROM prelude.aim WHERE id IN (SELECT id FROM aim);
WITH aim AS (SELECT 7 AS id, 7 AS k, 'g' AS n) INSERT INTO aim SELECT * FROM aim;
SELECT id FROM prelude.aim
----
[1]
[2]
[3]
[7]

-- A WITH whose query nobody asks must be right nevertheless.
WITH c AS (SELECT * FROM nothing) DELETE FROM aim
----
! NotFoundError: nothing

-- A WITH inside of the source of a merge.
MERGE INTO aim USING (WITH c AS (SELECT * FROM feed) SELECT * FROM c WHERE id = 6) s ON aim.id = s.id WHEN NOT MATCHED THEN INSERT *;
SELECT id, n FROM prelude.aim WHERE id > 5
----
[6, "F"]
[7, "g"]

-- Queries in the conditions of a merge.
MERGE INTO aim USING feed s ON aim.id = s.id WHEN MATCHED AND s.id IN (SELECT id FROM listed) AND EXISTS (SELECT 1 FROM listed WHERE listed.id = s.id + 5) THEN UPDATE SET n = 'in' WHEN MATCHED AND s.id NOT IN (SELECT id FROM listed) THEN DELETE WHEN NOT MATCHED AND NOT EXISTS (SELECT 1 FROM listed WHERE listed.id = s.id) THEN INSERT *;
SELECT id, k, n FROM prelude.aim
----
[1, 2, "in"]
[2, 20, "B"]
[3, null, "c"]
[5, null, "E"]
[6, 60, "F"]
[7, 7, "g"]

-- What is neither true nor false stays so.
MERGE INTO aim USING feed s ON aim.id = s.id WHEN MATCHED AND NOT (s.id IN (SELECT id FROM listed)) THEN DELETE WHEN MATCHED AND (s.id IN (SELECT id FROM listed)) IS NULL THEN UPDATE SET n = 'unknown';
SELECT id, n FROM prelude.aim WHERE id < 6
----
[1, "in"]
[2, "unknown"]
[3, "c"]
[5, "unknown"]

-- Queries in the values and in the ON of a merge, with a parameter.
MERGE INTO aim USING feed s ON aim.id = s.id AND s.id IN (SELECT id FROM listed) WHEN MATCHED AND aim.k < (SELECT avg(k) + :x FROM feed) THEN UPDATE SET k = aim.k + (SELECT max(id) FROM listed), n = (SELECT min(f.n) FROM feed f WHERE f.id > s.id) WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id + 100, (SELECT max(n) FROM feed));
SELECT id, k, n FROM prelude.aim
-- params: {"x": 5}
-- duckdb cannot: it takes no parameters of ours
----
[1, 8, "B"]
[2, 20, "unknown"]
[3, null, "c"]
[5, null, "unknown"]
[6, 60, "F"]
[7, 7, "g"]
[102, null, "F"]
[105, null, "F"]

-- A merge whose table is called as the source usually is.
MERGE INTO aim AS s USING feed AS t ON t.id = s.id WHEN MATCHED AND t.id IN (SELECT id FROM listed) THEN DELETE;
SELECT id FROM prelude.aim WHERE id < 10
----
[2]
[3]
[5]
[7]

-- A query in a merge that asks for the table.
MERGE INTO aim USING feed s ON aim.id = s.id WHEN MATCHED AND aim.id IN (SELECT id FROM listed) THEN DELETE
----
! UnsupportedError: asks for columns of the table

-- The same in the middle of the query.
MERGE INTO aim USING feed s ON aim.id = s.id WHEN MATCHED AND EXISTS (SELECT 1 FROM listed WHERE listed.id = aim.id) THEN DELETE
----
! UnsupportedError: USING (SELECT …)

-- A column in a query of a merge that the table and the source both have.
MERGE INTO aim USING feed s ON aim.id = s.id WHEN MATCHED AND EXISTS (SELECT 1 FROM listed WHERE listed.id = k) THEN DELETE
----
! InvalidInputError: k

-- A query where there is no row of the source.
MERGE INTO aim USING feed s ON aim.id = s.id WHEN NOT MATCHED BY SOURCE AND aim.id IN (SELECT id FROM listed) THEN DELETE
----
! UnsupportedError: WHEN NOT MATCHED BY SOURCE

-- A left side of IN whose beginning cannot be told.
MERGE INTO aim USING feed s ON aim.id = s.id WHEN MATCHED AND s.id + 1 IN (SELECT id FROM listed) THEN DELETE
----
! UnsupportedError: put it into brackets

-- A comparison with all rows of a query.
MERGE INTO aim USING feed s ON aim.id = s.id WHEN MATCHED AND s.id > ALL (SELECT id FROM listed) THEN DELETE
----
! UnsupportedError: ALL (SELECT

-- A merge that brings columns.
MERGE WITH SCHEMA EVOLUTION INTO aim USING (SELECT id, 'new' AS extra FROM feed WHERE id IN (2, 6)) s ON aim.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;
SELECT id, k, extra FROM prelude.aim WHERE id < 10
----
[2, 20, "new"]
[3, null, null]
[5, null, null]
[6, null, "new"]
[7, 7, null]

-- A merge that may bring columns and names those it sets.
MERGE WITH SCHEMA EVOLUTION INTO aim USING feed s ON aim.id = s.id WHEN MATCHED THEN UPDATE SET k = s.k
----
! UnsupportedError: ADD COLUMN

-- Chance beside a query.
DELETE FROM aim WHERE rand() < 0.5 AND id IN (SELECT id FROM listed)
----
! UnsupportedError: differs for rows that are alike

-- A star that stands for the whole row of the table.
CREATE TABLE pair AS SELECT * FROM VALUES (1, 'a'), (1, 'b') AS v(id, n);
DELETE FROM pair WHERE to_json(struct(pair.*)) IN (SELECT '{"id":1,"n":"b"}' FROM listed);
SELECT id, n FROM prelude.pair
-- only spark: only Spark takes a star as an argument
----
[1, "a"]

-- Names that have dots, quotes and spaces in them.
CREATE TABLE `odd``t` (`a.b` INT, `c``d` STRING, `select` INT);
INSERT INTO `odd``t` VALUES (1, 'q', 2), (NULL, '\'', 4);
UPDATE `odd``t` SET `c``d` = `c``d` || '`', `a.b` = `select` WHERE `select` = 2;
MERGE INTO `odd``t` AS `x y` USING (SELECT 4 AS `select`, 'new' AS `c``d`) AS `z``z` ON `x y`.`select` = `z``z`.`select` WHEN MATCHED THEN UPDATE SET `c``d` = `z``z`.`c``d`;
SELECT `a.b`, `c``d`, `select` FROM `odd``t`
-- duckdb cannot: it quotes in another way
----
[2, "q`", 2]
[null, "new", 4]

-- A field of a column.
UPDATE `odd``t` SET a.b = 1
----
! UnsupportedError: set one whole column

-- A value that would end a text.
UPDATE `odd``t` SET `c``d` = :x WHERE `c``d` <> :x;
DELETE FROM `odd``t` WHERE `c``d` = :y;
SELECT `c``d` FROM `odd``t`
-- params: {"x": "\\'; DROP TABLE aim; -- ", "y": "a' OR '1'='1"}
-- duckdb cannot: it quotes in another way
----
["\\'; DROP TABLE aim; -- "]
["\\'; DROP TABLE aim; -- "]

-- A view in which the place of an element is computed.
CREATE VIEW computed AS SELECT array(1, 2)[id] AS a FROM feed
----
! UnsupportedError: element_at

-- A view of a place that is one in a list, or a key of a map: nobody says which.
CREATE VIEW keyed AS SELECT m[1] AS a FROM (SELECT map(1, 'one', 2, 'two') AS m)
----
! UnsupportedError: element_at

-- A view with keys of maps and places in lists.
CREATE VIEW keyed AS
    SELECT element_at(m, 1) AS a, element_at(l, 1) AS b, split('x,y', ',')[0] AS c, array(7, 8)[1] AS d
    FROM (SELECT map(1, 'one', 2, 'two') AS m, array('first', 'second') AS l);
SELECT * FROM keyed
-- duckdb cannot: it writes maps in another way
----
["one", "first", "x", 8]

-- That view goes.
DROP VIEW keyed
----

-- Rows for one partition, whose value stands in the statement.
CREATE TABLE parted (day DATE, id INT, area STRING) PARTITIONED BY (day, area);
INSERT INTO parted PARTITION (day = '2024-01-01', area = 'north') SELECT 1;
INSERT INTO TABLE parted PARTITION (area = :area, day = DATE '2024-01-02') VALUES (2), (3);
INSERT INTO parted PARTITION (day = '2024-01-01', area = NULL) WITH a AS (SELECT 4 AS n) SELECT n FROM a;
SELECT id, CAST(day AS STRING), area FROM parted
-- params: {"area": "it's"}
-- duckdb cannot: it has no PARTITION
----
[1, "2024-01-01", "north"]
[2, "2024-01-02", "it's"]
[3, "2024-01-02", "it's"]
[4, "2024-01-01", null]

-- A partition that is replaced, also one of NULL, while the others stay.
INSERT OVERWRITE parted PARTITION (area = 'north', day = '2024-01-01') (id) SELECT id + 10 FROM parted WHERE id < 3;
INSERT OVERWRITE TABLE parted PARTITION (day = '2024-01-01', area = NULL) TABLE (SELECT 5);
SELECT id, CAST(day AS STRING), area FROM parted
-- duckdb cannot: it has no PARTITION
----
[11, "2024-01-01", "north"]
[12, "2024-01-01", "north"]
[2, "2024-01-02", "it's"]
[3, "2024-01-02", "it's"]
[5, "2024-01-01", null]

-- A part of the partition's columns.
INSERT OVERWRITE parted PARTITION (day = '2024-01-02') SELECT 6, 'south';
SELECT id, CAST(day AS STRING), area FROM parted
-- duckdb cannot: it has no PARTITION
----
[11, "2024-01-01", "north"]
[12, "2024-01-01", "north"]
[6, "2024-01-02", "south"]
[5, "2024-01-01", null]

-- A value for a partition that is none of its type.
INSERT INTO parted PARTITION (day = 'never', area = 'x') SELECT 1
----
! InvalidInputError: never

-- A value for a partition that would lose something.
CREATE TABLE numbered (id INT, n INT) PARTITIONED BY (n);
INSERT INTO numbered PARTITION (n = 1.5) SELECT 1
----
! InvalidInputError: n

-- A number for a partition.
INSERT INTO numbered PARTITION (n = 2) SELECT 1;
INSERT OVERWRITE numbered PARTITION (n = 2) SELECT 3;
SELECT * FROM numbered
-- duckdb cannot: it has no PARTITION
----
[3, 2]

-- A partition by what is no key.
INSERT INTO parted PARTITION (id = 1) SELECT DATE '2024-01-01', 'x'
----
! InvalidInputError: partitioned by day, area, not by id

-- A partition whose value is no constant.
INSERT INTO parted PARTITION (area = id) SELECT DATE '2024-01-01', 1
----
! InvalidInputError: no constant

-- Too many columns beside those of the partition.
INSERT INTO parted PARTITION (day = '2024-01-01', area = 'x') SELECT 1, 2
----
! InvalidInputError: gives 4 columns for 3

-- The namespace of every day again.
USE main;
SELECT 1 AS a
----
[1]

-- Another namespace in use.
CREATE SCHEMA used;
USE used;
CREATE TABLE few AS SELECT id + 100 AS id FROM main.few WHERE id = 2;
CREATE VIEW seen AS SELECT id FROM few;
USE main;
SELECT a.id, b.id FROM used.few a JOIN used.seen b ON a.id = b.id
----
[102, 102]

-- What is in use is what is shown.
USE used;
SHOW TABLES
-- duckdb cannot: it shows in another way
----
["used", "few"]

-- Back again.
USE lake.main;
SELECT count(*) FROM few
----
[2]

-- A setting.
SET target_file_size = '12MB';
SELECT 1 AS a
----
[1]

-- A name that would move a table.
ALTER TABLE few RENAME TO used.many
----
! UnsupportedError: a rename stays in the namespace

-- A place for a column.
ALTER TABLE few ADD COLUMN z INT FIRST
----
! UnsupportedError: 'FIRST' and what follows

-- A view of what only this session has.
CREATE VIEW w AS SELECT :x AS a
-- params: {"x": 1}
----
! InvalidInputError: has parameters

-- A partition that is named without a value.
INSERT INTO t PARTITION (id) VALUES (1, 'a')
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
