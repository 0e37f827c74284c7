"""Lives of columns at the top: added, dropped, renamed, defaulted."""

from __future__ import annotations

from tests.differential.lives.life import FILES_ONLY, INLINE_ALL, Life, statements

COME_AND_GO = statements("""
CREATE TABLE t (a INTEGER, b VARCHAR, c DOUBLE)
INSERT INTO t SELECT i, 'b' || i, i / 2 FROM range(5) r(i)
ALTER TABLE t ADD COLUMN d INTEGER
INSERT INTO t SELECT i, 'b' || i, i / 2, i * 10 FROM range(5, 8) r(i)
ALTER TABLE t RENAME COLUMN a TO tmp
ALTER TABLE t RENAME COLUMN d TO a
ALTER TABLE t RENAME COLUMN tmp TO d
INSERT INTO t (a, b, c, d) SELECT i * 10, 'b' || i, i / 2, i FROM range(8, 11) r(i)
ALTER TABLE t DROP COLUMN b
INSERT INTO t (a, c, d) VALUES (1, 2, 3)
ALTER TABLE t ADD COLUMN b VARCHAR
INSERT INTO t (a, b, c, d) VALUES (11, 'again', 22, 33)
ALTER TABLE t DROP COLUMN b
ALTER TABLE t ADD COLUMN b INTEGER DEFAULT 5
ALTER TABLE t ADD COLUMN "B c" INTEGER
INSERT INTO t (a, d) VALUES (12, 34)
UPDATE t SET b = 6 WHERE d < 2
DELETE FROM t WHERE d = 4
ALTER TABLE t RENAME COLUMN b TO "Über"
ALTER TABLE t ALTER COLUMN "Über" SET DEFAULT 9
INSERT INTO t (d) VALUES (35)
""")
COLUMN_QUESTIONS = (
    ("t", "d > 3"),
    ("t", "a = 10"),
    ("t", "a IS NULL"),
    ("t", "b = 5"),
    ("t", "b IS NULL"),
    ("t", "`Über` = 5 AND `B c` IS NULL"),
    ("t", "c >= 1 OR d = 1"),
)

DEFAULTS = statements("""
CREATE TABLE d (i INTEGER)
INSERT INTO d SELECT i FROM range(3) r(i)
ALTER TABLE d ADD COLUMN b BOOLEAN DEFAULT 'true'
ALTER TABLE d ADD COLUMN n BIGINT DEFAULT -9223372036854775808
ALTER TABLE d ADD COLUMN f DOUBLE DEFAULT 'nan'
ALTER TABLE d ADD COLUMN e DECIMAL(9,2) DEFAULT 12.50
ALTER TABLE d ADD COLUMN s VARCHAR DEFAULT 'it''s "quoted" \\ ü'
ALTER TABLE d ADD COLUMN z VARCHAR DEFAULT ''
ALTER TABLE d ADD COLUMN k VARCHAR DEFAULT 'NULL'
INSERT INTO d (i) VALUES (3)
INSERT INTO d (i, b, n, f, e, s, z, k) VALUES (4, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
ALTER TABLE d ADD COLUMN dt DATE DEFAULT '2024-02-29'
ALTER TABLE d ADD COLUMN ts TIMESTAMP DEFAULT '2024-02-29 01:02:03.456'
ALTER TABLE d ADD COLUMN tz TIMESTAMPTZ DEFAULT '2024-02-29 01:02:03+00'
ALTER TABLE d ADD COLUMN tm TIME DEFAULT '01:02:03'
ALTER TABLE d ADD COLUMN u UUID DEFAULT 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'
ALTER TABLE d ADD COLUMN h HUGEINT DEFAULT 1267650600228229401496703205376
ALTER TABLE d ADD COLUMN x BLOB DEFAULT 'ab'
INSERT INTO d (i) VALUES (5)
ALTER TABLE d ALTER COLUMN s SET DEFAULT 'changed'
ALTER TABLE d ALTER COLUMN n DROP DEFAULT
INSERT INTO d (i) VALUES (6)
ALTER TABLE d ALTER COLUMN i SET DEFAULT 1 + 1
INSERT INTO d (s) VALUES ('expression')
DELETE FROM d WHERE i = 1
UPDATE d SET z = 'set' WHERE i = 0
""")
DEFAULT_QUESTIONS = (
    ("d", "b"),
    ("d", "n < 0"),
    ("d", "f > 5"),
    ("d", "e = 12.50"),
    ("d", "s = 'changed'"),
    ("d", "z = ''"),
    ("d", "k = 'NULL'"),
    ("d", "k IS NULL"),
    ("d", "dt = DATE '2024-02-29' AND i > 2"),
    ("d", "ts > TIMESTAMP '2024-01-01 00:00:00'"),
)

SHADOWS = statements("""
CREATE TABLE a (rowid INTEGER, v VARCHAR)
INSERT INTO a SELECT i + 100, 'v' || i FROM range(20) r(i)
DELETE FROM a WHERE rowid = 105
CREATE TABLE b (snapshot_id VARCHAR, filename VARCHAR, file_row_number INTEGER, file_index INTEGER)
INSERT INTO b SELECT 's' || i, 'f' || i, i * 7, i * 9 FROM range(20) r(i)
DELETE FROM b WHERE file_row_number = 14
UPDATE b SET filename = 'g' WHERE file_index = 27
CREATE TABLE c (pos INTEGER, file_path VARCHAR, c1 INTEGER, c2 INTEGER, "index" INTEGER, element INTEGER,
  "list" INTEGER)
INSERT INTO c SELECT i, 'p' || i, i, -i, i, i, i FROM range(20) r(i)
DELETE FROM c WHERE pos = 3
ALTER TABLE c DROP COLUMN c1
ALTER TABLE c ADD COLUMN c1 INTEGER DEFAULT 8
CREATE TABLE e ("t" INTEGER, "select" INTEGER, "a.b" INTEGER, "x`y" INTEGER, "q""r" INTEGER,
  "sp ace" STRUCT("in.ner" INTEGER, "Case" INTEGER), "_metadata" INTEGER, "data" INTEGER)
INSERT INTO e SELECT i, i, i, i, i, {'in.ner': i, 'Case': i}, i, i FROM range(20) r(i)
DELETE FROM e WHERE "a.b" IN (2, 3)
INSERT INTO e VALUES (100, 100, 100, 100, 100, {'in.ner': 1, 'Case': 2}, 100, 100)
ALTER TABLE e RENAME COLUMN "a.b" TO "c.d"
""")

LIVES = (
    Life("columns come and go in files", (FILES_ONLY, *COME_AND_GO), questions=COLUMN_QUESTIONS),
    Life("columns come and go in the catalog", (INLINE_ALL, *COME_AND_GO), questions=COLUMN_QUESTIONS),
    Life("columns come and go in both", COME_AND_GO, questions=COLUMN_QUESTIONS),
    Life("defaults in files", (FILES_ONLY, *DEFAULTS), questions=DEFAULT_QUESTIONS),
    Life("defaults in the catalog", (INLINE_ALL, *DEFAULTS), questions=DEFAULT_QUESTIONS),
    Life(
        "columns with the names of hidden ones",
        (FILES_ONLY, *SHADOWS),
        questions=(
            ("a", "rowid > 110"),
            ("b", "snapshot_id = 's3' OR filename = 'g'"),
            ("b", "file_row_number = 21"),
            ("c", "pos < 5 AND c1 = 8"),
            ("e", "`c.d` = 4"),
            ("e", '`select` < 3 AND `t` > 0 AND `q"r` = 1'),
            ("e", "`sp ace`.`in.ner` = 7"),
            ("e", "`x``y` = 9 OR `_metadata` = 10 OR data = 11"),
        ),
    ),
)
