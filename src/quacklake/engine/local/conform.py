"""Make incoming rows fit a table's columns: by name, without loss, or not at all.

Works on the Arrow types of the data and yields SQL for DuckDB, so that the check of every value runs where the
values are. A cast that could lose something carries its own test and raises instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from quacklake.engine.local.types import duckdb_type, map_sql, struct_sql
from quacklake.errors import InvalidInputError
from quacklake.names import fold, quote
from quacklake.schema import Column
from quacklake.types import Decimal, ListOf, MapOf, Primitive, Struct

_NUMBERS = frozenset(("int8 int16 int32 int64 int128 uint8 uint16 uint32 uint64 uint128 float32 float64").split())

_ROUNDING = frozenset(("float32", "float64", "decimal", "varchar"))

# What a value of a kind may become. "cast": DuckDB's cast is exact or raises. "check": cast, then compare with
# what came in. Everything else is refused before a row is read.
_RULES: Mapping[str, Mapping[str, str]] = {
    "boolean": {"boolean": "cast"},
    "whole": {**dict.fromkeys(_NUMBERS, "check"), "decimal": "cast"},
    "float": {**dict.fromkeys(_NUMBERS, "check"), "decimal": "check"},
    "decimal": {**dict.fromkeys(_NUMBERS, "check"), "decimal": "check"},
    # Text stands for the types that Arrow, pandas and Spark do not have; each parses its own form or raises.
    "varchar": dict.fromkeys(
        ("varchar", "json", "uuid", "timetz", "interval", "time_ns", "int128", "uint128", "variant", "geometry"), "cast"
    ),
    "blob": {"blob": "cast"},
    "uuid": {"uuid": "cast", "varchar": "cast"},
    "json": {"json": "cast", "varchar": "cast"},
    "date": dict.fromkeys(("date", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"), "cast"),
    "timestamp": dict.fromkeys(("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"), "check"),
    "timestamptz": {"timestamptz": "check"},
    "time": {"time": "check", "time_ns": "cast"},
    "interval": {"interval": "cast"},
}


def conform(expression: str, given: Any, column: Column, path: str | None = None, *, assign: bool = False) -> str:
    """SQL that turns `expression` of the given type into the column's type.

    Args:
        expression: SQL of the value.
        given: Its type.
        column: Where it goes.
        path: For messages, when the column is inside another.
        assign: The value was computed for this column (`SET x = x * 1.1`): a decimal or a float takes it rounded,
            as SQL does; an integer still takes only whole numbers.

    Raises:
        InvalidInputError: When no value of the given type could be stored without loss, or fields do not fit.
    """
    name = path or column.name
    given = _plain(given)
    if pa.types.is_null(given):
        return f"CAST(NULL AS {duckdb_type(column.type)})"
    match column.type:
        case Struct(fields) if pa.types.is_struct(given):
            return _conform_struct(expression, given, fields, name, assign)
        case ListOf(element) if _is_list(given):
            item = _item(name)
            inner = conform(item, given.value_type, element, f"{name}.element", assign=assign)
            return f"list_transform({expression}, lambda {item}: {inner})"
        case MapOf(key, value) if pa.types.is_map(given):
            item = _item(name)
            keys = conform(f"{item}.key", given.key_type, key, f"{name}.key", assign=assign)
            values = conform(f"{item}.value", given.item_type, value, f"{name}.value", assign=assign)
            return map_sql(expression, item, keys, values)
        case Primitive() | Decimal():
            return _conform_leaf(expression, given, column, name, assign)
        case _:
            raise _refused(name, given, column)


def _conform_struct(expression: str, given: Any, fields: Sequence[Column], name: str, assign: bool) -> str:
    below = {fold(field.name): (field.name, field.type) for field in given}
    unknown = [child for key, (child, _) in below.items() if all(fold(field.name) != key for field in fields)]
    if unknown:
        raise InvalidInputError(
            f"{name} has no field {unknown[0]!r}",
            hint=f"its fields are {', '.join(field.name for field in fields)}; schema='merge' adds new ones",
        )
    parts = []
    for field in fields:
        found = below.get(fold(field.name))
        if found is None:
            value = f"CAST(NULL AS {duckdb_type(field.type)})"
        else:
            value = conform(f"{expression}.{quote(found[0])}", found[1], field, f"{name}.{field.name}", assign=assign)
        parts.append((field.name, value))
    return struct_sql(expression, parts)


def _item(path: str) -> str:
    """A name for the element of a lambda that none around it has."""
    return f"_e{path.count('.')}"


def _conform_leaf(expression: str, given: pa.DataType, column: Column, name: str, assign: bool) -> str:
    target = "decimal" if isinstance(column.type, Decimal) else str(column.type)
    kind = _kind(given)
    rule = None if kind is None else _RULES[kind].get(target)
    if assign and kind in ("whole", "float", "decimal") and target in _ROUNDING:
        rule = "cast"
    if rule is None:
        raise _refused(name, given, column)
    wanted, came = duckdb_type(column.type), _duckdb_name(given)
    if came == wanted:
        return expression
    cast = f"CAST({expression} AS {wanted})"
    if rule == "cast" or came is None or _is_exact(given, target):
        return cast
    text = f"{name}: a value does not fit into {column.type} without loss".replace("'", "''")
    # NaN equals NaN here, and a value that overflows has raised in the cast before.
    return (
        f"CASE WHEN CAST({cast} AS {came}) IS DISTINCT FROM {expression} THEN error('{text}: ' || {expression}) "
        f"ELSE {cast} END"
    )


def _plain(given: Any) -> Any:
    """The type behind a dictionary or an extension."""
    if pa.types.is_dictionary(given):
        return given.value_type
    if isinstance(given, pa.BaseExtensionType):
        # Arrow's UUIDs and JSON reach DuckDB as such: as text for the rules, 16 bytes for nobody.
        return pa.string() if given.extension_name in ("arrow.uuid", "arrow.json") else given.storage_type
    return given


def _is_list(given: Any) -> bool:
    return pa.types.is_list(given) or pa.types.is_large_list(given) or pa.types.is_fixed_size_list(given)


def _kind(given: pa.DataType) -> str | None:
    """The row of `_RULES` for a type; None for one that no column takes."""
    types = pa.types
    tests: tuple[tuple[str, bool], ...] = (
        ("boolean", types.is_boolean(given)),
        ("whole", types.is_integer(given)),
        ("float", types.is_floating(given)),
        ("decimal", types.is_decimal(given)),
        ("varchar", types.is_string(given) or types.is_large_string(given) or types.is_string_view(given)),
        ("blob", types.is_binary(given) or types.is_large_binary(given) or types.is_fixed_size_binary(given)),
        ("blob", types.is_binary_view(given)),
        ("date", types.is_date(given)),
        ("timestamptz", types.is_timestamp(given) and given.tz is not None),
        ("timestamp", types.is_timestamp(given)),
        ("time", types.is_time(given)),
        ("interval", types.is_duration(given) or types.is_interval(given)),
    )
    return next((kind for kind, holds in tests if holds), None)


_DUCKDB_NAMES = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.uint8(): "UTINYINT",
    pa.uint16(): "USMALLINT",
    pa.uint32(): "UINTEGER",
    pa.uint64(): "UBIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "VARCHAR",
    pa.large_string(): "VARCHAR",
    pa.binary(): "BLOB",
    pa.date32(): "DATE",
    pa.timestamp("s"): "TIMESTAMP_S",
    pa.timestamp("ms"): "TIMESTAMP_MS",
    pa.timestamp("us"): "TIMESTAMP",
    pa.timestamp("ns"): "TIMESTAMP_NS",
    pa.time32("s"): "TIME",
    pa.time32("ms"): "TIME",
    pa.time64("us"): "TIME",
    pa.time64("ns"): "TIME_NS",
}


def _duckdb_name(given: pa.DataType) -> str | None:
    """What DuckDB calls the type when it reads the data; None where a comparison with what came in is no use."""
    if pa.types.is_decimal(given):
        return f"DECIMAL({given.precision},{given.scale})"
    return _DUCKDB_NAMES.get(given)


def _is_exact(given: pa.DataType, target: str) -> bool:
    """Whether DuckDB's cast is exact or raises, so that it needs no test of ours."""
    if pa.types.is_integer(given) and target not in ("float32", "float64"):
        return True
    return given == pa.float32() and target == "float64"


def _refused(name: str, given: pa.DataType, column: Column) -> InvalidInputError:
    return InvalidInputError(
        f"column {name!r} is {column.type}, and {given} does not become that without loss",
        hint="cast it before you write",
    )


def match_columns(
    given: Sequence[str], columns: Sequence[Column], *, table: str
) -> tuple[dict[int, str], tuple[str, ...]]:
    """Which incoming name stands for which column id, and the names that are not columns of the table.

    Raises:
        InvalidInputError: When two incoming columns stand for the same one, or a required column is missing.
    """
    by_name = {fold(column.name): column for column in columns}
    found: dict[int, str] = {}
    extra = []
    for name in given:
        column = by_name.get(fold(name))
        if column is None:
            extra.append(name)
        elif column.id in found:
            raise InvalidInputError(
                f"the data has both {found[column.id]!r} and {name!r} for column {column.name!r} of {table}"
            )
        else:
            found[column.id] = name
    missing = [
        column.name for column in columns if column.id not in found and not column.nullable and column.default is None
    ]
    if missing:
        raise InvalidInputError(
            f"the data has no column {missing[0]!r}, which may not be NULL in {table}",
            hint=f"the data has {', '.join(given) or 'no columns'}",
        )
    return found, tuple(extra)
