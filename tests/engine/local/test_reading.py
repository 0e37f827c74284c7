"""What comes out of the local engine: columns, rows, counts, types, and when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import quacklake as ql
from quacklake.engine.local import batches, polars_hand
from quacklake.engine.local.engine import LocalEngine
from quacklake.plan.scan import ScanPlan
from tests.engine.local.hands import FILES_ONLY, Hand, engine, make, opened, read

LIVE = 10489
BOTH: tuple[Hand, ...] = ("polars", "duckdb")
STEPS = (
    FILES_ONLY,
    "CALL $lake.set_option('parquet_row_group_size', 2048)",
    "CREATE TABLE t (i BIGINT, s VARCHAR, f DOUBLE, n STRUCT(a INTEGER))",
    "INSERT INTO t SELECT i, 's' || (i % 10), CASE WHEN i % 100 = 0 THEN 'nan'::DOUBLE ELSE i END, {'a': i % 5} "
    "FROM range(10000) r(i)",
    "INSERT INTO t SELECT i, NULL, i, NULL FROM range(10000, 10500) r(i)",
    "DELETE FROM t WHERE i % 1000 = 1",
    "CREATE TABLE empty (i BIGINT, u UUID, v VARIANT, l INTERVAL[], m MAP(VARCHAR, TIMETZ), tz TIMESTAMPTZ)",
    "CALL $lake.set_option('data_inlining_row_limit', 100)",
    "CREATE TABLE inlined (i BIGINT, f FLOAT)",
    "INSERT INTO inlined VALUES (1, 'nan'), (2, 1.5), (3, NULL)",
)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ql.Session]:
    place = make(tmp_path_factory.mktemp("lake"), STEPS)
    with opened(place) as session:
        yield session


def in_order(table: pa.Table) -> str:
    """The rows by row id, as text, in which NaN is like NaN."""
    return repr(table.sort_by("rowid").to_pylist())


def plan_of(session: ql.Session, table: str = "t", **scan: object) -> ScanPlan:
    return session.table(table).scan(**scan).plan()  # type: ignore[arg-type]


@pytest.mark.parametrize("hand", BOTH)
def test_columns_come_in_the_order_that_was_asked_for(session: ql.Session, hand: Hand) -> None:
    found = read(plan_of(session, columns=["f", "i"]), hand)
    assert found.column_names == ["f", "i"]
    assert found.num_rows == LIVE


@pytest.mark.parametrize("table", ["t", "inlined"])
def test_a_polars_frame_has_the_rows_of_the_arrow_table(session: ql.Session, table: str) -> None:
    scan = session.table(table).scan(row_ids=True)
    frame, expected = scan.to_polars(), pl.from_arrow(scan.to_arrow())
    assert isinstance(expected, pl.DataFrame)
    assert_frame_equal(frame.sort("rowid"), expected.sort("rowid"))


@pytest.mark.parametrize("hand", BOTH)
def test_a_column_may_be_asked_for_twice(session: ql.Session, hand: Hand) -> None:
    plan = plan_of(session, columns=["i"])
    found = read(replace(plan, columns=plan.columns * 2), hand)
    assert found.column_names == ["i", "i"]
    assert found.column(0).equals(found.column(1))


@pytest.mark.parametrize("hand", BOTH)
def test_row_ids_come_first(session: ql.Session, hand: Hand) -> None:
    found = read(plan_of(session, columns=["s"], row_ids=True), hand)
    assert found.column_names == ["rowid", "snapshot_id", "s"]
    alive = [number for number in range(10500) if number % 1000 != 1]
    assert found.sort_by("rowid").column("rowid").to_pylist() == alive


@pytest.mark.parametrize("hand", BOTH)
def test_row_ids_alone_can_be_read(session: ql.Session, hand: Hand) -> None:
    plan = replace(plan_of(session, row_ids=True), columns=())
    assert read(plan, hand).num_rows == LIVE


def test_columns_of_a_predicate_do_not_come_out(session: ql.Session) -> None:
    found = read(plan_of(session, columns=["s"], where="i < 3 AND n.a = 2"))
    assert found.to_pydict() == {"s": ["s2"]}


def test_nan_is_the_greatest_number_in_files_and_in_the_catalog(session: ql.Session) -> None:
    assert read(plan_of(session, where="f > 20000")).num_rows == 100
    assert read(plan_of(session, "inlined", where="f > 2")).column("i").to_pylist() == [1]


@pytest.mark.parametrize("limit", [0, 1, 2049, 20000])
def test_a_limit_is_kept(session: ql.Session, limit: int) -> None:
    plan = plan_of(session, limit=limit)
    assert read(plan).num_rows == min(limit, LIVE)
    with engine() as local:
        assert local.count(plan) == min(limit, LIVE)


def test_rows_are_counted_with_and_without_a_predicate(session: ql.Session) -> None:
    with engine() as local:
        assert local.count(plan_of(session)) == LIVE
        assert local.count(plan_of(session, where="s IS NULL")) == 499
        assert local.count(plan_of(session, where="i < 100 AND s = 's3'", limit=4)) == 4
        assert local.count(plan_of(session, "empty")) == 0
        assert local.count(plan_of(session, "inlined", where="f IS NOT NULL")) == 2


@pytest.mark.parametrize("hand", BOTH)
def test_an_empty_table_has_the_schema_of_a_full_one(session: ql.Session, hand: Hand) -> None:
    fields: list[pa.Field[Any]] = [
        pa.field("i", pa.int64()),
        pa.field("u", pa.string()),
        pa.field("v", pa.json_(pa.utf8())),
        pa.field("l", pa.list_(pa.field("element", pa.string()))),
        pa.field("m", pa.map_(pa.string(), pa.string())),
        pa.field("tz", pa.timestamp("us", tz="UTC")),
    ]
    assert read(plan_of(session, "empty"), hand).schema == pa.schema(fields)


def test_a_scan_of_no_columns_is_refused(session: ql.Session) -> None:
    with engine() as local, pytest.raises(ql.UnsupportedError, match="without columns"):
        local.read(replace(plan_of(session), columns=()))


def test_a_hand_that_cannot_refuses(session: ql.Session) -> None:
    with pytest.raises(ql.UnsupportedError, match="the predicate is DuckDB's"):
        read(plan_of(session, where="f = 1"), "polars")


@pytest.mark.parametrize("hand", BOTH)
def test_a_reader_that_is_dropped_early_lets_go(session: ql.Session, hand: Hand) -> None:
    with engine(hand) as local:
        for _ in range(20):
            reader = local.read(plan_of(session))
            assert reader.read_next_batch().num_rows > 0
            reader.close()
        assert local.count(plan_of(session)) == LIVE


@pytest.mark.parametrize("hand", BOTH)
def test_two_readers_can_run_at_once(session: ql.Session, hand: Hand) -> None:
    with engine(hand) as local:
        first, second = local.read(plan_of(session)), local.read(plan_of(session))
        seen = [batch.num_rows for pair in zip(first, second, strict=True) for batch in pair]
        assert sum(seen) == 2 * LIVE


def test_an_engine_can_be_used_after_it_was_closed(session: ql.Session) -> None:
    local = LocalEngine()
    for _ in range(2):
        assert local.read(plan_of(session, where="i = 5")).read_all().num_rows == 1
        local.close()


def test_large_files_are_read_in_parts(session: ql.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read(plan_of(session, row_ids=True), "polars")
    monkeypatch.setattr(polars_hand, "_PART_ROWS", 700)
    monkeypatch.setattr(batches, "_FEWEST_ROWS", 1)
    parts = read(plan_of(session, row_ids=True), "polars")
    assert parts.column(0).num_chunks >= 15
    assert in_order(parts) == in_order(whole)


@pytest.mark.parametrize("hand", BOTH)
def test_texts_that_are_too_long_for_one_batch_become_several(
    hand: Hand, session: ql.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = read(plan_of(session, row_ids=True), hand)
    monkeypatch.setattr(batches, "LARGEST_BATCH", 2000)
    monkeypatch.setattr(polars_hand, "LARGEST_BATCH", 2000)
    parts = read(plan_of(session, row_ids=True), hand)
    assert parts.column(0).num_chunks > 20
    assert in_order(parts) == in_order(whole)


def test_rows_with_large_values_come_in_smaller_batches(tmp_path: Path) -> None:
    steps = (
        FILES_ONLY,
        "CREATE TABLE t (i INTEGER, s VARCHAR)",
        "INSERT INTO t SELECT i, repeat(md5(i::VARCHAR) || md5('x' || i), 64) FROM range(30000) r(i)",
    )
    place = make(tmp_path, steps)
    with opened(place) as session:
        plan = session.table("t").scan().plan()
    file = replace(plan.files[0], size=plan.files[0].record_count * 64 * 1024)
    for hand in BOTH:
        with engine(hand) as local:
            sizes = [batch.num_rows for batch in local.read(replace(plan, files=(file,)))]
        assert sum(sizes) == 30000
        assert max(sizes) <= 2048
