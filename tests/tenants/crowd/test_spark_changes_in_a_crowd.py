"""Spark changes rows in one of many catalogs as the local engine does, while another one is changed all the time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import quacklake as ql
from tests.conftest import WHOLE
from tests.engine.spark.conftest import spark as spark
from tests.engine.spark.test_changing import CASES, Case, act, make, only_on_spark
from tests.lakes import Place, attached, snapshot_ids
from tests.tenants.crowd.conftest import only_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOME = list(CASES)[:: 1 if WHOLE else 5]
"""Some of the deletes, updates and merges in files and in the catalog."""

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    only_in("mysql"),
]


def move(place: Place, case: Case) -> int:
    """Make the lake with DuckDB, and a catalog of it; how many snapshots it has."""
    make(place, attached, case)
    with ql.connect(place.url, engine="local") as session:
        return len(session.snapshots())


def look(place: Place, known: int) -> list[list[tuple[int, str]]]:
    """Ids and rows, at the last snapshot that was there before and at every one since."""
    with ql.connect(place.url, engine="local") as session:
        assert session.check() == []
        shown = [session.table("t", at=at).scan(row_ids=True).to_arrow() for at in snapshot_ids(session)[known - 1 :]]
    return [[(row.pop("rowid"), str(_plain(row))) for row in rows.to_pylist()] for rows in shown]


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "snapshot_id"}


@pytest.mark.parametrize("name", SOME)
def test_spark_changes_what_the_local_engine_changes(
    name: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    places = {engine: Place.in_folder("sqlite", tmp_path / engine) for engine in ("local", "spark")}
    known = max(move(place, case) for place in places.values())
    expected = act(places["local"], case, "local", lambda frame: frame)
    with only_on_spark(monkeypatch, case.is_local):
        done = act(places["spark"], case, "spark", spark.createDataFrame, spark=spark)
    # The first of what is told is the snapshot.
    assert [each[1:] for each in done] == [each[1:] for each in expected]
    ours, theirs = (look(places[engine], known) for engine in ("local", "spark"))
    assert len(ours) == len(theirs) > 1
    start = {row_id for row_id, _ in ours[0]}
    for wanted, found in zip(ours, theirs, strict=True):
        assert sorted(row for _, row in found) == sorted(row for _, row in wanted)
        # Rows that are new get their ids in the order in which tasks write them.
        assert sorted(row for row in found if row[0] in start) == sorted(row for row in wanted if row[0] in start)
