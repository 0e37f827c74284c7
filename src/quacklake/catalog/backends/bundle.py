"""Many statements sent to PostgreSQL as one, for to send one costs more than to run it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from quacklake.catalog.shared.ownership import bound_to

Statement = sa.Insert | sa.Update
_MOST_VALUES = 2000
"""More than that in one statement cost the database more than a few statements do; it takes 65535 at most."""
_VALUES = " VALUES "
_PLACEHOLDER = re.compile(r"%\((\w+)\)s|%%")


class Bundle:
    """Collects statements none of which depends on what another one does, and runs them all at once.

    Args:
        connection: In the transaction that the statements belong to.
    """

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._bound = bound_to(connection)
        self._parts: list[tuple[_Compiled, int]] = []
        self._values: list[Any] = []

    def add(self, statement: Statement, rows: Sequence[Mapping[str, Any]]) -> None:
        """Take up a statement for some rows. It must be the same object each time, as it is compiled once."""
        compiled = _compile(statement, tuple(rows[0]), self._connection.dialect)
        if len(self._values) + len(rows) * len(compiled.names) > _MOST_VALUES:
            self._connection.execute(statement, rows)
            return
        self._parts.append((compiled, len(rows)))
        for row in rows:
            self._values.extend(compiled.values({**row, **self._bound} if self._bound else row))

    def run(self) -> None:
        """Run what was collected."""
        from psycopg import RawCursor

        if self._parts:
            driver = self._connection.connection.driver_connection
            assert driver is not None
            with RawCursor(driver) as cursor:
                cursor.execute(_join(tuple(self._parts)), self._values)
        self._parts, self._values = [], []


@dataclass(frozen=True, eq=False, slots=True)
class _Compiled:
    """A statement for one row, as text with named places."""

    text: str
    names: tuple[str, ...]
    """The values in the order of their places."""
    processors: tuple[Callable[[Any], Any] | None, ...]

    def values(self, row: Mapping[str, Any]) -> list[Any]:
        return [
            row[name] if process is None else process(row[name])
            for name, process in zip(self.names, self.processors, strict=True)
        ]


@lru_cache(maxsize=256)
def _compile(statement: Statement, columns: tuple[str, ...], dialect: sa.Dialect) -> _Compiled:
    # Without `inline`, an insert would ask for the key that it made.
    plain = statement.inline()
    compiled = plain.compile(dialect=dialect, column_keys=list(columns) if statement.is_insert else [])
    assert isinstance(compiled, sa.sql.compiler.SQLCompiler)
    names = tuple(name for name in _PLACEHOLDER.findall(compiled.string) if name)
    types = [compiled.binds[name].type.dialect_impl(dialect) for name in names]
    return _Compiled(compiled.string, names, tuple(type_.bind_processor(dialect) for type_ in types))


@lru_cache(maxsize=256)
def _join(parts: tuple[tuple[_Compiled, int], ...]) -> str:
    """One statement out of several: all but the last go before it, as the queries that it is said to build on."""
    texts = [text for compiled, rows in parts for text in _repeat(compiled.text, rows)]
    numbers = iter(range(1, 1 + sum(len(compiled.names) * rows for compiled, rows in parts)))
    *first, last = (_PLACEHOLDER.sub(lambda match: f"${next(numbers)}" if match[1] else "%", text) for text in texts)
    before = ", ".join(f"part_{index} AS ({text})" for index, text in enumerate(first))
    return f"WITH {before} {last}" if first else last


def _repeat(text: str, rows: int) -> list[str]:
    """The statement for so many rows: one insert of them all, or an update for each."""
    if not text.startswith("INSERT"):
        return [text] * rows
    head, _, row = text.rpartition(_VALUES)
    return [head + _VALUES + ", ".join([row] * rows)]
