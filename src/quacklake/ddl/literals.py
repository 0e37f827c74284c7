"""Defaults of columns: values as DuckDB's text, and expressions in DuckDB's words."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal as Number
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

from quacklake.errors import InvalidInputError, UnsupportedError
from quacklake.schema import Default
from quacklake.types import FLOATS, INTEGERS, DataType, Decimal, is_nested

if TYPE_CHECKING:
    import duckdb
    from sqlglot import exp

_WITHOUT_DEFAULT = frozenset(("variant", "geometry", "unknown"))
_DUCKDB_NAMES = {
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "int128": "HUGEINT",
    "uint8": "UTINYINT",
    "uint16": "USMALLINT",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
    "uint128": "UHUGEINT",
    "float32": "FLOAT",
    "float64": "DOUBLE",
}
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Given:
    """A default and the value that rows have which are older than the column."""

    default: Default | None
    initial: str | None = None
    """None for an expression: nobody knows what it would have been."""


def read_default(value: object, type_: DataType, column: str) -> Given:
    """A default as callers give it: a value, a `Default`, a parsed expression, or None for none.

    Raises:
        InvalidInputError: When the value is not one of the column's type.
    """
    if value is None:
        return Given(None)
    if is_nested(type_) or str(type_) in _WITHOUT_DEFAULT:
        raise UnsupportedError(f"column {column!r}: a {type_} has no default in the format")
    if isinstance(value, Default):
        if value.is_expression:
            return Given(Default(normalize_expression(value.text), True))
        return _literal(value.text, canonical_text(value.text, type_, column), column)
    if _is_parsed(value):
        return _read_parsed(value, type_, column)
    text = canonical_text(value, type_, column)
    return _literal(text, text, column)


def _literal(raw: str, canonical: str, column: str) -> Given:
    if raw == "NULL":
        raise UnsupportedError(
            f"column {column!r}: the text NULL cannot be a default", hint="the format takes it for no default at all"
        )
    return Given(Default(raw), canonical)


def _is_parsed(value: object) -> bool:
    return type(value).__module__.startswith("sqlglot.")


def _read_parsed(node: Any, type_: DataType, column: str) -> Given:
    from sqlglot import exp

    if isinstance(node, exp.Paren):
        return _read_parsed(node.this, type_, column)
    if isinstance(node, exp.Null):
        return Given(None)
    raw = _literal_of(node)
    if raw is not None:
        return _literal(str(raw), canonical_text(raw, type_, column), column)
    return Given(Default(normalize_expression(node.sql(dialect="duckdb")), True))


def _literal_of(node: exp.Expression) -> object | None:
    """The value of a literal: a number, a text, true or false, DATE '…'."""
    from sqlglot import exp

    if isinstance(node, exp.Boolean):
        return "true" if node.this else "false"
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        return -Number(node.this.name)
    if isinstance(node, exp.Literal):
        return node.name if node.is_string else Number(node.name)
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.this.is_string:
        return str(node.this.name)
    return None


def canonical_text(value: object, type_: DataType, column: str) -> str:
    """DuckDB's text of a value as one of a type, nothing lost."""
    _refuse_foreign(value, type_, column)
    given = f"{value:f}" if isinstance(value, Number) else value
    name = _DUCKDB_NAMES.get(str(type_), str(type_).upper())
    # Numbers travel as text: a parameter of another type would be rounded on the way.
    query = f"SELECT CAST(CAST($1 AS {name}) AS VARCHAR)"
    import duckdb

    try:
        with _lock:
            row = _connection().execute(query, [str(given) if _is_number(value) else given]).fetchone()
    except duckdb.Error as error:
        raise InvalidInputError(
            f"column {column!r}: {value!r} is no {type_}", hint=str(error).splitlines()[0]
        ) from error
    text = None if row is None else row[0]
    if text is None:
        raise InvalidInputError(f"column {column!r}: {value!r} is no {type_}")
    _refuse_rounded(value, text, type_, column)
    return str(text)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Number) and not isinstance(value, bool)


_ACCEPTED: Mapping[type, Callable[[str], bool]] = {
    bool: lambda name: name == "boolean",
    int: lambda name: name in INTEGERS or name in FLOATS or name.startswith("decimal"),
    Number: lambda name: name in INTEGERS or name in FLOATS or name.startswith("decimal"),
    float: lambda name: name in FLOATS or name.startswith("decimal"),
    bytes: lambda name: name == "blob",
    UUID: lambda name: name in ("uuid", "varchar"),
    datetime: lambda name: name.startswith("timestamp"),
    date: lambda name: name == "date" or name.startswith("timestamp"),
    time: lambda name: name.startswith("time") and not name.startswith("timestamp"),
    timedelta: lambda name: name == "interval",
    str: lambda name: True,
}


def _refuse_foreign(value: object, type_: DataType, column: str) -> None:
    accepts = _ACCEPTED.get(type(value))
    if accepts is None or not accepts(str(type_)):
        raise InvalidInputError(f"column {column!r} is {type_}: {value!r} cannot be its default")


def _refuse_rounded(value: object, text: str, type_: DataType, column: str) -> None:
    exact = str(type_) in INTEGERS or isinstance(type_, Decimal)
    if exact and _is_number(value) and Number(str(value)) != Number(text):
        raise InvalidInputError(f"column {column!r}: {value} would be rounded to {text} as {type_}")


def normalize_expression(text: str) -> str:
    """An SQL expression in DuckDB's own spelling.

    Raises:
        InvalidInputError: When DuckDB cannot parse it.
    """
    with _lock:
        query = "SELECT json_deserialize_sql(json_serialize_sql($1))"
        import duckdb

        try:
            row = _connection().execute(query, [f"SELECT {text}"]).fetchone()
        except duckdb.Error as error:
            raise InvalidInputError(f"{text!r} is not an expression", hint=str(error).splitlines()[0]) from error
    assert row is not None
    return str(row[0]).removeprefix("SELECT ").rstrip(";")


@lru_cache(maxsize=1)
def _connection() -> duckdb.DuckDBPyConnection:
    import duckdb

    connection = duckdb.connect(config={"threads": 1, "autoinstall_known_extensions": False})
    connection.execute("SET TimeZone = 'UTC'")
    return connection


# The threads of a DuckDB do not survive a fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_connection.cache_clear)
