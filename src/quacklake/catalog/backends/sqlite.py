"""Catalogs in a SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from quacklake.catalog.backends.protocol import Failure

BUSY_TIMEOUT_SECONDS = 30.0
"""DuckDB holds its read lock until a result is fetched to the end, so waiting is normal."""


class SqliteBackend:
    """A SQLite file, shared by every process of one machine."""

    name = "sqlite"
    sql_schema = None

    def __init__(self, path: Path, *, create: bool) -> None:
        self.path = path
        self.display = f"sqlite:///{path}"
        mode = "rwc" if create else "rw"
        self._engine = sa.create_engine(
            "sqlite://",
            creator=lambda: sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}",
                uri=True,
                timeout=BUSY_TIMEOUT_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            ),
            poolclass=sa.pool.QueuePool,
        )

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        # A deferred transaction that turns into a writer fails at once when another writer was quicker.
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sa.Connection]:
        with self._engine.connect() as connection:
            driver = connection.connection.driver_connection
            assert isinstance(driver, sqlite3.Connection)
            driver.execute(begin)
            try:
                yield connection
            except BaseException:
                if driver.in_transaction:
                    driver.execute("ROLLBACK")
                raise
            driver.execute("COMMIT")

    def classify(self, error: BaseException) -> Failure:
        cause = error.orig if isinstance(error, sa.exc.DBAPIError) else error
        code = getattr(cause, "sqlite_errorcode", None)
        if code is None:
            return "other"
        if code in (sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_UNIQUE):
            return "unique"
        primary = code & 0xFF
        if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return "locked"
        if primary == sqlite3.SQLITE_ERROR and str(cause).startswith("no such table"):
            # SQLite has one code for every mistake in a statement.
            return "missing_table"
        return "denied" if primary in (sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_READONLY) else "other"

    def has_table(self, connection: sa.Connection, table: str) -> bool:
        query = sa.text("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = :name")
        return connection.execute(query, {"name": table}).first() is not None

    def default_data_path(self) -> str | None:
        return f"{self.path}.files/"

    def close(self) -> None:
        self._engine.dispose()
