"""Every row of a catalog, in a form in which two lakes can be compared."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import sqlalchemy as sa

import quacklake as ql

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?\+00")
_CLOCKS = ("snapshot_time", "schedule_start")

Rows = dict[str, list[dict[str, Any]]]


def catalog_rows(path: Path) -> Rows:
    """The rows of all tables of a SQLite catalog; UUIDs and moments are replaced by what they are."""
    found: Rows = {}
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        for (name,) in names:
            rows = connection.execute(f'SELECT * FROM "{name}"').fetchall()
            found[name] = sorted((_plain(dict(row)) for row in rows), key=repr)
    return found


def own_rows(session: ql.Session) -> Rows:
    """The rows of all tables of a catalog in any database, without those of others that share it."""
    catalog = session._catalog
    known = {table.name: table for table in catalog.tables}
    found: Rows = {}
    with catalog.backend.read() as connection:
        for name, columns in sorted(catalog.backend.columns(connection).items()):
            if name.startswith(("ducklake_catalog", "quacklake_")):
                continue
            other = sa.table(name, *map(sa.column, columns), schema=catalog.tables.sql_schema)
            query = sa.select(known.get(name, other))
            found[name] = [dict(row._mapping) for row in connection.execute(query)]
    if catalog.catalog_id is not None:
        found = _of_one(found)
    return {name: sorted(rows, key=repr) for name, rows in found.items()}


def _of_one(rows: Rows) -> Rows:
    """Without what hangs on the tables, views and macros of others: only these say to which catalog they belong."""
    tables = {row["table_id"] for row in rows["ducklake_table"]}
    own = {
        "table_id": tables,
        "object_id": tables | {row["view_id"] for row in rows["ducklake_view"]},
        "macro_id": {row["macro_id"] for row in rows["ducklake_macro"]},
    }
    own["mapping_id"] = {row["mapping_id"] for row in rows["ducklake_column_mapping"] if row["table_id"] in tables}

    def is_ours(row: dict[str, Any]) -> bool:
        column = next((each for each in own if each in row), None)
        return column is None or row[column] in own[column]

    def is_here(name: str) -> bool:
        of = re.fullmatch(r"ducklake_inlined_(?:data|delete)_(\d+)(?:_\d+)?", name)
        return of is None or int(of[1]) in tables

    return {name: [row for row in each if is_ours(row)] for name, each in rows.items() if is_here(name)}


def catalog_shapes(path: Path) -> dict[str, list[tuple[str, str]]]:
    """The columns of all tables of a SQLite catalog, with their types."""
    with closing(sqlite3.connect(path)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        return {
            name: [(row[1], row[2]) for row in connection.execute(f'PRAGMA table_info("{name}")')] for (name,) in names
        }


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    for key, value in row.items():
        if key in _CLOCKS:
            assert isinstance(value, str)
            assert _MOMENT.fullmatch(value), f"{key} is {value!r}"
            row[key] = "<moment>"
        elif isinstance(value, str):
            row[key] = _UUID.sub("<uuid>", value)
    return row


def differences(theirs: Rows, ours: Rows) -> list[str]:
    """What one catalog has and the other has not, a line each."""
    found = []
    for table in sorted({*theirs, *ours}):
        if (table in theirs) != (table in ours):
            found.append(f"{table} is only in {'theirs' if table in theirs else 'ours'}")
            continue
        left = [row for row in theirs[table] if row not in ours[table]]
        right = [row for row in ours[table] if row not in theirs[table]]
        found.extend(f"{table}: only theirs has {row}" for row in left)
        found.extend(f"{table}: only ours has {row}" for row in right)
    return found
