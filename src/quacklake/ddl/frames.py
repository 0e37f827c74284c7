"""Schemas that other libraries have: Arrow's and Spark's."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from quacklake.errors import InvalidInputError, UnsupportedError
from quacklake.schema import Column
from quacklake.types import DataType, Decimal, ListOf, MapOf, Primitive, Struct

if TYPE_CHECKING:
    import pyarrow as pa

_ARROW: Mapping[str, str] = {
    "bool": "boolean",
    "halffloat": "float32",
    "float": "float32",
    "double": "float64",
    "string": "varchar",
    "large_string": "varchar",
    "string_view": "varchar",
    "binary": "blob",
    "large_binary": "blob",
    "binary_view": "blob",
    "date32[day]": "date",
    "date64[ms]": "date",
    "month_day_nano_interval": "interval",
    "null": "unknown",
    **{name: name for name in "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()},
}
_EXTENSIONS: Mapping[str, str] = {"arrow.uuid": "uuid", "arrow.json": "json"}
_UNITS = {"s": "timestamp_s", "ms": "timestamp_ms", "us": "timestamp", "ns": "timestamp_ns"}
_SPARK: Mapping[str, str] = {
    "boolean": "boolean",
    "byte": "int8",
    "short": "int16",
    "integer": "int32",
    "long": "int64",
    "float": "float32",
    "double": "float64",
    "string": "varchar",
    "binary": "blob",
    "date": "date",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
    "variant": "variant",
    "void": "unknown",
}
_SPARK_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")


def read_arrow(schema: pa.Schema) -> tuple[Column, ...]:
    """The columns of an Arrow schema."""
    return tuple(
        Column(0, field.name, _arrow_type(field.type, field.name), nullable=field.nullable) for field in schema
    )


def _arrow_type(type_: pa.DataType, name: str) -> DataType:
    import pyarrow as pa

    kinds = pa.types
    if isinstance(type_, pa.BaseExtensionType):
        known = _EXTENSIONS.get(type_.extension_name)
        return Primitive(known) if known is not None else _arrow_type(type_.storage_type, name)
    if str(type_) in _ARROW:
        return Primitive(_ARROW[str(type_)])
    if kinds.is_fixed_size_binary(type_):
        return Primitive("blob")
    if kinds.is_timestamp(type_):
        return Primitive(_UNITS[type_.unit] if type_.tz is None else "timestamptz")
    if kinds.is_time(type_):
        return Primitive("time")
    if kinds.is_decimal(type_) and type_.precision <= 38 and 0 <= type_.scale <= type_.precision:
        return Decimal(type_.precision, type_.scale)
    if kinds.is_dictionary(type_):
        return _arrow_type(type_.value_type, name)
    return _arrow_nested(type_, name)


def _arrow_nested(type_: Any, name: str) -> DataType:
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_map(type_):
        key, value = (_arrow_type(each, f"{name}.{part}") for part, each in _map_parts(type_))
        return MapOf(Column(0, "key", key), Column(0, "value", value))
    if kinds.is_struct(type_) and type_.num_fields:
        fields = [type_.field(index) for index in range(type_.num_fields)]
        return Struct(tuple(Column(0, each.name, _arrow_type(each.type, f"{name}.{each.name}")) for each in fields))
    if kinds.is_list(type_) or kinds.is_large_list(type_) or kinds.is_list_view(type_) or _is_other_list(type_):
        return ListOf(Column(0, "element", _arrow_type(type_.value_type, f"{name}.element")))
    raise UnsupportedError(
        f"column {name!r}: the format has no type for Arrow's {type_}", hint="cast the column to another type first"
    )


def _map_parts(type_: Any) -> tuple[tuple[str, Any], ...]:
    return ("key", type_.key_type), ("value", type_.item_type)


def _is_other_list(type_: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_large_list_view(type_) or pa.types.is_fixed_size_list(type_))


def read_spark(schema: Any) -> tuple[Column, ...]:
    """The columns of Spark's `StructType`, by the JSON that it makes of itself: Spark need not be there."""
    fields = json.loads(schema.json())["fields"]
    return tuple(
        Column(
            0,
            field["name"],
            _spark_type(field["type"], field["name"]),
            nullable=field["nullable"],
            comment=field.get("metadata", {}).get("comment"),
        )
        for field in fields
    )


def _spark_type(type_: Any, name: str) -> DataType:
    if isinstance(type_, str):
        return _spark_leaf(type_, name)
    match type_.get("type"):
        case "array":
            return ListOf(Column(0, "element", _spark_type(type_["elementType"], f"{name}.element")))
        case "map":
            key = _spark_type(type_["keyType"], f"{name}.key")
            return MapOf(Column(0, "key", key), Column(0, "value", _spark_type(type_["valueType"], f"{name}.value")))
        case "struct":
            return Struct(_spark_fields(type_["fields"], name))
        case _:
            raise _no_spark_type(type_.get("type"), name)


def _spark_fields(fields: Sequence[Mapping[str, Any]], name: str) -> tuple[Column, ...]:
    if not fields:
        raise InvalidInputError(f"column {name!r} is a struct without fields")
    return tuple(Column(0, each["name"], _spark_type(each["type"], f"{name}.{each['name']}")) for each in fields)


def _spark_leaf(type_: str, name: str) -> DataType:
    if type_ in _SPARK:
        return Primitive(_SPARK[type_])
    match = _SPARK_DECIMAL.fullmatch(type_)
    if match is not None and int(match[2]) >= 0:
        return Decimal(int(match[1]), int(match[2]))
    if type_.startswith(("varchar(", "char(")):
        return Primitive("varchar")
    if type_.startswith("time("):
        return Primitive("time")
    if type_.startswith("interval "):
        return Primitive("interval")
    raise _no_spark_type(type_, name)


def _no_spark_type(type_: object, name: str) -> UnsupportedError:
    return UnsupportedError(f"column {name!r}: the format has no type for Spark's {type_}", hint="cast it first")
