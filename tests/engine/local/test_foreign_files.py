"""Files that other writers made, with what they leave in the footer for themselves."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import quacklake as ql
from tests.engine.local.hands import FILES_ONLY, judge, make, opened, read, texts
from tests.lakes import Place

NOON = datetime(2024, 7, 1, 12, tzinfo=UTC)


def written_by_arrow(path: Path, **options: Any) -> None:
    zone = ZoneInfo("Europe/Berlin")
    columns = {
        "k": pa.array(range(3), pa.int64()),
        "label": pa.array(["a", None, "a"]).dictionary_encode(),
        "large": pa.array(["x", "y", None], pa.large_string()),
        "zoned": pa.array([NOON.astimezone(zone), None, NOON], pa.timestamp("us", tz="Europe/Berlin")),
        "millis": pa.array([NOON, NOON, None], pa.timestamp("ms", tz="UTC")),
        "pair": pa.array([[1, 2], None, [3, None]], pa.list_(pa.int32(), 2)),
        "small": pa.array([1, 2, 3], pa.int8()),
        "coded": pa.array([7, None, 7], pa.int64()).dictionary_encode(),
        "labels": pa.array([["a"], None, [None]], pa.list_(pa.dictionary(pa.int32(), pa.string()))),
        "short": pa.array([b"1234", None, b"5678"], pa.binary(4)),
        "money": pa.array([1, None, 3], pa.decimal128(9, 2)),
        "flag": pa.array([True, None, False]),
    }
    pq.write_table(pa.table(columns), path, **options)


@pytest.fixture(params=[{}, {"compression": "zstd", "data_page_version": "2.0"}, {"use_dictionary": False}])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    written_by_arrow(tmp_path / "x.parquet", **request.param)
    steps = (
        FILES_ONLY,
        """CREATE TABLE t (k BIGINT, label VARCHAR, large VARCHAR, zoned TIMESTAMPTZ, millis TIMESTAMPTZ,
        pair INTEGER[], small TINYINT, coded BIGINT,
        labels VARCHAR[], short BLOB, money DECIMAL(9,2), flag BOOLEAN)""",
        "CALL ducklake_add_data_files('$lake', 't', '$files/x.parquet')",
    )
    return make(tmp_path, steps)


def test_what_arrow_wrote_reads_as_duckdb_reads_it(place: Place) -> None:
    assert judge(place).faults == []


@pytest.mark.parametrize(
    "column", ["k", "label", "large", "zoned", "pair", "small", "coded", "labels", "money", "flag"]
)
def test_columns_of_arrow_are_the_same_by_either_hand(place: Place, column: str) -> None:
    with opened(place) as session:
        plan = session.table("t").scan(columns=[column]).plan()
        assert texts(read(plan, "polars")) == texts(read(plan, "duckdb"))


@pytest.mark.parametrize(
    "where",
    [
        "zoned = TIMESTAMP '2024-07-01 12:00:00'",
        "small > 1",
        "k = 1",
        "coded = 7",
        "zoned IS NULL",
        "millis IS NOT NULL",
    ],
)
def test_simple_conditions_hold_for_files_of_arrow(place: Place, where: str) -> None:
    with opened(place) as session:
        plan = session.table("t").scan(columns=["k"], where=where).plan()
        assert texts(read(plan)) == texts(read(plan, "duckdb"))
        assert read(plan).num_rows > 0


@pytest.mark.parametrize("column", ["millis", "short"])
def test_what_polars_would_read_differently_is_left_to_duckdb(place: Place, column: str) -> None:
    with opened(place) as session, pytest.raises(ql.UnsupportedError, match=column):
        read(session.table("t").scan(columns=[column]).plan(), "polars")


@pytest.mark.parametrize(
    ("where", "found"), [("f > 20", [1, 3]), ("n.x > 20", [1]), ("NOT f <= 20", [1, 3]), ("f < 5", [0])]
)
def test_nan_is_found_in_files_whose_statistics_leave_it_out(where: str, found: list[int], tmp_path: Path) -> None:
    nan = float("nan")
    columns = {
        "k": pa.array(range(4), pa.int64()),
        "f": pa.array([1.0, nan, 10.0, nan]),
        "n": pa.array([{"x": 1.0}, {"x": nan}, None, {"x": 2.0}], pa.struct([("x", pa.float32())])),
    }
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")  # type: ignore[arg-type]
    assert pq.read_metadata(tmp_path / "x.parquet").row_group(0).column(1).statistics.max == 10.0  # type: ignore[union-attr]
    steps = (
        FILES_ONLY,
        "CREATE TABLE t (k BIGINT, f DOUBLE, n STRUCT(x FLOAT))",
        "CALL ducklake_add_data_files('$lake', 't', '$files/x.parquet')",
    )
    with opened(make(tmp_path, steps)) as session:
        table = read(session.table("t").scan(columns=["k"], where=where).plan())
    assert sorted(table.column("k").to_pylist(), key=str) == found
