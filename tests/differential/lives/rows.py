"""Lives of rows: deleted in every way, updated, merged, kept in the catalog and flushed out of it."""

from __future__ import annotations

from tests.differential.lives.life import FILES_ONLY, INLINE_ALL, Life, statements

DELETES = statements("""
CREATE TABLE t (i INTEGER, s VARCHAR)
INSERT INTO t SELECT i, 's' || i FROM range(100) r(i)
INSERT INTO t SELECT i, 's' || i FROM range(100, 150) r(i)
INSERT INTO t SELECT i, NULL FROM range(150, 170) r(i)
DELETE FROM t WHERE i % 10 = 0
DELETE FROM t WHERE i % 10 = 1
DELETE FROM t WHERE i BETWEEN 100 AND 149
DELETE FROM t WHERE i = 99
INSERT INTO t SELECT i, 'again' FROM range(100, 110) r(i)
DELETE FROM t WHERE i >= 105
BEGIN
DELETE FROM t WHERE i = 5
DELETE FROM t WHERE i = 6
INSERT INTO t VALUES (5, 'back')
COMMIT
DELETE FROM t WHERE i < 50
TRUNCATE t
INSERT INTO t SELECT i, 'new' FROM range(12) r(i)
DELETE FROM t WHERE i = 0
DELETE FROM t
INSERT INTO t VALUES (1, 'last')
""")
DELETE_QUESTIONS = (
    ("t", "i < 20"),
    ("t", "s IS NULL"),
    ("t", "s = 'back'"),
    ("t", "i = 5 OR i = 105"),
    ("t", "i IN (1, 2, 99, 150)"),
)

ON_VECTORS = "CALL $lake.set_option('write_deletion_vectors', true)"
OFF_VECTORS = "CALL $lake.set_option('write_deletion_vectors', false)"

MIXED = statements("""
CREATE TABLE t (i INTEGER, p INTEGER, s VARCHAR)
CALL $lake.set_option('data_inlining_row_limit', 0)
INSERT INTO t SELECT i, i % 3, 's' || i FROM range(60) r(i)
DELETE FROM t WHERE i % 7 = 0
CALL $lake.set_option('data_inlining_row_limit', 10)
DELETE FROM t WHERE i IN (1, 2, 3)
CALL $lake.set_option('data_inlining_row_limit', 0)
DELETE FROM t WHERE i IN (4, 5)
CALL $lake.set_option('write_deletion_vectors', true)
DELETE FROM t WHERE i IN (8, 9)
INSERT INTO t SELECT i, i % 3, 'v' || i FROM range(60, 90) r(i)
DELETE FROM t WHERE i % 11 = 0
CALL $lake.set_option('data_inlining_row_limit', 10)
DELETE FROM t WHERE i IN (61, 62)
INSERT INTO t VALUES (200, 1, 'inlined'), (201, 2, 'inlined')
DELETE FROM t WHERE i IN (63, 200)
CALL ducklake_flush_inlined_data('$lake')
DELETE FROM t WHERE i = 201
CALL $lake.set_option('write_deletion_vectors', false)
CALL ducklake_flush_inlined_data('$lake')
UPDATE t SET s = 'u' WHERE i BETWEEN 30 AND 65
DELETE FROM t WHERE s = 'u' AND i < 35
""")

UPDATES = statements("""
CREATE TABLE t (k INTEGER, v VARCHAR, n INTEGER)
INSERT INTO t SELECT i, 'v' || i, 0 FROM range(30) r(i)
UPDATE t SET v = 'once' WHERE k % 3 = 0
UPDATE t SET n = n + 1 WHERE k % 2 = 0
UPDATE t SET n = n + 1
DELETE FROM t WHERE k IN (6, 7)
MERGE INTO t USING (SELECT i AS k, 'm' || i AS v FROM range(25, 35) r(i)) s ON t.k = s.k
  WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (k, v, n) VALUES (s.k, s.v, -1)
MERGE INTO t USING (SELECT i AS k FROM range(0, 4) r(i)) s ON t.k = s.k WHEN MATCHED THEN DELETE
MERGE INTO t USING (SELECT 100 AS k) s ON t.k = s.k WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, 'solo')
BEGIN
UPDATE t SET v = 'tx' WHERE k = 10
UPDATE t SET v = v || '2' WHERE k IN (10, 11)
DELETE FROM t WHERE k = 11
COMMIT
UPDATE t SET k = k + 1000 WHERE k > 20
ALTER TABLE t ADD COLUMN w INTEGER DEFAULT 3
UPDATE t SET w = 4 WHERE k < 10
UPDATE t SET v = NULL WHERE k = 1022
""")
UPDATE_QUESTIONS = (
    ("t", "v = 'once'"),
    ("t", "n = 1"),
    ("t", "k > 1000"),
    ("t", "v IS NULL OR v LIKE 'm%'"),
    ("t", "w = 3 AND n > 0"),
)

INLINED = statements("""
CREATE TABLE t (i INTEGER, v VARCHAR, d DATE)
INSERT INTO t VALUES (1, 'a', '2024-01-01'), (2, 'b', NULL), (3, NULL, '2024-01-03')
UPDATE t SET v = 'A' WHERE i = 1
DELETE FROM t WHERE i = 2
INSERT INTO t VALUES (4, 'd', '2024-01-04')
ALTER TABLE t ADD COLUMN n INTEGER DEFAULT 7
INSERT INTO t VALUES (5, 'e', '2024-01-05', 50)
UPDATE t SET n = 8 WHERE i <= 3
ALTER TABLE t RENAME COLUMN v TO w
ALTER TABLE t DROP COLUMN d
INSERT INTO t VALUES (6, 'f', 60)
DELETE FROM t WHERE i = 5
ALTER TABLE t ALTER n SET DATA TYPE BIGINT
INSERT INTO t VALUES (7, 'g', 5000000000)
UPDATE t SET w = w || '!' WHERE i IN (1, 7)
CALL ducklake_flush_inlined_data('$lake')
INSERT INTO t VALUES (8, 'h', 80)
DELETE FROM t WHERE i IN (1, 8)
UPDATE t SET n = 0 WHERE i = 4
INSERT INTO t SELECT i, 'bulk', i FROM range(100, 130) r(i)
DELETE FROM t WHERE i IN (101, 102)
CALL ducklake_flush_inlined_data('$lake')
BEGIN
INSERT INTO t VALUES (9, 'tx', 90)
UPDATE t SET w = 'tx2' WHERE i = 9
DELETE FROM t WHERE i = 103
COMMIT
TRUNCATE t
INSERT INTO t VALUES (10, 'end', 100)
""")
INLINED_QUESTIONS = (
    ("t", "i < 5"),
    ("t", "n = 7"),
    ("t", "n > 4000000000"),
    ("t", "w = 'bulk' AND i > 120"),
    ("t", "v IS NULL"),
)

SORTED_FLUSH = statements("""
CREATE TABLE t (i INTEGER, g VARCHAR, ts TIMESTAMP)
ALTER TABLE t SET PARTITIONED BY (g)
ALTER TABLE t SET SORTED BY (ts DESC NULLS LAST, i)
INSERT INTO t VALUES (1, 'x', '2024-01-03'), (2, 'y', '2024-01-01'), (3, 'x', NULL)
INSERT INTO t VALUES (4, NULL, '2024-01-02'), (5, 'x', '2024-01-09')
UPDATE t SET ts = '2024-02-01' WHERE i = 3
DELETE FROM t WHERE i = 2
CALL ducklake_flush_inlined_data('$lake')
INSERT INTO t SELECT i, CASE i % 3 WHEN 0 THEN 'x' WHEN 1 THEN 'y' END, TIMESTAMP '2024-03-01' - to_hours(i::INT)
  FROM range(10, 40) r(i)
DELETE FROM t WHERE i IN (12, 13, 5)
UPDATE t SET g = 'z' WHERE i IN (1, 14, 15)
CALL ducklake_flush_inlined_data('$lake')
CALL ducklake_merge_adjacent_files('$lake')
ALTER TABLE t RESET SORTED BY
INSERT INTO t VALUES (50, 'y', NULL)
""")

LIVES = (
    Life("deletes by position files", (FILES_ONLY, *DELETES), questions=DELETE_QUESTIONS),
    Life("deletes by deletion vectors", (FILES_ONLY, ON_VECTORS, *DELETES), questions=DELETE_QUESTIONS),
    Life("deletes kept in the catalog", DELETES, questions=DELETE_QUESTIONS),
    Life(
        "deletes of every kind on one file",
        MIXED,
        questions=(("t", "i < 10"), ("t", "s = 'u'"), ("t", "p = 1 AND i > 60")),
    ),
    Life("updates and merges in files", (FILES_ONLY, *UPDATES), questions=UPDATE_QUESTIONS),
    Life("updates and merges in the catalog", (INLINE_ALL, *UPDATES), questions=UPDATE_QUESTIONS),
    Life("updates and merges in both", UPDATES, questions=UPDATE_QUESTIONS),
    Life("rows in the catalog through alters and flushes", INLINED, questions=INLINED_QUESTIONS),
    Life(
        "flushes into partitions in order",
        SORTED_FLUSH,
        questions=(("t", "g = 'x'"), ("t", "g IS NULL"), ("t", "ts >= TIMESTAMP '2024-02-01 00:00:00'")),
    ),
)
