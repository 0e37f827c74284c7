"""Both hands give the rows that DuckDB's own extension gives, whatever happened to the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.local.hands import FILES_ONLY, VECTORS, judge, make

ROWS = "SELECT i::BIGINT AS i, 's' || i AS s, i / 4.0 AS f FROM range({start}, {end}) r(i)"


def rows(start: int, end: int) -> str:
    return f"INSERT INTO t SELECT * FROM ({ROWS.format(start=start, end=end)})"


TABLE = "CREATE TABLE t (i BIGINT, s VARCHAR, f DOUBLE)"
PLAIN = (FILES_ONLY, TABLE, rows(0, 3000), rows(3000, 3100))

# Every one of these Polars must be able to read at every snapshot.
FOR_BOTH = {
    "files as they were written": PLAIN,
    "renames, new columns with and without defaults, dropped columns, a name used again": (
        *PLAIN,
        "ALTER TABLE t RENAME COLUMN s TO text",
        "ALTER TABLE t ADD COLUMN n INTEGER",
        "ALTER TABLE t ADD COLUMN d DECIMAL(9,2) DEFAULT 1.25",
        "ALTER TABLE t ADD COLUMN y STRUCT(a INTEGER, b VARCHAR[])",
        "ALTER TABLE t ADD COLUMN iv INTERVAL DEFAULT '3 days'",
        "ALTER TABLE t ADD COLUMN v VARIANT",
        "ALTER TABLE t ADD COLUMN m MAP(VARCHAR, UUID)",
        "ALTER TABLE t ADD COLUMN g GEOMETRY[]",
        "ALTER TABLE t DROP COLUMN f",
        "ALTER TABLE t ADD COLUMN f VARCHAR DEFAULT 'it''s'",
        "DELETE FROM t WHERE i % 50 = 0",
    ),
    "deletes by position files, once and again": (
        *PLAIN,
        "DELETE FROM t WHERE i % 3 = 0",
        "DELETE FROM t WHERE i % 5 = 0",
        "DELETE FROM t WHERE i BETWEEN 100 AND 2500",
    ),
    "deletes by deletion vectors": (VECTORS, *PLAIN, "DELETE FROM t WHERE i % 3 = 0", "DELETE FROM t WHERE i < 10"),
    "deletes kept in the catalog": (
        TABLE,
        rows(0, 3000),
        "DELETE FROM t WHERE i IN (0, 7, 2999)",
        "DELETE FROM t WHERE i IN (1, 2047, 2048)",
    ),
    "deletes of all rows of a file": (*PLAIN, "DELETE FROM t WHERE i >= 3000", "DELETE FROM t"),
    "updates, whose row ids are inside the files": (
        *PLAIN,
        "UPDATE t SET s = 'u' WHERE i % 100 = 0",
        "UPDATE t SET s = 'v' WHERE i % 200 = 0",
        "DELETE FROM t WHERE i % 300 = 0",
    ),
    "merged files with rows of several snapshots": (
        *PLAIN,
        rows(4000, 4100),
        "CALL ducklake_merge_adjacent_files('$lake')",
        "DELETE FROM t WHERE i % 7 = 0",
        rows(5000, 5010),
        "UPDATE t SET s = 'u' WHERE i = 4001",
        "CALL ducklake_merge_adjacent_files('$lake')",
        "CALL ducklake_rewrite_data_files('$lake', 't', delete_threshold => 0)",
    ),
    "rows in the catalog, beside files and flushed": (
        TABLE,
        rows(0, 5),
        rows(5, 500),
        "UPDATE t SET s = 'u' WHERE i IN (3, 4)",
        "DELETE FROM t WHERE i = 2",
        rows(500, 503),
        "CALL ducklake_flush_inlined_data('$lake')",
        "ALTER TABLE t ADD COLUMN n INTEGER DEFAULT 5",
        "INSERT INTO t VALUES (900, NULL, 'nan', 1), (901, '', '-inf', NULL)",
        "DELETE FROM t WHERE i IN (1, 501)",
    ),
    "columns with the names of what files and queries have themselves": (
        FILES_ONLY,
        """CREATE TABLE t (rowid BIGINT, snapshot_id VARCHAR, filename VARCHAR, file_row_number VARCHAR,
        file_index INTEGER, _quacklake_row_id INTEGER, _f INTEGER, "Sp ace ""q"" x" INTEGER)""",
        "INSERT INTO t SELECT i, 's', 'f', 'r' || i, 7, 8, 9, 10 FROM range(100) r(i)",
        "DELETE FROM t WHERE rowid % 9 = 0",
    ),
    "an empty table and an empty file": (FILES_ONLY, TABLE, "ALTER TABLE t ADD COLUMN x BLOB"),
    "nested columns that never changed": (
        FILES_ONLY,
        "CREATE TABLE t (i INTEGER, l INTEGER[], s STRUCT(a INTEGER, b VARCHAR[]), ls STRUCT(x DOUBLE)[])",
        """INSERT INTO t SELECT i, CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN [] WHEN 2 THEN [NULL, i] ELSE [i, 1, 2] END,
        CASE i % 3 WHEN 0 THEN NULL WHEN 1 THEN {'a': NULL, 'b': ['x', NULL]} ELSE {'a': i, 'b': NULL} END,
        CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN [NULL] ELSE [{'x': NULL}, {'x': i / 2}, NULL] END
        FROM range(4000) r(i)""",
        "DELETE FROM t WHERE i % 6 = 0",
    ),
    "types that Polars holds exactly": (
        FILES_ONLY,
        """CREATE TABLE t (b BOOLEAN, i1 TINYINT, i2 SMALLINT, i4 INTEGER, i8 BIGINT, u1 UTINYINT, u2 USMALLINT,
        u4 UINTEGER, u8 UBIGINT, f4 FLOAT, f8 DOUBLE, d4 DECIMAL(4,1), d9 DECIMAL(9,2), d18 DECIMAL(18,3),
        d38 DECIMAL(38,10), s VARCHAR, x BLOB, j JSON, d DATE, ts TIMESTAMP, tms TIMESTAMP_MS, tns TIMESTAMP_NS,
        tstz TIMESTAMPTZ)""",
        """INSERT INTO t VALUES (true, -128, -32768, -2147483648, -9223372036854775808, 255, 65535, 4294967295,
        18446744073709551615, 'nan', '-inf', -999.9, -9999999.99, -999999999999999.999,
        -9999999999999999999999999999.9999999999, 'zażółć 🦆', '\\x00\\xFF', '{"a": [1, null]}', '-infinity',
        'infinity', '-infinity', 'infinity', 'infinity')""",
        """INSERT INTO t VALUES (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)""",
        """INSERT INTO t VALUES (false, 127, 32767, 2147483647, 9223372036854775807, 0, 0, 0, 0, '-0.0', 5e-324, 0.1,
        0.01, 0.001, 0.0000000001, '', '', 'null', '4713-01-01 (BC)', '0001-01-01 00:00:00.000001',
        '9999-12-31 23:59:59.999', '1677-09-22 00:00:00.000000001', '294247-01-10 04:00:54.775806+00')""",
    ),
}


@pytest.mark.parametrize("name", FOR_BOTH)
def test_both_hands_read_what_duckdb_reads(name: str, tmp_path: Path) -> None:
    verdict = judge(make(tmp_path, FOR_BOTH[name]))
    assert verdict.faults == []
    assert verdict.read_by_polars == verdict.seen > 0


# Here and there these need DuckDB; where they do not, Polars must agree.
FOR_DUCKDB = {
    "types that Polars does not hold": (
        FILES_ONLY,
        """CREATE TABLE t (h HUGEINT, u UHUGEINT, t TIME, ttz TIMETZ, tss TIMESTAMP_S, iv INTERVAL, id UUID,
        m MAP(VARCHAR, INTEGER), lm MAP(INTEGER, UUID[])[])""",
        """INSERT INTO t VALUES (1267650600228229401496703205376, 1267650600228229401496703205376, '23:59:59.999999',
        '12:34:56.7+05:30', '0001-01-01 00:00:00', '1 month 3 days 04:05:06.789',
        'ffffffff-ffff-4fff-bfff-ffffffffffff', MAP {'k': 1, 'n': NULL}, [NULL, MAP {1: [NULL]}, MAP {}])""",
        "INSERT INTO t VALUES (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
        "INSERT INTO t VALUES (-5, 0, '00:00:00', '00:00:00-15:59', '9999-12-31 23:59:59', '0 days', NULL, MAP {}, [])",
    ),
    "structs that grow, shrink and change names": (
        FILES_ONLY,
        "CREATE TABLE t (i INTEGER, s STRUCT(a INTEGER, b VARCHAR, c STRUCT(x INTEGER)))",
        "INSERT INTO t VALUES (1, {'a': 1, 'b': 'x', 'c': {'x': 1}}), (2, NULL)",
        "INSERT INTO t VALUES (3, {'a': NULL, 'b': NULL, 'c': NULL})",
        "ALTER TABLE t ADD COLUMN s.d INTEGER DEFAULT 9",
        "INSERT INTO t VALUES (4, {'a': 4, 'b': 'y', 'c': {'x': 4}, 'd': 4}), (5, NULL)",
        "ALTER TABLE t DROP COLUMN s.b",
        "ALTER TABLE t RENAME COLUMN s.a TO z",
        "ALTER TABLE t ADD COLUMN s.c.y VARCHAR",
        "ALTER TABLE t ADD COLUMN s.b INTEGER",
        "INSERT INTO t VALUES (6, {'z': 6, 'c': {'x': 6, 'y': 'y6'}, 'd': 6, 'b': 60})",
        "DELETE FROM t WHERE i IN (1, 4)",
    ),
    "structs inside lists and maps that change": (
        FILES_ONLY,
        "CREATE TABLE t (i INTEGER, l STRUCT(a INTEGER)[], m MAP(INTEGER, STRUCT(a INTEGER)))",
        "INSERT INTO t VALUES (1, [{'a': 1}, NULL], MAP {1: {'a': 1}, 2: NULL}), (2, NULL, NULL), (3, [], MAP {})",
        "ALTER TABLE t ADD COLUMN l.element.b VARCHAR DEFAULT 'd'",
        "ALTER TABLE t ADD COLUMN m.value.b VARCHAR",
        "ALTER TABLE t RENAME COLUMN l.element.a TO c",
        "INSERT INTO t VALUES (4, [{'c': 4, 'b': 'x'}], MAP {4: {'a': 4, 'b': 'y'}})",
    ),
    "types that were promoted": (
        FILES_ONLY,
        "CREATE TABLE t (i TINYINT, u UTINYINT, f FLOAT, d DATE, ts TIMESTAMP, c DECIMAL(4,1), s STRUCT(a INTEGER))",
        "INSERT INTO t VALUES (-128, 255, 1.5, '2024-02-29', '2024-02-29 12:34:56.789', 99.9, {'a': 1}), "
        "(NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
        "ALTER TABLE t ALTER i SET DATA TYPE BIGINT",
        "ALTER TABLE t ALTER u SET DATA TYPE INTEGER",
        "ALTER TABLE t ALTER f SET DATA TYPE DOUBLE",
        "ALTER TABLE t ALTER d SET DATA TYPE TIMESTAMP",
        "ALTER TABLE t ALTER ts SET DATA TYPE TIMESTAMPTZ",
        "ALTER TABLE t ALTER c SET DATA TYPE DECIMAL(20,4)",
        "ALTER TABLE t ALTER s SET DATA TYPE STRUCT(a BIGINT, b VARCHAR)",
        "INSERT INTO t VALUES (9000000000, 70000, 1e300, '2024-01-01', '2024-01-01 00:00:00+00', 1234.5678, "
        "{'a': 9000000000, 'b': 'x'})",
    ),
    "files from elsewhere": (
        FILES_ONLY,
        "CREATE TABLE t (a BIGINT, b VARCHAR, s STRUCT(x INTEGER, y VARCHAR), l STRUCT(p INTEGER)[], "
        "day DATE, k INTEGER)",
        "COPY (SELECT 1::INTEGER A, 'x' b, {'x': 1, 'y': 'z'} s, [{'p': 5}, NULL] l) TO '$files/one.parquet'",
        "COPY (SELECT 2::BIGINT a, {'y': 'only'} s, []::STRUCT(p INTEGER)[] l, 1 extra) TO '$files/two.parquet'",
        "COPY (SELECT i::BIGINT a, 'p' b, DATE '2024-01-01' + (i % 3)::INTEGER AS day, (i % 2)::INTEGER k "
        "FROM range(20) r(i)) TO '$files/hive' (FORMAT parquet, PARTITION_BY (day, k))",
        "CALL ducklake_add_data_files('$lake', 't', '$files/one.parquet', allow_missing => true)",
        "CALL ducklake_add_data_files('$lake', 't', '$files/two.parquet', allow_missing => true, "
        "ignore_extra_columns => true)",
        "CALL ducklake_add_data_files('$lake', 't', '$files/hive/*/*/*.parquet', allow_missing => true, "
        "hive_partitioning => true)",
        "ALTER TABLE t RENAME COLUMN b TO renamed",
        "ALTER TABLE t ADD COLUMN n INTEGER DEFAULT 3",
        "ALTER TABLE t RENAME COLUMN s.y TO w",
        "DELETE FROM t WHERE a IN (1, 7, 8)",
    ),
    "variants, which are shredded when alike": (
        FILES_ONLY,
        "CREATE TABLE t (i INTEGER, v VARIANT)",
        "INSERT INTO t SELECT i, {'a': i, 'b': 'x' || i}::VARIANT FROM range(50) r(i)",
        "INSERT INTO t VALUES (100, 'text'::VARIANT), (101, NULL), (102, ['one', 'two', NULL]::VARIANT)",
        "INSERT INTO t VALUES (103, 1.5::VARIANT)",
        "DELETE FROM t WHERE i % 7 = 0",
    ),
    "geometries": (
        FILES_ONLY,
        "CREATE TABLE t (i INTEGER, g GEOMETRY, l GEOMETRY[])",
        "INSERT INTO t VALUES (1, 'POINT(0.1 2)', ['LINESTRING(0 0, 1 1)', NULL]), (2, NULL, NULL)",
        "ALTER TABLE t RENAME COLUMN g TO h",
    ),
}


@pytest.mark.parametrize("name", FOR_DUCKDB)
def test_duckdb_reads_what_polars_does_not(name: str, tmp_path: Path) -> None:
    verdict = judge(make(tmp_path, FOR_DUCKDB[name]))
    assert verdict.faults == []
    assert verdict.refused_by_polars


@pytest.mark.parametrize("inlining", [FILES_ONLY, "SELECT 1"], ids=["files", "catalog"])
def test_encrypted_lakes_are_read(inlining: str, tmp_path: Path) -> None:
    steps = (inlining, *PLAIN[1:], "DELETE FROM t WHERE i % 3 = 0", "DELETE FROM t WHERE i < 9", rows(4000, 4003))
    verdict = judge(make(tmp_path, steps, "ENCRYPTED"))
    assert verdict.faults == []
    assert any("encrypted" in reason for reason in verdict.refused_by_polars)


def test_partitions_with_odd_values_are_read(tmp_path: Path) -> None:
    steps = (
        FILES_ONLY,
        "CREATE TABLE t (i INTEGER, p VARCHAR)",
        "ALTER TABLE t SET PARTITIONED BY (p)",
        "INSERT INTO t VALUES (1, 'a/b'), (2, 'x=y'), (3, '%41'), (4, NULL), (5, ''), (6, '*?[a]'), (7, 'it''s')",
    )
    verdict = judge(make(tmp_path, steps))
    assert verdict.faults == []
    assert verdict.read_by_polars == verdict.seen
