"""What goes wrong while rows are read has a name, and never another library's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import quacklake as ql
from quacklake.plan.scan import ScanPlan
from quacklake.storage import footers, positions
from tests.engine.local.hands import FILES_ONLY, Hand, engine, make, opened, read

BOTH: tuple[Hand, ...] = ("polars", "duckdb")
STEPS = (
    FILES_ONLY,
    "CREATE TABLE t (i BIGINT, s VARCHAR)",
    "INSERT INTO t SELECT i, 'text ' || hash(i) FROM range(20000) r(i)",
    "INSERT INTO t SELECT i, 'x' FROM range(50) r(i)",
    "DELETE FROM t WHERE i % 100 = 0",
)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[ql.Session]:
    footers.forget()
    positions.forget()
    place = make(tmp_path, STEPS)
    with opened(place) as session:
        yield session


def plan_of(session: ql.Session, **scan: object) -> ScanPlan:
    return session.table("t").scan(**scan).plan()  # type: ignore[arg-type]


@pytest.mark.parametrize("hand", BOTH)
def test_a_missing_data_file_is_named_before_anything_is_read(session: ql.Session, hand: Hand) -> None:
    plan = plan_of(session)
    Path(plan.files[1].path).unlink()
    with engine(hand) as local, pytest.raises(ql.StorageError, match=f"{plan.files[1].path} is missing"):
        local.read(plan)


@pytest.mark.parametrize("hand", BOTH)
def test_a_data_file_that_vanished_after_its_footer_was_read_is_named(session: ql.Session, hand: Hand) -> None:
    plan = plan_of(session)
    read(plan, hand)
    Path(plan.files[0].path).unlink()
    with pytest.raises(ql.StorageError, match=f"{plan.files[0].path} is missing"):
        read(plan, hand)


@pytest.mark.parametrize("hand", BOTH)
def test_a_file_that_was_exchanged_for_another_is_not_read_wrong(session: ql.Session, hand: Hand) -> None:
    plan = plan_of(session)
    read(plan, hand)
    Path(plan.files[0].path).write_bytes(Path(plan.files[1].path).read_bytes())
    if hand == "polars":
        with pytest.raises(ql.StorageError, match="has changed"):
            read(plan, hand)


@pytest.mark.parametrize("hand", BOTH)
def test_damaged_pages_are_named(session: ql.Session, hand: Hand) -> None:
    plan = plan_of(session)
    path = Path(plan.files[0].path)
    content = bytearray(path.read_bytes())
    content[300:60_000] = b"\xff" * 59_700
    path.write_bytes(content)
    with pytest.raises(ql.StorageError, match=f"{path} cannot be read"):
        read(plan, hand)


@pytest.mark.parametrize("hand", BOTH)
def test_a_damaged_footer_is_named(session: ql.Session, hand: Hand) -> None:
    plan = plan_of(session)
    path = Path(plan.files[0].path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ql.StorageError, match=f"{path} is damaged"):
        read(plan, hand)


@pytest.mark.parametrize("hand", BOTH)
def test_a_missing_or_damaged_delete_file_is_named(session: ql.Session, hand: Hand) -> None:
    plan = plan_of(session)
    path = Path(plan.files[0].delete_files[0].path)
    path.write_bytes(b"nothing of a Parquet file")
    with pytest.raises(ql.StorageError, match=f"{path} is damaged"):
        read(plan, hand)
    path.unlink()
    with pytest.raises(ql.StorageError, match=f"{path} is missing"):
        read(plan, hand)


@pytest.mark.parametrize("hand", BOTH)
def test_a_file_with_rows_of_several_snapshots_that_does_not_say_which_is_refused(
    session: ql.Session, hand: Hand
) -> None:
    plan = plan_of(session)
    file = replace(plan.files[0], partial_max=plan.snapshot_id + 1)
    with pytest.raises(ql.StorageError, match=f"{file.path} holds rows of several snapshots"):
        read(replace(plan, files=(file,)), hand)


@pytest.mark.parametrize("hand", BOTH)
def test_a_file_without_row_ids_is_refused_when_they_are_asked_for(session: ql.Session, hand: Hand) -> None:
    plan = plan_of(session, row_ids=True)
    file = replace(plan.files[0], row_id_start=None)
    with pytest.raises(ql.StorageError, match=f"{file.path} has no row ids"):
        read(replace(plan, files=(file,)), hand)
    assert read(replace(plan, files=(file,), row_ids=False), hand).num_rows > 0


def test_a_predicate_that_cannot_be_run_is_the_callers_fault(session: ql.Session) -> None:
    plan = plan_of(session, where="CAST(s AS INT) = 5")
    with pytest.raises(ql.InvalidInputError, match="the predicate"):
        read(plan)
    with engine() as local, pytest.raises(ql.InvalidInputError, match="the predicate"):
        local.count(plan)


def test_a_damaged_file_is_not_blamed_on_the_predicate(session: ql.Session) -> None:
    plan = plan_of(session, where="i >= 0")
    path = Path(plan.files[0].path)
    content = bytearray(path.read_bytes())
    content[300:60_000] = b"\xff" * 59_700
    path.write_bytes(content)
    with pytest.raises(ql.StorageError, match=f"{path} cannot be read"):
        read(plan)


def test_a_number_that_arrow_cannot_hold_is_refused(tmp_path: Path) -> None:
    steps = (
        "CREATE TABLE t (h HUGEINT)",
        "INSERT INTO t VALUES (99999999999999999999999999999999999999)",
        "INSERT INTO t VALUES (170141183460469231731687303715884105727)",
    )
    place = make(tmp_path, steps)
    with opened(place) as session:
        before = session.table("t", at=session.current_snapshot - 1).scan().plan()
        assert str(read(before).column("h")[0]) == "9" * 38
        with pytest.raises(ql.StorageError, match="170141183460469231731687303715884105727"):
            read(session.table("t").scan().plan())
