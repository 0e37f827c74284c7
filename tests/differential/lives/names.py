"""Lives of names: namespaces, renames, views, macros, comments, transactions over several tables, empty tables."""

from __future__ import annotations

from tests.differential.lives.life import Life, statements

ODD_NAMES = statements("""
CREATE SCHEMA "My Space"
CREATE SCHEMA "a.b"
CREATE SCHEMA "q""uote"
CREATE SCHEMA "żółw 🐢"
CREATE SCHEMA "UPPER"
CREATE TABLE "My Space"."a table" ("col one" INTEGER, "Ünï" VARCHAR)
CREATE TABLE "a.b"."c.d" ("e.f" INTEGER)
CREATE TABLE "q""uote"."t""t" ("c""c" INTEGER)
CREATE TABLE "żółw 🐢"."таблица" ("столбец" INTEGER)
CREATE TABLE "UPPER"."MiXed" ("CaSe" INTEGER)
CREATE TABLE "main"."a/b" ("slash/col" INTEGER)
CREATE TABLE "main"."it's" ("it's" INTEGER)
INSERT INTO "My Space"."a table" SELECT i, 'v' || i FROM range(15) r(i)
INSERT INTO "a.b"."c.d" SELECT i FROM range(15) r(i)
INSERT INTO "q""uote"."t""t" SELECT i FROM range(3) r(i)
INSERT INTO "żółw 🐢"."таблица" SELECT i FROM range(15) r(i)
INSERT INTO "UPPER"."MiXed" SELECT i FROM range(3) r(i)
INSERT INTO "main"."a/b" SELECT i FROM range(15) r(i)
INSERT INTO "main"."it's" SELECT i FROM range(15) r(i)
DELETE FROM "a.b"."c.d" WHERE "e.f" = 3
UPDATE "My Space"."a table" SET "Ünï" = 'x' WHERE "col one" < 3
ALTER TABLE "q""uote"."t""t" ADD COLUMN "new ""col" INTEGER DEFAULT 5
DELETE FROM "q""uote"."t""t" WHERE "c""c" = 1
DROP SCHEMA "UPPER" CASCADE
""")

MOVES = statements("""
CREATE TABLE a (i INTEGER)
INSERT INTO a SELECT i FROM range(15) r(i)
ALTER TABLE a RENAME TO b
CREATE TABLE a (s VARCHAR)
INSERT INTO a VALUES ('new a')
INSERT INTO b VALUES (100)
ALTER TABLE a RENAME TO tmp
ALTER TABLE b RENAME TO a
ALTER TABLE tmp RENAME TO b
DELETE FROM a WHERE i < 3
DROP TABLE b
CREATE TABLE b (x DOUBLE)
INSERT INTO b VALUES (1.5)
CREATE OR REPLACE TABLE b AS SELECT i AS y FROM range(20) r(i)
CREATE VIEW v AS SELECT i + 1 AS j FROM a
COMMENT ON TABLE a IS 'about a'
COMMENT ON COLUMN a.i IS 'about i'
COMMENT ON VIEW v IS 'about v'
CREATE MACRO plus(x, y) AS x + y
CREATE MACRO rows(n) AS TABLE SELECT * FROM a WHERE i < n
ALTER VIEW v RENAME TO w
BEGIN
CREATE TABLE one (i INTEGER)
INSERT INTO one SELECT i FROM range(12) r(i)
INSERT INTO a VALUES (200)
DELETE FROM b WHERE y > 10
ALTER TABLE b ADD COLUMN z INTEGER DEFAULT 1
INSERT INTO b VALUES (500, 2)
DROP VIEW w
COMMIT
BEGIN
DELETE FROM a
INSERT INTO a SELECT i FROM range(1000, 1012) r(i)
ALTER TABLE a RENAME TO final
COMMIT
COMMENT ON TABLE final IS NULL
DROP MACRO plus
DROP TABLE one
ALTER TABLE final RENAME TO FINAL
""")

EMPTY = statements("""
CREATE TABLE never (i INTEGER, s STRUCT(a INTEGER))
CREATE TABLE emptied (i INTEGER)
INSERT INTO emptied SELECT i FROM range(20) r(i)
DELETE FROM emptied WHERE i < 19
DELETE FROM emptied
CREATE TABLE inlined (i INTEGER)
INSERT INTO inlined VALUES (1)
DELETE FROM inlined
CALL ducklake_flush_inlined_data('$lake')
ALTER TABLE never ADD COLUMN x INTEGER DEFAULT 3
ALTER TABLE emptied ADD COLUMN x INTEGER DEFAULT 3
INSERT INTO emptied SELECT i, i FROM range(0) r(i)
CREATE TABLE none AS SELECT 1 AS i WHERE false
CALL ducklake_rewrite_data_files('$lake', delete_threshold => 0)
INSERT INTO never VALUES (1, {a: 1}, 1)
INSERT INTO inlined VALUES (NULL)
""")

FIRST_INSERTS = statements("""
CREATE SCHEMA "odd name"
CREATE TABLE a AS SELECT i, 's' || i AS s FROM range(30) r(i)
CREATE TABLE "odd name"."t t" AS SELECT i AS "c c" FROM range(30) r(i)
CREATE TABLE small (i INTEGER, s VARCHAR, f DOUBLE, d DATE, b BOOLEAN, u UBIGINT, e DECIMAL(9,2), x BLOB, id UUID,
  j JSON)
INSERT INTO small VALUES (1, 'a', 1.5, '2024-01-01', true, 18446744073709551615, 1.25, 'ab',
  'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{"a": 1}'),
  (2, NULL, NULL, NULL, false, 0, NULL, NULL, NULL, NULL), (3, 'ü🦆 it''s back\\slash', -0.5, '0001-01-01', NULL, 1,
  -0.01, '\\x00\\xFF', NULL, '[]')
CREATE TABLE times (i INTEGER, t TIME, ts TIMESTAMP, tss TIMESTAMP_S, tsms TIMESTAMP_MS, tsns TIMESTAMP_NS,
  tz TIMESTAMPTZ)
INSERT INTO times VALUES (1, '01:02:03.456', '2024-02-29 01:02:03.456789', '2024-02-29 01:02:03',
  '2024-02-29 01:02:03.456',
  '2024-02-29 01:02:03.456789123', '2024-02-29 01:02:03.456789+02'), (2, NULL, NULL, NULL, NULL, NULL, NULL)
CREATE TABLE empty (i INTEGER)
CREATE VIEW v AS SELECT * FROM a
DROP TABLE empty
""")

LIVES = (
    Life("odd names", ODD_NAMES),
    Life(
        "tables move and come back", MOVES, questions=(("a", "i > 5"), ("final", "i > 1005"), ("b", "z = 1 AND y < 3"))
    ),
    Life("tables without rows", EMPTY, questions=(("emptied", "x = 3"), ("inlined", "i IS NULL"), ("never", "i = 1"))),
    Life("tables filled once", FIRST_INSERTS, questions=(("a", "i > 25"), ("small", "f > 1")), first_inserts_only=True),
)
