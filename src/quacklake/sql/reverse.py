"""A table as the statement that makes one like it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quacklake.names import split
from quacklake.types import DataType, Decimal, ListOf, MapOf, Struct

if TYPE_CHECKING:
    from quacklake.schema import Column
    from quacklake.table import Table

_WORDS = {
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INT",
    "int64": "BIGINT",
    "int128": "HUGEINT",
    "uint8": "UTINYINT",
    "uint16": "USMALLINT",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
    "uint128": "UHUGEINT",
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "varchar": "STRING",
    "blob": "BINARY",
    "timestamp": "TIMESTAMP_NTZ",
    "timestamptz": "TIMESTAMP",
}


def create_statement(table: Table) -> str:
    """CREATE TABLE, in Spark's dialect."""
    columns = ",\n".join(f"  {_column(column)}" for column in table.schema)
    text = f"CREATE TABLE {'.'.join(map(_name, split(table.name)))} (\n{columns}\n)"
    if table.partition_by:
        text += f"\nPARTITIONED BY ({', '.join(table.partition_by)})"
    if table.sort_by:
        text += f"\nSORTED BY ({', '.join(table.sort_by)})"
    return text if table.comment is None else f"{text}\nCOMMENT {_quoted(table.comment)}"


def _column(column: Column) -> str:
    text = f"{_name(column.name)} {type_text(column.type)}"
    if not column.nullable:
        text += " NOT NULL"
    if column.default is not None and column.default.text is not None:
        text += f" DEFAULT {_quoted(column.default.text)}"
    return text if column.comment is None else f"{text} COMMENT {_quoted(column.comment)}"


def type_text(type_: DataType) -> str:
    """The type as it is written in CREATE TABLE."""
    if isinstance(type_, Struct):
        return f"STRUCT<{', '.join(f'{_name(field.name)}: {type_text(field.type)}' for field in type_.fields)}>"
    if isinstance(type_, ListOf):
        return f"ARRAY<{type_text(type_.element.type)}>"
    if isinstance(type_, MapOf):
        return f"MAP<{type_text(type_.key.type)}, {type_text(type_.value.type)}>"
    if isinstance(type_, Decimal):
        return str(type_).upper()
    return _WORDS.get(str(type_), str(type_).upper())


def _name(name: str) -> str:
    return name if name.isascii() and name.isidentifier() else "`" + name.replace("`", "``") + "`"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
