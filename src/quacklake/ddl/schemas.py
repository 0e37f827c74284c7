"""The columns of a new table, whatever they were given as."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from quacklake.ddl.literals import read_default
from quacklake.ddl.text import ColumnText, parse_columns, parse_type
from quacklake.errors import InvalidInputError
from quacklake.evolution import number, refuse_duplicates
from quacklake.names import fold
from quacklake.schema import Column, Schema
from quacklake.types import DataType, Decimal, ListOf, MapOf, Primitive, Struct

_ALWAYS_RESERVED = ("_ducklake_internal_row_id", "_ducklake_internal_snapshot_id")
_RESERVED_WHEN_INLINED = ("row_id", "begin_snapshot", "end_snapshot")


def read_schema(given: Any) -> Schema:
    """The columns with ids, from an Arrow schema, a Spark schema, columns of another table, or DDL text.

    Raises:
        InvalidInputError: When there are no columns, or two with one name.
        UnsupportedError: When a column has a type that the format lacks.
    """
    columns = _read(given)
    if not columns:
        raise InvalidInputError("a table needs at least one column")
    refuse_duplicates(columns, "the table")
    for column in columns:
        check_column(column)
    return Schema(number(columns, 1)[0])


def check_column(column: Column) -> None:
    """Refuse names and types that no column can have, at any depth."""
    for each in column.walk():
        check_name(each.name, "column")
        if each.type == Primitive("unknown"):
            raise InvalidInputError(
                f"column {column.name!r} holds nothing but NULL, which says nothing about its type",
                hint="cast it to a type first",
            )


def _read(given: Any) -> tuple[Column, ...]:
    if isinstance(given, str):
        return tuple(with_default(each) for each in parse_columns(given))
    if isinstance(given, Schema):
        return given.columns
    if callable(getattr(given, "json", None)) and hasattr(given, "fields"):
        from quacklake.ddl.frames import read_spark

        return read_spark(given)
    import pyarrow as pa

    from quacklake.ddl.frames import read_arrow

    if hasattr(given, "schema") and isinstance(given.schema, pa.Schema):
        given = given.schema
    if isinstance(given, pa.Schema):
        return read_arrow(given)
    if hasattr(given, "__arrow_c_schema__"):
        return read_arrow(pa.schema(given))
    raise InvalidInputError(
        f"{type(given).__name__} is no schema", hint="give an Arrow schema, a Spark StructType, or 'id BIGINT, …'"
    )


def with_default(given: ColumnText) -> Column:
    """A column with the default that was written behind it; rows older than the column have it as well."""
    column = given.column
    found = read_default(given.default, column.type, column.name)
    return replace(column, default=found.default, initial_default=found.initial)


def read_type(given: DataType | str) -> DataType:
    """A type as callers give it: text, or one of the format's own."""
    if isinstance(given, str):
        return parse_type(given)
    if isinstance(given, Primitive | Decimal | Struct | ListOf | MapOf):
        return given
    import pyarrow as pa

    from quacklake.ddl.frames import read_arrow, read_spark

    if isinstance(given, pa.DataType):
        return read_arrow(pa.schema([("c", given)]))[0].type
    if callable(getattr(given, "jsonValue", None)):
        return read_spark(_OneField(given))[0].type
    raise InvalidInputError(f"{given!r} is no type", hint="write it as in Spark or DuckDB: 'ARRAY<INT>', 'UUID'")


class _OneField:
    """A Spark type in the shape of a schema of one column."""

    def __init__(self, type_: Any) -> None:
        self._type = type_

    def json(self) -> str:
        """What Spark's own schemas answer."""
        import json

        field = {"name": "c", "type": self._type.jsonValue(), "nullable": True, "metadata": {}}
        return json.dumps({"type": "struct", "fields": [field]})


def check_name(name: str, kind: str) -> None:
    """Refuse a name that no database would take, or that the format keeps for itself."""
    if not name or name != name.strip() or "\0" in name:
        raise InvalidInputError(f"{name!r} is no name for a {kind}")
    if kind == "column" and fold(name) in _ALWAYS_RESERVED:
        raise InvalidInputError(f"the column name {name!r} belongs to the format", hint="choose another one")


def check_inlined_names(columns: Sequence[Column], table: str) -> None:
    """Refuse names of columns that stand in the way of inlined rows."""
    for column in columns:
        if fold(column.name) in _RESERVED_WHEN_INLINED:
            raise InvalidInputError(
                f"the column name {column.name!r} of {table} belongs to the format while small writes are inlined",
                hint="choose another one, or set_option('data_inlining_row_limit', 0) for the table's namespace",
            )
