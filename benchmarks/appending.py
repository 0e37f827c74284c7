"""How fast the local engine writes, beside DuckDB's own ducklake extension, each to a lake of its own.

    python -m benchmarks.appending [--rows 5000000] [--rounds 15] [--only small|large|growth]

Small appends hand ten rows over as an Arrow table, on both sides, to a lake with a SQLite catalog. Then come one
large append, a merge into it, and small appends to lakes that already hold many files, tables and snapshots.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

import quacklake as ql
from benchmarks.local_scan import connect_extension

_DDL = "id BIGINT, ts TIMESTAMP, amount DOUBLE, qty INTEGER, country VARCHAR, name VARCHAR"
_SPARK_DDL = "id BIGINT, ts TIMESTAMP_NTZ, amount DOUBLE, qty INT, country STRING, name STRING"
_ROWS = """SELECT r AS id, TIMESTAMP '2024-01-01' + INTERVAL 1 SECOND * r AS ts,
    (r * 37 % 100000) / 100.0::DOUBLE AS amount, (r % 1000)::INTEGER AS qty,
    ['DE', 'FR', 'US', 'NL', 'GB'][1 + r % 5] AS country, 'user_' || (r % 50000) AS name
    FROM range({start}, {end}) t(r)"""


def make_rows(start: int, end: int) -> pa.Table:
    """Some rows of the table, by their ids."""
    found: pa.Table = duckdb.connect().execute(_ROWS.format(start=start, end=end)).to_arrow_table()
    return found


class Pair:
    """A lake of ours and one of the extension, in a folder each."""

    def __init__(self, folder: Path, inline_rows: int) -> None:
        for name in ("ours", "theirs"):
            (folder / name).mkdir(parents=True)
        self.session = ql.connect(
            f"sqlite:///{folder / 'ours' / 'catalog.db'}", engine="local", inline_rows=inline_rows
        )
        self.table = self.session.create_table("t", _SPARK_DDL)
        self.extension = connect_extension(folder / "theirs")
        self.extension.execute(f"CALL lk.set_option('data_inlining_row_limit', {inline_rows})")
        self.extension.execute(f"CREATE TABLE lk.t ({_DDL})")

    def append_ours(self, rows: pa.Table) -> None:
        """Append with our session."""
        _append(self.session, rows)

    def append_theirs(self, rows: pa.Table) -> None:
        """Append with the extension."""
        self.extension.register("incoming", rows)
        self.extension.execute("INSERT INTO lk.t SELECT * FROM incoming")
        self.extension.unregister("incoming")

    def close(self) -> None:
        """Let go of both."""
        self.session.close()
        self.extension.close()


def measured(work: Callable[..., Any], *given: Any) -> float:
    """How long it takes."""
    start = time.perf_counter()
    work(*given)
    return time.perf_counter() - start


def line(name: str, ours: list[float], theirs: list[float], goal: float) -> list[str]:
    """One line of the table."""
    fastest, median = min(ours) / min(theirs), statistics.median(ours) / statistics.median(theirs)
    verdict = "yes" if max(fastest, median) <= goal else "no"
    times = (min(ours), min(theirs), statistics.median(ours), statistics.median(theirs))
    return [name, *(f"{1000 * each:.1f}" for each in times), f"{fastest:.2f}", f"{median:.2f}", f"{goal}", verdict]


def small(folder: Path, rounds: int) -> list[list[str]]:
    """Ten rows at a time."""
    lines = []
    for name, limit, goal in (("10 rows, inlined", 100, 0.3), ("10 rows, as a file", 0, 0.5)):
        pair = Pair(folder / f"small{limit}", limit)
        ours: list[float] = []
        theirs: list[float] = []
        for number in range(rounds + 2):
            rows = make_rows(number * 10, number * 10 + 10)
            theirs.append(measured(pair.append_theirs, rows))
            ours.append(measured(pair.append_ours, rows))
        pair.close()
        lines.append(line(name, ours[2:], theirs[2:], goal))
    return lines


def large(folder: Path, rows: int) -> list[list[str]]:
    """One large append, and a merge of a fiftieth of the rows into it."""
    lines = []
    pair = Pair(folder / "large", 0)
    data = make_rows(0, rows)
    ours: list[float] = []
    theirs: list[float] = []
    for number in range(3):
        for side in ("theirs", "ours") if number % 2 else ("ours", "theirs"):
            done = theirs if side == "theirs" else ours
            done.append(measured(getattr(pair, f"append_{side}"), data))
        if number < 2:
            pair.session.table("t").truncate()
            pair.extension.execute("DELETE FROM lk.t")
    lines.append(line(f"{rows} rows", ours, theirs, 1.1))
    merges: dict[str, list[float]] = {"ours": [], "theirs": []}
    for number in range(2):
        source = _merge_source(rows, number)
        merges["theirs"].append(measured(_merge_theirs, pair.extension, source))
        merges["ours"].append(measured(_merge_ours, pair.session, source))
    lines.append(line(f"merge of {rows // 50} into them", merges["ours"], merges["theirs"], 1.0))
    counts = pair.session.table("t").count(), pair.extension.execute("SELECT count(*) FROM lk.t").fetchone()
    if counts[1] != (counts[0],):
        raise SystemExit(f"{counts[0]} rows here, {counts[1]} there")
    pair.close()
    return lines


def _merge_source(rows: int, number: int) -> pa.Table:
    half = rows // 100
    middle = rows // 2 + number * rows // 8
    known, fresh = make_rows(middle, middle + half), make_rows(rows * (2 + number), rows * (2 + number) + half)
    return pa.concat_tables([known, fresh]).set_column(3, "qty", pa.array([-1] * 2 * half, pa.int32()))


def _merge_ours(session: ql.Session, source: pa.Table) -> None:
    session.table("t").merge(source, on="id")


def _merge_theirs(extension: duckdb.DuckDBPyConnection, source: pa.Table) -> None:
    extension.register("incoming", source)
    extension.execute(
        "MERGE INTO lk.t USING incoming ON t.id = incoming.id WHEN MATCHED THEN UPDATE WHEN NOT MATCHED THEN INSERT"
    )
    extension.unregister("incoming")


def growth(folder: Path, rounds: int) -> list[list[str]]:
    """Small appends as files, to a small lake and to a large one: the columns are of the two lakes."""
    from benchmarks.planning import fill

    lakes = []
    for name, files in (("small", 0), ("large", 20_000)):
        (folder / name).mkdir()
        session = ql.connect(f"sqlite:///{folder / name / 'catalog.db'}", engine="local", inline_rows=0)
        session.create_table("t", _SPARK_DDL)
        if files:
            fill(session, "many", files)
            with session.transaction() as tx:
                for number in range(1_000):
                    tx.create_table(f"table_{number}", _SPARK_DDL)
            for number in range(200):
                session.set_option("target_file_size", f"{number + 100}MB")
        lakes.append(session)
    times: list[list[float]] = [[], []]
    for number in range(rounds + 2):
        rows = make_rows(number * 10, number * 10 + 10)
        for session, done in zip(lakes, times, strict=True):
            done.append(measured(_append, session, rows))
    for session in lakes:
        session.close()
    return [line("10 rows to a large lake / to a new one", times[1][2:], times[0][2:], 1.2)]


def _append(session: ql.Session, rows: pa.Table) -> None:
    session.table("t").append(rows)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", choices=("small", "large", "growth"))
    options = parser.parse_args()
    times = [f"{who} {what} ms" for what in ("min", "med") for who in ("ours", "ext")]
    heads = ["write", *times, "ratio min", "ratio med", "goal", "reached"]
    lines = [heads]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if options.only in (None, "small"):
            lines += small(folder, options.rounds)
        if options.only in (None, "growth"):
            lines += growth(folder, options.rounds)
        if options.only in (None, "large"):
            lines += large(folder, options.rows)
    widths = [max(len(each[index]) for each in lines) for index in range(len(heads))]
    for each in lines:
        print("  ".join(text.ljust(width) for text, width in zip(each, widths, strict=True)))


if __name__ == "__main__":
    main()
