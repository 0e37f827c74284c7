"""Catalogs in PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from quacklake.catalog.backends.bundle import Bundle
from quacklake.catalog.backends.failures import driver_error, first_line
from quacklake.catalog.backends.protocol import ANSWER, Failure, Question
from quacklake.catalog.backends.server import CONNECT_TIMEOUT_SECONDS, ENDED, ServerBackend, build_engine, group_columns
from quacklake.catalog.shared.ownership import OPTION, bound_to
from quacklake.catalog.url import CatalogUrl
from quacklake.errors import AuthError, CatalogError, InvalidInputError, QuacklakeError
from quacklake.names import quote

if TYPE_CHECKING:
    import psycopg

DEFAULT_SQL_SCHEMA = "public"
"""Where DuckDB looks, whatever the search path of the user says."""

_CODES: dict[str, Failure] = {
    "23505": "unique",
    "40001": "serialization",
    "40P01": "deadlock",
    "55P03": "locked",
    "42P01": "missing_table",
    "3F000": "missing_table",
    "42501": "denied",
    "25006": "denied",
    "57P01": "lost",
    "57P02": "lost",
    "57P03": "lost",
}
_HAS_TABLE = sa.text(
    "SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
    " WHERE n.nspname = :place AND c.relname = :name AND c.relkind IN ('r', 'v', 'm', 'f', 'p')"
)
_HAS_PLACE = sa.text("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = :place")
_COLUMNS = sa.text(
    "SELECT c.relname, a.attname FROM pg_catalog.pg_class c"
    " JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
    " JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid"
    " WHERE n.nspname = :place AND starts_with(c.relname, 'ducklake_') AND c.relkind IN ('r', 'v', 'm', 'f', 'p')"
    " AND a.attnum > 0 AND NOT a.attisdropped ORDER BY c.relname, a.attnum"
)
_LOCK = sa.text("SELECT pg_advisory_xact_lock(hashtext('quacklake'), hashtext(:place))")
# Before a connection stands, the library has words and no codes.
_REFUSED = re.compile(
    r"authentication failed|no password supplied|no pg_hba\.conf entry|role .* does not exist|not permitted to log in",
    re.IGNORECASE,
)


class PostgresqlBackend(ServerBackend):
    """A PostgreSQL database."""

    name = "postgresql"
    title = "PostgreSQL"
    transactional_ddl = True
    begin_read = ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",)
    begin_write = ("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",)

    def __init__(self, url: CatalogUrl, sql_schema: str | None = None) -> None:
        given = {"host": url.host, "port": url.port, "dbname": url.database, "user": url.user, "password": url.password}
        arguments = {
            "connect_timeout": str(CONNECT_TIMEOUT_SECONDS),
            "application_name": "quacklake",
            **url.options,
            **{key: value for key, value in given.items() if value is not None},
        }
        engine = build_engine("postgresql+psycopg", "psycopg", "postgres", arguments, use_native_hstore=False)
        super().__init__(url, sql_schema or DEFAULT_SQL_SCHEMA, engine)

    def _begin_writing(self, connection: sa.Connection, first: sa.Executable | None, question: Question | None) -> None:
        bound, texts = bound_to(connection), [*self.begin_write]
        if first is not None:
            texts.append(_as_text(first, connection.dialect, *bound.values()))
        if question is None:
            connection.exec_driver_sql("; ".join(texts))
            return
        # Others wait from the end of the first statement on, so nothing goes to and fro between it and the question.
        statement, values = question
        with _in_one_go(connection) as driver:
            for text in texts:
                # With values, though there are none: a doubled % is one only then.
                driver.execute(text, ())
            cursor = driver.cursor(row_factory=_named_rows())
            compiled = _compile(statement, connection.dialect)
            cursor.execute(str(compiled), compiled.construct_params({**values, **bound}))
        connection.info[ANSWER] = cursor.fetchall()

    @contextmanager
    def together(self, connection: sa.Connection) -> Iterator[Bundle]:
        bundle = Bundle(connection)
        with _in_one_go(connection):
            yield bundle
            bundle.run()
            connection.exec_driver_sql("COMMIT")
        connection.info[ENDED] = True

    def classify(self, error: BaseException) -> Failure:
        code = getattr(driver_error(error), "sqlstate", None)
        if code is None:
            disconnected = isinstance(error, sa.exc.DBAPIError) and error.connection_invalidated
            return "lost" if disconnected else "other"
        return "lost" if code.startswith("08") else _CODES.get(code, "other")

    def explain(self, error: BaseException) -> QuacklakeError:
        cause, words = driver_error(error), first_line(error)
        code = getattr(cause, "sqlstate", None)
        where = f"PostgreSQL at {self.url.server}"
        if code is not None:
            if code.startswith("28"):
                return self._auth_error(where)
            if self.classify(error) == "denied":
                return CatalogError(f"{where} forbids it: {words}", hint="grant the user rights on the lake's tables")
            return CatalogError(f"{where} failed: {words}")
        if isinstance(error, sa.exc.DataError):
            return InvalidInputError(f"{where} cannot hold a value: {words}", hint="change or leave out that value")
        if "invalid connection option" in words or "invalid value for" in words or "invalid integer value" in words:
            return InvalidInputError(f"the PostgreSQL URL has a wrong option: {words}", hint="see libpq's parameters")
        if _REFUSED.search(str(cause)):
            return self._auth_error(where)
        if re.search(r"database .* does not exist", str(cause)):
            return CatalogError(
                f"there is no database {self.url.database!r} on {where}", hint="create it with CREATE DATABASE"
            )
        reason = words.rsplit("failed: ", 1)[-1]
        return CatalogError(
            f"{where} cannot be reached: {reason}", hint="check that the server runs and that host and port are right"
        )

    def _auth_error(self, where: str) -> AuthError:
        return AuthError(f"{where} refused the user {self.url.user!r}", hint="check user and password in the URL")

    def has_table(self, connection: sa.Connection, table: str) -> bool:
        return connection.execute(_HAS_TABLE, {"place": self.sql_schema, "name": table}).first() is not None

    def columns(self, connection: sa.Connection) -> dict[str, tuple[str, ...]]:
        return group_columns(connection.execute(_COLUMNS, {"place": self.sql_schema}))

    @contextmanager
    def exclusive(self, connection: sa.Connection) -> Iterator[None]:
        assert self.sql_schema is not None
        connection.execute(_LOCK, {"place": self.sql_schema})
        if connection.execute(_HAS_PLACE, {"place": self.sql_schema}).first() is None:
            # The driver looks for places of values in the text.
            name = quote(self.sql_schema).replace("%", "%%")
            connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {name}")
        yield


@lru_cache(maxsize=64)
def _as_text(statement: sa.Executable, dialect: sa.Dialect, catalog_id: int | None = None) -> str:
    """A statement with its values in it: such ones can be sent along with others."""
    assert isinstance(statement, sa.ClauseElement)
    if catalog_id is not None:
        statement = statement.params({OPTION: catalog_id})
    return str(statement.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))


@lru_cache(maxsize=64)
def _compile(statement: sa.Executable, dialect: sa.Dialect) -> sa.sql.compiler.SQLCompiler:
    """A statement in the words of the driver."""
    assert isinstance(statement, sa.ClauseElement)
    compiled = statement.compile(dialect=dialect)
    assert isinstance(compiled, sa.sql.compiler.SQLCompiler)
    return compiled


def _named_rows() -> Any:
    from psycopg.rows import namedtuple_row

    return namedtuple_row


@contextmanager
def _in_one_go(connection: sa.Connection) -> Iterator[psycopg.Connection[Any]]:
    """Send statements one after the other, and wait for all of them at the end. After an error none is run any more."""
    driver = connection.connection.driver_connection
    assert driver is not None
    base = connection.dialect.loaded_dbapi.Error
    try:
        with driver.pipeline():
            yield driver
    except base as error:
        # It comes from the driver itself; whoever tells errors apart knows SQLAlchemy's.
        lost = connection.dialect.is_disconnect(error, connection.connection.dbapi_connection, None)
        if lost:
            connection.invalidate(error)
        raise sa.exc.DBAPIError.instance(
            None, None, error, base, hide_parameters=True, connection_invalidated=lost, dialect=connection.dialect
        ) from error
