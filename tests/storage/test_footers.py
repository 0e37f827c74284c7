"""Footers: every layout of columns that writers produce, encrypted files, and files that are none."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quacklake.errors import StorageError
from quacklake.plan.layout import FileColumn, FileLayout
from quacklake.plan.scan import ScanFile
from quacklake.storage import footers
from quacklake.storage.footers import read_layout, read_layouts
from quacklake.storage.stores import Stores

KEY = b"0123456789abcdef"


@pytest.fixture
def stores() -> Iterator[Stores]:
    footers.forget()
    opened = Stores()
    yield opened
    opened.close()


@pytest.fixture
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET force_mbedtls_unsafe='true'")
        yield connection


def scan_file(path: Path | str, file_id: int = 1, key: bytes | None = None, size: int | None = None) -> ScanFile:
    text = None if key is None else base64.b64encode(key).decode()
    return ScanFile(file_id, str(path), 0, size, 1, encryption_key=text)


def sealed_with(key: bytes) -> Any:
    """What makes pyarrow encrypt a file; the stubs do not know it."""
    import pyarrow.parquet.encryption as encryption

    module: Any = encryption
    return module.create_encryption_properties(key)


def in_words(column: FileColumn) -> str:
    """The type of a column as DuckDB would say it."""
    match column.kind:
        case "list":
            return f"{in_words(column.children[0])}[]"
        case "map":
            return f"MAP({in_words(column.children[0])}, {in_words(column.children[1])})"
        case "struct":
            return "STRUCT(" + ", ".join(f'"{each.name}" {in_words(each)}' for each in column.children) + ")"
        case "leaf":
            return column.type


def assert_same_as_duckdb(layout: FileLayout, path: Path, duck: duckdb.DuckDBPyConnection) -> None:
    described = duck.execute("DESCRIBE FROM read_parquet($1, hive_partitioning = false)", [str(path)]).fetchall()
    found = [(each.name, duck.execute(f"SELECT typeof(NULL::{in_words(each)})").fetchone()) for each in layout.columns]
    # Which reference system a geometry is in, is not part of its type in a lake.
    assert found == [(row[0], (row[1].split("('")[0],)) for row in described]


EVERYTHING = """SELECT true b, 1::TINYINT i1, 1::SMALLINT i2, 1::INTEGER i4, 1::BIGINT i8, 1::UTINYINT u1,
1::USMALLINT u2, 1::UINTEGER u4, 1::UBIGINT u8, 1::HUGEINT h, 1::FLOAT f4, 1::DOUBLE f8, 1::DECIMAL(4,1) d4,
1::DECIMAL(18,3) d18, 1::DECIMAL(38,10) d38, DATE '2024-01-01' d, TIME '01:02:03' t, '01:02:03+00'::TIMETZ ttz,
TIMESTAMP '2024-01-01' ts, TIMESTAMP_MS '2024-01-01' tms, TIMESTAMP_NS '2024-01-01' tns, TIMESTAMP_S '2024-01-01' tss,
TIMESTAMPTZ '2024-01-01' tstz, INTERVAL 1 DAY iv, 'x' s, 'x'::BLOB x, uuid() id, '{}'::JSON j, {'a': 1}::VARIANT v,
'POINT(1 2)'::GEOMETRY g, [1] l, [[1]] ll, {'a': 1, 'b': ['x']} st, [{'a': 1}] ls, MAP {'k': {'x': 1}} m,
{'metadata': 'x'::BLOB, 'value': 'y'::BLOB} no_variant"""


def test_every_type_is_what_duckdb_reads(stores: Stores, duck: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    duck.execute(f"COPY ({EVERYTHING}) TO '{path}'")
    layout = read_layout(scan_file(path), stores)
    assert_same_as_duckdb(layout, path, duck)
    assert layout.row_count == 1


def test_what_arrow_writes_is_what_duckdb_reads(
    stores: Stores, duck: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    path = tmp_path / "x.parquet"
    columns = {
        "dictionary": pa.array(["a"]).dictionary_encode(),
        "large": pa.array(["a"], pa.large_string()),
        "fixed": pa.array([[1, 2]], pa.list_(pa.int8(), 2)),
        "half": pa.array([1.0], pa.float16()),
        "seconds": pa.array([1], pa.timestamp("s")),
        "zoned": pa.array([1], pa.timestamp("ns", tz="Europe/Berlin")),
        "time": pa.array([1], pa.time64("ns")),
        "nothing": pa.nulls(1),
        "map": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int32())),
        "binary": pa.array([b"1234"], pa.binary(4)),
    }
    pq.write_table(pa.table(columns), path)
    assert_same_as_duckdb(read_layout(scan_file(path), stores), path, duck)


def test_field_ids_are_read_at_every_level(stores: Stores, duck: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    ids = "{i: 7, s: {__duckdb_field_id: 8, a: 9}, l: {__duckdb_field_id: 10, element: 11}}"
    duck.execute(f"COPY (SELECT 1 i, {{'a': 1}} s, [1] l, 2 n) TO '{path}' (FIELD_IDS {ids})")
    walked = [each for column in read_layout(scan_file(path), stores).columns for each in column.walk()]
    assert [(each.name, each.field_id) for each in walked] == [
        ("i", 7),
        ("s", 8),
        ("a", 9),
        ("l", 10),
        ("element", 11),
        ("n", None),
    ]


def test_times_say_their_unit(stores: Stores, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({unit: pa.array([1], pa.timestamp(unit)) for unit in ("ms", "us", "ns")}), path)
    found = [column.logical for column in read_layout(scan_file(path), stores).columns]
    assert found == ["Timestamp milliseconds", "Timestamp microseconds", "Timestamp nanoseconds"]


def test_a_footer_that_is_longer_than_the_guess_is_read_whole(stores: Stores, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    names = [f"a_column_with_quite_a_long_name_{number}" for number in range(2000)]
    pq.write_table(pa.table({name: [1] for name in names}), path)
    assert len(read_layout(scan_file(path), stores).columns) == 2000


def test_a_wrong_size_or_footer_size_in_the_catalog_does_no_harm(stores: Stores, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": [1, 2]}), path)
    wrong = ScanFile(1, str(path), 2, 17, 1, footer_size=3)
    assert read_layout(wrong, stores).row_count == 2


def test_files_encrypted_by_duckdb_are_read(stores: Stores, duck: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    duck.execute(f"PRAGMA add_parquet_key('k', '{KEY.decode()}')")
    options = "ENCRYPTION_CONFIG {footer_key: 'k'}, FIELD_IDS {a: 5, b: 6}"
    duck.execute(f"COPY (SELECT 1 a, 'x' b) TO '{path}' ({options})")
    layout = read_layout(scan_file(path, key=KEY), stores)
    assert [(column.name, column.field_id) for column in layout.columns] == [("a", 5), ("b", 6)]


def test_files_encrypted_by_arrow_are_read(stores: Stores, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": [1]}), path, encryption_properties=sealed_with(KEY))
    assert [column.name for column in read_layout(scan_file(path, key=KEY), stores).columns] == ["a"]


@pytest.mark.parametrize(("key", "said"), [(None, "no key"), (b"fedcba9876543210", "cannot be decrypted")])
def test_a_wrong_key_or_none_is_refused(key: bytes | None, said: str, stores: Stores, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": [1]}), path, encryption_properties=sealed_with(KEY))
    with pytest.raises(StorageError, match=said):
        read_layout(scan_file(path, key=key), stores)


def test_a_key_that_is_not_base64_is_refused(stores: Stores, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": [1]}), path, encryption_properties=sealed_with(KEY))
    with pytest.raises(StorageError, match="not base64"):
        read_layout(ScanFile(1, str(path), 1, None, 1, encryption_key="no, never"), stores)


def test_a_missing_file_is_named(stores: Stores, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"gone\.parquet is missing"):
        read_layouts([scan_file(tmp_path / "gone.parquet")], stores)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PAR1",
        b"this is no Parquet file at all",
        b"PAR1" + b"\xff" * 40 + struct.pack("<I", 40) + b"PAR1",
        b"PAR1" + struct.pack("<I", 1 << 30) + b"PAR1",
    ],
    ids=["nothing", "four bytes", "some text", "a footer of rubbish", "a footer longer than the file"],
)
def test_a_damaged_file_is_named(content: bytes, stores: Stores, tmp_path: Path) -> None:
    path = tmp_path / "bad.parquet"
    path.write_bytes(content)
    with pytest.raises(StorageError, match=r"bad\.parquet is damaged"):
        read_layout(scan_file(path), stores)


def test_a_file_that_was_cut_off_is_named(stores: Stores, tmp_path: Path) -> None:
    path = tmp_path / "cut.parquet"
    pq.write_table(pa.table({"a": list(range(1000))}), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(StorageError, match=r"cut\.parquet is damaged or cut off"):
        read_layout(scan_file(path), stores)


def test_footers_are_read_once(stores: Stores, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    size = path.stat().st_size
    first = read_layouts([scan_file(path, 7, size=size)], stores)
    path.unlink()
    assert read_layouts([scan_file(path, 8, size=size)], stores) == {8: first[7]}


def test_files_with_the_same_columns_share_them(stores: Stores, tmp_path: Path) -> None:
    files = []
    for number in range(3):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({"a": [number] * (number + 1)}), path)
        files.append(scan_file(path, number))
    found = read_layouts(files, stores)
    assert [found[number].row_count for number in range(3)] == [1, 2, 3]
    assert len({id(layout.columns) for layout in found.values()}) == 1
