"""What PostgreSQL and MySQL have in common: a server, connections in a pool, transactions begun by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from typing import Any

import sqlalchemy as sa

from quacklake.catalog.backends.failures import scrub_chain, translated
from quacklake.catalog.backends.protocol import ANSWER, Bundle, Failure, Question
from quacklake.catalog.shared.ownership import bind, keep_own_rows
from quacklake.catalog.url import CatalogUrl
from quacklake.errors import MissingExtraError, QuacklakeError

CONNECT_TIMEOUT_SECONDS = 10
ENDED = "quacklake_ended"
"""Noted at a connection whose transaction has ended before its block does."""
Begin = Callable[[sa.Connection], None]


class ServerBackend:
    """A catalog in a database server; each server says how its transactions begin and what its errors mean."""

    name: str
    title: str
    """What people call it."""
    transactional_ddl: bool
    begin_read: Sequence[str]
    begin_write: Sequence[str]

    def __init__(self, url: CatalogUrl, sql_schema: str | None, engine: sa.Engine) -> None:
        self.url = url
        self.display = url.display
        self.sql_schema = sql_schema
        self._engine = engine

    def bind(self, catalog_id: int) -> None:
        self._engine = bind(self._engine, catalog_id)

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        with translated(self), self._transaction(self._begin_reading) as connection:
            yield connection

    @contextmanager
    def glance(self) -> Iterator[sa.Connection]:
        with translated(self), self._connect() as connection:
            yield connection

    def pulse(self, connection: sa.Connection) -> object | None:
        return None

    @contextmanager
    def write(self, first: sa.Executable | None = None, question: Question | None = None) -> Iterator[sa.Connection]:
        with self._transaction(partial(self._begin_writing, first=first, question=question)) as connection:
            yield connection

    @contextmanager
    def _transaction(self, begin: Begin) -> Iterator[sa.Connection]:
        connection = self._open(begin)
        try:
            yield connection
            if not connection.info.pop(ENDED, False):
                connection.exec_driver_sql("COMMIT")
        except BaseException:
            self._abandon(connection)
            raise
        finally:
            connection.close()

    def _open(self, begin: Begin) -> sa.Connection:
        with translated(self):
            connection = self._connect()
        # Whoever was interrupted in the last transaction has left notes behind.
        for note in (ENDED, ANSWER):
            connection.info.pop(note, None)
        try:
            begin(connection)
            return connection
        except sa.exc.DBAPIError as error:
            connection.invalidate()
            connection.close()
            if self.classify(error) != "lost":
                raise
        except BaseException:
            # Somebody is tired of waiting: a connection that goes back to the pool would keep its place in the line.
            connection.invalidate()
            connection.close()
            raise
        # The server was restarted since the connection was used last: a new one is as good.
        with translated(self):
            connection = self._connect()
        try:
            begin(connection)
        except BaseException:
            connection.invalidate()
            connection.close()
            raise
        return connection

    def _connect(self) -> sa.Connection:
        return self._engine.connect()

    def _begin_reading(self, connection: sa.Connection) -> None:
        for statement in self.begin_read:
            connection.exec_driver_sql(statement)

    def _begin_writing(self, connection: sa.Connection, first: sa.Executable | None, question: Question | None) -> None:
        for statement in self.begin_write:
            connection.exec_driver_sql(statement)
        if first is not None:
            connection.execute(first)

    def _abandon(self, connection: sa.Connection) -> None:
        if connection.invalidated or connection.closed:
            return
        try:
            connection.exec_driver_sql("ROLLBACK")
        except sa.exc.SQLAlchemyError:
            # The server ends the transaction of a connection that goes away.
            with suppress(sa.exc.SQLAlchemyError):
                connection.invalidate()

    def together(self, connection: sa.Connection) -> AbstractContextManager[Bundle | None]:
        return nullcontext()

    def default_data_path(self) -> str | None:
        return None

    def close(self) -> None:
        self._engine.dispose()

    def classify(self, error: BaseException) -> Failure:
        raise NotImplementedError

    def translate(self, error: BaseException) -> QuacklakeError:
        scrub_chain(error, self.url.secrets)
        return self.explain(error)

    def explain(self, error: BaseException) -> QuacklakeError:
        """The error for people; anything secret has been taken out of what it was made from."""
        raise NotImplementedError

    def has_table(self, connection: sa.Connection, table: str) -> bool:
        raise NotImplementedError

    def columns(self, connection: sa.Connection) -> dict[str, tuple[str, ...]]:
        raise NotImplementedError

    @contextmanager
    def exclusive(self, connection: sa.Connection) -> Iterator[None]:
        raise NotImplementedError
        yield


def build_engine(driver: str, package: str, extra: str, arguments: dict[str, Any], **settings: Any) -> sa.Engine:
    """An engine whose connections commit nothing and begin nothing by themselves.

    Raises:
        MissingExtraError: When the driver is not installed.
    """
    try:
        engine = sa.create_engine(
            f"{driver}://",
            connect_args=arguments,
            isolation_level="AUTOCOMMIT",
            # Every transaction is ended by hand.
            pool_reset_on_return=None,
            hide_parameters=True,
            # To join the one newest snapshot with what is asked along is no mistake.
            enable_from_linting=False,
            **settings,
        )
    except ImportError as error:
        raise MissingExtraError.for_extra(package, extra) from error
    keep_own_rows(engine.dialect)
    return engine


def group_columns(rows: Iterable[Any]) -> dict[str, tuple[str, ...]]:
    """Rows of table and column, in order, as tables with their columns."""
    found: dict[str, tuple[str, ...]] = {}
    for table, column in rows:
        found[table] = (*found.get(table, ()), column)
    return found
