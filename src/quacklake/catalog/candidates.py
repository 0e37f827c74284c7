"""The few files of a large table that a test may keep, found through the indexes on the bounds of columns.

What is found is a superset: whether a file is really kept is for `prune` to say, which then looks at these alone.
How many files there are does not matter, but for one thing: files without statistics of a column have to be kept,
and to know which they are takes a look at all of them. Statistics of a file never change, so a catalog that is open
remembers them and looks at later files only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any as AnyType

import sqlalchemy as sa

from quacklake.catalog.bounds import FORM, FORMS, KEY, WIDTH, moment_key
from quacklake.catalog.indexes import BOUNDS
from quacklake.catalog.view import TableEntry
from quacklake.plan.prune import All, Any, Nulls, Range, Test, is_float

MOST = 4_000
"""More files than this are not worth naming one by one."""

Settled = dict[tuple[str, ...], tuple[int, frozenset[int] | None]]
"""What is known for good: up to which id of a file, and which of these files say nothing about a column."""

_INDEXED = f"SELECT count(*) FROM sqlite_master WHERE type = 'index' AND name IN ({', '.join(map(repr, BOUNDS))})"
_NEWEST = "SELECT max(data_file_id) FROM ducklake_data_file WHERE table_id = ?"
_SILENT = """SELECT data_file_id FROM ducklake_data_file WHERE table_id = ? AND data_file_id > ?
    EXCEPT SELECT data_file_id FROM ducklake_file_column_stats
    WHERE table_id = ? AND column_id = ? AND data_file_id > ? {nan} ORDER BY 1 LIMIT ?"""
_OF_COLUMN = "SELECT data_file_id FROM ducklake_file_column_stats WHERE table_id = ? AND column_id = ? AND "
_WIDEST = (
    f"SELECT max({WIDTH}) AS w FROM ducklake_file_column_stats WHERE table_id = ? AND column_id = ? AND {FORM} = ?"
)


def find_candidates(connection: sa.Connection, entry: TableEntry, test: Test, settled: Settled) -> list[int] | None:
    """The ids of files among which are all that the test keeps; None when they are many, or cannot be found so."""
    if connection.dialect.name != "sqlite" or not _has_indexes(connection, settled):
        return None
    found = _Finder(connection, entry, settled).find(test)
    return None if found is None else sorted(found)


def _has_indexes(connection: sa.Connection, settled: Settled) -> bool:
    if ("indexed",) not in settled:
        if connection.exec_driver_sql(_INDEXED).scalar_one() < len(BOUNDS):
            return False
        settled["indexed",] = (0, None)
    return True


class _Finder:
    def __init__(self, connection: sa.Connection, entry: TableEntry, settled: Settled) -> None:
        self._connection = connection
        self._entry = entry
        self._settled = settled

    def find(self, test: Test) -> set[int] | None:
        match test:
            case All(parts):
                return self._narrowest(parts)
            case Any(parts):
                return self._together(parts)
            case Range():
                return self._in_range(test)
            case Nulls():
                return None

    def _narrowest(self, parts: Iterable[Test]) -> set[int] | None:
        best: set[int] | None = None
        for part in _merged(parts):
            found = self.find(part)
            if found is not None and (best is None or len(found) < len(best)):
                best = found
            if best is not None and len(best) <= 100:
                break
        return best

    def _together(self, parts: Iterable[Test]) -> set[int] | None:
        union: set[int] = set()
        for part in parts:
            found = self.find(part)
            if found is None or len(union := union | found) > MOST:
                return None
        return union

    def _in_range(self, test: Range) -> set[int] | None:
        if test.domain in FORMS:
            found = self._by_key(test, FORMS[test.domain])
        elif test.domain == "text":
            found = self._by_text(test)
        else:
            return None
        silent = self._silent(test) if found is not None else None
        return None if found is None or silent is None or len(found) > MOST else found | silent

    def _by_key(self, test: Range, form: str) -> set[int] | None:
        at = (self._entry.table_id, test.column.id)
        other = f"{_OF_COLUMN} {FORM}"
        parts: list[tuple[str, tuple[AnyType, ...]]] = [
            (f"{other} IS NULL", at),
            (f"{other} < ?", (*at, form)),
            (f"{other} > ?", (*at, form)),
        ]
        conditions, values = [f"{FORM} = ?"], [*at, form]
        if test.high is not None:
            conditions.append(f"{KEY['min_value']} <= ?")
            values.append(_key_of(test.high))
        if test.low is not None:
            # A file that reaches up to a value begins below it by no more than the widest of all files is wide.
            conditions.append(f"{KEY['min_value']} >= ? - (SELECT w + w / 1000000000 FROM ({_WIDEST}))")
            conditions.append(f"{KEY['max_value']} >= ?")
            low = _key_of(test.low)
            values += [low, *at, form, low]
        parts.append((_OF_COLUMN + " AND ".join(conditions), tuple(values)))
        return self._ids(parts)

    def _by_text(self, test: Range) -> set[int] | None:
        at = (self._entry.table_id, test.column.id)
        conditions, values = ["min_value IS NOT NULL"], list[AnyType](at)
        if test.high is not None:
            conditions = ["min_value <= ?"]
            values.append(test.high)
        if test.low is not None:
            conditions.append("(max_value >= ? OR max_value IS NULL)")
            values.append(test.low)
        return self._ids(
            [(f"{_OF_COLUMN} min_value IS NULL", at), (_OF_COLUMN + " AND ".join(conditions), tuple(values))]
        )

    def _ids(self, parts: Iterable[tuple[str, tuple[AnyType, ...]]]) -> set[int] | None:
        found: set[int] = set()
        for query, values in parts:
            rows = self._connection.exec_driver_sql(f"{query} LIMIT ?", (*values, MOST + 1))
            found.update(id_ for (id_,) in rows if id_ is not None)
            if len(found) > MOST:
                return None
        return found

    def _silent(self, test: Range) -> frozenset[int] | None:
        """The files that say nothing about the column, or of a float not whether it has NaN."""
        table_id, column_id = self._entry.table_id, test.column.id
        key = (str(self._entry.uuid), str(table_id), str(column_id), str(is_float(test.column)))
        known, silent = self._settled.get(key, (-1, frozenset[int]()))
        newest = self._connection.exec_driver_sql(_NEWEST, (table_id,)).scalar()
        if newest is not None and newest < known:
            # The catalog was set back: ids may come again, for other files.
            known, silent = -1, frozenset()
        if silent is None or newest is None or newest == known:
            return silent
        query = _SILENT.format(nan="AND contains_nan IS 0" if is_float(test.column) else "")
        asked = (table_id, known, table_id, column_id, known, MOST + 1)
        more = {id_ for (id_,) in self._connection.exec_driver_sql(query, asked)}
        silent = None if len(silent) + len(more) > MOST else silent | more
        self._settled[key] = (newest, silent)
        return silent


def _key_of(end: float | str) -> float:
    return moment_key(end) if isinstance(end, str) else end


def _merged(parts: Iterable[Test]) -> list[Test]:
    """The tests, with ranges of one column made one where they have one end each; those with two ends first."""
    ranges: dict[int, Range] = {}
    rest: list[Test] = []
    for part in parts:
        if not isinstance(part, Range):
            rest.append(part)
            continue
        other = ranges.get(part.column.id)
        if other is None:
            ranges[part.column.id] = part
        elif None in (other.low, part.low) and None in (other.high, part.high):
            low = part.low if other.low is None else other.low
            high = part.high if other.high is None else other.high
            ranges[part.column.id] = Range(part.column, part.domain, low, high)
        else:
            rest.append(part)
    return [*sorted(ranges.values(), key=lambda each: None in (each.low, each.high)), *rest]
