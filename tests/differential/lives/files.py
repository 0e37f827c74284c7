"""Lives of files: merged, rewritten, expired, split into partitions, encrypted, or brought from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.differential.lives.life import FILES_ONLY, Life, Step, statements

MERGED = statements("""
CREATE TABLE t (i INTEGER, s VARCHAR)
INSERT INTO t SELECT i, 'a' FROM range(10) r(i)
INSERT INTO t SELECT i, 'b' FROM range(10, 20) r(i)
INSERT INTO t SELECT i, 'c' FROM range(20, 30) r(i)
CALL ducklake_merge_adjacent_files('$lake')
DELETE FROM t WHERE i IN (3, 13, 23)
INSERT INTO t SELECT i, 'd' FROM range(30, 40) r(i)
INSERT INTO t SELECT i, 'e' FROM range(40, 50) r(i)
UPDATE t SET s = 'u' WHERE i IN (5, 35)
CALL ducklake_merge_adjacent_files('$lake')
DELETE FROM t WHERE i = 24
ALTER TABLE t ADD COLUMN n INTEGER DEFAULT 1
INSERT INTO t SELECT i, 'f', i FROM range(50, 60) r(i)
INSERT INTO t SELECT i, 'g', i FROM range(60, 70) r(i)
CALL ducklake_merge_adjacent_files('$lake')
CALL ducklake_rewrite_data_files('$lake', delete_threshold => 0)
DELETE FROM t WHERE i = 55
UPDATE t SET n = -1 WHERE i = 56
CALL ducklake_merge_adjacent_files('$lake')
""")

REWRITTEN = statements("""
CREATE TABLE t (i INTEGER, s VARCHAR)
INSERT INTO t SELECT i, CASE WHEN i % 4 > 0 THEN 's' || i END FROM range(40) r(i)
INSERT INTO t SELECT i, 's' || i FROM range(40, 80) r(i)
DELETE FROM t WHERE i < 30
DELETE FROM t WHERE i IN (50, 51)
CALL ducklake_rewrite_data_files('$lake', 't', delete_threshold => 0.5)
DELETE FROM t WHERE i IN (31, 52)
UPDATE t SET s = 'u' WHERE i = 32
CALL ducklake_rewrite_data_files('$lake', 't', delete_threshold => 0)
DELETE FROM t
CALL ducklake_rewrite_data_files('$lake', 't', delete_threshold => 0)
INSERT INTO t VALUES (100, 'end')
""")

EXPIRED = statements("""
CREATE TABLE t (i INTEGER, s VARCHAR)
CREATE TABLE gone (i INTEGER)
INSERT INTO t SELECT i, 'a' FROM range(20) r(i)
INSERT INTO gone SELECT i FROM range(20) r(i)
DELETE FROM t WHERE i < 5
INSERT INTO t SELECT i, 'b' FROM range(20, 40) r(i)
DROP TABLE gone
DELETE FROM t WHERE i < 12
UPDATE t SET s = 'c' WHERE i BETWEEN 15 AND 25
CALL ducklake_expire_snapshots('$lake', versions => [1, 2, 3, 4, 6])
CALL ducklake_cleanup_old_files('$lake', cleanup_all => true)
INSERT INTO t VALUES (41, 'd'), (42, 'e')
ALTER TABLE t ADD COLUMN n INTEGER DEFAULT 2
CALL ducklake_flush_inlined_data('$lake')
CALL ducklake_merge_adjacent_files('$lake')
CALL ducklake_expire_snapshots('$lake', versions => [5, 7])
CALL ducklake_cleanup_old_files('$lake', cleanup_all => true)
INSERT INTO t VALUES (43, 'f', 3)
CHECKPOINT $lake
DELETE FROM t WHERE i = 43
""")

ROW_GROUPS = statements("""
CALL $lake.set_option('data_inlining_row_limit', 0)
CALL $lake.set_option('parquet_row_group_size', 2048)
CREATE TABLE t (i INTEGER, k BIGINT, s VARCHAR)
INSERT INTO t SELECT i, hash(i) % 1000, 's' || (i % 97) FROM range(20000) r(i)
DELETE FROM t WHERE i % 401 = 0
DELETE FROM t WHERE i BETWEEN 4000 AND 6200
UPDATE t SET s = NULL WHERE i BETWEEN 2040 AND 2060
""")

IDENTITY = statements("""
CREATE TABLE t (i INTEGER, p VARCHAR, q INTEGER)
INSERT INTO t SELECT i, 'before', i % 2 FROM range(12) r(i)
ALTER TABLE t SET PARTITIONED BY (p)
INSERT INTO t VALUES (20, 'a/b', 1), (21, 'x=y', 1), (22, 'sp ace', 2), (23, '%41', 2), (24, 'ü🦆', 3), (25, NULL,
  3), (26, '', 4),
  (27, '__HIVE_DEFAULT_PARTITION__', 4), (28, 'it''s', NULL), (29, '"q"', NULL), (30, 'a+b&c?d#e', 5), (31, '..', 5)
INSERT INTO t VALUES (40, 'a/b', 10), (41, NULL, 11)
ALTER TABLE t SET PARTITIONED BY (p, q)
INSERT INTO t SELECT i, CASE i % 3 WHEN 0 THEN 'a/b' WHEN 1 THEN 'new' END, i % 2 FROM range(50, 62) r(i)
DELETE FROM t WHERE p = 'x=y' OR i = 40
UPDATE t SET p = 'moved' WHERE q = 2
ALTER TABLE t RENAME COLUMN p TO part
INSERT INTO t VALUES (70, 'renamed', 1)
CALL ducklake_merge_adjacent_files('$lake')
ALTER TABLE t RESET PARTITIONED BY
INSERT INTO t VALUES (80, 'after', NULL)
""")
IDENTITY_QUESTIONS = tuple(
    ("t", where)
    for where in (
        "p = 'a/b'",
        "p IS NULL",
        "p = ''",
        "p = 'x=y' OR p = 'sp ace'",
        "p > 'n'",
        "p = 'ü🦆'",
        "q = 1",
        "q IS NULL",
        "p = 'a/b' AND q = 1",
        "part = '__HIVE_DEFAULT_PARTITION__'",
        "part IN ('moved', 'renamed', '%41')",
        "NOT (part = 'a/b')",
    )
)

TRANSFORMS = statements("""
CREATE TABLE t (i INTEGER, d DATE, ts TIMESTAMP, s VARCHAR, n BIGINT)
ALTER TABLE t SET PARTITIONED BY (year(d), month(d), day(ts), hour(ts))
INSERT INTO t SELECT i, DATE '2023-12-30' + i::INT, TIMESTAMP '2024-01-01 22:30:00' + to_hours(i::INT), 's' || i,
  i FROM range(6) r(i)
INSERT INTO t VALUES (10, NULL, NULL, NULL, NULL), (11, '0001-02-03', '1900-01-01 05:00:00', '', -1), (12,
  '9999-12-31', '2500-06-06 06:06:06', 'x', 9223372036854775807)
ALTER TABLE t SET PARTITIONED BY (bucket(4, s), bucket(3, n))
INSERT INTO t SELECT 20 + i, DATE '2024-05-05', TIMESTAMP '2024-05-05', 'k' || (i % 5), i % 4 FROM range(16) r(i)
ALTER TABLE t SET PARTITIONED BY (bucket(8, s))
INSERT INTO t SELECT 40 + i, DATE '2024-05-05', TIMESTAMP '2024-05-05', 'k' || (i % 5), i % 4 FROM range(16) r(i)
INSERT INTO t VALUES (60, '2024-05-05', NULL, NULL, 3)
DELETE FROM t WHERE i IN (20, 41)
UPDATE t SET s = 'k9' WHERE i = 42
ALTER TABLE t SET PARTITIONED BY (year(ts), bucket(2, d))
INSERT INTO t SELECT 70 + i, DATE '2020-01-01' + (i * 100)::INT, TIMESTAMP '2020-01-01' + to_days((i * 100)::INT),
  'k1', 1 FROM range(6) r(i)
CALL ducklake_merge_adjacent_files('$lake')
""")
TRANSFORM_QUESTIONS = tuple(
    ("t", where)
    for where in (
        "s = 'k1'",
        "s IN ('k1', 'k4', 's3')",
        "n = 3",
        "n = 3 AND s = 'k3'",
        "s IS NULL",
        "s <> 'k1'",
        "d = DATE '2024-01-01'",
        "d >= DATE '2024-01-01' AND d < DATE '2024-06-01'",
        "ts < TIMESTAMP '2024-01-02 00:00:00'",
        "ts = TIMESTAMP '2024-01-02 00:30:00'",
        "year(d) = 2024",
        "d IS NULL OR ts IS NULL",
        "d > DATE '2020-03-01' AND s = 'k1'",
    )
)

ENCRYPTED = statements("""
CREATE TABLE t (i INTEGER, s VARCHAR, l INTEGER[])
INSERT INTO t SELECT i, 's' || i, [i] FROM range(30) r(i)
DELETE FROM t WHERE i % 2 = 0
UPDATE t SET s = 'u' WHERE i IN (1, 3)
INSERT INTO t VALUES (100, 'inlined', [1, 2])
DELETE FROM t WHERE i IN (5, 100)
ALTER TABLE t SET PARTITIONED BY (s)
INSERT INTO t SELECT i, 'p' || (i % 2), NULL FROM range(40, 60) r(i)
CALL ducklake_flush_inlined_data('$lake')
CALL ducklake_merge_adjacent_files('$lake')
CALL ducklake_rewrite_data_files('$lake', delete_threshold => 0)
""")


def write_foreign(folder: Path) -> None:
    """Files with other names, other orders, other cases, columns too few and too many."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def put(name: str, **columns: pa.Array[Any]) -> None:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), target)

    person = pa.struct([("First", pa.string()), ("age", pa.int32())])
    people = pa.array([{"First": "Ann", "age": 1}, None, {"First": None, "age": 3}], person)
    put("same.parquet", i=pa.array([1, 2, 3], pa.int32()), s=pa.array(["a", None, "c"]), p=people)
    put("turned.parquet", P=people, S=pa.array(["x", "y", "z"]), I=pa.array([4, 5, 6], pa.int32()))
    put("narrow.parquet", i=pa.array([7, 8, None], pa.int16()), s=pa.array(["n", "m", "o"]), p=people)
    put("missing.parquet", i=pa.array([9, 10], pa.int32()))
    put("extra.parquet", i=pa.array([11], pa.int32()), s=pa.array(["e"]), extra=pa.array([1.5]), p=people.slice(0, 1))
    for year, country in (("2023", "DE"), ("2024", "F%20R"), ("2024", "__HIVE_DEFAULT_PARTITION__")):
        put(f"hive/year={year}/country={country}/part.parquet", v=pa.array([int(year), 1], pa.int64()))
    lists = pa.array([[1, 2], [], None, [None]], pa.list_(pa.int32()))
    maps = pa.array([[("k", 1)], [], None, [("n", None)]], pa.map_(pa.string(), pa.int32()))
    structs = pa.array(
        [[{"a": 1, "b": "x"}], [None], None, []], pa.list_(pa.struct([("a", pa.int32()), ("b", pa.string())]))
    )
    put("nested.parquet", m=maps, ls=structs, l=lists, n=pa.array([1, 2, 3, 4], pa.int32()))


FOREIGN: tuple[Step, ...] = (
    write_foreign,
    *statements("""
CREATE TABLE t (i INTEGER, s VARCHAR DEFAULT 'dflt', p STRUCT("first" VARCHAR, age INTEGER))
INSERT INTO t VALUES (0, 'own', {'first': 'Zed', 'age': 9})
CALL ducklake_add_data_files('$lake', 't', '$files/same.parquet')
CALL ducklake_add_data_files('$lake', 't', '$files/turned.parquet')
CALL ducklake_add_data_files('$lake', 't', '$files/narrow.parquet')
CALL ducklake_add_data_files('$lake', 't', '$files/missing.parquet', allow_missing => true)
CALL ducklake_add_data_files('$lake', 't', '$files/extra.parquet', ignore_extra_columns => true)
DELETE FROM t WHERE i IN (2, 5)
UPDATE t SET s = 'upd' WHERE i = 7
ALTER TABLE t RENAME COLUMN s TO label
ALTER TABLE t RENAME p.age TO years
ALTER TABLE t ADD COLUMN p.more INTEGER DEFAULT 4
ALTER TABLE t ADD COLUMN s INTEGER DEFAULT 11
ALTER TABLE t ALTER i SET DATA TYPE BIGINT
INSERT INTO t SELECT i, 'l', NULL, 1 FROM range(20, 40) r(i)
CREATE TABLE h (v BIGINT, year INTEGER, country VARCHAR)
CALL ducklake_add_data_files('$lake', 'h', '$files/hive/**/*.parquet', hive_partitioning => true)
DELETE FROM h WHERE v = 2023
ALTER TABLE h RENAME COLUMN country TO land
INSERT INTO h VALUES (5, 2025, 'own')
CREATE TABLE n (n INTEGER, l INTEGER[], m MAP(VARCHAR, INTEGER), ls STRUCT(a INTEGER, b VARCHAR)[])
CALL ducklake_add_data_files('$lake', 'n', '$files/nested.parquet')
ALTER TABLE n RENAME ls.element.a TO alpha
ALTER TABLE n ADD COLUMN ls.element.a INTEGER
INSERT INTO n VALUES (5, [5], MAP {'z': 5}, [{alpha: 1, b: 'bb', a: 2}])
DELETE FROM n WHERE n = 2
CALL ducklake_merge_adjacent_files('$lake')
"""),
)

LIVES = (
    Life(
        "merged files",
        (FILES_ONLY, *MERGED),
        questions=(("t", "i < 25"), ("t", "s = 'u'"), ("t", "n = 1"), ("t", "s = 'c' AND i > 22")),
    ),
    Life("merged files and rows in the catalog", MERGED, questions=(("t", "i < 25"), ("t", "n = 1"))),
    Life(
        "rewritten files", (FILES_ONLY, *REWRITTEN), questions=(("t", "i < 10"), ("t", "s IS NULL"), ("t", "i >= 50"))
    ),
    Life("rewritten files with deletes in the catalog", REWRITTEN, questions=(("t", "i < 10"), ("t", "s IS NULL"))),
    Life("expired snapshots", EXPIRED, questions=(("t", "i < 22"), ("t", "s = 'c'"))),
    Life(
        "many row groups",
        ROW_GROUPS,
        questions=(("t", "i BETWEEN 2045 AND 2050"), ("t", "s IS NULL"), ("t", "i > 19990"), ("t", "k = 7")),
    ),
    Life("partitions by value", (FILES_ONLY, *IDENTITY), questions=IDENTITY_QUESTIONS),
    Life("partitions by value, some rows in the catalog", IDENTITY, questions=IDENTITY_QUESTIONS),
    Life("partitions by transform", (FILES_ONLY, *TRANSFORMS), questions=TRANSFORM_QUESTIONS),
    Life("encrypted", ENCRYPTED, options="ENCRYPTED", questions=(("t", "i < 10"), ("t", "s = 'p1'"))),
    Life(
        "files from elsewhere",
        FOREIGN,
        questions=(
            ("t", "i > 5"),
            ("t", "label = 'dflt'"),
            ("t", "p.first = 'Ann'"),
            ("t", "s = 11"),
            ("h", "year = 2024"),
            ("h", "land IS NULL"),
            ("h", "country = 'F R'"),
            ("n", "n > 1"),
        ),
    ),
)
