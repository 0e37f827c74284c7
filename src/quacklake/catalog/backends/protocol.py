"""What the catalog asks of a database. Four of them answer: SQLite, DuckDB, PostgreSQL and MySQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol

import sqlalchemy as sa

from quacklake.errors import QuacklakeError

Failure = Literal["unique", "serialization", "deadlock", "locked", "lost", "missing_table", "denied", "other"]
"""Why a statement failed, told apart by SQLSTATE or driver code, never by its words where a code exists."""


Question = tuple[sa.Executable, Mapping[str, Any]]
"""A query with its values."""
ANSWER = "quacklake_answer"
"""Noted at a connection that has asked already."""


def answer(connection: sa.Connection, question: Question) -> Sequence[sa.Row[Any]]:
    """What a query finds, unless its answer came along with the beginning of the transaction."""
    known: Sequence[sa.Row[Any]] | None = connection.info.pop(ANSWER, None)
    return connection.execute(*question).all() if known is None else known


class Bundle(Protocol):
    """Collects statements none of which depends on what another one does, and runs them all at once."""

    def add(self, statement: sa.Insert | sa.Update, rows: Sequence[Mapping[str, Any]]) -> None:
        """Take up a statement for some rows. It must be the same object each time, as it is compiled once."""
        ...


class Backend(Protocol):
    """One kind of catalog database."""

    name: str
    """`sqlite`, `duckdb`, `postgresql` or `mysql`."""
    display: str
    """The address for people: never a password."""
    sql_schema: str | None
    """Where the metadata tables are, when not in the default place."""
    transactional_ddl: bool
    """Whether CREATE TABLE and ALTER TABLE are part of a transaction; MySQL commits before and after each."""

    def bind(self, catalog_id: int) -> None:
        """Keep to one of the catalogs that share the database: from now on its rows are all that statements see."""
        ...

    def read(self) -> AbstractContextManager[sa.Connection]:
        """A connection whose every query sees one and the same state of the database.

        What goes wrong inside comes out as an error of our own tree.
        """
        ...

    def glance(self) -> AbstractContextManager[sa.Connection]:
        """A connection for a single query, which sees one state by itself. Errors come out as from `read`."""
        ...

    def pulse(self, connection: sa.Connection) -> object | None:
        """Something that is another after every commit, whoever made it; None where the database tells no such thing.

        In a transaction that writes it is what it will be when that has committed. It says nothing elsewhere than at
        the same connection.
        """
        ...

    def write(
        self, first: sa.Executable | None = None, question: Question | None = None
    ) -> AbstractContextManager[sa.Connection]:
        """A connection in a transaction that commits when the block ends well and rolls back otherwise.

        Errors of statements come out as they are, for the caller to `classify` and try again, or to `translate`.

        Args:
            first: A statement to run at once; nobody looks at what it returns.
            question: What will be asked next. Where that can be sent along, `answer` has the answer already.
        """
        ...

    def together(self, connection: sa.Connection) -> AbstractContextManager[Bundle | None]:
        """Send the last statements of a transaction, and its end, without waiting for each where the driver can.

        Nobody may look at what they return, not even at how many rows there were. Errors come out at the latest
        when the block ends; by then the transaction may have ended already. Where there is a bundle, statements may
        be put into it instead, and are run when the block ends.
        """
        ...

    def classify(self, error: BaseException) -> Failure:
        """Why it failed."""
        ...

    def translate(self, error: BaseException) -> QuacklakeError:
        """The error for people, without anything secret in it."""
        ...

    def has_table(self, connection: sa.Connection, table: str) -> bool:
        """Whether a table of that name exists where the metadata tables are."""
        ...

    def columns(self, connection: sa.Connection) -> dict[str, tuple[str, ...]]:
        """The tables whose names start with `ducklake_`, each with the names of its columns in order."""
        ...

    def exclusive(self, connection: sa.Connection) -> AbstractContextManager[None]:
        """Make the SQL schema of the metadata tables if need be, and let nobody else create or migrate a lake there."""
        ...

    def default_data_path(self) -> str | None:
        """Where data goes when nobody said: beside a catalog that is a file, nowhere for a server."""
        ...

    def close(self) -> None:
        """Give back every connection."""
        ...
