"""What the catalog asks of a database. Four of them answer: SQLite, DuckDB, PostgreSQL and MySQL."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Literal, Protocol

import sqlalchemy as sa

Failure = Literal["unique", "serialization", "deadlock", "locked", "lost", "missing_table", "denied", "other"]
"""Why a statement failed, told apart by SQLSTATE or driver code, never by its words where a code exists."""


class Backend(Protocol):
    """One kind of catalog database."""

    name: str
    """`sqlite`, `duckdb`, `postgresql` or `mysql`."""
    display: str
    """The address for people: never a password."""
    sql_schema: str | None
    """Where the metadata tables are, when not in the default place."""

    def read(self) -> AbstractContextManager[sa.Connection]:
        """A connection whose every query sees one and the same state of the database."""
        ...

    def write(self) -> AbstractContextManager[sa.Connection]:
        """A connection in a transaction that commits when the block ends well and rolls back otherwise."""
        ...

    def classify(self, error: BaseException) -> Failure:
        """Why it failed."""
        ...

    def has_table(self, connection: sa.Connection, table: str) -> bool:
        """Whether a table of that name exists where the metadata tables are."""
        ...

    def default_data_path(self) -> str | None:
        """Where data goes when nobody said: beside a catalog that is a file, nowhere for a server."""
        ...

    def close(self) -> None:
        """Give back every connection."""
        ...
