"""Many writers at once, and writers that are killed."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import quacklake as ql
from tests.conftest import Duck, Reach
from tests.lakes import Place, snapshot_ids

WRITER = [sys.executable, "-m", "tests.commit.writer"]
ROOT = Path(__file__).parents[2]
SHARED = [
    "sqlite",
    pytest.param("postgresql", marks=pytest.mark.server),
    pytest.param("mysql", marks=pytest.mark.server),
]
"""DuckDB files serve one process at a time."""


def lake(place: Place) -> None:
    with ql.connect(place.url, place.data_path, engine="local") as session:
        session.create_table("t", "id INT, w INT")


def check_ids(session: ql.Session, count: int) -> None:
    """Row ids are unique, snapshots have no gap but those of others, and the counters cover what is there."""
    found = session.table("t").scan(row_ids=True).to_arrow().to_pylist()
    assert len(found) == count
    assert len({row["rowid"] for row in found}) == count
    snapshots = snapshot_ids(session)
    assert snapshots == sorted(set(snapshots))
    if session._catalog.catalog_id is None:
        assert snapshots == list(range(len(snapshots)))
    files = session.table("t").scan().files()
    assert len({file.file_id for file in files}) == len(files)
    newest = session.snapshots()[-1]
    assert all(file.file_id < newest.next_file_id for file in files)


@pytest.mark.parametrize("kind", SHARED)
def test_eight_processes_append_and_every_row_is_there_once(
    kind: str, new_place: Callable[[str], Place], reach: Reach
) -> None:
    place = new_place(kind)
    lake(place)
    told = json.dumps(reach(place))
    writers = [
        subprocess.Popen([*WRITER, "append", told, str(name), "6"], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        for name in range(8)
    ]
    acknowledged: list[int] = []
    for writer in writers:
        output, _ = writer.communicate(timeout=200)
        assert writer.returncode == 0
        lines = [tuple(map(int, line.split())) for line in output.splitlines()]
        acknowledged.extend(first + index for first, size in lines for index in range(size))
    assert len(acknowledged) == 8 * (2 * 20 + 4)
    with ql.connect(place.url, engine="local") as session:
        assert sorted(row["id"] for row in session.table("t").to_arrow().to_pylist()) == sorted(acknowledged)
        check_ids(session, len(acknowledged))


def test_eight_threads_append_and_every_row_is_there_once(backend: Place) -> None:
    lake(backend)
    errors: list[BaseException] = []

    def append(name: int) -> None:
        try:
            with ql.connect(backend.url, engine="local") as session:
                for number in range(4):
                    ids = pa.array([name * 100 + number], pa.int32())
                    session.table("t").append(pa.table({"id": ids, "w": ids}))
        except BaseException as error:
            errors.append(error)
            raise

    threads = [threading.Thread(target=append, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    with ql.connect(backend.url, engine="local") as session:
        check_ids(session, 32)
        assert len(session.snapshots()) == 34


@pytest.mark.server
def test_we_and_duckdb_append_at_the_same_time(new_place: Callable[[str], Place], duck: Duck) -> None:
    place = new_place("postgresql")
    lake(place)
    errors: list[BaseException] = []

    def theirs() -> None:
        try:
            with duck(place) as con:
                for number in range(10):
                    con.execute(f"INSERT INTO t VALUES ({1000 + number}, 1)").fetchall()
        except BaseException as error:
            errors.append(error)
            raise

    other = threading.Thread(target=theirs)
    other.start()
    with ql.connect(place.url, engine="local") as session:
        for number in range(20):
            ids = pa.array([number], pa.int32())
            session.table("t").append(pa.table({"id": ids, "w": ids}))
        other.join()
        assert errors == []
        check_ids(session, 30)


@pytest.mark.parametrize("statement", [1, 2, 5, 9, 13])
def test_a_writer_that_is_killed_leaves_the_lake_as_it_was(statement: int, backend: Place, reach: Reach) -> None:
    lake(backend)
    with ql.connect(backend.url, engine="local") as session:
        ids = pa.array(range(30), pa.int32())
        session.table("t").append(pa.table({"id": ids, "w": ids}))
        before = session.current_snapshot
    killed = subprocess.run(
        [*WRITER, "die", json.dumps(reach(backend)), str(statement)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert killed.returncode == -9, killed.stderr
    with ql.connect(backend.url, engine="local") as session:
        assert session.current_snapshot == before
        assert session.tables() == ["main.t"]
        check_ids(session, 30)
        session.table("t").append(pa.table({"id": ids, "w": ids}))
        session.table("t").set_comment("alive")
        check_ids(session, 60)
