"""How Spark's Parquet reader gives the leaves of a file: as which type it reads them, and the SQL that finishes them.

Only what Spark reads exactly as DuckDB does is here. Everything else is read through DuckDB.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import types as spark

from quacklake.engine.spark.types import spark_type
from quacklake.plan.layout import FileColumn
from quacklake.types import Decimal, Leaf, Primitive

Finish = Callable[[str], str]
"""SQL of a value as the reader gives it, to SQL of the value as it comes out."""

_LONG, _TEXT, _BYTES = spark.LongType(), spark.StringType(), spark.BinaryType()
_MOMENT, _INSTANT = spark.TimestampNTZType(), spark.TimestampType()
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_MICROS = frozenset(("Timestamp microseconds", "Timestamp milliseconds"))

# Whole numbers, by DuckDB's name: as which type Spark reads them, and the least and largest value.
_WHOLE: dict[str, tuple[spark.DataType, int, int]] = {
    "BOOLEAN": (spark.BooleanType(), 0, 1),
    "TINYINT": (spark.ByteType(), -(2**7), 2**7 - 1),
    "SMALLINT": (spark.ShortType(), -(2**15), 2**15 - 1),
    "INTEGER": (spark.IntegerType(), -(2**31), 2**31 - 1),
    "BIGINT": (spark.LongType(), -(2**63), 2**63 - 1),
    "UTINYINT": (spark.ShortType(), 0, 2**8 - 1),
    "USMALLINT": (spark.IntegerType(), 0, 2**16 - 1),
    "UINTEGER": (spark.LongType(), 0, 2**32 - 1),
    "UBIGINT": (spark.DecimalType(20, 0), 0, 2**64 - 1),
}
_LIMITS = {
    **{f"int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64, 128)},
    **{f"uint{bits}": (0, 2**bits - 1) for bits in (8, 16, 32, 64, 128)},
}
# Spark has no unsigned types and writes these instead, after a check of every value.
_WRITTEN_BY_SPARK = {
    ("uint8", "SMALLINT"),
    ("uint16", "INTEGER"),
    ("uint32", "BIGINT"),
    ("uint64", "DECIMAL(20,0)"),
    ("int128", "DECIMAL(38,0)"),
    ("uint128", "DECIMAL(38,0)"),
}


@dataclass(frozen=True, slots=True)
class LeafReading:
    """How to read one leaf."""

    type: spark.DataType
    """What the reader is asked for."""
    finish: Finish | None = None
    """What is left to do; nothing when the value is right as it is."""
    guard: Finish | None = None
    """What must be done, besides, where Spark could compare the value with the statistics of the file."""


def read_leaf(type_: Leaf, source: FileColumn) -> LeafReading | None:
    """How to read a leaf of a file as a column of the table, or None when Spark's reader cannot do it exactly."""
    if isinstance(type_, Decimal):
        return _read_decimal(type_, source)
    match type_.name:
        case "boolean":
            return LeafReading(spark.BooleanType()) if source.type == "BOOLEAN" else None
        case "float32" | "float64":
            return _read_float(type_, source)
        case name if name in _LIMITS:
            return _read_whole(type_, source)
        case "date":
            return LeafReading(spark.DateType()) if source.type == "DATE" else None
        case "timestamp" | "timestamp_s" | "timestamp_ms":
            return LeafReading(_MOMENT) if source.type == "TIMESTAMP" and source.logical in _MICROS else None
        case "timestamptz":
            # What has no zone in the file is in UTC, as the reader takes it when it is asked for an instant.
            is_moment = source.type in ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE") and source.logical in _MICROS
            return LeafReading(_INSTANT) if is_moment else None
        case _:
            return _read_other(type_, source)


def _read_other(type_: Primitive, source: FileColumn) -> LeafReading | None:
    match type_.name, source.type, source.physical:
        case "varchar" | "json", "VARCHAR" | "JSON", "BYTE_ARRAY":
            return LeafReading(_TEXT)
        case "blob", "BLOB", "BYTE_ARRAY" | "FIXED_LEN_BYTE_ARRAY":
            return LeafReading(_BYTES)
        case "uuid", "UUID", _:
            return LeafReading(_BYTES, _uuid_text)
        case "uuid", "VARCHAR", "BYTE_ARRAY":
            return LeafReading(_TEXT, _checked_uuid)
        case "time", "TIME", "INT64" if source.logical == "Time microseconds":
            return LeafReading(_LONG, lambda value: _time_text(value, 6))
        case "timetz", "TIME WITH TIME ZONE", "INT64" if source.logical == "Time microseconds":
            return LeafReading(_LONG, lambda value: f"concat({_time_text(value, 6)}, '+00')")
        case "timestamp_ns", "TIMESTAMP_NS", _:
            return LeafReading(_LONG, _nanoseconds_text)
        case _:
            return None


def _read_whole(type_: Primitive, source: FileColumn) -> LeafReading | None:
    target = spark_type(type_)
    if (type_.name, source.type) in _WRITTEN_BY_SPARK:
        return LeafReading(target)
    found = _WHOLE.get(source.type)
    least, most = _LIMITS[type_.name]
    if found is None or found[1] < least or found[2] > most:
        return None
    return LeafReading(found[0], None if found[0] == target else _cast_to(target))


def _read_float(type_: Primitive, source: FileColumn) -> LeafReading | None:
    target = spark_type(type_)
    name = target.simpleString()
    if source.type in ("FLOAT", "DOUBLE") and source.physical == source.type:
        if type_.name == "float32" and source.type == "DOUBLE":
            return None
        held = spark.FloatType() if source.type == "FLOAT" else spark.DoubleType()
        return LeafReading(held, None if held == target else _cast_to(target), lambda value: _seen_nan(value, name))
    if source.type in _WHOLE and source.type != "BOOLEAN":
        return LeafReading(_WHOLE[source.type][0], _cast_to(target))
    return None


def _seen_nan(value: str, name: str) -> str:
    # Some writers leave NaN out of a file's statistics. Spark takes NaN for the largest number, and would skip row
    # groups that hold it when it compares `x > 1` with these statistics. It cannot see through this function.
    return f"nanvl({value}, CAST('NaN' AS {name}))"


def _read_decimal(type_: Decimal, source: FileColumn) -> LeafReading | None:
    target = spark.DecimalType(type_.precision, type_.scale)
    match = _DECIMAL.fullmatch(source.type)
    if match is not None:
        held = spark.DecimalType(int(match[1]), int(match[2]))
        if held.scale > type_.scale or held.precision - held.scale > type_.precision - type_.scale:
            return None
        return LeafReading(held, None if held == target else _cast_to(target))
    if source.type not in _WHOLE or source.type == "BOOLEAN":
        return None
    held_as, least, most = _WHOLE[source.type]
    fits = len(str(max(-least, most))) <= type_.precision - type_.scale
    return LeafReading(held_as, _cast_to(target)) if fits else None


def _cast_to(target: spark.DataType) -> Finish:
    name = target.simpleString()
    return lambda value: f"CAST({value} AS {name})"


def _uuid_text(value: str) -> str:
    parts = ", '-', ".join(f"hex(substring({value}, {start}, {length}))" for start, length in _UUID_PARTS)
    return f"lower(concat({parts}))"


_UUID_PARTS = ((1, 4), (5, 2), (7, 2), (9, 2), (11, 6))


def _checked_uuid(value: str) -> str:
    is_plain = f"{value} IS NULL OR (length({value}) = 36 AND lower({value}) = {value})"
    return f"CASE WHEN {is_plain} THEN {value} ELSE raise_error(concat('this text is no plain uuid: ', {value})) END"


def _time_text(value: str, digits: int) -> str:
    """DuckDB's text for a time of day that is a number of fractions of a second, so many digits of them."""
    second = 10**digits
    return f"concat({_clock_text(value, second)}, {_fraction_text(f'({value} % {second})', digits)})"


def _clock_text(value: str, second: int) -> str:
    hours, rest = f"({value} div {3600 * second})", (60 * second, second)
    parts = [hours, *(f"(({value} div {unit}) % 60)" for unit in rest)]
    return ", ':', ".join(f"lpad(CAST({part} AS STRING), 2, '0')" for part in parts)


def _fraction_text(fraction: str, digits: int) -> str:
    padded = f"lpad(CAST({fraction} AS STRING), {digits}, '0')"
    return f"CASE WHEN {fraction} = 0 THEN '' ELSE concat('.', trim(TRAILING '0' FROM {padded})) END"


def _nanoseconds_text(value: str) -> str:
    """DuckDB's text for a timestamp that is a number of nanoseconds since 1970."""
    fraction = f"pmod({value}, 1000000000)"
    # Rounded down without going below the least number there is.
    seconds = f"(({value} div 1000000000) - CASE WHEN {value} % 1000000000 < 0 THEN 1 ELSE 0 END)"
    of_day = f"pmod({seconds}, 86400)"
    day = f"CAST(date_from_unix_date(CAST(({seconds} - {of_day}) div 86400 AS INT)) AS STRING)"
    return (
        f"CASE WHEN {value} = {2**63 - 1} THEN 'infinity' WHEN {value} = {1 - 2**63} THEN '-infinity' "
        f"ELSE concat({day}, ' ', {_clock_text(of_day, 1)}, {_fraction_text(fraction, 9)}) END"
    )
