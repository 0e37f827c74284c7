"""Catalogs in a SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Engine
from sqlalchemy.util import LRUCache

from quacklake.catalog.backends.failures import driver_error, first_line, translated
from quacklake.catalog.backends.protocol import Bundle, Failure, Question
from quacklake.catalog.shared.ownership import bind, keep_own_rows
from quacklake.errors import CatalogError, QuacklakeError

BUSY_TIMEOUT_SECONDS = 30.0
"""DuckDB holds its read lock until a result is fetched to the end, so waiting is normal."""
HURRY_SECONDS = 0.05
_IDENTITY = "quacklake_identity"
"""Noted at a connection to tell it from others."""

_HAS_TABLE = sa.text("SELECT 1 FROM sqlite_master WHERE type IN ('table', 'view') AND name = :name")
_COLUMNS = sa.text(
    "SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c"
    " WHERE m.type IN ('table', 'view') AND substr(m.name, 1, 9) = 'ducklake_' ORDER BY m.name, c.cid"
)


class SqliteBackend:
    """A SQLite file, shared by every process of one machine."""

    name = "sqlite"
    sql_schema: str | None = None
    transactional_ddl = True

    def __init__(self, path: Path, *, create: bool) -> None:
        self.path = path
        self.display = f"sqlite:///{path}"
        self._address = f"{path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
        self._engine = _engine(self._address, BUSY_TIMEOUT_SECONDS)

    def bind(self, catalog_id: int) -> None:
        self._engine = bind(self._engine, catalog_id)

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        with translated(self), self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def glance(self) -> Iterator[sa.Connection]:
        with translated(self), self._engine.connect() as connection:
            yield connection

    def pulse(self, connection: sa.Connection) -> object | None:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        try:
            # SQLite counts the commits of others; every one of our own writes a row at least.
            (of_others,) = driver.execute("PRAGMA data_version").fetchone()
        except sqlite3.Error:
            # Whatever is wrong, the next statement fails of it and has its error explained.
            return None
        return connection.info.setdefault(_IDENTITY, object()), driver.total_changes, of_others

    @contextmanager
    def write(self, first: sa.Executable | None = None, question: Question | None = None) -> Iterator[sa.Connection]:
        # A deferred transaction that turns into a writer fails at once when another writer was quicker.
        with self._transaction("BEGIN IMMEDIATE") as connection:
            if first is not None:
                connection.execute(first)
            yield connection

    @contextmanager
    def hurry(self) -> Iterator[sa.Connection]:
        """A connection as `write` gives it, but one that waits for nobody."""
        engine = _engine(self._address, HURRY_SECONDS)
        try:
            with self._transaction("BEGIN IMMEDIATE", engine) as connection:
                yield connection
        finally:
            engine.dispose()

    @contextmanager
    def _transaction(self, begin: str, engine: Engine | None = None) -> Iterator[sa.Connection]:
        with translated(self):
            connection = (engine or self._engine).connect()
        with connection:
            driver = connection.connection.driver_connection
            assert isinstance(driver, sqlite3.Connection)
            with translated(self):
                connection.exec_driver_sql(begin)
            try:
                yield connection
                connection.exec_driver_sql("COMMIT")
            except BaseException:
                # After an interrupt SQLAlchemy has closed the connection, which ends the transaction too.
                if not connection.invalidated and driver.in_transaction:
                    driver.execute("ROLLBACK")
                raise

    def classify(self, error: BaseException) -> Failure:
        cause = driver_error(error)
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

    def translate(self, error: BaseException) -> QuacklakeError:
        code = getattr(driver_error(error), "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_NOTADB:
            return CatalogError(f"{self.path} is not a SQLite database", hint="duckdb:///file opens a DuckDB file")
        if code == sqlite3.SQLITE_CANTOPEN:
            return CatalogError(f"{self.path} cannot be opened", hint="check that the file may be read and written")
        if code == sqlite3.SQLITE_READONLY:
            return CatalogError(f"{self.path} cannot be written", hint="check the rights of the file and its folder")
        if self.classify(error) == "locked":
            return CatalogError(
                f"{self.path} was locked for {BUSY_TIMEOUT_SECONDS:.0f} seconds",
                hint="end the process that writes to it; in DuckDB, fetch or close open results",
            )
        return CatalogError(f"SQLite failed on {self.path}: {first_line(error)}")

    def has_table(self, connection: sa.Connection, table: str) -> bool:
        return connection.execute(_HAS_TABLE, {"name": table}).first() is not None

    def columns(self, connection: sa.Connection) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for table, column in connection.execute(_COLUMNS):
            found[table] = (*found.get(table, ()), column)
        return found

    def together(self, connection: sa.Connection) -> AbstractContextManager[Bundle | None]:
        return nullcontext()

    def exclusive(self, connection: sa.Connection) -> AbstractContextManager[None]:
        # The write transaction keeps everybody else out already.
        return nullcontext()

    def default_data_path(self) -> str | None:
        return f"{self.path}.files/"

    def close(self) -> None:
        self._engine.dispose()


def _engine(address: str, patience: float) -> Engine:
    def connect() -> Any:
        return sqlite3.connect(address, uri=True, timeout=patience, isolation_level=None, check_same_thread=False)

    dialect, compiled = _dialect()
    # Every transaction is ended by hand.
    pool = sa.pool.QueuePool(connect, dialect=dialect, reset_on_return=None)
    return Engine(pool, dialect, sa.make_url("sqlite://"), execution_options={"compiled_cache": compiled})


@lru_cache(maxsize=1)
def _dialect() -> tuple[sa.Dialect, Any]:
    """One dialect and one cache of compiled statements for all SQLite catalogs of the process.

    To compile the statements of one scan takes longer than to run them a hundred times.
    """
    template = sa.create_engine("sqlite://")
    template.connect().close()
    template.dispose()
    keep_own_rows(template.dialect)
    return template.dialect, LRUCache(500)
