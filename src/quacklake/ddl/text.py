"""Types and columns as text: Spark's dialect, with DuckDB's words for the types that Spark lacks.

    id BIGINT NOT NULL, tags ARRAY<STRING>, place STRUCT<x: DOUBLE, y: DOUBLE>, n HUGEINT DEFAULT 0 COMMENT 'how many'

`TIMESTAMP` is what Spark means by it, a point in time (`timestamptz` in the format); a wall clock without a zone
is `TIMESTAMP_NTZ`. `INT8` and its like are the format's own names and count bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from quacklake.errors import InvalidInputError, UnsupportedError
from quacklake.schema import Column
from quacklake.types import DataType, Decimal, ListOf, MapOf, Primitive, Struct

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.dialects.dialect import Dialect

# sqlglot's name for a type -> the format's.
_PRIMITIVES: Mapping[str, str] = {
    "BOOLEAN": "boolean",
    "TINYINT": "int8",
    "SMALLINT": "int16",
    "INT": "int32",
    "BIGINT": "int64",
    "INT128": "int128",
    "UTINYINT": "uint8",
    "USMALLINT": "uint16",
    "UINT": "uint32",
    "UBIGINT": "uint64",
    "UINT128": "uint128",
    "FLOAT": "float32",
    "DOUBLE": "float64",
    "TEXT": "varchar",
    "VARCHAR": "varchar",
    "BINARY": "blob",
    "VARBINARY": "blob",
    "DATE": "date",
    "TIME": "time",
    "TIME_NS": "time_ns",
    "TIMETZ": "timetz",
    "TIMESTAMP": "timestamp",
    "TIMESTAMPNTZ": "timestamp",
    "DATETIME": "timestamp",
    "TIMESTAMP_S": "timestamp_s",
    "TIMESTAMP_MS": "timestamp_ms",
    "TIMESTAMP_NS": "timestamp_ns",
    "TIMESTAMPTZ": "timestamptz",
    "TIMESTAMPLTZ": "timestamptz",
    "INTERVAL": "interval",
    "UUID": "uuid",
    "JSON": "json",
    "VARIANT": "variant",
    "GEOMETRY": "geometry",
}
# Words that Spark does not know, or means something else by -> sqlglot's token.
_WORDS: Mapping[str, str] = {
    "HUGEINT": "INT128",
    "INT128": "INT128",
    "UHUGEINT": "UINT128",
    "UINT128": "UINT128",
    "UTINYINT": "UTINYINT",
    "UINT8": "UTINYINT",
    "USMALLINT": "USMALLINT",
    "UINT16": "USMALLINT",
    "UINTEGER": "UINT",
    "UINT32": "UINT",
    "UBIGINT": "UBIGINT",
    "UINT64": "UBIGINT",
    "INT8": "TINYINT",
    "INT16": "SMALLINT",
    "INT32": "INT",
    "INT64": "BIGINT",
    "FLOAT32": "FLOAT",
    "FLOAT64": "DOUBLE",
    "BLOB": "VARBINARY",
    "BYTEA": "VARBINARY",
    "BOOL": "BOOLEAN",
    "TIMETZ": "TIMETZ",
    "TIMESTAMPTZ": "TIMESTAMPTZ",
    "TIMESTAMP_S": "TIMESTAMP_S",
    "TIMESTAMP_MS": "TIMESTAMP_MS",
    "TIMESTAMP_US": "TIMESTAMPNTZ",
    "TIMESTAMP_NS": "TIMESTAMP_NS",
    "TIMESTAMP WITHOUT TIME ZONE": "TIMESTAMPNTZ",
    "UUID": "UUID",
    "JSON": "JSON",
    "VARIANT": "VARIANT",
    "GEOMETRY": "GEOMETRY",
}
_SPARK_DECIMAL = (10, 0)


@dataclass(frozen=True, slots=True)
class ColumnText:
    """A column as it was written; what its default means depends on its type."""

    column: Column
    default: exp.Expression | None = None


@lru_cache(maxsize=1)
def dialect() -> type[Dialect]:
    """Spark's dialect with DuckDB's words for types."""
    from sqlglot import TokenType
    from sqlglot.dialects.spark import Spark

    tokens = {word: getattr(TokenType, token) for word, token in _WORDS.items()}

    class Lake(Spark):
        class Tokenizer(Spark.Tokenizer):
            KEYWORDS: ClassVar[dict[str, TokenType]] = {**Spark.Tokenizer.KEYWORDS, **tokens}

    return Lake


def parse_type(text: str) -> DataType:
    """Read a type.

    Raises:
        InvalidInputError: When it is not one.
        UnsupportedError: When the format has no such type.
    """
    columns = parse_columns(f"c {text}")
    if len(columns) != 1 or columns[0].column.name != "c":
        raise InvalidInputError(f"{text!r} is not a type", hint="write it as in Spark or DuckDB: ARRAY<INT>, UUID")
    (only,) = columns
    if not only.column.nullable or only.default is not None or only.column.comment is not None:
        raise InvalidInputError(f"{text!r} is more than a type", hint="say the rest with nullable, default and comment")
    return only.column.type


def parse_columns(text: str) -> tuple[ColumnText, ...]:
    """Read the columns of a table, as they stand between the brackets of CREATE TABLE.

    Raises:
        InvalidInputError: When the text cannot be parsed.
        UnsupportedError: When the format has no such type or constraint.
    """
    import sqlglot
    from sqlglot import exp

    try:
        tree = sqlglot.parse_one(f"CREATE TABLE t ({text})", dialect=dialect())
    except sqlglot.errors.SqlglotError as error:
        raise InvalidInputError(f"{text!r} cannot be read as columns", hint=_words(error)) from error
    schema = tree.this
    if not isinstance(schema, exp.Schema) or not schema.expressions:
        raise InvalidInputError(f"{text!r} has no columns", hint="write: id BIGINT, name STRING")
    return tuple(read_column(each) for each in schema.expressions)


def _words(error: Exception) -> str:
    # sqlglot underlines the place with escape codes.
    first = str(error).splitlines()[0]
    return first.replace("\x1b[4m", "").replace("\x1b[0m", "")


def read_column(node: exp.Expression) -> ColumnText:
    """A column of a parsed CREATE TABLE or ALTER TABLE."""
    from sqlglot import exp

    if not isinstance(node, exp.ColumnDef) or node.args.get("kind") is None:
        raise InvalidInputError(
            f"{node.sql(dialect=dialect())!r} is not a column with a type",
            hint="constraints of tables are not kept; columns are written name TYPE",
        )
    nullable, default, comment = True, None, None
    for constraint in node.constraints:
        kind = constraint.kind
        if isinstance(kind, exp.NotNullColumnConstraint):
            nullable = bool(kind.args.get("allow_null"))
        elif isinstance(kind, exp.DefaultColumnConstraint):
            default = kind.this
        elif isinstance(kind, exp.CommentColumnConstraint):
            comment = kind.this.name
        else:
            raise UnsupportedError(
                f"column {node.name!r}: {kind.sql(dialect=dialect())} is not kept by the format",
                hint="columns have NOT NULL, DEFAULT and COMMENT",
            )
    column = Column(0, node.name, read_type(node.args["kind"]), nullable=nullable, comment=comment)
    return ColumnText(column, default)


def read_type(node: exp.Expression) -> DataType:
    """The type that a parsed one stands for."""
    from sqlglot import exp

    if not isinstance(node, exp.DataType):
        raise _unknown(node)
    if isinstance(node.this, exp.Interval):
        return Primitive("interval")
    name = node.this.name if isinstance(node.this, exp.DataType.Type) else str(node.this)
    if name in _PRIMITIVES:
        # A length of text is no more than a wish in Spark and DuckDB.
        return Primitive(_PRIMITIVES[name])
    read = _NESTED.get(name)
    if read is None or node.args.get("values"):
        raise _unknown(node)
    return read(node)


def _unknown(node: exp.Expression) -> UnsupportedError:
    return UnsupportedError(
        f"the format has no type {node.sql(dialect=dialect())}", hint="see docs/types.md for those it has"
    )


def _read_decimal(node: exp.DataType) -> DataType:
    numbers = [int(each.name) for each in node.expressions]
    precision, scale = (*numbers, 0)[:2] if numbers else _SPARK_DECIMAL
    if not 1 <= precision <= 38 or scale > precision:
        raise InvalidInputError(f"decimal({precision},{scale}) is not a type: 1 to 38 digits, the scale among them")
    return Decimal(precision, scale)


def _read_list(node: exp.DataType) -> DataType:
    if len(node.expressions) != 1:
        raise _unknown(node)
    return ListOf(Column(0, "element", read_type(node.expressions[0])))


def _read_map(node: exp.DataType) -> DataType:
    if len(node.expressions) != 2:
        raise _unknown(node)
    key, value = (read_type(each) for each in node.expressions)
    return MapOf(Column(0, "key", key), Column(0, "value", value))


def _read_struct(node: exp.DataType) -> DataType:
    fields = []
    for each in node.expressions:
        field = read_column(each)
        if field.default is not None or not field.column.nullable or field.column.comment is not None:
            raise UnsupportedError(
                f"field {field.column.name!r}: NOT NULL, DEFAULT and COMMENT are kept for columns, not inside structs"
            )
        fields.append(field.column)
    if not fields:
        raise _unknown(node)
    return Struct(tuple(fields))


_NESTED: Mapping[str, Callable[[exp.DataType], DataType]] = {
    "DECIMAL": _read_decimal,
    "ARRAY": _read_list,
    "LIST": _read_list,
    "MAP": _read_map,
    "STRUCT": _read_struct,
}
