"""How long it takes to plan a scan: with few files, with many of which few are kept, and with ten times as many.

    python -m benchmarks.planning [--files 100000] [--rounds 15] [--url postgresql://…] [--data-path DIR] [--bare]

The catalog is filled with statements: no data file is written, for planning reads none. With `--bare` the lake has
none of our indexes, as DuckDB makes it.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import sqlalchemy as sa

import quacklake as ql
from quacklake.catalog.indexes import wanted_indexes
from quacklake.catalog.tables import CatalogTables

COLUMNS = ("id", "ts", "amount", "word", *(f"c{number}" for number in range(6)))
_DDL = "id BIGINT, ts TIMESTAMP_NTZ, amount DOUBLE, word STRING, " + ", ".join(f"c{each} BIGINT" for each in range(6))
_ROWS = 1000
_NUMBERS = sa.table("bench_numbers", sa.column("i", sa.BigInteger()))


@dataclass(frozen=True, slots=True)
class Case:
    """One plan."""

    name: str
    where: str | None
    kept: int | None
    """How many files it must keep; every one when None."""


def cases(files: int) -> tuple[Case, ...]:
    """The plans over a table of so many files, each about the middle of it."""
    middle = files // 2
    return (
        Case("a number", f"id = {middle * _ROWS + 7}", 1),
        Case("a range of numbers", f"id BETWEEN {middle * _ROWS} AND {(middle + 10) * _ROWS - 1}", 10),
        Case("two columns", f"id >= {middle * _ROWS} AND id < {(middle + 1) * _ROWS} AND amount < {middle + 1}", 1),
        Case("a text", f"word = 'w{middle:09d}'", 1),
        Case("a moment of the last files", f"ts >= TIMESTAMP_NTZ '{_moment(files - 5)}'", 5),
        Case("a moment in the middle", f"ts = TIMESTAMP_NTZ '{_moment(middle)}'", 1),
    )


def _moment(hours: int) -> str:
    return (datetime(1990, 1, 1) + timedelta(hours=hours)).strftime("%Y-%m-%d %H:%M:%S")


def fill(session: ql.Session, table: str, files: int) -> None:
    """Give a table so many files, with statistics of all columns."""
    session.create_table(table, _DDL)
    catalog = session._catalog
    entry = session.table(table)._entry
    tables = catalog.tables
    with catalog.backend.write() as connection:
        first = connection.execute(sa.select(sa.func.max(tables.snapshot.c.next_file_id))).scalar_one()
        newest = connection.execute(sa.select(sa.func.max(tables.snapshot.c.snapshot_id))).scalar_one()
        connection.exec_driver_sql("CREATE TEMPORARY TABLE bench_numbers (i BIGINT)")
        numbers = [{"i": number} for number in range(files)]
        connection.execute(sa.insert(_NUMBERS), numbers)
        _fill_files(connection, tables, entry.table_id, first, newest)
        ids = {column.name: column.id for column in entry.schema}
        for name in COLUMNS:
            _fill_statistics(connection, tables, entry.table_id, first, ids[name], name)
        connection.execute(
            sa.update(tables.snapshot).where(tables.snapshot.c.snapshot_id == newest).values(next_file_id=first + files)
        )
        connection.exec_driver_sql("DROP TABLE bench_numbers")


def _fill_files(connection: sa.Connection, tables: CatalogTables, table_id: int, first: int, newest: int) -> None:
    files = tables.data_file
    number = _NUMBERS.c.i
    values = {
        "data_file_id": number + first,
        "table_id": sa.literal(table_id),
        "begin_snapshot": sa.literal(newest),
        "path": sa.literal("ducklake-") + sa.cast(number, sa.String(20)) + "-0190-7000-8000-benchmark.parquet",
        "path_is_relative": sa.true(),
        "file_format": sa.literal("parquet"),
        "record_count": sa.literal(_ROWS),
        "file_size_bytes": sa.literal(100_000),
        "footer_size": sa.literal(1000),
        "row_id_start": number * _ROWS,
    }
    connection.execute(files.insert().from_select(list(values), sa.select(*values.values())))


def _fill_statistics(
    connection: sa.Connection, tables: CatalogTables, table_id: int, first: int, column_id: int, name: str
) -> None:
    stats = tables.file_column_stats
    number = _NUMBERS.c.i
    low, high = _bounds(connection.dialect.name, number, name)
    values = {
        "data_file_id": number + first,
        "table_id": sa.literal(table_id),
        "column_id": sa.literal(column_id),
        "column_size_bytes": sa.literal(10_000),
        "value_count": sa.literal(_ROWS),
        "null_count": sa.literal(0),
        "min_value": low,
        "max_value": high,
        "contains_nan": sa.false() if name == "amount" else sa.null(),
    }
    connection.execute(stats.insert().from_select(list(values), sa.select(*values.values())))


def _bounds(
    dialect: str, number: sa.ColumnElement[int], name: str
) -> tuple[sa.ColumnElement[str], sa.ColumnElement[str]]:
    def text(value: sa.ColumnElement[int]) -> sa.ColumnElement[str]:
        return sa.cast(value, sa.String(30))

    match name:
        case "id":
            return text(number * _ROWS), text(number * _ROWS + _ROWS - 1)
        case "amount":
            return text(number) + ".25", text(number) + ".75"
        case "word":
            padded = sa.func.substr(sa.literal("w000000000"), 1, 10 - sa.func.length(text(number))) + text(number)
            return padded, padded + "z"
        case "ts" if dialect == "sqlite":
            start = sa.literal("1990-01-01 00:00:00")
            hours = text(number) + " hours"
            return sa.func.datetime(start, hours), sa.func.datetime(start, hours, "+3599 seconds")
        case "ts":
            moment = sa.text("TIMESTAMP '1990-01-01' + i * INTERVAL '1 hour'")
            later = sa.text("TIMESTAMP '1990-01-01' + i * INTERVAL '1 hour' + INTERVAL '3599 seconds'")
            shape = "YYYY-MM-DD HH24:MI:SS"
            return sa.func.to_char(moment, shape), sa.func.to_char(later, shape)
        case _:
            return text(number % 7), text(number % 7 + 1000)


def measure(session: ql.Session, table: str, case: Case, files: int, rounds: int) -> list[str]:
    """One line of the table."""
    times = []
    first = None
    for _ in range(rounds + 1):
        start = time.perf_counter()
        plan = session.table(table).scan(where=case.where).plan()
        times.append(time.perf_counter() - start)
        first = first or times[0]
        if len(plan.files) != (files if case.kept is None else case.kept):
            raise SystemExit(f"{case.name}: {len(plan.files)} files kept of {files}")
    shown = (first or 0.0, min(times[1:]), statistics.median(times[1:]))
    return [f"{files}", case.name, f"{len(plan.files)}", *(f"{1000 * each:.1f}" for each in shown)]


def drop_indexes(session: ql.Session) -> None:
    """Take our indexes away again."""
    backend = session._catalog.backend
    with backend.write() as connection:
        for name, (table, _) in wanted_indexes(backend.name).items():
            place = f" ON ducklake_{table}" if backend.name == "mysql" else ""
            connection.exec_driver_sql(f"DROP INDEX {name}{place}")


def main() -> None:
    """Make the lake and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--url")
    parser.add_argument("--data-path")
    parser.add_argument("--bare", action="store_true")
    options = parser.parse_args()
    heads = ["files", "plan", "kept", "first ms", "min ms", "median ms"]
    lines = [heads]
    with tempfile.TemporaryDirectory() as scratch:
        url = options.url or f"sqlite:///{Path(scratch) / 'catalog.db'}"
        sizes = {"few": 20, "some": options.files // 10, "many": options.files}
        with ql.connect(url, options.data_path, engine="local") as session:
            for table, files in sizes.items():
                fill(session, table, files)
            if options.bare:
                drop_indexes(session)
        with ql.connect(url, engine="local", read_only=True) as session:
            lines.append(measure(session, "few", Case("everything", None, None), 20, options.rounds))
            for table, files in sizes.items():
                lines += [measure(session, table, case, files, options.rounds) for case in cases(files)]
    widths = [max(len(line[index]) for line in lines) for index in range(len(heads))]
    for line in lines:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)))


if __name__ == "__main__":
    main()
