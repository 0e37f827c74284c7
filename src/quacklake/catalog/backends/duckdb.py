"""Catalogs in a DuckDB file.

Only one process at a time can have such a file open to write. So it is attached when a transaction starts and
detached when it ends, to one DuckDB that lives as long as the process: a new one takes ten times as long.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import duckdb_engine
import sqlalchemy as sa
from sqlalchemy.dialects import registry

from quacklake.catalog.backends.duckdb_link import Link
from quacklake.catalog.backends.failures import driver_error, first_line, translated
from quacklake.catalog.backends.protocol import Bundle, Failure, Question
from quacklake.catalog.shared.ownership import OPTION, give_catalog, keep_own_rows
from quacklake.errors import CatalogError, QuacklakeError
from quacklake.names import quote

LOCK_TIMEOUT_SECONDS = 30.0
"""How long to wait for another process to let go of the file."""
SAME_PROCESS_TIMEOUT_SECONDS = 3.0
"""How long to wait for another DuckDB of this process, which may well belong to whoever is waiting."""
_SAME_PROCESS = "Unique file handle conflict"

_HAS_TABLE = sa.text(
    "SELECT 1 FROM duckdb_columns() WHERE database_name = current_database() AND schema_name = :place"
    " AND table_name = :name LIMIT 1"
)
_COLUMNS = sa.text(
    "SELECT table_name, column_name FROM duckdb_columns() WHERE database_name = current_database()"
    " AND schema_name = :place AND starts_with(table_name, 'ducklake_') ORDER BY table_name, column_index"
)


class CatalogDialect(duckdb_engine.Dialect):
    """The dialect of duckdb-engine with the cache of compiled statements, which it leaves off out of caution."""

    supports_statement_cache = True


registry.register("quacklake_duckdb", __name__, "CatalogDialect")


class DuckdbBackend:
    """A DuckDB file, for one process at a time."""

    name = "duckdb"
    transactional_ddl = True

    def __init__(self, path: Path, sql_schema: str | None = None) -> None:
        self.path = path
        # Whatever the working folder will be later.
        self._file = path.resolve()
        self.sql_schema = sql_schema
        self.display = f"duckdb:///{path}"
        self._bound: dict[str, int] = {}

    def bind(self, catalog_id: int) -> None:
        self._bound = {OPTION: catalog_id}

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        with translated(self), self._transaction(writes=False) as connection:
            yield connection

    def glance(self) -> AbstractContextManager[sa.Connection]:
        return self.read()

    def pulse(self, connection: sa.Connection) -> object | None:
        return None

    @contextmanager
    def write(self, first: sa.Executable | None = None, question: Question | None = None) -> Iterator[sa.Connection]:
        with self._transaction(writes=True) as connection:
            if first is not None:
                connection.execute(first)
            yield connection

    @contextmanager
    def _transaction(self, *, writes: bool) -> Iterator[sa.Connection]:
        with translated(self):
            name = _desk().open(self._file, writes=writes)
        try:
            with _desk().engine.connect() as connection:
                connection.execution_options(**self._bound)
                connection.exec_driver_sql(f"USE {quote(name)}")
                yield connection
                connection.commit()
        finally:
            _desk().close(self._file)

    def classify(self, error: BaseException) -> Failure:
        cause = driver_error(error)
        words = str(cause)
        match cause:
            case duckdb.ConstraintException():
                return "unique" if "uplicate key" in words else "other"
            case duckdb.TransactionException():
                return "serialization"
            case duckdb.CatalogException():
                return "missing_table" if "does not exist" in words else "other"
            case duckdb.PermissionException():
                return "denied"
            case duckdb.Error():
                # DuckDB has classes of errors and no codes: these three share theirs with other mistakes.
                if "Could not set lock" in words or _SAME_PROCESS in words:
                    return "locked"
                return "denied" if "read-only mode" in words or "Permission denied" in words else "other"
        return "other"

    def translate(self, error: BaseException) -> QuacklakeError:
        words = first_line(error)
        if _SAME_PROCESS in words:
            return CatalogError(
                f"this process has {self.path} attached to another DuckDB", hint="detach it there, or close that DuckDB"
            )
        if self.classify(error) == "locked":
            return CatalogError(
                f"another process has kept {self.path} open for {LOCK_TIMEOUT_SECONDS:.0f} seconds",
                hint="a DuckDB file serves one process at a time; a SQLite or PostgreSQL catalog serves many",
            )
        if "not a valid DuckDB database file" in words:
            return CatalogError(f"{self.path} is not a DuckDB database", hint="sqlite:///file opens a SQLite file")
        if self.classify(error) == "denied":
            return CatalogError(f"{self.path} cannot be written", hint="check the rights of the file and its folder")
        return CatalogError(f"DuckDB failed on {self.path}: {words}")

    def has_table(self, connection: sa.Connection, table: str) -> bool:
        found = connection.execute(_HAS_TABLE, {"place": self.sql_schema or "main", "name": table})
        return found.first() is not None

    def columns(self, connection: sa.Connection) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for table, column in connection.execute(_COLUMNS, {"place": self.sql_schema or "main"}):
            found[table] = (*found.get(table, ()), column)
        return found

    def together(self, connection: sa.Connection) -> AbstractContextManager[Bundle | None]:
        return nullcontext()

    def exclusive(self, connection: sa.Connection) -> AbstractContextManager[None]:
        if self.sql_schema is not None:
            connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {quote(self.sql_schema)}")
        return nullcontext()

    def default_data_path(self) -> str | None:
        return f"{self.path}.files/"

    def close(self) -> None:
        """Nothing to do: the file is open during transactions only."""


@dataclass(slots=True)
class _OpenFile:
    name: str
    writable: bool
    users: int = 1


class _Desk:
    """The one DuckDB of the process, and the files that lie open on it."""

    def __init__(self) -> None:
        self._instance = duckdb.connect(config={"threads": 1, "autoinstall_known_extensions": False})
        # Moments are fetched as text, and text has the zone of the session.
        self._instance.execute("SET GLOBAL TimeZone = 'UTC'")
        self._files: dict[Path, _OpenFile] = {}
        self._changed = threading.Condition()
        self._numbers = count(1)
        self.engine = sa.create_engine(
            "quacklake_duckdb://", creator=self._connect, poolclass=sa.pool.NullPool, hide_parameters=True
        )
        keep_own_rows(self.engine.dialect)
        sa.event.listen(self.engine, "before_execute", give_catalog, retval=True)

    def _connect(self) -> Any:
        return Link(self._instance.cursor())

    def open(self, path: Path, *, writes: bool) -> str:
        """Attach a file, or join those who have it open already; the name it has until it is closed."""
        started = time.monotonic()
        pause = 0.005
        with self._changed:
            while True:
                held = self._files.get(path)
                if held is not None and (held.writable or not writes):
                    held.users += 1
                    return held.name
                # A file that is being read cannot be opened a second time to write: wait for its readers.
                error = None if held is not None else self._attach(path, writes)
                if held is None and error is None:
                    return self._files[path].name
                patience = SAME_PROCESS_TIMEOUT_SECONDS if _SAME_PROCESS in str(error) else LOCK_TIMEOUT_SECONDS
                if time.monotonic() - started > patience:
                    raise error or _still_read(path)
                self._changed.wait(pause)
                pause = min(pause * 1.5, 0.25)

    def _attach(self, path: Path, writes: bool) -> sa.exc.OperationalError | None:
        name = f"catalog_{next(self._numbers)}"
        literal = str(path).replace("'", "''")
        # With its type given, DuckDB does not open the file to look at it: to close it then would drop the lock
        # that another DuckDB of this process has on it.
        mode = "" if writes else ", READ_ONLY"
        try:
            self._instance.execute(f"ATTACH '{literal}' AS {quote(name)} (TYPE duckdb{mode})")
        except duckdb.Error as error:
            wrapped = sa.exc.OperationalError("ATTACH", None, error)
            if "Could not set lock" in str(error) or _SAME_PROCESS in str(error):
                return wrapped
            raise wrapped from error
        self._files[path] = _OpenFile(name, writes)
        return None

    def close(self, path: Path) -> None:
        """Detach the file when nobody else uses it any more."""
        with self._changed:
            held = self._files[path]
            held.users -= 1
            if held.users == 0:
                del self._files[path]
                self._changed.notify_all()
                try:
                    self._instance.execute(f"DETACH {quote(held.name)}")
                except duckdb.Error as error:
                    raise sa.exc.OperationalError("DETACH", None, error) from error


def _still_read(path: Path) -> CatalogError:
    return CatalogError(
        f"{path} was read all the time for {LOCK_TIMEOUT_SECONDS:.0f} seconds, so nothing could be written",
        hint="do not write inside a read of the same DuckDB file",
    )


_making = threading.Lock()


def _desk() -> _Desk:
    with _making:
        return _only_desk()


@lru_cache(maxsize=1)
def _only_desk() -> _Desk:
    return _Desk()


# The threads of a DuckDB do not survive a fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_only_desk.cache_clear)
