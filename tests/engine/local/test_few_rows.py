"""Few rows that need no query are counted as the query would count them, or left to it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from uuid import RFC_4122

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quacklake.engine.local.few_rows import MOST, _file_id, direct_insert, direct_write
from quacklake.engine.local.inlining import inlined_insert
from quacklake.engine.local.writer import write_files
from quacklake.plan.write import WritePlan, WrittenFile
from quacklake.schema import Column, Schema
from quacklake.storage.stores import Stores
from quacklake.types import parse_leaf

KINDS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "int8": (pa.int8(), st.integers(-128, 127)),
    "int64": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "uint64": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "float64": (
        pa.float64(),
        st.one_of(st.floats(), st.sampled_from([0.0, -0.0, 0.001, 1e15, 123456.789, 1e16]), st.floats(-1e6, 1e6)),
    ),
    "varchar": (pa.string(), st.text(max_size=5)),
    "boolean": (pa.bool_(), st.booleans()),
    "date": (pa.date32(), st.dates()),
    "timestamp": (pa.timestamp("us"), st.datetimes()),
}


def columns_of(kinds: Sequence[str]) -> Schema:
    return Schema(tuple(Column(index + 1, f"c{index}", parse_leaf(kind)) for index, kind in enumerate(kinds)))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_rows_are_counted_as_duckdb_counts_them(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=4))
    rows = data.draw(st.integers(1, 5))
    arrays = [
        pa.array(
            data.draw(st.lists(st.one_of(st.none(), KINDS[kind][1]), min_size=rows, max_size=rows)), KINDS[kind][0]
        )
        for kind in kinds
    ]
    schema = columns_of(kinds)
    table = pa.table(arrays, names=list(schema.names))
    found = direct_insert(schema, table)
    if found is not None:
        with duckdb.connect() as connection:
            connection.register("t", table)
            asked = inlined_insert(connection, schema, "SELECT * FROM t")
        assert found.stats == asked.stats
        assert found.data.equals(asked.data)
        assert found.data.schema.equals(asked.data.schema, check_metadata=True)


@pytest.mark.parametrize(
    ("kind", "array", "cast"),
    [
        ("int8", pa.array([127, None, -128], pa.int64()), "TINYINT"),
        ("uint64", pa.array([2**63 - 1, 0], pa.int64()), "UBIGINT"),
        ("int64", pa.array([2**32 - 1, None], pa.uint32()), "BIGINT"),
        ("varchar", pa.array(["a", None, "ü" * 40], pa.large_string()), "VARCHAR"),
        ("varchar", pa.array(["a", None, "ü" * 40]).cast(pa.string_view()), "VARCHAR"),
    ],
)
def test_what_python_and_polars_have_for_a_type_needs_no_query(kind: str, array: pa.Array[Any], cast: str) -> None:
    table = pa.table([array], names=["c0"])
    found = direct_insert(columns_of([kind]), table)
    assert found is not None
    with duckdb.connect() as connection:
        connection.register("t", table)
        asked = inlined_insert(connection, columns_of([kind]), f"SELECT c0::{cast} AS c0 FROM t")
    assert found.stats == asked.stats
    assert found.data.equals(asked.data)


def test_plain_rows_need_no_query() -> None:
    schema = columns_of(sorted(KINDS))
    values: dict[str, Any] = {
        "int8": 1,
        "int64": 2,
        "uint64": 3,
        "float64": 4.5,
        "varchar": "five",
        "boolean": True,
        "date": date(2024, 2, 29),
        "timestamp": datetime(2024, 2, 29, 1, 2, 3, 400_000),
    }
    table = pa.table(
        [pa.array([None, values[kind]], KINDS[kind][0]) for kind in sorted(KINDS)], names=list(schema.names)
    )
    found = direct_insert(schema, table)
    assert found is not None
    assert [each.min for each in found.stats] == [
        "1",
        "2024-02-29",
        "4.5",
        "2",
        "1",
        "2024-02-29 01:02:03.4",
        "3",
        "five",
    ]
    assert {each.null_count for each in found.stats} == {1}


@pytest.mark.parametrize(
    ("kind", "array"),
    [
        ("int8", pa.array([128], pa.int64())),
        ("uint64", pa.array([-1], pa.int64())),
        ("int64", pa.array([1.0])),
        ("varchar", pa.array([1])),
        ("int64", pa.array(["1"])),
        ("int64", pa.array(range(MOST + 1), pa.int64())),
        ("int64", pa.array([], pa.int64())),
        ("float64", pa.array([float("nan")])),
        ("float64", pa.array([1e300])),
        ("varchar", pa.array(["a\0b"])),
        ("varchar", pa.array(["a"]).dictionary_encode()),
        ("varchar", pa.array([b"\xff"]).view(pa.string())),
        ("timestamp", pa.array([2**62], pa.int64()).view(pa.timestamp("us"))),
        ("date", pa.array([2**31 - 1], pa.int32()).view(pa.date32())),
        ("timestamptz", pa.array([datetime(2024, 1, 1, tzinfo=UTC)])),
        ("uuid", pa.array(["00000000-0000-0000-0000-000000000001"])),
        ("json", pa.array(["{}"])),
    ],
)
def test_what_is_not_certain_is_left_to_the_query(kind: str, array: pa.Array[Any]) -> None:
    assert direct_insert(columns_of([kind]), pa.table([array], names=["c0"])) is None


def test_required_and_missing_columns_are_left_to_the_query() -> None:
    required = Schema((Column(1, "a", parse_leaf("int64"), nullable=False),))
    assert direct_insert(required, pa.table({"a": [None, 1]})) is None
    assert direct_insert(required, pa.table({"A": [1]})) is not None
    assert direct_insert(columns_of(["int64", "int64"]), pa.table({"c0": [1]})) is None
    assert direct_insert(required, pa.table({"b": [1]})) is None


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_file_says_and_holds_what_one_of_duckdb_does(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=4))
    rows = data.draw(st.integers(1, 5))
    arrays = [
        pa.array(
            data.draw(st.lists(st.one_of(st.none(), KINDS[kind][1]), min_size=rows, max_size=rows)), KINDS[kind][0]
        )
        for kind in kinds
    ]
    schema = columns_of(kinds)
    table = pa.table(arrays, names=list(schema.names))
    compression: Any = data.draw(st.sampled_from(["snappy", "zstd", "uncompressed"]))
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        plan = WritePlan("t", 1, f"{folder}/t/", schema, compression=compression)
        stores = Stores({})
        done = direct_write(plan, table, stores)
        if done is None:
            return
        (mine,) = done.files
        connection.register("t", table)
        (theirs,) = write_files(connection, plan, "SELECT * FROM t", stores)
        assert [replace(each, size_bytes=0) for each in mine.stats] == [
            replace(each, size_bytes=0) for each in theirs.stats
        ]
        assert look(connection, mine) == look(connection, theirs)
        assert sorted(Path(folder, "t").iterdir()) == sorted([Path(mine.path), Path(theirs.path)])
        stores.close()


def look(connection: duckdb.DuckDBPyConnection, file: WrittenFile) -> list[object]:
    """What DuckDB finds in a file: its columns with types and field ids, its rows, and whether its sizes are true."""
    given = {"path": file.path}
    columns = """SELECT name, type, repetition_type, duckdb_type, field_id
        FROM parquet_schema($path) WHERE num_children IS NULL"""
    sizes = "SELECT num_rows, file_size_bytes = $size, footer_size = $footer FROM parquet_file_metadata($path)"
    return [
        connection.execute(columns, given).fetchall(),
        connection.execute("SELECT columns(*)::VARCHAR FROM read_parquet($path)", given).fetchall(),
        connection.execute(sizes, {**given, "size": file.size, "footer": file.footer_size}).fetchall(),
        connection.execute("SELECT compression FROM parquet_metadata($path)", given).fetchall(),
    ]


def test_names_of_files_sort_by_time() -> None:
    names = []
    for _ in range(3):
        names.append(_file_id())
        time.sleep(0.002)
    assert names == sorted(names, key=str)
    assert {each.version for each in names} == {7}
    assert {each.variant for each in names} == {RFC_4122}
