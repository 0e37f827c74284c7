"""Maintenance while others write, and maintenance that is killed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import quacklake as ql
from quacklake.catalog.audit import load_known_files
from quacklake.maintenance.reports import Removed
from tests.conftest import Reach
from tests.lakes import Place, folder_of

ROOT = Path(__file__).parents[2]
NOW = timedelta(0)
WRITERS, WRITES = 3, 12


def append(url: str, name: int) -> list[int]:
    """What was written, by its first ids."""
    done = []
    with ql.connect(url, engine="local") as session:
        for number in range(WRITES):
            first = (name * WRITES + number) * 100
            while True:
                try:
                    session.table("t").append(pa.table({"id": range(first, first + size(first))}))
                    break
                except ql.ConflictError:
                    # Nobody can say what a snapshot did that has expired meanwhile.
                    continue
            done.append(first)
    return done


def size(first: int) -> int:
    """Few rows or many, so that some go into the catalog."""
    return 3 if first // 100 % 2 else 30


def test_no_row_is_lost_while_snapshots_expire(backend: Place) -> None:
    with (
        ql.connect(backend.url, backend.data_path, engine="local") as session,
        ThreadPoolExecutor(WRITERS) as pool,
    ):
        session.create_table("t", "id BIGINT")
        writers = [pool.submit(append, backend.url, name) for name in range(WRITERS)]
        expired = 0
        while not all(writer.done() for writer in writers):
            expired += len(session.maintain.expire(NOW).snapshots)
            session.maintain.cleanup(NOW)
            wait(writers, 0.05)
        done = [first for writer in writers for first in writer.result()]
        assert len(done) == WRITERS * WRITES
        found = session.table("t").scan(row_ids=True).to_arrow().to_pylist()
        wanted = [first + index for first in done for index in range(size(first))]
        assert sorted(row["id"] for row in found) == sorted(wanted)
        assert len({row["rowid"] for row in found}) == len(found)
        assert expired > 3
        assert session.check() == []


def test_two_cleanups_at_once_share_the_work(backend: Place) -> None:
    with ql.connect(backend.url, backend.data_path, engine="local") as session:
        for number in range(8):
            session.create_table(f"t{number}", "id BIGINT").append(pa.table({"id": range(30)}))
            session.drop_table(f"t{number}")
        session.maintain.expire(NOW)

        def clean(_: int) -> Removed:
            with ql.connect(backend.url, engine="local") as mine:
                return mine.maintain.cleanup(NOW)

        with ThreadPoolExecutor(2) as pool:
            reports = list(pool.map(clean, range(2)))
        assert sum(each.files for each in reports) == 8
        assert [each.failed for each in reports] == [(), ()]
        assert list(Path(backend.data_path).rglob("*.parquet")) == []


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "kind",
    [
        "sqlite",
        pytest.param("postgresql", marks=pytest.mark.server),
        pytest.param("mysql", marks=pytest.mark.server),
    ],
)
def test_maintenance_that_is_killed_loses_nothing_and_is_made_good_by_the_next(
    kind: str, new_place: Callable[[str], Place], reach: Reach
) -> None:
    place = new_place(kind)
    ql.connect(place.url, place.data_path, engine="local").close()
    killing = subprocess.run(
        [sys.executable, "-m", "tests.maintenance.killing", json.dumps(reach(place))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert killing.returncode == 0, killing.stderr[-4000:]
    assert int(killing.stdout) >= 7
    with ql.connect(place.url, engine="local") as session:
        session.maintain.expire(NOW)
        session.maintain.cleanup(NOW)
        session.maintain.remove_orphans(NOW)
        catalog = session._catalog
        with catalog.backend.read() as connection:
            known = {each.path for each in load_known_files(connection, catalog.tables, catalog.data_path)}
        assert {str(each) for each in folder_of(session).rglob("*.parquet")} == known
        assert session.check() == []
