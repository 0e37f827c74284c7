"""The rows of the catalog after an expiry are those that DuckDB leaves on a copy of the same lake."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import quacklake as ql
from tests.conftest import Duck
from tests.lakes import Place
from tests.maintenance.lives import all_rows, copy_lake, difference, live

KINDS = ["sqlite", "duckdb", pytest.param("postgresql", marks=pytest.mark.server)]
CHOICES: dict[str, Callable[[list[int]], list[int]]] = {
    "one": lambda ids: [ids[len(ids) // 2]],
    "two of three": lambda ids: [id_ for id_ in ids if id_ % 3],
    "the older half": lambda ids: ids[: len(ids) // 2],
    "all": lambda ids: ids,
}


@pytest.fixture(params=KINDS)
def lake(request: pytest.FixtureRequest, new_place: Callable[[str], Place], tmp_path: Path) -> Place:
    place = new_place(request.param)
    live(place, tmp_path / "files")
    return place


def test_the_rows_are_those_that_duckdb_leaves(lake: Place, duck: Duck, request: pytest.FixtureRequest) -> None:
    """One life, and each choice on a copy of what the choice before it left."""
    run = request.getfixturevalue("postgresql_server").run if lake.kind == "postgres" else None
    reports = []
    for choice, choose in CHOICES.items():
        copy = copy_lake(lake, run)
        with ql.connect(lake.url, engine="local") as session:
            ids = choose([each.snapshot_id for each in session.snapshots()])
        with duck(copy) as con:
            versions = ", ".join(map(str, ids))
            con.execute(f"CALL ducklake_expire_snapshots('lk', versions => [{versions}])").fetchall()
        with ql.connect(lake.url, engine="local") as session:
            before = session.current_snapshot
            promised = session.maintain.expire(versions=ids, dry_run=True)
            report = session.maintain.expire(versions=ids)
            assert promised.dry_run
            assert not report.dry_run
            assert (promised.snapshots, promised.files_scheduled) == (report.snapshots, report.files_scheduled)
            assert report.snapshots == tuple(id_ for id_ in ids if id_ != before)
            assert session.current_snapshot == before
            assert session.check() == []
            ours = all_rows(session)
        with ql.connect(copy.url, engine="local") as session:
            assert difference(all_rows(session), ours) == [], choice
        reports.append(report)
        _drop(copy, run)
    assert all(sum(getattr(each, name) for each in reports) for name in ("tables", "data_files", "delete_files"))


def _drop(copy: Place, run: Callable[[str], None] | None) -> None:
    if run is None:
        Path(copy.url.split("///", 1)[1]).unlink()
    else:
        run(f"DROP DATABASE {copy.url.rsplit('/', 1)[-1]}")


@pytest.mark.parametrize("kind", ["duckdb", pytest.param("postgresql", marks=pytest.mark.server)])
def test_a_moment_chooses_the_snapshots_that_duckdb_chooses(
    kind: str, new_place: Callable[[str], Place], duck: Duck
) -> None:
    place = new_place(kind)
    times = _write_a_little(place)
    moments = (times[0], times[2], times[2] + timedelta(microseconds=1), datetime.now(UTC))
    query = "SELECT snapshot_id FROM ducklake_expire_snapshots('lk', older_than => ?, dry_run => true)"
    with duck(place) as con:
        theirs = [sorted(con.execute(query, [moment]).fetchall()) for moment in moments]
    with ql.connect(place.url, engine="local") as session:
        ours = [session.maintain.expire(older_than=moment, dry_run=True).snapshots for moment in moments]
    assert [[(id_,) for id_ in ids] for ids in ours] == theirs


def test_a_moment_is_compared_as_a_moment_where_the_catalog_keeps_text(new_place: Callable[[str], Place]) -> None:
    """In SQLite DuckDB compares letters, and takes every snapshot of that day."""
    place = new_place("sqlite")
    times = _write_a_little(place)
    with ql.connect(place.url, engine="local") as session:
        assert session.maintain.expire(older_than=times[2], dry_run=True).snapshots == (0, 1)
        assert session.maintain.expire(older_than=times[3], dry_run=True).snapshots == (0, 1, 2)


def _write_a_little(place: Place) -> list[datetime]:
    with ql.connect(place.url, place.data_path, engine="local") as session:
        table = session.create_table("t", "id int")
        for number in range(4):
            table.append(pa.table({"id": pa.array([number], pa.int32())}))
        return [each.time for each in session.snapshots()]
