"""The types of the columns that hold inlined rows, in each database."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from quacklake.names import quote
from quacklake.types import DataType, Decimal, Leaf, ListOf, MapOf, Primitive, Struct

_DUCKDB = {
    "boolean": "BOOLEAN",
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
    "timetz": "TIME WITH TIME ZONE",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
}
"""What DuckDB calls differently than the format does."""
_SMALL_INTEGERS = frozenset("boolean int8 int16 int32 int64 uint8 uint16 uint32".split())
_POSTGRESQL = {
    "boolean": "BOOLEAN",
    "int8": "SMALLINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "uint8": "INTEGER",
    "uint16": "INTEGER",
    "uint32": "BIGINT",
    "float32": "REAL",
    "float64": "DOUBLE PRECISION",
    "time": "TIME",
    "timetz": "TIME WITH TIME ZONE",
    "interval": "INTERVAL",
    "uuid": "UUID",
    "varchar": "BYTEA",
    "json": "BYTEA",
    "blob": "BYTEA",
}
_MYSQL = {
    "boolean": "TINYINT(1)",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INT",
    "int64": "BIGINT",
    "uint8": "TINYINT UNSIGNED",
    "uint16": "SMALLINT UNSIGNED",
    "uint32": "INT UNSIGNED",
    "uint64": "BIGINT UNSIGNED",
    "blob": "LONGBLOB",
}
_MYSQL_TEXT = "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"


def duckdb_type(type_: DataType, *, as_text: Collection[str] = ()) -> str:
    """The type in DuckDB's words; leaves of the types in `as_text` as VARCHAR."""
    match type_:
        case Struct(fields):
            inner = ", ".join(f"{quote(each.name)} {duckdb_type(each.type, as_text=as_text)}" for each in fields)
            return f"STRUCT({inner})"
        case ListOf(element):
            return f"{duckdb_type(element.type, as_text=as_text)}[]"
        case MapOf(key, value):
            return f"MAP({duckdb_type(key.type, as_text=as_text)}, {duckdb_type(value.type, as_text=as_text)})"
        case Decimal(precision, scale):
            return f"DECIMAL({precision},{scale})"
        case Primitive(name):
            return "VARCHAR" if name in as_text else _DUCKDB.get(name, name.upper())


def _sqlite_type(type_: DataType) -> str:
    match type_:
        case Primitive(name) if name in _SMALL_INTEGERS:
            return "BIGINT"
        case Primitive("blob"):
            return "BLOB"
        case _:
            return "VARCHAR"


def _postgresql_type(type_: DataType) -> str:
    match type_:
        case Decimal(precision, scale):
            return f"DECIMAL({precision},{scale})"
        case Primitive(name):
            return _POSTGRESQL.get(name, "VARCHAR")
        case _:
            return "VARCHAR"


def _mysql_type(type_: DataType) -> str:
    # DuckDB's own choice loses fractions of seconds, NaN and digits of large numbers; from text it reads them all.
    return _MYSQL.get(type_.name, _MYSQL_TEXT) if isinstance(type_, Primitive) else _MYSQL_TEXT


_STORED: Mapping[str, Callable[[DataType], str]] = {
    "sqlite": _sqlite_type,
    "postgresql": _postgresql_type,
    "mysql": _mysql_type,
    "duckdb": duckdb_type,
}


def stored_type(backend_name: str, type_: DataType) -> str:
    """The type of the column that holds inlined values, in the words of the database."""
    return _STORED[backend_name](type_)


def is_stored_as_number(backend_name: str, type_: Leaf) -> bool:
    """Whether the database holds the values as numbers or booleans of its own, not as text."""
    if not isinstance(type_, Primitive):
        return False
    if type_.name in ("float32", "float64"):
        return backend_name in ("postgresql", "duckdb")
    return type_.name in _SMALL_INTEGERS or (type_.name == "uint64" and backend_name in ("mysql", "duckdb"))
