"""Write rows into the catalog itself, in the form that DuckDB reads.

Rows that DuckDB would not read back as they are belong into a file: `can_inline` says so before anything is written.
The data comes as Arrow, a column per column of the table and in its order: integers, floats, booleans, decimals,
strings, bytes, dates, timestamps and times in Arrow's own types, lists, structs and maps of them. Types that Arrow
lacks (128 bit integers, UUIDs, times with a zone) come as DuckDB's text, and so may any other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from quacklake.catalog import duckdb_text
from quacklake.catalog.inlined_types import is_stored_as_number, stored_type
from quacklake.catalog.moment_text import Unreadable
from quacklake.catalog.text_syntax import is_binary
from quacklake.errors import InvalidInputError, UnsupportedError
from quacklake.names import quote
from quacklake.schema import Column
from quacklake.types import FLOATS, INTEGERS, Decimal, Primitive

SYSTEM_COLUMNS = ("row_id", "begin_snapshot", "end_snapshot")
"""What stands before the columns of the table."""
_RESERVED = frozenset((*SYSTEM_COLUMNS, "_ducklake_internal_row_id", "_ducklake_internal_snapshot_id"))
_NEVER: Mapping[str, Collection[str]] = {
    "sqlite": ("variant", "geometry", "unknown"),
    "duckdb": ("variant", "geometry", "unknown"),
    "postgresql": ("variant", "geometry", "unknown", "time_ns"),
    "mysql": ("variant", "geometry", "unknown"),
}
_KEPT = frozenset(("boolean", *INTEGERS, *FLOATS))
_MOST_COLUMNS = {"sqlite": 2000, "postgresql": 1600, "mysql": 1017}
_NAME_BYTES, _NAME_CHARACTERS = {"postgresql": 63}, {"mysql": 64}


def inlined_name(table_id: int, schema_version: int) -> str:
    """The name of the table that holds the inlined rows of a layout."""
    return f"ducklake_inlined_data_{table_id}_{schema_version}"


def inlined_ddl(
    backend_name: str, table_id: int, schema_version: int, columns: Sequence[Column], sql_schema: str | None = None
) -> str:
    """The statement that makes the table of inlined rows with the column types that DuckDB gives it."""
    mark = _quote_mysql if backend_name == "mysql" else quote
    place = "" if sql_schema is None else f"{mark(sql_schema)}."
    system = [f"{name} BIGINT" for name in SYSTEM_COLUMNS]
    own = [f"{mark(column.name)} {stored_type(backend_name, column.type)}" for column in columns]
    name = mark(inlined_name(table_id, schema_version))
    return f"CREATE TABLE IF NOT EXISTS {place}{name}({', '.join((*system, *own))})"


def _quote_mysql(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def create_inlined(
    connection: sa.Connection,
    backend_name: str,
    table_id: int,
    schema_version: int,
    columns: Sequence[Column],
    sql_schema: str | None = None,
) -> None:
    """Make the table of inlined rows; its registration is up to the caller."""
    ddl = inlined_ddl(backend_name, table_id, schema_version, columns, sql_schema)
    # Names may have percent signs, which drivers take for places of parameters.
    connection.exec_driver_sql(ddl, execution_options={"no_parameters": True})


def can_inline(backend_name: str, columns: Sequence[Column], data: pa.Table | None = None) -> str | None:
    """Why the rows cannot be kept in the catalog, or None when they can.

    Args:
        backend_name: The kind of the catalog database.
        columns: The columns of the table.
        data: The rows; without them only the columns are looked at.
    """
    reason = _columns_reason(backend_name, tuple(columns))
    if reason is not None or data is None:
        return reason
    types = data.schema.types
    doubtful = [index for index, column in enumerate(columns) if not _keeps_all(backend_name, column, types[index])]
    try:
        encode_rows(backend_name, [columns[index] for index in doubtful], data.select(doubtful))
    except UnsupportedError as error:
        return error.message
    return None


def _keeps_all(backend_name: str, column: Column, arrow: pa.DataType) -> bool:
    """Whether the catalog gives back every value of an Arrow type for a column: nobody need look at the values."""
    name = str(column.type)
    is_kept = name in _KEPT or (name == "varchar" and backend_name != "postgresql")
    return is_kept and duckdb_text.fits(arrow, name)


@lru_cache(maxsize=256)
def _columns_reason(backend_name: str, columns: tuple[Column, ...]) -> str | None:
    most = _MOST_COLUMNS.get(backend_name)
    if most is not None and len(columns) + len(SYSTEM_COLUMNS) > most:
        return f"the catalog database has no tables of {len(columns)} columns"
    return next((found for column in columns if (found := _column_reason(backend_name, column)) is not None), None)


def _column_reason(backend_name: str, column: Column) -> str | None:
    name = column.name
    if name.lower() in _RESERVED:
        return f"the name {name!r} is taken by a column of the format"
    too_long = len(name.encode()) > _NAME_BYTES.get(backend_name, len(name.encode()))
    if too_long or len(name) > _NAME_CHARACTERS.get(backend_name, len(name)):
        return f"the name {name!r} is too long for the catalog database"
    if backend_name == "mysql" and (name.endswith(" ") or any(ord(mark) > 0xFFFF for mark in name)):
        return f"MySQL has no column of the name {name!r}"
    if backend_name == "mysql" and ("`" in name or "\\" in name):
        return f"DuckDB does not find a column of the name {name!r} in MySQL"
    for each in column.walk():
        if isinstance(each.type, Primitive) and each.type.name in _NEVER[backend_name]:
            return f"column {name!r}: values of the type {each.type} are not kept in the catalog"
    return None


def encode_rows(backend_name: str, columns: Sequence[Column], data: pa.Table) -> list[tuple[Any, ...]]:
    """The rows as parameters for an insert into the table of inlined rows, without its first three columns.

    Raises:
        UnsupportedError: When DuckDB would not read the rows back as they are; `can_inline` tells before.
    """
    if data.num_columns != len(columns):
        raise InvalidInputError(f"the data has {data.num_columns} columns, the table {len(columns)}")
    reason = _columns_reason(backend_name, tuple(columns))
    if reason is not None:
        raise UnsupportedError(reason, hint="write the rows into a file")
    encoded = []
    for column, values in zip(columns, data.columns, strict=True):
        try:
            encoded.append(
                _encode(backend_name, column, pa.concat_arrays(values.chunks) if values.num_chunks else None)
            )
        except Unreadable as error:
            raise UnsupportedError(f"column {column.name!r}: {error}", hint="write the rows into a file") from error
    return list(zip(*encoded, strict=True))


def insert_inlined(
    connection: sa.Connection,
    table_name: str,
    columns: Sequence[Column],
    row_ids: Sequence[int],
    begin_snapshot: int,
    rows: Sequence[tuple[Any, ...]],
    sql_schema: str | None = None,
) -> None:
    """Insert rows from `encode_rows` under their row ids, to be seen from a snapshot on."""
    if not rows:
        return
    names = (*SYSTEM_COLUMNS[:2], *(column.name for column in columns))
    text, is_positional = _insert(table_name, names, sql_schema, connection.dialect)
    values: list[Any] = [(row_id, begin_snapshot, *row) for row_id, row in zip(row_ids, rows, strict=True)]
    if not is_positional:
        keys = [f"p{index}" for index in range(len(names))]
        values = [dict(zip(keys, each, strict=True)) for each in values]
    connection.exec_driver_sql(text, values)


@lru_cache(maxsize=256)
def _insert(table_name: str, names: tuple[str, ...], sql_schema: str | None, dialect: sa.Dialect) -> tuple[str, bool]:
    """The statement, with a place or a parameter `p0`, `p1` and so on for each column; and whether it has places.

    To build and to compile it takes longer than to run it.
    """
    table = sa.table(
        sa.quoted_name(table_name, True), *(sa.column(sa.quoted_name(name, True)) for name in names), schema=sql_schema
    )
    given: dict[Any, Any] = {table.c[name]: sa.bindparam(f"p{index}") for index, name in enumerate(names)}
    compiled = sa.insert(table).values(given).compile(dialect=dialect)
    assert isinstance(compiled, sa.sql.compiler.SQLCompiler)
    if compiled.positional:
        assert compiled.positiontup == [f"p{index}" for index in range(len(names))]
    return compiled.string, bool(compiled.positional)


def _encode(backend_name: str, column: Column, values: pa.Array[Any] | None) -> list[Any]:
    if values is None:
        return []
    type_ = column.type
    if not isinstance(type_, Primitive | Decimal):
        return _stored_texts(backend_name, duckdb_text.texts(values, type_))
    plain = duckdb_text.as_plain(values, type_)
    if is_binary(type_):
        return plain.cast(pa.binary()).to_pylist()  # type: ignore[no-any-return]
    if is_stored_as_number(backend_name, type_) and not duckdb_text.is_text(plain.type):
        return _numbers(backend_name, plain)
    found = duckdb_text.leaf_texts(plain, type_)
    change = _CHANGED.get((backend_name, str(type_)))
    if change is not None:
        return [None if text is None else change(text) for text in found]
    return _stored_texts(backend_name, found)


def _numbers(backend_name: str, values: pa.Array[Any]) -> list[Any]:
    if pa.types.is_boolean(values.type) and backend_name in ("sqlite", "mysql"):
        return values.cast(pa.int8()).to_pylist()
    return values.to_pylist()


def _stored_texts(backend_name: str, texts: Sequence[str | None]) -> list[Any]:
    if backend_name == "postgresql" and any("\0" in text for text in texts if text is not None):
        raise Unreadable("PostgreSQL has no text with a NUL character")
    return list(texts)


def _signed(text: str) -> str:
    """An interval with a sign before every number: without, PostgreSQL may take the first sign for all of them."""
    return " ".join(f"+{word}" if word[0].isdigit() else word for word in text.split())


_CHANGED: Mapping[tuple[str, str], Callable[[str], Any]] = {
    ("postgresql", "varchar"): str.encode,
    ("postgresql", "json"): str.encode,
    ("postgresql", "interval"): _signed,
}
