"""The types that a predicate speaks of: Spark's, for the language of predicates is Spark's SQL in its ANSI mode."""

from __future__ import annotations

from dataclasses import dataclass

from quacklake.types import DataType, Decimal, ListOf, MapOf, Primitive, Struct

MOST_DIGITS = 38


@dataclass(frozen=True, slots=True)
class Kind:
    """The type of an expression, by Spark's name for it."""

    name: str
    precision: int = 0
    """How many digits a decimal has."""
    scale: int = 0
    """How many of them are behind the point."""

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})" if self.name == "decimal" else self.name


BOOLEAN, STRING, BINARY, DATE = Kind("boolean"), Kind("string"), Kind("binary"), Kind("date")
TINYINT, SMALLINT, INT, BIGINT = Kind("tinyint"), Kind("smallint"), Kind("int"), Kind("bigint")
FLOAT, DOUBLE = Kind("float"), Kind("double")
TIMESTAMP, TIMESTAMP_NTZ = Kind("timestamp"), Kind("timestamp_ntz")
"""A point in time, whose text depends on the time zone of the session; and a date with a time of day."""
MONTHS, DURATION = Kind("year-month interval"), Kind("day-time interval")
NULL = Kind("null")
"""The type of NULL itself, which becomes whatever stands beside it."""
UNKNOWN = Kind("unknown")
"""Only Spark knows: the result of a function that has no translation."""

INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)
"""Narrow ones first."""
FLOATS = (FLOAT, DOUBLE)
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}

_OF_PRIMITIVE = {
    "boolean": BOOLEAN,
    "int8": TINYINT,
    "int16": SMALLINT,
    "int32": INT,
    "int64": BIGINT,
    "uint8": SMALLINT,
    "uint16": INT,
    "uint32": BIGINT,
    "uint64": Kind("decimal", 20, 0),
    "int128": Kind("decimal", MOST_DIGITS, 0),
    "uint128": Kind("decimal", MOST_DIGITS, 0),
    "float32": FLOAT,
    "float64": DOUBLE,
    "date": DATE,
    "timestamp": TIMESTAMP_NTZ,
    "timestamp_s": TIMESTAMP_NTZ,
    "timestamp_ms": TIMESTAMP_NTZ,
    "timestamp_ns": TIMESTAMP_NTZ,
    "timestamptz": TIMESTAMP,
    "varchar": STRING,
    "json": STRING,
    "uuid": STRING,
    "blob": BINARY,
}


def kind_of(type_: DataType) -> Kind:
    """What a column of that type is in a predicate. Types that Spark has not keep the name of the format."""
    match type_:
        case Decimal(precision, scale):
            return Kind("decimal", precision, scale)
        case Primitive(name):
            return _OF_PRIMITIVE.get(name, Kind(name))
        case Struct():
            return Kind("struct")
        case ListOf():
            return Kind("array")
        case MapOf():
            return Kind("map")


def is_decimal(kind: Kind) -> bool:
    """Whether it is an exact number with a point."""
    return kind.name == "decimal"


def is_exact(kind: Kind) -> bool:
    """Whether it is an integer or a decimal."""
    return kind in INTEGERS or is_decimal(kind)


def is_numeric(kind: Kind) -> bool:
    """Whether it is any number."""
    return is_exact(kind) or kind in FLOATS


def is_temporal(kind: Kind) -> bool:
    """Whether it is a date or a timestamp."""
    return kind in (DATE, TIMESTAMP, TIMESTAMP_NTZ)


def as_decimal(kind: Kind) -> Kind:
    """The decimal that holds every value of an exact kind."""
    return kind if is_decimal(kind) else Kind("decimal", _DIGITS[kind.name], 0)


def common_kind(left: Kind, right: Kind) -> Kind | None:
    """What both sides of a comparison are cast to, as ANSI mode has it; None where it refuses the comparison."""
    if left == right or right == NULL:
        return left
    if left == NULL:
        return right
    if is_numeric(left) and is_numeric(right):
        return _common_number(left, right)
    if is_temporal(left) and is_temporal(right):
        return TIMESTAMP if TIMESTAMP in (left, right) else TIMESTAMP_NTZ
    if STRING in (left, right):
        return _beside_text(right if left == STRING else left)
    return None


def _common_number(left: Kind, right: Kind) -> Kind | None:
    if left in INTEGERS and right in INTEGERS:
        return max(left, right, key=INTEGERS.index)
    if left in FLOATS or right in FLOATS:
        # Unlike most databases: an integer or decimal beside a float makes a double.
        return DOUBLE
    one, other = as_decimal(left), as_decimal(right)
    scale = max(one.scale, other.scale)
    whole = max(one.precision - one.scale, other.precision - other.scale)
    return Kind("decimal", whole + scale, scale) if whole + scale <= MOST_DIGITS else None


def _beside_text(kind: Kind) -> Kind | None:
    if kind in INTEGERS:
        return BIGINT
    if is_numeric(kind):
        return DOUBLE
    return kind if is_temporal(kind) or kind == BOOLEAN else None
