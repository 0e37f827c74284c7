"""Lakes of DuckDB's own extension, read by either hand of the local engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pyarrow as pa

import quacklake as ql
from quacklake.engine.local.engine import LocalEngine
from quacklake.plan.scan import ScanPlan
from tests.lakes import Answer, Place, Row, answers, as_text, attached, run

Hand = Literal["polars", "duckdb"]

FILES_ONLY = "CALL $lake.set_option('data_inlining_row_limit', 0)"
VECTORS = "CALL $lake.set_option('write_deletion_vectors', true)"


@contextmanager
def engine(hand: Hand | None = None) -> Iterator[LocalEngine]:
    """An engine that lets go of everything in the end."""
    opened = LocalEngine(hand=hand)
    try:
        yield opened
    finally:
        opened.close()


def read(plan: ScanPlan, hand: Hand | None = None) -> pa.Table:
    """All rows of a plan; every batch has the one schema."""
    with engine(hand) as opened, opened.read(plan) as reader:
        batches = list(reader)
        assert all(batch.schema.equals(reader.schema, check_metadata=True) for batch in batches)
        for batch in batches:
            batch.validate(full=True)
        return pa.Table.from_batches(batches, reader.schema)


def texts(table: pa.Table) -> Counter[Row]:
    """The rows as DuckDB's text, which tells apart what Python cannot hold."""
    return as_text(table, ["VARCHAR"] * table.num_columns)


@dataclass
class Verdict:
    """What comparing both hands with DuckDB's extension gave."""

    faults: list[str] = field(default_factory=list)
    read_by_polars: int = 0
    refused_by_polars: Counter[str] = field(default_factory=Counter)
    seen: int = 0


def make(folder: Path, statements: Sequence[str], options: str = "") -> Place:
    """A lake in a folder. In the statements, `$lake` is the lake and `$files` the folder itself."""
    place = Place.in_folder("sqlite", folder)
    with attached(place, options) as con:
        for statement in statements:
            run(con, statement, folder)
    return place


@contextmanager
def opened(place: Place) -> Iterator[ql.Session]:
    """A session that only reads."""
    with ql.connect(place.url, engine="local", read_only=True) as session:
        yield session


def judge(place: Place) -> Verdict:
    """Read every table at every snapshot with both hands, whole, and compare with what the extension reads."""
    verdict = Verdict()
    with attached(place) as con:
        expected = answers(con)
    with opened(place) as session:
        for answer in expected:
            assert answer.error is None, answer.error
            plan = session.table(answer.name, at=answer.snapshot_id).scan(row_ids=answer.shows_ids).plan()
            verdict.seen += 1
            _judge(verdict, plan, answer)
    return verdict


def _judge(verdict: Verdict, plan: ScanPlan, answer: Answer) -> None:
    by_duckdb = read(plan, "duckdb")
    _compare(verdict, f"{answer} by DuckDB", as_text(by_duckdb, answer.all_types), answer.rows)
    with engine() as opened:
        if opened.count(plan) != by_duckdb.num_rows:
            verdict.faults.append(f"{answer}: the count is {opened.count(plan)}, not {by_duckdb.num_rows}")
        in_views = opened.read(plan, views=True).read_all().cast(by_duckdb.schema)
        _compare(verdict, f"{answer} in views", as_text(in_views, answer.all_types), answer.rows)
    try:
        by_polars = read(plan, "polars")
    except ql.UnsupportedError as error:
        verdict.refused_by_polars[str(error)] += 1
        return
    verdict.read_by_polars += 1
    if not by_polars.schema.equals(by_duckdb.schema, check_metadata=True):
        verdict.faults.append(f"{answer}: {by_polars.schema} is not {by_duckdb.schema}")
    _compare(verdict, f"{answer} by Polars", as_text(by_polars, answer.all_types), answer.rows)


def _compare(verdict: Verdict, what: str, got: Counter[Row], want: Counter[Row]) -> None:
    if got != want:
        missing, extra = list((want - got).elements())[:2], list((got - want).elements())[:2]
        verdict.faults.append(f"{what}: missing {missing}, too many {extra}")
