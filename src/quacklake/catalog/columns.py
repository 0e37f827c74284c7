"""Column types of the catalog tables that every backend stores in its own way.

DuckDB decides what the databases hold (it reads and writes them too): a boolean is an integer in SQLite, a
timestamp with zone is text there and a `datetime` of whole seconds in MySQL, a UUID is text in both.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator


class Flag(TypeDecorator[bool]):
    """A boolean: `BOOLEAN` where there is one, `BIGINT` 0 or 1 in SQLite."""

    impl = sa.Boolean
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> Any:
        if dialect.name == "sqlite":
            return dialect.type_descriptor(sa.BigInteger())
        return dialect.type_descriptor(sa.Boolean())

    def process_bind_param(self, value: bool | None, dialect: sa.Dialect) -> Any:
        return value if value is None or dialect.name != "sqlite" else int(value)

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> bool | None:
        if isinstance(value, str):
            return value.strip().lower() in ("1", "t", "true")
        return None if value is None else bool(value)


class Moment(TypeDecorator[datetime]):
    """A point in time, always in UTC on our side."""

    impl = sa.DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> Any:
        if dialect.name == "sqlite":
            return dialect.type_descriptor(sa.VARCHAR())
        if dialect.name == "mysql":
            return dialect.type_descriptor(sa.DateTime())
        return dialect.type_descriptor(sa.TIMESTAMP(timezone=True))

    def column_expression(self, column: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
        return _fetched_moment(column)

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> Any:
        if value is None:
            return None
        moment = value.astimezone(UTC)
        if dialect.name == "sqlite":
            # The one text form that DuckDB reads back as a timestamp with zone.
            return moment.strftime("%Y-%m-%d %H:%M:%S.%f+00")
        return moment.replace(tzinfo=None) if dialect.name == "mysql" else moment

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> datetime | None:
        if value is None:
            return None
        moment = parse_moment(value) if isinstance(value, str) else value
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


class _fetched_moment(FunctionElement[Any]):
    """A moment on its way out: as text from DuckDB, which needs one more package to make a Python value of it."""

    inherit_cache = True
    type = Moment()


@compiles(_fetched_moment)
def _compile_fetched(element: _fetched_moment, compiler: Any, **kw: Any) -> str:
    return str(compiler.process(element.clauses, **kw))


@compiles(_fetched_moment, "duckdb")
def _compile_fetched_duckdb(element: _fetched_moment, compiler: Any, **kw: Any) -> str:
    return f"CAST({compiler.process(element.clauses, **kw)} AS VARCHAR)"


class current_moment(FunctionElement[datetime]):
    """The clock of the catalog database, in the form in which it stores moments."""

    inherit_cache = True
    type = Moment()


@compiles(current_moment)
def _compile_now(element: current_moment, compiler: Any, **kw: Any) -> str:
    return "now()"


@compiles(current_moment, "mysql")
def _compile_now_mysql(element: current_moment, compiler: Any, **kw: Any) -> str:
    return "UTC_TIMESTAMP()"


@compiles(current_moment, "sqlite")
def _compile_now_sqlite(element: current_moment, compiler: Any, **kw: Any) -> str:
    return "(strftime('%Y-%m-%d %H:%M:%f', 'now') || '+00')"


def parse_moment(text: str) -> datetime:
    """Read a timestamp as DuckDB or Python may have written it into a text column."""
    moment = datetime.fromisoformat(text.strip())
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


class Uuid(TypeDecorator[str]):
    """A UUID as text on our side, whatever the database makes of it."""

    impl = sa.String
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> Any:
        if dialect.name in ("postgresql", "duckdb"):
            return dialect.type_descriptor(sa.Uuid(as_uuid=False, native_uuid=True))
        if dialect.name == "mysql":
            return dialect.type_descriptor(sa.Text())
        return dialect.type_descriptor(sa.VARCHAR())

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> str | None:
        return None if value is None else str(value)


TEXT = sa.String().with_variant(sa.Text(), "mysql").with_variant(sa.VARCHAR(), "sqlite", "postgresql", "duckdb")
"""Text without a length: `VARCHAR`, in MySQL `TEXT`."""
