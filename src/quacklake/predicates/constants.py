"""Constants as they are written: what `5`, `1.50`, `10L`, `DATE '2024-01-01'` and `INTERVAL 1 DAY` are."""

from __future__ import annotations

from decimal import Decimal

from quacklake.predicates.kinds import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    DURATION,
    FLOAT,
    INT,
    MONTHS,
    MOST_DIGITS,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    UNKNOWN,
    Kind,
    is_decimal,
)
from quacklake.predicates.literals import RANGES, Malformed, cast_literal
from quacklake.predicates.tree import Cast, Interval, Node, Value

NAMED = {
    "boolean": BOOLEAN,
    "tinyint": TINYINT,
    "byte": TINYINT,
    "smallint": SMALLINT,
    "short": SMALLINT,
    "int": INT,
    "integer": INT,
    "bigint": BIGINT,
    "long": BIGINT,
    "float": FLOAT,
    "real": FLOAT,
    "double": DOUBLE,
    "string": STRING,
    "binary": BINARY,
    "date": DATE,
    "timestamp": TIMESTAMP,
    "timestamp_ltz": TIMESTAMP,
    "timestamp_ntz": TIMESTAMP_NTZ,
}
"""The types that a cast can name, in lower case."""
_UNITS = {
    **dict.fromkeys(("YEAR", "MONTH"), MONTHS),
    **dict.fromkeys(("WEEK", "DAY", "HOUR", "MINUTE", "SECOND"), DURATION),
}


def read_type(text: str) -> Kind:
    """The kind that a type in Spark's words is; unknown for types with parts."""
    word = text.lower().replace(" ", "")
    if word in NAMED:
        return NAMED[word]
    if word in ("decimal", "numeric", "dec"):
        return Kind("decimal", 10, 0)
    if word.startswith(("decimal(", "numeric(", "dec(")):
        digits = [int(each) for each in word[word.index("(") + 1 : -1].split(",")]
        return Kind("decimal", digits[0], digits[1] if len(digits) > 1 else 0)
    return UNKNOWN


def cast_node(node: Node, kind: Kind, text: str, *, safe: bool = False) -> Node:
    """A cast; of a constant, its value, where that is certain: `DATE '2024-01-01'`, `10L`."""
    if isinstance(node, Value) and kind != UNKNOWN:
        try:
            return Value(cast_literal(node.value, kind), kind)
        except Malformed:
            pass
    return Cast(node, kind, text, safe)


def read_number(text: str) -> Value:
    """A number without a suffix.

    Raises:
        Malformed: When it has more digits than a decimal can have.
    """
    if "e" in text.lower():
        return Value(float(text), DOUBLE)
    if "." not in text:
        return _whole(int(text))
    number = Decimal(text)
    scale = -int(number.as_tuple().exponent)
    precision = max(len(number.as_tuple().digits), scale)
    if precision > MOST_DIGITS:
        raise Malformed(f"the number {text}, which has more than {MOST_DIGITS} digits")
    return Value(number, Kind("decimal", precision, scale))


def negate(node: Value) -> Value | None:
    """The constant with a minus before it, or None when it is no number."""
    if isinstance(node.value, bool) or not isinstance(node.value, int | float | Decimal):
        return None
    # The smallest integers have no positive counterpart, so their digits alone are of a wider kind.
    if node.value in (1 << 31, 1 << 63) and not isinstance(node.value, float) and node.kind.scale == 0:
        return _whole(-int(node.value))
    return Value(-node.value, node.kind)


def _whole(value: int) -> Value:
    for kind in (INT, BIGINT):
        low, high = RANGES[kind]
        if low <= value <= high:
            return Value(value, kind)
    kind = Kind("decimal", len(str(abs(value))), 0)
    if kind.precision > MOST_DIGITS:
        raise Malformed(f"the number {value}, which has more than {MOST_DIGITS} digits")
    return Value(Decimal(value), kind)


def read_interval(amount: str, unit: str) -> Interval | None:
    """An interval of one unit, or None for all others."""
    word = unit.upper().rstrip("S")
    if word not in _UNITS or not amount.lstrip("+-").isdigit():
        return None
    return Interval(int(amount), word, _UNITS[word])


def is_integral(node: Node) -> bool:
    """Whether it is a constant without a fraction, of whatever kind."""
    return isinstance(node, Value) and is_decimal(node.kind) and node.kind.scale == 0
