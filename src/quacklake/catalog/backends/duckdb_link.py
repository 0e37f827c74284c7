"""DuckDB as SQLAlchemy expects a driver to be: every result is its own and stays until it is fetched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb


class Link:
    """A connection whose results outlive the next statement, as SQLAlchemy expects of every driver."""

    autocommit = None
    closed = False

    def __init__(self, link: duckdb.DuckDBPyConnection) -> None:
        self.link = link
        self.notices: list[str] = []
        self.latest: Cursor | None = None

    def cursor(self) -> Cursor:
        return Cursor(self)

    def begin(self) -> None:
        self.link.begin()

    def commit(self) -> None:
        self.link.commit()

    def rollback(self) -> None:
        self.link.rollback()

    def close(self) -> None:
        self.link.close()
        self.closed = True


class Cursor:
    """One statement and its rows. DuckDB itself forgets them when the connection runs another one."""

    def __init__(self, connection: Link) -> None:
        self.connection = connection
        self.description: Any = None
        self.rowcount = -1
        self.arraysize = 1
        self._rows: Iterator[Any] = iter(())

    def execute(self, statement: str, parameters: Sequence[Any] | None = None, context: Any = None) -> None:
        link = self._begin()
        link.execute(statement, parameters or None)
        self.description = link.description
        if self.description and [each[0] for each in self.description] == ["Count"] and not _is_query(statement):
            # A change of rows answers with their number.
            rows = link.fetchall()
            self.rowcount = rows[0][0] if rows else -1
            self.description = None
        elif self.description:
            self.connection.latest = self

    def executemany(self, statement: str, parameters: Iterable[Sequence[Any]], context: Any = None) -> None:
        self._begin().executemany(statement, [*parameters])
        self.description = None

    def fetchone(self) -> Any:
        return next(self._all(), None)

    def fetchmany(self, size: int | None = None) -> list[Any]:
        return list(islice(self._all(), size or self.arraysize))

    def fetchall(self) -> list[Any]:
        return list(self._all())

    def to_arrow_table(self) -> Any:
        """All rows at once, in Arrow's types."""
        assert self.connection.latest is self, "rows are fetched once"
        self.connection.latest = None
        return self.connection.link.to_arrow_table()

    def close(self) -> None:
        if self.connection.latest is self:
            self.connection.latest = None
        self._rows = iter(())

    def _begin(self) -> duckdb.DuckDBPyConnection:
        if self.connection.latest is not None:
            self.connection.latest._all()
        self._rows = iter(())
        return self.connection.link

    def _all(self) -> Iterator[Any]:
        if self.connection.latest is self:
            self.connection.latest = None
            self._rows = iter(self.connection.link.fetchall())
        return self._rows


def _is_query(statement: str) -> bool:
    return statement.lstrip("( \n\t").upper().startswith(("SELECT", "WITH", "FROM"))
