"""What it costs a catalog that a hundred thousand others are in the same PostgreSQL, beside one that is there alone.

    python -m benchmarks.tenants [--tenants 100000] [--rounds 60]

One catalog with a small table is made, and as many copies of its rows as there are to be catalogs. Both databases take
turns, each time with another catalog. Sizes of tables and indexes say what a catalog takes.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
from rich.console import Console

import quacklake as ql
from tests.servers import Server, find_postgresql, running_postgresql

GOAL = 1.2
_SHIFTED = {
    "catalog_id": "c",
    **dict.fromkeys(("snapshot_id", "begin_snapshot", "end_snapshot", "created_snapshot"), "s"),
    **dict.fromkeys(("schema_id", "table_id", "next_entry_id"), "e"),
    **dict.fromkeys(("data_file_id", "next_file_id"), "f"),
}
_ROWS = pa.table({"id": pa.array(range(20), pa.int64()), "v": [f"v{id_}" for id_ in range(20)]})
Work = Callable[[str, str], None]


def tenant_name(number: int) -> str:
    """What the catalog of a number is called."""
    return f"wb_{number:09}"


def seed(url: str, data_path: str, count: int) -> None:
    """Make catalogs with one small table each: one for real, the others as copies of its rows."""
    with ql.connect(url, data_path, catalog=tenant_name(0), engine="local", inline_rows=0) as session:
        session.create_table("t", "id BIGINT, v STRING").append(_ROWS)
        path = session.table("t").scan().plan().files[0].path
    with psycopg.connect(url, autocommit=True) as connection:
        # All of them show the same file.
        connection.execute("UPDATE ducklake_data_file SET path = %s, path_is_relative = false", (path,))
        steps = {
            letter: connection.execute(f"SELECT nextval('quacklake_{kind}_id')").fetchone()[0]  # type: ignore[index]
            for letter, kind in (("c", "catalog"), ("s", "snapshot"), ("e", "entry"), ("f", "file"))
        }
        tables = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
            " AND table_name <> 'ducklake_metadata'"
            " AND (table_name LIKE 'ducklake%' OR table_name = 'quacklake_tenant')"
        ).fetchall()
        for (table,) in tables:
            _copy_rows(connection, table, count, steps)
        for letter, kind in (("c", "catalog"), ("s", "snapshot"), ("e", "entry"), ("f", "file")):
            connection.execute(f"SELECT setval('quacklake_{kind}_id', {steps[letter] * (count + 1) + 1})".encode())
        connection.execute("VACUUM ANALYZE")


def _copy_rows(connection: psycopg.Connection[Any], table: str, count: int, steps: dict[str, int]) -> None:
    columns = [
        row[0]
        for row in connection.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_name = %s ORDER BY ordinal_position",
            (table,),
        )
    ]
    name = "'wb_' || lpad(g::text, 9, '0')"
    special = {
        "catalog_name": name,
        "name_key": name,
        "path_key": f"encode(sha256(convert_to({name} || '/', 'UTF8')), 'hex')",
        "table_uuid": "gen_random_uuid()",
        "schema_uuid": "gen_random_uuid()",
        "changes_made": f"regexp_replace(changes_made, ':[0-9]+', ':' || (1 + g * {steps['e']}))",
    }
    if table == "quacklake_tenant":
        special["path"] = f"{name} || '/'"
    values = [
        special.get(column) or (f"{column} + g * {steps[_SHIFTED[column]]}" if column in _SHIFTED else column)
        for column in columns
    ]
    query = f"INSERT INTO {table}({', '.join(columns)}) SELECT {', '.join(values)} FROM {table}"
    connection.execute(f"{query}, generate_series(1, {count - 1}) g".encode())


def read(url: str, name: str) -> None:
    """Open a catalog and read its table."""
    with ql.connect(url, catalog=name, engine="local", create=False) as session:
        if session.table("t").to_arrow().num_rows < 20:
            raise SystemExit(f"{name} has lost rows")


def commit(url: str, name: str) -> None:
    """Open a catalog and commit a file."""
    with ql.connect(url, catalog=name, engine="local", create=False, inline_rows=0) as session:
        session.table("t").append(_ROWS)


def look_up(url: str, name: str) -> None:
    """Open a catalog and see what it has."""
    with ql.connect(url, catalog=name, engine="local", create=False) as session:
        if session.tables() != ["main.t"] or len(session.snapshots()) < 3:
            raise SystemExit(f"{name} is not what it should be")


def list_page(url: str, name: str) -> None:
    """A page of names."""
    with ql.tenants(url) as tenants:
        tenants.list(after=name, limit=1000)


def compare(one: str, many: str, count: int, rounds: int, work: Work) -> tuple[float, float]:
    """How long it takes in either database, in milliseconds."""
    chance = random.Random(work.__name__)
    times: dict[str, list[float]] = {one: [], many: []}
    for _ in range(rounds):
        for url, name in ((one, tenant_name(0)), (many, tenant_name(chance.randrange(count)))):
            start = time.perf_counter()
            work(url, name)
            times[url].append(1000 * (time.perf_counter() - start))
    return statistics.median(times[one][2:]), statistics.median(times[many][2:])


def print_sizes(url: str, count: int, console: Console) -> None:
    """What tables and indexes take, in all and for one catalog."""
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT relname, pg_table_size(oid), pg_indexes_size(oid), reltuples::bigint FROM pg_class"
            " WHERE relkind = 'r' AND (relname LIKE 'ducklake%' OR relname LIKE 'quacklake%') AND reltuples > 0"
            " ORDER BY 2 + 3 DESC, 1"
        ).fetchall()
    rows, data, indexes = (sum(row[index] for row in found) for index in (3, 1, 2))
    console.print(
        f"{count} catalogs: {rows} rows, {data / 1e6:.0f} MB of tables, {indexes / 1e6:.0f} MB of indexes;"
        f" each {rows / count:.1f} rows and {(data + indexes) / count:.0f} bytes"
    )


def measure(server: Server, count: int, rounds: int, folder: Path, console: Console) -> bool:
    """Fill both databases, and print how they compare."""
    urls = []
    for tenants in (1, count):
        urls.append(server.url(server.create_database()))
        start = time.perf_counter()
        seed(urls[-1], f"{folder / str(tenants)}/", tenants)
        console.print(f"[dim]{tenants} catalogs made in {time.perf_counter() - start:.1f} s[/dim]")
    print_sizes(urls[1], count, console)
    console.print(f"{'':24}{'1':>10}{count:>10}   (ms)")
    good = True
    for work in (read, commit, look_up, list_page):
        one, many = compare(urls[0], urls[1], count, rounds, work)
        words = re.sub(r"_", " ", work.__name__)
        console.print(f"{words:24}{one:10.1f}{many:10.1f}   {many / one:.2f} x")
        good = good and (work is list_page or many <= GOAL * one)
    return good


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenants", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=60)
    options = parser.parse_args()
    console = Console(highlight=False)
    programs = find_postgresql()
    if programs is None:
        console.print("PostgreSQL is not installed")
        return
    with running_postgresql(programs) as server, tempfile.TemporaryDirectory() as name:
        good = measure(server, options.tenants, options.rounds, Path(name), console)
    console.print(f"at most {GOAL} x: {'yes' if good else 'no'}")


if __name__ == "__main__":
    main()
