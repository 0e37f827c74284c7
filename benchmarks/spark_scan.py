"""How fast the Spark engine reads, beside Spark's own `spark.read.parquet` of the same files.

    python benchmarks/spark_scan.py [--rows 5000000] [--files 20] [--rounds 9] [--folder DIR]

DuckDB's extension makes a lake with a SQLite catalog: one table as it was written, one with a thousandth of the rows of
every file deleted. Whole tables go to Spark's `noop` sink, planning included. Both sides read in turns, one right after
the other, so that whatever else the machine does meets both.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import duckdb_extensions

import quacklake as ql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Case:
    """One read."""

    name: str
    table: str
    goal: float
    """The ratio of the times that is good enough."""
    where: str | None = None


CASES = (
    Case("full scan", "plain", 1.1),
    Case("full scan, deletes in every file", "changed", 1.5),
    Case("range of ids", "plain", 1.5, "id BETWEEN 2000000 AND 2010000"),
    Case("range of ids, deletes in every file", "changed", 1.5, "id BETWEEN 2000000 AND 2010000"),
)


def make_lake(folder: Path, rows: int, files: int) -> None:
    """A lake with one table as it was written, and one with a thousandth of the rows deleted in every file."""
    connection = duckdb.connect()
    for extension in ("ducklake", "sqlite"):
        duckdb_extensions.import_extension(extension, con=connection)
        connection.execute(f"LOAD {extension}")
    connection.execute(f"ATTACH 'ducklake:sqlite:{folder / 'catalog.db'}' AS lk (DATA_PATH '{folder / 'data'}/')")
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
    connection.execute("DELETE FROM lk.changed WHERE hash(id) % 1000 = 7")
    connection.close()


def start_spark() -> SparkSession:
    """A session on two cores."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {"ui.enabled": "false", "ui.showConsoleProgress": "false", "driver.memory": "2g"}
    builder = SparkSession.builder.master("local[2]").appName("benchmark")
    for key, value in settings.items():
        builder = builder.config(f"spark.{key}", value)
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def seconds(make: Callable[[], DataFrame]) -> tuple[float, float]:
    """How long it takes until all rows are read, and how much of that was planning."""
    start = time.perf_counter()
    frame = make()
    planned = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - start, planned - start


def compare(case: Case, session: ql.Session, spark: SparkSession, rounds: int) -> list[str]:
    """One line of the table."""
    table = session.table(case.table)
    paths = [file.path for file in table.scan().files()]

    def theirs() -> DataFrame:
        frame = spark.read.parquet(*paths)
        return frame if case.where is None else frame.filter(case.where)

    def ours() -> DataFrame:
        return table.to_spark(where=case.where)

    times = [(seconds(theirs), seconds(ours)) for _ in range(rounds + 3)][3:]
    plain, lake = [each[0][0] for each in times], [each[1][0] for each in times]
    fastest, median = min(lake) / min(plain), statistics.median(lake) / statistics.median(plain)
    planning = [1000 * statistics.median(each[side][1] for each in times) for side in (1, 0)]
    measured = (min(lake), min(plain), statistics.median(lake), statistics.median(plain))
    return [
        case.name,
        *(f"{1000 * each:.0f}" for each in measured),
        *(f"{each:.0f}" for each in planning),
        f"{fastest:.2f}",
        f"{median:.2f}",
        f"{case.goal}",
        "yes" if max(fastest, median) <= case.goal else "no",
    ]


def main() -> None:
    """Make the lake when it is not there, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder: Path = options.folder or Path(scratch)
        if not (folder / "catalog.db").exists():
            folder.mkdir(parents=True, exist_ok=True)
            make_lake(folder, options.rows, options.files)
        spark = start_spark()
        times = [f"{who} {what} ms" for what in ("min", "med", "plan") for who in ("ours", "spark")]
        lines = [["read", *times, "ratio min", "ratio med", "goal", "reached"]]
        with ql.connect(f"sqlite:///{folder / 'catalog.db'}", engine="spark", spark=spark, read_only=True) as session:
            lines += [compare(case, session, spark, options.rounds) for case in CASES]
        spark.stop()
    widths = [max(len(line[index]) for line in lines) for index in range(len(lines[0]))]
    for line in lines:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)))


if __name__ == "__main__":
    main()
