"""How many commits per second sixteen writers of one PostgreSQL lake get through, beside DuckDB's own extension.

    python -m benchmarks.writers [--writers 16] [--commits 20] [--rounds 2]

Every writer is a process of its own that appends twenty rows at a time, as a file. A writer that is refused tries
again; what counts is how long it takes until every commit is there. Each has written once before the clock starts.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
from rich.console import Console

import quacklake as ql
from tests.lakes import Place, attached
from tests.servers import find_postgresql, running_postgresql

GOAL = 3.0
Writer = Callable[[Place, int, int], None]


def write_ours(place: Place, name: int, commits: int) -> None:
    """Append with our sessions."""
    with ql.connect(place.url, engine="local") as session:
        table = session.table("t")
        numbers = pa.array(range(20), pa.int64())
        table.append(pa.table({"id": numbers, "writer": [name] * 20, "number": [-1] * 20}))
        _wait(place)
        for number in range(commits):
            table.append(pa.table({"id": numbers, "writer": [name] * 20, "number": [number] * 20}))


def write_theirs(place: Place, name: int, commits: int) -> None:
    """Insert with the extension, again and again until it is accepted."""
    with attached(place) as connection:
        _insert(connection, name, -1)
        _wait(place)
        for number in range(commits):
            _insert(connection, name, number)


def _insert(connection: duckdb.DuckDBPyConnection, name: int, number: int) -> None:
    while True:
        try:
            connection.execute(f"INSERT INTO t SELECT range, {name}, {number} FROM range(20)").fetchall()
            return
        except duckdb.Error:
            continue


def _wait(place: Place) -> None:
    """Until everybody is there."""
    folder = Path(place.data_path)
    (folder / f"ready-{os.getpid()}").touch()
    while not (folder / "go").exists():
        time.sleep(0.005)


def measure(place: Place, work: Writer, writers: int, commits: int) -> float:
    """The commits per second of all writers together."""
    folder = Path(place.data_path)
    folder.mkdir(parents=True, exist_ok=True)
    children = []
    for name in range(writers):
        child = os.fork()
        if not child:
            code = 1
            try:
                work(place, name, commits)
                code = 0
            finally:
                sys.stderr.flush()
                os._exit(code)
        children.append(child)
    while len(list(folder.glob("ready-*"))) < writers:
        time.sleep(0.02)
    started = time.perf_counter()
    (folder / "go").touch()
    codes = [os.waitpid(child, 0)[1] for child in children]
    taken = time.perf_counter() - started
    if any(codes):
        raise SystemExit(f"writers ended with {codes}")
    return writers * commits / taken


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writers", type=int, default=16)
    parser.add_argument("--commits", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    console = Console(highlight=False)
    programs = find_postgresql()
    if programs is None:
        console.print("PostgreSQL is not installed")
        return
    ratios = []
    with running_postgresql(programs) as server, tempfile.TemporaryDirectory() as name:
        for number in range(options.rounds):
            found = []
            for work in (write_theirs, write_ours):
                folder = Path(name) / f"{number}-{work.__name__}"
                folder.mkdir()
                database = server.create_database()
                address = f"{server.kind}:{server.settings(database)}"
                place = Place(server.kind, address, server.url(database), f"{folder / 'data'}/")
                # In a process of its own, for nothing may run here when the writers are forked.
                child = os.fork()
                if not child:
                    with ql.connect(place.url, place.data_path, engine="local") as session:
                        session.create_table("t", "id BIGINT, writer BIGINT, number BIGINT")
                        session.set_option("data_inlining_row_limit", 0)
                    os._exit(0)
                os.waitpid(child, 0)
                found.append(measure(place, work, options.writers, options.commits))
            theirs, ours = found
            ratios.append(ours / theirs)
            console.print(
                f"{options.writers} writers: {ours:.1f} to {theirs:.1f} commits per second, {ours / theirs:.2f} x"
            )
    verdict = "yes" if statistics.median(ratios) >= GOAL else "no"
    console.print(f"at least {GOAL} x: {verdict}")


if __name__ == "__main__":
    main()
