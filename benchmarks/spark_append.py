"""How fast Spark appends to a lake, beside Spark's own `df.write.parquet` of the same frame.

    python -m benchmarks.spark_append [--rows 5000000] [--parts 4] [--rounds 5]

Both sides write the same computed rows in turns, one right after the other, so that whatever else the machine does
meets both. Ours checks values, describes every file and commits to a SQLite catalog.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import quacklake as ql
from benchmarks.spark_scan import start_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

GOAL = 1.15
_DDL = "id BIGINT, ts TIMESTAMP_NTZ, amount DOUBLE, qty INT, country STRING, name STRING"
_COLUMNS = (
    "id",
    "TIMESTAMP_NTZ '2024-01-01' + make_dt_interval(0, 0, 0, id) AS ts",
    "(id * 37 % 100000) / 100.0D AS amount",
    "CAST(id % 1000 AS INT) AS qty",
    "element_at(array('DE', 'FR', 'US', 'NL', 'GB'), CAST(1 + id % 5 AS INT)) AS country",
    "concat('user_', id % 50000) AS name",
)


def make_rows(spark: SparkSession, rows: int, parts: int) -> DataFrame:
    """Rows that Spark computes as it writes them."""
    return spark.range(0, rows, 1, parts).selectExpr(*_COLUMNS)


def seconds(work: Callable[[], object]) -> float:
    """How long it takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    spark = start_spark()
    ours: list[float] = []
    theirs: list[float] = []
    with tempfile.TemporaryDirectory() as scratch:
        plain = Path(scratch) / "plain"
        with ql.connect(f"sqlite:///{scratch}/catalog.db", engine="spark", spark=spark) as session:
            table = session.create_table("t", _DDL)
            for _ in range(options.rounds + 2):
                frame = make_rows(spark, options.rows, options.parts)
                theirs.append(seconds(lambda frame=frame: frame.write.parquet(str(plain))))  # type: ignore[misc]
                shutil.rmtree(plain)
                ours.append(seconds(lambda frame=frame: table.append(frame)))  # type: ignore[misc]
                table.truncate()
    spark.stop()
    # The first rounds warm both up.
    ours, theirs = ours[2:], theirs[2:]
    fastest, median = min(ours) / min(theirs), statistics.median(ours) / statistics.median(theirs)
    print(f"append of {options.rows} rows: {1000 * min(ours):.0f} to {1000 * min(theirs):.0f} ms at the fastest,")
    print(f"{fastest:.2f} x at the fastest, {median:.2f} x at the median")
    print(f"at most {GOAL} x: {'yes' if max(fastest, median) <= GOAL else 'no'}")


if __name__ == "__main__":
    main()
