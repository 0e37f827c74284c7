"""Casts and constants in DuckDB's SQL with the results that Spark's have."""

from __future__ import annotations

import math
import re
import struct
from datetime import UTC, date, datetime
from decimal import Decimal

from quacklake.predicates.kinds import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    FLOATS,
    INTEGERS,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Kind,
    is_decimal,
    is_exact,
    is_numeric,
    is_temporal,
)
from quacklake.predicates.tree import Literal
from quacklake.types import DataType, Primitive
from quacklake.types import Decimal as DecimalType

_TYPES = {
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "binary": "BLOB",
    "date": "DATE",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ntz": "TIMESTAMP",
    "time": "TIME",
}
_INTEGER_TEXT = "[+-]?[0-9]+"
_NUMBER_TEXT = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_DATE_TEXT = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MOMENT_TEXT = rf"{_DATE_TEXT}([ T][0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(\.[0-9]{{1,6}})?)?"
_BLANKS = "E'" + "".join(f"\\x{code:02x}" for code in (*range(1, 0x21), 0x7F)) + "'"
"""What Spark trims off a text before it casts it."""
_UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_NANOSECONDS = (datetime(1678, 1, 1), datetime(2262, 1, 1))


def duckdb_type(kind: Kind) -> str:
    """The type of DuckDB that holds a kind."""
    return f"DECIMAL({kind.precision},{kind.scale})" if is_decimal(kind) else _TYPES[kind.name]


def quote_text(text: str) -> str:
    """The text as a literal. DuckDB has no escape for the character zero, nor may it stand in a statement."""
    plain = "'" + text.replace("'", "''") + "'"
    return plain if "\0" not in text else "(" + " || chr(0) || ".join(map(quote_text, text.split("\0"))) + ")"


def literal_sql(value: Literal, kind: Kind) -> str:
    """A constant in the type of DuckDB that holds its kind."""
    match value:
        case None:
            return "NULL" if kind == NULL else f"CAST(NULL AS {duckdb_type(kind)})"
        case bool(flag):
            return "TRUE" if flag else "FALSE"
        case str(text):
            return quote_text(text)
        case bytes(data):
            return "CAST('" + "".join(f"\\x{byte:02X}" for byte in data) + "' AS BLOB)"
        case float(number):
            return f"CAST('{number!r}' AS {duckdb_type(kind)})"
        case Decimal():
            return f"CAST('{value:f}' AS {duckdb_type(kind)})"
        case datetime():
            return _moment(value, kind)
        case date():
            return f"DATE '{value.isoformat()}'"
        case _:
            return f"CAST({value} AS {duckdb_type(kind)})"


def _moment(moment: datetime, kind: Kind) -> str:
    if kind == TIMESTAMP:
        # Without a zone it means the session's, and the session of the local engine is in UTC.
        utc = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).replace(tzinfo=None)
        return f"TIMESTAMPTZ '{utc.isoformat(' ')}+00'"
    return f"TIMESTAMP '{moment.isoformat(' ')}'"


def native_literal(value: Literal, type_: DataType) -> str | None:
    """A constant that a column of that type can be compared with as it is, or None when a cast changes less."""
    if isinstance(type_, DecimalType):
        return _native_decimal(value, type_)
    if not isinstance(type_, Primitive):
        return None
    name = type_.name
    match value:
        case None:
            return "NULL"
        case bool():
            return literal_sql(value, BOOLEAN) if name == "boolean" else None
        case str():
            if name == "uuid" and _UUID.fullmatch(value):
                return f"CAST('{value}' AS UUID)"
            return quote_text(value) if name == "varchar" else None
        case bytes():
            return literal_sql(value, BINARY) if name == "blob" else None
        case float():
            if name == "float64":
                return literal_sql(value, DOUBLE)
            return literal_sql(value, FLOAT) if name == "float32" and _is_float32(value) else None
        case datetime():
            return _native_moment(value, name)
        case date():
            return literal_sql(value, DATE) if name == "date" else None
        case _:
            whole = "int" in name and value == int(value)
            return str(int(value)) if whole else None


def _native_decimal(value: Literal, type_: DecimalType) -> str | None:
    if value is None:
        return "NULL"
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    scaled = Decimal(value).scaleb(type_.scale)
    if scaled != scaled.to_integral_value() or len(str(abs(int(scaled)))) > type_.precision:
        return None
    return f"CAST('{Decimal(value):f}' AS {type_})"


def _native_moment(value: datetime, name: str) -> str | None:
    if name == "timestamptz":
        return _moment(value, TIMESTAMP)
    if value.tzinfo is not None:
        return None
    if name == "timestamp_ns" and not _NANOSECONDS[0] < value < _NANOSECONDS[1]:
        return None
    return (
        _moment(value, TIMESTAMP_NTZ) if name in ("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns") else None
    )


def _is_float32(value: float) -> bool:
    if not math.isfinite(value):
        return True
    try:
        return bool(struct.unpack("f", struct.pack("f", value))[0] == value)
    except OverflowError:
        return False


def cast_sql(sql: str, source: Kind, target: Kind, *, safe: bool = False) -> str | None:
    """The cast of an expression of one kind to another; None where DuckDB has none with the same result.

    Args:
        sql: The expression, in the type of DuckDB that holds its kind.
        source: Its kind.
        target: The kind it becomes.
        safe: Give NULL where a cast fails, instead of raising.
    """
    type_ = duckdb_type(target)
    word = "TRY_CAST" if safe else "CAST"
    if source == NULL:
        return f"CAST(NULL AS {type_})"
    if source == STRING and target != STRING:
        return _from_text(sql, target, safe)
    if target == STRING:
        return _to_text(sql, source)
    if is_temporal(source) and is_temporal(target):
        return _temporal(sql, source, target)
    if target == BOOLEAN:
        return f"({sql} <> 0)" if is_numeric(source) else sql if source == BOOLEAN else None
    if source == BOOLEAN:
        return f"CAST({sql} AS {type_})" if target in INTEGERS else None
    if target in INTEGERS:
        # DuckDB rounds, and halves to even; Spark cuts off.
        cut = sql if source in INTEGERS else f"trunc({sql})"
        return f"{word}({cut} AS {type_})" if is_numeric(source) else None
    if is_decimal(target):
        return f"{word}({sql} AS {type_})" if is_exact(source) else None
    if target in FLOATS and is_numeric(source):
        # By way of text: dividing by a power of ten would round twice.
        exact = f"CAST({sql} AS VARCHAR)" if is_decimal(source) else sql
        return f"CAST({exact} AS {type_})"
    return sql if source == target else None


def _temporal(sql: str, source: Kind, target: Kind) -> str:
    if source == target:
        return f"CAST({sql} AS {duckdb_type(target)})"
    if TIMESTAMP in (source, target):
        local = sql if source == TIMESTAMP_NTZ else f"CAST({sql} AS TIMESTAMP)"
        moved = f"({sql if source == TIMESTAMP else local} AT TIME ZONE 'UTC')"
        return moved if target != DATE else f"CAST({moved} AS DATE)"
    return f"CAST({sql} AS {duckdb_type(target)})"


def _from_text(sql: str, target: Kind, safe: bool) -> str | None:
    """Texts that both read alike are cast, all others raise. A safe cast would have to know Spark's every form."""
    trimmed = f"trim({sql}, {_BLANKS})"
    bad = f"error('a text cannot be cast to {target}: ' || {trimmed})"
    if target in INTEGERS:
        pattern, value = _INTEGER_TEXT, f"{'TRY_CAST' if safe else 'CAST'}({trimmed} AS {duckdb_type(target)})"
        bad = f"CASE WHEN contains({sql}, chr(0)) THEN {bad} END" if safe else bad
    elif safe:
        return None
    elif target in FLOATS:
        pattern, value = _NUMBER_TEXT, f"CAST({trimmed} AS {duckdb_type(target)})"
    elif target == DATE:
        pattern, value = _MOMENT_TEXT, f"CAST(left({trimmed}, 10) AS DATE)"
    elif target == TIMESTAMP_NTZ:
        pattern, value = _MOMENT_TEXT, f"CAST({trimmed} AS TIMESTAMP)"
    else:
        return None
    return (
        f"CASE WHEN {sql} IS NULL THEN NULL WHEN regexp_full_match({trimmed}, '{pattern}') THEN {value} ELSE {bad} END"
    )


def _to_text(sql: str, source: Kind) -> str | None:
    if source in (STRING, BOOLEAN) or is_exact(source):
        return f"CAST({sql} AS VARCHAR)"
    if source in (DATE, TIMESTAMP_NTZ):
        # Years of other than four digits are written differently.
        return (
            f"CASE WHEN {sql} IS NULL THEN NULL WHEN {sql} >= DATE '0001-01-01' AND {sql} < DATE '10000-01-01'"
            f" THEN CAST({sql} AS VARCHAR) ELSE error('a year of other than four digits cannot be cast to text') END"
        )
    return None
