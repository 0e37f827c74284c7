"""Which type a column may be changed to. Files keep what they hold; readers cast.

The table is what DuckDB's extension accepts: every change is one that its implicit casts can make.
"""

from __future__ import annotations

from collections.abc import Mapping

from quacklake.types import INTEGERS, TIMESTAMPS, DataType, Decimal, Primitive, is_nested

_ALL_INTEGERS = " ".join(sorted(INTEGERS))

# from -> to. On top of it: every leaf may become json; decimals are judged by their digits, below.
PROMOTIONS: Mapping[str, frozenset[str]] = {
    source: frozenset(targets.split())
    for source, targets in {
        "boolean": _ALL_INTEGERS,
        "int8": "int16 int32 int64 int128 float32 float64",
        "int16": "int32 int64 int128 float32 float64",
        "int32": "int64 int128 float32 float64",
        "int64": "int128 float32 float64",
        "uint8": "uint16 uint32 uint64 uint128 int16 int32 int64 int128 float32 float64",
        "uint16": "uint32 uint64 uint128 int32 int64 int128 float32 float64",
        "uint32": "uint64 uint128 int64 int128 float32 float64",
        "uint64": "uint128 int128 float32 float64",
        "float32": "float64",
        "date": " ".join((*sorted(TIMESTAMPS), "timestamptz")),
        "timestamp": "timestamp_ns timestamptz",
        "timestamp_s": "timestamp_ms timestamp timestamp_ns",
        "timestamp_ms": "timestamp timestamp_ns",
    }.items()
}

# How many digits before the point a decimal needs to hold every value of an integer type.
_INTEGER_DIGITS: Mapping[str, int] = {"int8": 3, "uint8": 3, "int16": 5, "uint16": 5, "int32": 10, "uint32": 10}


def can_promote(source: DataType, target: DataType) -> bool:
    """Whether a leaf of the one type may become the other; a type may always stay what it is."""
    if is_nested(source) or is_nested(target):
        return False
    if source == target or target == Primitive("json"):
        return True
    if isinstance(source, Decimal):
        if isinstance(target, Decimal):
            return target.scale >= source.scale and _whole_digits(target) >= _whole_digits(source)
        return str(target) in ("float32", "float64")
    if isinstance(target, Decimal):
        needed = _INTEGER_DIGITS.get(str(source))
        return needed is not None and _whole_digits(target) >= needed
    return str(target) in PROMOTIONS.get(str(source), ())


def _whole_digits(type_: Decimal) -> int:
    return type_.precision - type_.scale
