"""How fast the local engine reads, beside DuckDB's own ducklake extension on the same lake.

    python benchmarks/local_scan.py [--rows 5000000] [--files 20] [--rounds 7] [--folder DIR]

The extension makes a lake with a SQLite catalog, in a process of its own: what that leaves behind in memory would be
there for one side only. Both sides then read it in turns, one right after the other, so that whatever else the machine
does meets both; the ratios are those of the fastest and of the median rounds.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import duckdb_extensions

import quacklake as ql


@dataclass(frozen=True, slots=True)
class Case:
    """One read, as either side spells it."""

    name: str
    table: str
    goal: float
    """The ratio of the times that is good enough."""
    where: str | None = None
    to: str = "to_arrow"
    """How our side hands the rows over; the extension always makes an Arrow table."""


_RANGE = "ts >= TIMESTAMP '2024-01-20' AND ts < TIMESTAMP '2024-01-20 06:00:00'"
CASES = (
    Case("full scan", "plain", 0.4),
    Case("full scan to Polars", "plain", 0.4, to="to_polars"),
    Case("full scan after a rename and deletes", "changed", 0.6),
    Case("range of a timestamp", "plain", 0.8, _RANGE),
    Case("point lookup", "plain", 0.8, "id = {middle}"),
    Case("range after a rename and deletes", "changed", 0.8, _RANGE),
)


def connect_extension(folder: Path) -> duckdb.DuckDBPyConnection:
    """DuckDB with its ducklake extension and the lake attached as `lk`."""
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    for extension in ("ducklake", "sqlite"):
        duckdb_extensions.import_extension(extension, con=connection)
        connection.execute(f"LOAD {extension}")
    connection.execute(f"ATTACH 'ducklake:sqlite:{folder / 'catalog.db'}' AS lk (DATA_PATH '{folder / 'data'}/')")
    return connection


def make_lake(folder: Path, rows: int, files: int) -> None:
    """A lake with one table as it was written, and one with a renamed column and a thousandth of its rows deleted."""
    connection = connect_extension(folder)
    each = rows // files
    for table in ("plain", "changed"):
        connection.execute(
            f"""CREATE TABLE lk.{table}(id BIGINT, ts TIMESTAMP, amount DOUBLE, qty INTEGER, country VARCHAR,
            name VARCHAR)"""
        )
        for start in range(0, each * files, each):
            connection.execute(
                f"""INSERT INTO lk.{table} SELECT r, TIMESTAMP '2024-01-01' + INTERVAL 1 SECOND * r,
                (r * 37 % 100000) / 100.0, (r % 1000)::INTEGER, ['DE', 'FR', 'US', 'NL', 'GB'][1 + r % 5],
                'user_' || (r % 50000) FROM range({start}, {start + each}) t(r)"""
            )
    connection.execute("ALTER TABLE lk.changed RENAME COLUMN amount TO price")
    connection.execute("DELETE FROM lk.changed WHERE id % 1000 = 7")
    connection.close()


def seconds(work: Callable[[], Any]) -> tuple[float, int]:
    """How long it takes and how many rows come out."""
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, len(found)


def compare(case: Case, session: ql.Session, extension: duckdb.DuckDBPyConnection, rows: int, rounds: int) -> list[str]:
    """One line of the table."""
    where = case.where.format(middle=rows // 2) if case.where else None
    sql = f"SELECT * FROM lk.{case.table}" + (f" WHERE {where}" if where else "")
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds + 1):
        their_time, their_rows = seconds(lambda: extension.execute(sql).to_arrow_table())
        our_time, our_rows = seconds(lambda: getattr(session.table(case.table), case.to)(where=where))
        if our_rows != their_rows:
            raise SystemExit(f"{case.name}: {our_rows} rows here, {their_rows} there")
        ours.append(our_time)
        theirs.append(their_time)
    # The first round warms both up.
    ours, theirs = ours[1:], theirs[1:]
    fastest, median = min(ours) / min(theirs), statistics.median(ours) / statistics.median(theirs)
    verdict = "yes" if max(fastest, median) <= case.goal else "no"
    times = (min(ours), min(theirs), statistics.median(ours), statistics.median(theirs))
    ratios = (f"{fastest:.2f}", f"{median:.2f}", f"{case.goal}")
    return [case.name, *(f"{1000 * each:.0f}" for each in times), *ratios, verdict]


def main() -> None:
    """Make the lake when it is not there, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder: Path = options.folder or Path(scratch)
        if not (folder / "catalog.db").exists():
            folder.mkdir(parents=True, exist_ok=True)
            given = (folder, options.rows, options.files)
            maker = multiprocessing.get_context("spawn").Process(target=make_lake, args=given)
            maker.start()
            maker.join()
        extension = connect_extension(folder)
        times = [f"{who} {what} ms" for what in ("min", "med") for who in ("ours", "ext")]
        heads = ["read", *times, "ratio min", "ratio med", "goal", "reached"]
        lines = [heads]
        with ql.connect(f"sqlite:///{folder / 'catalog.db'}", engine="local", read_only=True) as session:
            lines += [compare(case, session, extension, options.rows, options.rounds) for case in CASES]
        extension.close()
    widths = [max(len(line[index]) for line in lines) for index in range(len(heads))]
    for line in lines:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)))


if __name__ == "__main__":
    main()
