"""What DuckDB wrote, in every shape that a table can take, comes out of Spark as DuckDB reads it."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import quacklake as ql
from quacklake.engine.spark import frames
from tests.engine.spark.conftest import MakeLake

pytestmark = pytest.mark.spark

TYPES = """
    b BOOLEAN, i8 TINYINT, i16 SMALLINT, i32 INTEGER, i64 BIGINT, i128 HUGEINT,
    u8 UTINYINT, u16 USMALLINT, u32 UINTEGER, u64 UBIGINT, u128 UHUGEINT, f FLOAT, d DOUBLE,
    d4 DECIMAL(4,1), d18 DECIMAL(18,6), d38 DECIMAL(38,10), dt DATE, t TIME, tz TIMETZ,
    ts TIMESTAMP, ts_s TIMESTAMP_S, ts_ms TIMESTAMP_MS, ts_ns TIMESTAMP_NS, tstz TIMESTAMPTZ,
    iv INTERVAL, s VARCHAR, x BLOB, u UUID, j JSON
"""
LOW = """(false, -128, -32768, -2147483648, -9223372036854775808, -1267650600228229401496703205376,
    0, 0, 0, 0, 0, '-inf', '-inf', -999.9, -999999999999.999999, -9999999999999999999999999999.9999999999,
    '0001-01-01', '00:00:00', '00:00:00+00', '0001-01-01 00:00:00', '1500-01-01 00:00:00', '1500-01-01 00:00:00.001',
    '1677-09-22 00:00:00.000000001', '1500-01-01 00:00:00.000001+00',
    INTERVAL '0 days',
    '', '', '00000000-0000-0000-0000-000000000000', '{"a": [1, null]}')"""
HIGH = """(true, 127, 32767, 2147483647, 9223372036854775807, 1267650600228229401496703205376,
    255, 65535, 4294967295, 18446744073709551615, 1267650600228229401496703205376, 'nan', 'nan', 999.9,
    999999999999.999999, 9999999999999999999999999999.9999999999, '9999-12-31', '23:59:59.999999', '12:00:00.5+02',
    '9999-12-31 23:59:59.999999', '2262-04-11 23:47:16', '2262-04-11 23:47:16.999', '2262-04-11 23:47:16.854775806',
    '9999-12-31 23:59:59.999999+00', INTERVAL '100 years 11 months 30 days 23:59:59.999999',
    'it''s ü € \U0001f986 \\ "x"', '\\x00\\xFF', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 'null')"""
PLAIN = """(true, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1.5, 0.1, 1.5, 1.5, 1.5, '1969-12-31', '10:11:12.120000', '10:11:12+00',
    '1969-12-31 23:59:59.5', '1969-12-31 23:59:59', '1969-12-31 23:59:59.5', '1969-12-31 23:59:59.9',
    '1969-12-31 23:59:59.5+00', INTERVAL '1 day', 'a', 'ab', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '1')"""
NULLS = f"({', '.join(['NULL'] * 29)})"


@pytest.mark.parametrize("inline", [0, 100], ids=["in a file", "in the catalog"])
def test_every_type_comes_out_with_its_value(make_lake: MakeLake, inline: int) -> None:
    lake = make_lake(
        f"CREATE TABLE v ({TYPES})", f"INSERT INTO v VALUES {LOW}, {HIGH}, {PLAIN}, {NULLS}", inline=inline, probes=60
    )
    assert lake.faults() == []


def test_infinity_of_dates_and_timestamps_is_kept(make_lake: MakeLake) -> None:
    lake = make_lake(
        "CREATE TABLE v (dt DATE, ts TIMESTAMP, ns TIMESTAMP_NS, tz TIMESTAMPTZ)",
        "INSERT INTO v VALUES ('infinity', 'infinity', 'infinity', 'infinity'), "
        "('-infinity', '-infinity', '-infinity', '-infinity')",
    )
    assert lake.faults() == []


def test_variants_and_geometries_are_texts_of_duckdb(make_lake: MakeLake) -> None:
    lake = make_lake(
        "CREATE TABLE v (n INTEGER, w VARIANT, g GEOMETRY, gs GEOMETRY[])",
        "INSERT INTO v VALUES (1, {'a': [1, 'x'::VARIANT], 'b': DATE '2024-01-01'}, 'POINT (0.1 -2)', "
        "['LINESTRING (0 0, 1 1)', NULL]), (2, 42::VARIANT, NULL, []), (3, NULL, 'POINT EMPTY', NULL)",
    )
    assert lake.faults() == []
    frame = lake.session.table("v").to_spark(where="w IS NOT NULL")
    assert dict(frame.dtypes) == {"n": "int", "w": "string", "g": "string", "gs": "array<string>"}
    assert frame.count() == 2


def test_a_number_of_39_digits_is_refused(make_lake: MakeLake) -> None:
    lake = make_lake(
        "CREATE TABLE v (h UHUGEINT)", "INSERT INTO v VALUES (200000000000000000000000000000000000000)", inline=10
    )
    with pytest.raises(ql.StorageError, match="DECIMAL"):
        lake.session.table("v").to_spark()


def test_columns_that_swapped_their_names_keep_their_values_under_filters(make_lake: MakeLake) -> None:
    lake = make_lake(
        "CREATE TABLE t (a INTEGER, b INTEGER, s STRUCT(x INTEGER, y INTEGER))",
        "INSERT INTO t SELECT i, 1000 + i, {'x': i, 'y': 1000 + i} FROM range(500) r(i)",
        "ALTER TABLE t RENAME COLUMN a TO c",
        "ALTER TABLE t RENAME COLUMN b TO a",
        "ALTER TABLE t RENAME COLUMN c TO b",
        "ALTER TABLE t RENAME COLUMN s.x TO z",
        "ALTER TABLE t RENAME COLUMN s.y TO x",
        "ALTER TABLE t RENAME COLUMN s.z TO y",
        "INSERT INTO t SELECT i, 2000 + i, {'y': 2000 + i, 'x': i} FROM range(500) r(i)",
        questions=[("t", "a = 1007"), ("t", "a < 10"), ("t", "b >= 2490"), ("t", "s.x = 1007"), ("t", "s.y > 2490")],
    )
    assert lake.faults() == []


def test_nested_fields_come_and_go_and_change_their_names(make_lake: MakeLake) -> None:
    lake = make_lake(
        "CREATE TABLE n (s STRUCT(a INTEGER, b STRUCT(c FLOAT, d VARCHAR)), l STRUCT(k INTEGER, v UUID)[], "
        "m MAP(VARCHAR, STRUCT(p DECIMAL(4,1), q TIME)), k MAP(UUID, INTEGER[]))",
        "INSERT INTO n VALUES ({'a': 1, 'b': {'c': 'nan', 'd': 'x'}}, "
        "[{'k': 1, 'v': 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'}, NULL], MAP {'u': {'p': 1.5, 'q': '10:00:00'}}, "
        "MAP {'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11': [1, NULL]}), (NULL, NULL, NULL, NULL), "
        "({'a': NULL, 'b': NULL}, [], MAP {}, MAP {}), "
        "({'a': 2, 'b': {'c': NULL, 'd': NULL}}, [NULL], MAP {'w': NULL}, NULL)",
        "ALTER TABLE n ADD COLUMN s.e BIGINT DEFAULT 7",
        "ALTER TABLE n ADD COLUMN s.b.f INTEGER[]",
        'ALTER TABLE n RENAME COLUMN s.b.d TO "d d"',
        "ALTER TABLE n ADD COLUMN l.element.w VARCHAR",
        "ALTER TABLE n RENAME COLUMN l.element.k TO kk",
        "ALTER TABLE n ADD COLUMN m.value.r DOUBLE",
        "ALTER TABLE n DROP COLUMN m.value.p",
        "INSERT INTO n VALUES ({'a': 9, 'b': {'c': 1.5, 'd d': 'y', 'f': [1]}, 'e': 3}, "
        "[{'kk': 5, 'v': NULL, 'w': 'w'}], MAP {'z': {'q': NULL, 'r': 0.5}}, MAP {})",
        questions=[("n", "s.a > 1"), ("n", "s.b.c > 1"), ("n", "s.e = 7"), ("n", "s.b IS NULL")],
    )
    assert lake.faults() == []


@pytest.mark.parametrize("vectors", ["true", "false"], ids=["deletion vectors", "delete files"])
@pytest.mark.parametrize("inline", [0, 1000], ids=["in files", "in the catalog"])
def test_deleted_rows_stay_away_however_they_were_deleted(make_lake: MakeLake, vectors: str, inline: int) -> None:
    lake = make_lake(
        f"CALL lk.set_option('write_deletion_vectors', {vectors})",
        "CREATE TABLE t (i INTEGER, s VARCHAR)",
        *(f"INSERT INTO t SELECT i, 'x' || i FROM range({n * 300}, {n * 300 + 300}) r(i)" for n in range(4)),
        f"CALL lk.set_option('data_inlining_row_limit', {inline}, table_name => 't')",
        "DELETE FROM t WHERE i % 7 = 0 AND i < 900",
        "DELETE FROM t WHERE i % 5 = 0 AND i < 600",
        "DELETE FROM t WHERE i BETWEEN 300 AND 599",
        "UPDATE t SET s = 'new' WHERE i % 100 = 1",
        questions=[("t", "i >= 890"), ("t", "s = 'new'"), ("t", "i = 7")],
    )
    assert lake.faults() == []


def test_rows_of_merged_and_flushed_files_belong_to_their_snapshots(make_lake: MakeLake) -> None:
    lake = make_lake(
        "CREATE TABLE t (i INTEGER)",
        *(f"INSERT INTO t SELECT i FROM range({n * 5}, {n * 5 + 5}) r(i)" for n in range(4)),
        "DELETE FROM t WHERE i % 3 = 0",
        "UPDATE t SET i = i + 100 WHERE i = 4",
        "CALL ducklake_flush_inlined_data('lk')",
        "CALL ducklake_merge_adjacent_files('lk')",
        "INSERT INTO t VALUES (1000)",
        inline=100,
        questions=[("t", "i > 3")],
    )
    assert lake.faults() == []


def test_files_from_elsewhere_are_found_by_name_and_their_folders_give_values(
    make_lake: MakeLake, tmp_path: Path
) -> None:
    values = [("a b", 1), ("50%", 2), ("é", 3), ("k=v", 4)]

    def write(con: duckdb.DuckDBPyConnection) -> None:
        for text, number in values:
            folder = tmp_path / "hive" / f"part={text.replace('%', '%25').replace('=', '%3D')}" / f"n={number}"
            folder.mkdir(parents=True)
            pq.write_table(pa.table({"ID": [number * 10, number * 10 + 1], "extra": ["x", "y"]}), folder / "f.parquet")

    lake = make_lake(
        "CREATE TABLE h (id BIGINT, part VARCHAR, n INTEGER, late VARCHAR DEFAULT 'none')",
        write,
        "CALL ducklake_add_data_files('lk', 'h', '$files/hive/**/*.parquet', hive_partitioning => true, "
        "allow_missing => true, ignore_extra_columns => true)",
        "ALTER TABLE h RENAME COLUMN part TO place",
        "DELETE FROM h WHERE id IN (11, 30)",
        questions=[("h", "n = 3"), ("h", "place = '50%'"), ("h", "id > 20")],
    )
    assert lake.faults() == []


def test_a_file_that_was_added_twice_is_read_twice(make_lake: MakeLake, tmp_path: Path) -> None:
    pq.write_table(pa.table({"i": pa.array([1, 2, 3], pa.int32())}), tmp_path / "same.parquet")
    lake = make_lake(
        "CREATE TABLE t (i INTEGER)",
        "CALL ducklake_add_data_files('lk', 't', '$files/same.parquet')",
        "CALL ducklake_add_data_files('lk', 't', '$files/same.parquet')",
        "DELETE FROM t WHERE rowid = 1",
    )
    assert lake.faults() == []


@pytest.mark.parametrize("name", ["_hidden.parquet", ".hidden.parquet", "w[1].parquet", "q*.parquet", "b{a,b}.parquet"])
def test_a_file_that_spark_would_overlook_is_read_all_the_same(make_lake: MakeLake, tmp_path: Path, name: str) -> None:
    table = pa.table({"i": pa.array([1, 2], pa.int32())})
    (tmp_path / "odd").mkdir()
    pq.write_table(table, tmp_path / "odd" / name)
    pq.write_table(table, tmp_path / "odd" / "qq.parquet")
    escaped = "".join(f"[{each}]" if each in "*?[" else each for each in name)
    lake = make_lake(
        "CREATE TABLE t (i INTEGER)",
        f"CALL ducklake_add_data_files('lk', 't', '$files/odd/{escaped}')",
        "INSERT INTO t VALUES (5)",
    )
    assert lake.session.table("t").to_spark().count() == 3


def test_partitions_with_odd_values_are_read_by_path(make_lake: MakeLake) -> None:
    lake = make_lake(
        "CREATE TABLE p (k VARCHAR, i INTEGER)",
        "ALTER TABLE p SET PARTITIONED BY (k)",
        "INSERT INTO p SELECT k, i FROM (VALUES ('a b'), ('a/b'), ('50%'), ('é#?'), (''), (NULL), ('x=y'), ('+')) v(k)"
        ", range(20) r(i)",
        "DELETE FROM p WHERE i = 3 AND k IS DISTINCT FROM 'a b'",
        "DELETE FROM p WHERE i = 4",
        questions=[("p", "k = 'a/b' AND i < 5"), ("p", "k IS NULL")],
    )
    assert lake.faults() == []


def test_encrypted_files_are_read_in_tasks(make_lake: MakeLake) -> None:
    lake = make_lake(
        "CREATE TABLE e (i INTEGER, s VARCHAR, u UUID)",
        "INSERT INTO e SELECT i, 'x' || i, uuid() FROM range(100) r(i)",
        "ALTER TABLE e RENAME COLUMN s TO t",
        "INSERT INTO e SELECT i, 'x' || i, NULL FROM range(100, 200) r(i)",
        "DELETE FROM e WHERE i % 9 = 0",
        options="ENCRYPTED",
        questions=[("e", "i > 150")],
    )
    assert lake.faults() == []


def test_very_many_layouts_are_read_all_the_same(make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_MOST_BRANCHES", 2)
    steps = [
        step
        for n in range(6)
        for step in (
            f"INSERT INTO t SELECT i, {n} FROM range({n * 10}, {n * 10 + n + 1}) r(i)",
            f"ALTER TABLE t RENAME COLUMN c{n} TO c{n + 1}",
        )
    ]
    lake = make_lake("CREATE TABLE t (i INTEGER, c0 INTEGER)", *steps, questions=[("t", "c6 >= 3")])
    assert lake.faults() == []


@pytest.mark.parametrize("writer", ["pyarrow", "polars"])
def test_nan_is_found_though_the_statistics_hide_it(make_lake: MakeLake, tmp_path: Path, writer: str) -> None:
    table = pa.table({"i": [1, 2], "d": [float("nan"), 1.5], "s": [{"f": float("nan")}, {"f": 1.5}]})
    path = tmp_path / "nan.parquet"
    if writer == "pyarrow":
        pq.write_table(table, path)
    else:
        import polars as pl

        frame = pl.from_arrow(table)
        assert isinstance(frame, pl.DataFrame)
        frame.write_parquet(path)
    lake = make_lake(
        "CREATE TABLE t (i BIGINT, d DOUBLE, s STRUCT(f DOUBLE))",
        "CALL ducklake_add_data_files('lk', 't', '$files/nan.parquet')",
    )
    frame_ = lake.session.table("t").to_spark()
    assert [row.i for row in frame_.filter("d > 100").collect()] == [1]
    assert [row.i for row in frame_.filter("s.f > 100").collect()] == [1]


def test_timestamps_of_pandas_are_read(make_lake: MakeLake, tmp_path: Path) -> None:
    moments = pa.array([1704067200123456000, None], pa.timestamp("ns", "UTC"))
    pq.write_table(pa.table({"z": moments, "n": moments.cast(pa.timestamp("ns"))}), tmp_path / "ns.parquet")
    pq.write_table(
        pa.table({"z": moments.cast(pa.timestamp("ms", "UTC"), safe=False), "n": moments.cast(pa.timestamp("ns"))}),
        tmp_path / "ms.parquet",
    )
    lake = make_lake(
        "CREATE TABLE t (z TIMESTAMPTZ, n TIMESTAMP_NS)",
        "CALL ducklake_add_data_files('lk', 't', '$files/ns.parquet')",
        "CALL ducklake_add_data_files('lk', 't', '$files/ms.parquet')",
    )
    assert lake.faults() == []


def test_names_that_mean_something_to_spark_are_only_names(make_lake: MakeLake) -> None:
    lake = make_lake(
        'CREATE TABLE t ("a.b" INTEGER, "c`d" VARCHAR, "e f" STRUCT("g.h" INTEGER, "i`" INTEGER), "_metadata" INTEGER, '
        '"row_index" INTEGER, "_quacklake_row" INTEGER, "value" INTEGER, "Ünï" INTEGER)',
        "INSERT INTO t SELECT i, 'x' || i, {'g.h': i, 'i`': -i}, i, i, i, i, i FROM range(20) r(i)",
        "DELETE FROM t WHERE value = 3",
        'ALTER TABLE t RENAME COLUMN "e f"."g.h" TO "j,k"',
        "INSERT INTO t SELECT i, 'x' || i, {'j,k': i, 'i`': -i}, i, i, i, i, i FROM range(20, 40) r(i)",
        "DELETE FROM t WHERE value IN (25, 26)",
        questions=[("t", "`a.b` > 15"), ("t", "`c``d` = 'x7'"), ("t", "`_metadata` = 8"), ("t", "`e f`.`j,k` >= 18")],
    )
    assert lake.faults() == []
    assert lake.session.table("t").to_spark(["_metadata", "value"], where="`_metadata` < 5").count() == 4


def test_columns_that_are_called_like_row_ids_are_read_but_not_with_row_ids(make_lake: MakeLake) -> None:
    lake = make_lake('CREATE TABLE t ("rowid" INTEGER, "snapshot_id" INTEGER)', "INSERT INTO t VALUES (10, 20)")
    assert [tuple(row) for row in lake.session.table("t").to_spark().collect()] == [(10, 20)]
    with pytest.raises(ql.InvalidInputError, match="'rowid'"):
        lake.session.table("t").scan(row_ids=True).to_spark()
