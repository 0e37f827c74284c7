"""Every row of a catalog, in a form in which two lakes can be compared."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

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
