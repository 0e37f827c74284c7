"""The 22 queries of TPC-H on a lake, beside the same queries on plain Parquet views of the same files.

    python -m benchmarks.tpch [--scale 1] [--rounds 3] [--folder DIR] [--queries 1,6]

DuckDB makes the data and has the queries; a lake with a SQLite catalog is written from it. Both sides run in one Spark
session in turns, one right after the other, so that whatever else the machine does meets both; ours plans anew for
every query, the views are made once. Before that, every answer of both engines is compared with DuckDB's.
`QUACKLAKE_TPCH_SCALE` is the scale where no argument says it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import duckdb_extensions

import quacklake as ql
from benchmarks.spark_scan import start_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GOAL = 1.1
TABLES = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Query:
    """One of the queries."""

    number: int
    text: str
    """In Spark's dialect."""
    answer: Rows
    """What DuckDB answers."""


def make_data(scale: float) -> duckdb.DuckDBPyConnection:
    """A DuckDB that holds the eight tables."""
    connection = duckdb.connect()
    duckdb_extensions.import_extension("tpch", con=connection)
    connection.execute("LOAD tpch")
    connection.execute(f"CALL dbgen(sf = {scale})")
    return connection


def load(data: duckdb.DuckDBPyConnection, session: ql.Session) -> None:
    """Write the tables into a lake, as streams."""
    for name in TABLES:
        columns = data.execute(f"DESCRIBE {name}").fetchall()
        table = session.create_table(name, ", ".join(f"{column} {type_}" for column, type_, *_ in columns))
        table.append(data.execute(f"FROM {name}").to_arrow_reader(100_000))


def make_queries(data: duckdb.DuckDBPyConnection) -> list[Query]:
    """The queries with DuckDB's own answers."""
    import sqlglot

    found = data.execute("SELECT query_nr, query FROM tpch_queries() ORDER BY query_nr").fetchall()
    return [
        Query(number, sqlglot.transpile(text, read="duckdb", write="spark")[0], data.execute(text).fetchall())
        for number, text in found
    ]


def faults(found: Iterable[Sequence[Any]], query: Query) -> list[str]:
    """Where an answer is another than DuckDB's.

    Values are the same, but for one thing: an average or a quotient is a float in DuckDB and a decimal in Spark, and is
    compared to the last digit that the decimal has.
    """
    rows = [tuple(row) for row in found]
    if len(rows) != len(query.answer):
        return [f"query {query.number}: {len(rows)} rows instead of {len(query.answer)}"]
    return [
        f"query {query.number}: {row} instead of {wanted}"
        for row, wanted in zip(rows, query.answer, strict=True)
        if len(row) != len(wanted) or not all(map(_is_same, row, wanted))
    ]


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, Decimal) and isinstance(other, float):
        digits = -int(one.as_tuple().exponent)
        return abs(float(one) - other) <= max(10.0**-digits, abs(other) * 1e-12)
    if isinstance(one, float) and isinstance(other, float):
        # The order in which floats are added is nobody's promise.
        return abs(one - other) <= abs(other) * 1e-12
    return bool(one == other)


def seconds(work: Callable[[], object]) -> float:
    """How long it takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compare(query: Query, session: ql.Session, spark: SparkSession, rounds: int) -> tuple[float, float, float]:
    """The median times of ours, of ours for planning alone, and of theirs."""
    ours, planned, theirs = [], [], []
    for _ in range(rounds + 1):
        theirs.append(seconds(lambda: spark.sql(query.text).collect()))
        start = time.perf_counter()
        frame = session.sql(query.text).to_spark()
        planned.append(time.perf_counter() - start)
        frame.collect()
        ours.append(time.perf_counter() - start)
    # The first round warms both up.
    return statistics.median(ours[1:]), statistics.median(planned[1:]), statistics.median(theirs[1:])


def check(queries: Sequence[Query], session: ql.Session) -> None:
    """Compare all answers of a session's engine with DuckDB's."""
    wrong = [fault for query in queries for fault in faults(session.sql(query.text), query)]
    if wrong:
        raise SystemExit("\n".join(wrong[:10]))


def measure(queries: Sequence[Query], url: str, rounds: int) -> None:
    """Run every query on both sides and print the table."""
    spark = start_spark()
    print(f"{'query':>5}  {'ours ms':>8}  {'planning':>8}  {'parquet ms':>10}  ratio")
    sums = [0.0, 0.0, 0.0]
    with ql.connect(url, engine="spark", spark=spark, read_only=True) as session:
        for name in TABLES:
            paths = [file.path for file in session.table(name).scan().files()]
            spark.read.parquet(*paths).createOrReplaceTempView(name)
        check(queries, session)
        for query in queries:
            times = compare(query, session, spark, rounds)
            sums = [one + other for one, other in zip(sums, times, strict=True)]
            print_line(str(query.number), times)
    spark.stop()
    print_line("sum", sums)
    print(f"answers as DuckDB's on both engines; at most {GOAL} x: {'yes' if sums[0] <= GOAL * sums[2] else 'no'}")


def print_line(name: str, times: Sequence[float]) -> None:
    """One line of the table."""
    ours, planned, theirs = (1000 * each for each in times)
    print(f"{name:>5}  {ours:8.0f}  {planned:8.0f}  {theirs:10.0f}  {ours / theirs:5.2f}", flush=True)


def main() -> None:
    """Make the lake when it is not there, compare the answers, and print the times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=float(os.environ.get("QUACKLAKE_TPCH_SCALE", "1")))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--queries", type=lambda text: [int(each) for each in text.split(",")])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder: Path = options.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        url, is_new = f"sqlite:///{folder / 'catalog.db'}", not (folder / "catalog.db").exists()
        with make_data(options.scale) as data:
            queries = make_queries(data)
            # The small tables too are files, for the views to read.
            with ql.connect(url, f"{folder / 'data'}/", engine="local", inline_rows=0) as session:
                if is_new:
                    load(data, session)
                chosen = [each for each in queries if not options.queries or each.number in options.queries]
                check(chosen, session)
        measure(chosen, url, options.rounds)


if __name__ == "__main__":
    main()
