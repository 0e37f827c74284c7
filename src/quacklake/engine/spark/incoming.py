"""Make the columns of a DataFrame fit a table: by name, without loss, or not at all.

Yields Spark expressions, so that the check of every value runs where the values are. The local engine's rules are
the same; only the types differ, because Spark lacks some (`docs/types.md`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from quacklake.errors import InvalidInputError, UnsupportedError
from quacklake.names import fold
from quacklake.schema import Column
from quacklake.types import Decimal, ListOf, MapOf, Primitive, Struct

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql.types import DataType as SparkType

STORED = {
    "boolean": "boolean",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "uint8": "smallint",
    "uint16": "int",
    "uint32": "bigint",
    "uint64": "decimal(20,0)",
    "int128": "decimal(38,0)",
    "uint128": "decimal(38,0)",
    "float32": "float",
    "float64": "double",
    "date": "date",
    "timestamp": "timestamp_ntz",
    "timestamp_s": "timestamp_ntz",
    "timestamp_ms": "timestamp_ntz",
    "timestamptz": "timestamp",
    "varchar": "string",
    "blob": "binary",
    **dict.fromkeys(("uuid", "json", "time", "time_ns", "timetz", "interval", "timestamp_ns"), "string"),
}
"""What Spark writes for each type; whoever reads the file casts it to the table's own type."""

TEXT_FORMS = {
    "uuid": r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
    "time": r"^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?$",
    "time_ns": r"^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?$",
    "timetz": r"^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?[+-]\d{2}(:\d{2}){0,2}$",
    "timestamp_ns": r"^\d{4}-(0[1-9]|1[0-2])-([0-2]\d|3[01]) ([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?$",
    "interval": r"^(-?\d+ (year|month|mon|day)s?( |$))*(-?\d{1,}:[0-5]\d:[0-5]\d(\.\d{1,6})?)?$",
}
"""The text that DuckDB reads back as a value of the type; anything else would make a file that nobody can read."""

_UNSIGNED = {"uint8": 2**8, "uint16": 2**16, "uint32": 2**32, "uint64": 2**64}
_WHOLE = ("tinyint", "smallint", "int", "bigint")
_NUMBERS = (*_WHOLE, "float", "double")


def fit_column(
    value: SparkColumn, given: SparkType, column: Column, path: str | None = None, *, assign: bool = False
) -> SparkColumn:
    """The value as Spark stores it in a file of the table.

    Args:
        value: The value.
        given: Its type.
        column: Where it goes.
        path: For messages, when the column is inside another.
        assign: The value was computed for this column (`SET x = x * 1.1`): a decimal or a float takes it rounded,
            as SQL does; an integer still takes only whole numbers.

    Raises:
        InvalidInputError: When no value of the given type could be stored without loss, or fields do not fit.
        UnsupportedError: When Spark cannot write the column's type.
    """
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    name = path or column.name
    if isinstance(given, T.NullType):
        return F.lit(None).cast(stored_type(column))
    match column.type:
        case Struct(fields) if isinstance(given, T.StructType):
            return _fit_struct(value, given, fields, name, assign)
        case ListOf(element) if isinstance(given, T.ArrayType):
            return F.transform(
                value, lambda item: fit_column(item, given.elementType, element, f"{name}.element", assign=assign)
            )
        case MapOf(key, below) if isinstance(given, T.MapType):
            keys = F.transform(
                F.map_keys(value), lambda item: fit_column(item, given.keyType, key, f"{name}.key", assign=assign)
            )
            values = F.transform(
                F.map_values(value),
                lambda item: fit_column(item, given.valueType, below, f"{name}.value", assign=assign),
            )
            return F.when(value.isNotNull(), F.map_from_arrays(keys, values))
        case Primitive() | Decimal():
            return _fit_leaf(value, given, column, name, assign)
        case _:
            raise _refused(name, given, column)


def _fit_struct(value: SparkColumn, given: Any, fields: Sequence[Column], name: str, assign: bool) -> SparkColumn:
    from pyspark.sql import functions as F

    known = {fold(field.name): field for field in given.fields}
    unknown = [field.name for key, field in known.items() if all(fold(each.name) != key for each in fields)]
    if unknown:
        raise InvalidInputError(
            f"{name} has no field {unknown[0]!r}",
            hint=f"its fields are {', '.join(each.name for each in fields)}; schema='merge' adds new ones",
        )
    parts = []
    for each in fields:
        found = known.get(fold(each.name))
        if found is None:
            part = F.lit(None).cast(stored_type(each))
        else:
            inner = value.getField(found.name)
            part = fit_column(inner, found.dataType, each, f"{name}.{each.name}", assign=assign)
        parts.append(part.alias(each.name))
    return F.when(value.isNotNull(), F.struct(*parts))


def _fit_leaf(value: SparkColumn, given: SparkType, column: Column, name: str, assign: bool) -> SparkColumn:
    kind = str(column.type)
    stored, came = stored_name(column), given.simpleString()
    if kind in TEXT_FORMS and came == "string":
        return _checked_text(value, kind, column, name)
    if kind == "json" and came == "string":
        from pyspark.sql import functions as F

        return _or_raise(F.try_parse_json(value).isNotNull() | value.isNull(), value, value, f"{name}: no JSON")
    if came == stored and kind not in _UNSIGNED and kind not in ("uint128", "timestamp_s", "timestamp_ms"):
        return value
    if assign and _is_rounded(came, kind):
        # Without ANSI mode a cast that overflows gives NULL.
        cast = value.cast(stored)
        return _or_raise(cast.isNotNull() | value.isNull(), cast, value, f"{name}: a value is too large")
    if not _may_become(came, stored):
        raise _refused(name, given, column)
    # Spark's own cast raises when a number is too large; what it rounds away is found by casting back.
    cast = value.cast(stored)
    same = cast.cast(given).eqNullSafe(value)
    if kind in _UNSIGNED or kind == "uint128":
        most = _UNSIGNED.get(kind, 10**38)
        same = same & (value.isNull() | ((cast >= 0) & (cast < most if most <= 2**32 else cast < _decimal(most))))
    if kind in ("timestamp_s", "timestamp_ms"):
        from pyspark.sql import functions as F

        unit = "SECOND" if kind == "timestamp_s" else "MILLISECOND"
        same = same & (value.isNull() | (F.date_trunc(unit, cast).cast("timestamp_ntz") == cast))
    return _or_raise(same, cast, value, f"{name}: a value does not fit into {column.type} without loss")


def _decimal(number: int) -> SparkColumn:
    from pyspark.sql import functions as F

    # One digit more than the largest value would not be a decimal any more.
    return F.lit(str(min(number, 10**38 - 1))).cast("decimal(38,0)")


def _may_become(came: str, stored: str) -> bool:
    numbers = came in _NUMBERS or came.startswith("decimal(")
    if numbers:
        return stored in _NUMBERS or stored.startswith("decimal(")
    return came == stored or (came == "date" and stored == "timestamp_ntz")


def _is_rounded(came: str, kind: str) -> bool:
    """Whether a number that was computed for a column is stored as near to it as the column can."""
    is_number = came in _NUMBERS or came.startswith("decimal(")
    return is_number and (kind in ("float32", "float64", "varchar") or kind.startswith("decimal("))


def _checked_text(value: SparkColumn, kind: str, column: Column, name: str) -> SparkColumn:
    from pyspark.sql import functions as F

    text = F.lower(value) if kind == "uuid" else value
    return _or_raise(value.isNull() | text.rlike(TEXT_FORMS[kind]), text, value, f"{name}: a text is no {column.type}")


def _or_raise(holds: SparkColumn, then: SparkColumn, value: SparkColumn, message: str) -> SparkColumn:
    from pyspark.sql import functions as F

    return F.when(holds, then).otherwise(F.raise_error(F.concat(F.lit(f"{message}: "), value.cast("string"))))


def stored_name(column: Column) -> str:
    """The Spark type of a leaf in a file, in Spark's words."""
    if isinstance(column.type, Decimal):
        return f"decimal({column.type.precision},{column.type.scale})"
    name = str(column.type)
    if name not in STORED:
        raise UnsupportedError(
            f"Spark cannot write column {column.name!r} of type {name}", hint="append it as an Arrow table"
        )
    return STORED[name]


def stored_type(column: Column) -> SparkType:
    """The Spark type of a column in a file, with the field ids that Spark can carry."""
    from pyspark.sql import types as T

    match column.type:
        case Struct(fields):
            return T.StructType([stored_field(each) for each in fields])
        case ListOf(element):
            return T.ArrayType(stored_type(element))
        case MapOf(key, value):
            return T.MapType(stored_type(key), stored_type(value))
        case _:
            return T.DataType.fromDDL(stored_name(column))


def stored_field(column: Column) -> Any:
    """The column as a field of a Spark schema."""
    from pyspark.sql import types as T

    return T.StructField(column.name, stored_type(column), True, {"parquet.field.id": column.id})


def _refused(name: str, given: SparkType, column: Column) -> InvalidInputError:
    return InvalidInputError(
        f"column {name!r} is {column.type}, and {given.simpleString()} does not become that without loss",
        hint="cast it before you write",
    )
