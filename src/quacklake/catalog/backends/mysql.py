"""Catalogs in MySQL or MariaDB."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from typing import Any

import sqlalchemy as sa

from quacklake.catalog.backends.failures import driver_error, first_line
from quacklake.catalog.backends.protocol import Failure
from quacklake.catalog.backends.server import CONNECT_TIMEOUT_SECONDS, ServerBackend, build_engine, group_columns
from quacklake.catalog.shared.ownership import bound_to
from quacklake.catalog.url import CatalogUrl
from quacklake.errors import AuthError, CatalogError, InvalidInputError, MissingExtraError, QuacklakeError

CREATE_TIMEOUT_SECONDS = 60

_CODES: dict[int, Failure] = {
    1062: "unique",
    1586: "unique",
    1020: "serialization",  # the record has changed since last read
    1412: "serialization",  # the table's definition has changed since the snapshot was taken
    1213: "deadlock",
    1205: "locked",
    3572: "locked",
    1146: "missing_table",
    1049: "missing_table",
    1044: "denied",
    1142: "denied",
    1143: "denied",
    1227: "denied",
    1290: "denied",
    1792: "denied",
    1927: "lost",
    2006: "lost",
    2013: "lost",
    2055: "lost",
}
_REFUSED = (1044, 1045, 1130, 1251, 1524, 1698, 4151)
_UNREACHABLE = (2002, 2003, 2005)
# Moments are `datetime` in UTC; text that does not fit is an error and never cut.
_INIT = "SET SESSION time_zone = '+00:00', SESSION sql_mode = CONCAT_WS(',', @@SESSION.sql_mode, 'STRICT_ALL_TABLES')"
_NUMBERS = ("connect_timeout", "read_timeout", "write_timeout")
_TEXTS = ("unix_socket", "charset", "bind_address", "ssl_ca", "ssl_cert", "ssl_key", "ssl_key_password")
_SSL_MODES: Mapping[str, Mapping[str, Any]] = {
    "disabled": {"ssl_disabled": True},
    "preferred": {},
    "required": {"ssl": {"check_hostname": False}},
    "verify_ca": {"ssl_verify_cert": True},
    "verify_identity": {"ssl_verify_cert": True, "ssl_verify_identity": True},
}
_HAS_TABLE = sa.text(
    "SELECT 1 FROM information_schema.tables WHERE table_schema = COALESCE(:place, DATABASE()) AND table_name = :name"
)
_COLUMNS = sa.text(
    "SELECT table_name, column_name FROM information_schema.columns"
    " WHERE table_schema = COALESCE(:place, DATABASE()) AND LEFT(table_name, 9) = 'ducklake_'"
    " ORDER BY table_name, ordinal_position"
)


class MysqlBackend(ServerBackend):
    """A MySQL or MariaDB database."""

    name = "mysql"
    title = "MySQL"
    transactional_ddl = False
    begin_read = (
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
    )
    begin_write = ("SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "START TRANSACTION")

    def __init__(self, url: CatalogUrl, sql_schema: str | None = None) -> None:
        if url.database is None and sql_schema is None:
            raise InvalidInputError(
                f"{url.display} names no database", hint="write mysql://user:password@host/database"
            )
        engine = build_engine("mysql+pymysql", "PyMySQL", "mysql", _arguments(url))
        sa.event.listen(engine, "do_connect", _open)
        super().__init__(url, sql_schema, engine)

    def _connect(self) -> sa.Connection:
        try:
            return self._engine.connect()
        except RuntimeError as error:
            # PyMySQL needs one more package for the way in that MySQL 8 has by default.
            raise MissingExtraError.for_extra("cryptography", "mysql") from error

    def classify(self, error: BaseException) -> Failure:
        code = _code(error)
        if code in _CODES:
            return _CODES[code]
        return "lost" if isinstance(error, sa.exc.DBAPIError) and error.connection_invalidated else "other"

    def explain(self, error: BaseException) -> QuacklakeError:
        code, words = _code(error), first_line(error)
        where = f"MySQL at {self.url.server}"
        if code in _REFUSED:
            return AuthError(f"{where} refused the user {self.url.user!r}", hint="check user and password in the URL")
        if code == 1049:
            place = self.sql_schema or self.url.database
            return CatalogError(f"there is no database {place!r} on {where}", hint="create it with CREATE DATABASE")
        if code in _UNREACHABLE:
            return CatalogError(
                f"{where} cannot be reached: {words}",
                hint="check that the server runs and that host and port are right",
            )
        if self.classify(error) == "denied":
            return CatalogError(f"{where} forbids it: {words}", hint="grant the user rights on the lake's tables")
        return CatalogError(f"{where} failed: {words}")

    def has_table(self, connection: sa.Connection, table: str) -> bool:
        return connection.execute(_HAS_TABLE, {"place": self.sql_schema, "name": table}).first() is not None

    def columns(self, connection: sa.Connection) -> dict[str, tuple[str, ...]]:
        return group_columns(connection.execute(_COLUMNS, {"place": self.sql_schema}))

    @contextmanager
    def exclusive(self, connection: sa.Connection) -> Iterator[None]:
        # CREATE and ALTER commit by themselves here, so a lock that outlives commits has to keep others out.
        # Catalogs that share a database make tables of their own.
        place = "/".join((self.sql_schema or self.url.database or "", *map(str, bound_to(connection).values())))
        name = "quacklake-" + sha256(place.encode()).hexdigest()[:32]
        asked = {"name": name, "seconds": CREATE_TIMEOUT_SECONDS}
        if connection.execute(sa.text("SELECT GET_LOCK(:name, :seconds)"), asked).scalar() != 1:
            raise CatalogError(
                f"another process has been creating or migrating the lake in {self.display} for a minute",
                hint="try again when it is done",
            )
        try:
            if self.sql_schema is not None:
                connection.exec_driver_sql(f"CREATE DATABASE IF NOT EXISTS {_quote(self.sql_schema)}")
            yield
        finally:
            connection.execute(sa.text("SELECT RELEASE_LOCK(:name)"), {"name": name})


def _open(_dialect: sa.Dialect, _record: Any, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """Connect with what SQLAlchemy adds, too: it has MySQL count rows that an UPDATE finds, also where none changes."""
    return _driver()(*given, **named)


@cache
def _driver() -> type[Any]:
    """PyMySQL's connection, which encrypts where the server can, without reading certificates to check nobody by.

    It reads all that the machine trusts, for every connection, which takes far longer than the rest of connecting.
    """
    from pymysql.connections import Connection

    class Connecting(Connection):
        def _create_ssl_ctx(self, wanted: Any) -> Any:
            if wanted:
                return super()._create_ssl_ctx(wanted)  # type: ignore[misc]
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            return context

    return Connecting


def _code(error: BaseException) -> int:
    cause = driver_error(error)
    code = cause.args[0] if cause.args else None
    return code if isinstance(code, int) else 0


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _arguments(url: CatalogUrl) -> dict[str, Any]:
    given = {"host": url.host, "port": url.port, "user": url.user, "password": url.password, "database": url.database}
    arguments: dict[str, Any] = {
        "connect_timeout": CONNECT_TIMEOUT_SECONDS,
        "charset": "utf8mb4",
        "init_command": _INIT,
        **{key: value for key, value in given.items() if value is not None},
    }
    for key, value in url.options.items():
        if key in _TEXTS:
            arguments[key] = value
        elif key in _NUMBERS and value.isdecimal():
            arguments[key] = int(value)
        elif key == "ssl_mode" and value.lower() in _SSL_MODES:
            arguments.update(_SSL_MODES[value.lower()])
        else:
            known = ", ".join((*_NUMBERS, *_TEXTS, "ssl_mode"))
            raise InvalidInputError(f"the MySQL URL has a wrong option {key!r}", hint=f"there is {known}")
    return arguments
