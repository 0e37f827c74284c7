"""What kind of value an operator or function gives, as far as more than Spark has to know."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from quacklake.predicates.kinds import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    DURATION,
    FLOAT,
    FLOATS,
    INT,
    INTEGERS,
    MONTHS,
    MOST_DIGITS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    UNKNOWN,
    Kind,
    as_decimal,
    common_kind,
    is_decimal,
    is_exact,
    is_numeric,
)
from quacklake.predicates.tree import Interval, Node, Value

COMPARISONS = frozenset(("=", "<>", "<", "<=", ">", ">=", "<=>"))
_FIXED = {
    BOOLEAN: "not in like ilike rlike istrue isfalse isnull isnotnull isnan startswith endswith contains"
    " regexp regexp_like equal_null array_contains exists forall",
    STRING: "lower lcase upper ucase trim ltrim rtrim btrim substring substr left right replace || concat_ws",
    INT: "length len char_length character_length instr locate position year month day dayofmonth hour minute second"
    " quarter dayofweek weekday dayofyear weekofyear size cardinality array_size ascii datediff date_diff",
    DATE: "date to_date date_add date_sub last_day current_date curdate add_months make_date",
    TIMESTAMP: "current_timestamp now date_trunc",
    DOUBLE: "sqrt exp ln log10 pow power",
}
_RESULTS = {name: kind for kind, names in _FIXED.items() for name in names.split()}


def result_kind(name: str, args: Sequence[Node]) -> Kind:
    """The kind of a call; unknown where only Spark can tell."""
    if name in COMPARISONS:
        return BOOLEAN
    if name in _RESULTS:
        return _RESULTS[name]
    kinds = [arg.kind for arg in args]
    if name in ("+", "-", "*") and len(args) == 2:
        return _arithmetic(name, *args)
    if name == "/":
        return DOUBLE if _any_float(kinds) or all(kind in INTEGERS for kind in kinds) else UNKNOWN
    if name in ("%", "div"):
        return _remainder(name, kinds)
    if name in ("neg", "abs", "~"):
        return kinds[0] if kinds and is_numeric(kinds[0]) else UNKNOWN
    if name in ("&", "|", "^"):
        return _widest(kinds) if all(kind in INTEGERS for kind in kinds) else UNKNOWN
    if name in ("floor", "ceil", "ceiling", "round") and len(kinds) == 1:
        return _rounded(name, kinds[0])
    return _choice(name, kinds)


def _choice(name: str, kinds: list[Kind]) -> Kind:
    if name in ("coalesce", "ifnull", "nvl", "greatest", "least") and kinds:
        return _widest(kinds)
    if name == "if" and len(kinds) == 3:
        return _widest(kinds[1:])
    if name == "nullif" and len(kinds) == 2:
        return kinds[0]
    if name == "concat" and kinds and all(kind == STRING for kind in kinds):
        return STRING
    return UNKNOWN


def _widest(kinds: Sequence[Kind]) -> Kind:
    def widen(one: Kind, other: Kind) -> Kind:
        return UNKNOWN if UNKNOWN in (one, other) else common_kind(one, other) or UNKNOWN

    return reduce(widen, kinds)


def widest(nodes: Sequence[Node]) -> Kind:
    """The kind that all become when one of them is chosen, as in CASE."""
    return _widest([node.kind for node in nodes])


def _any_float(kinds: Sequence[Kind]) -> bool:
    return all(map(is_numeric, kinds)) and any(kind in FLOATS for kind in kinds)


def _arithmetic(name: str, left: Node, right: Node) -> Kind:
    kinds = [left.kind, right.kind]
    moved = _moved(name, left, right)
    if moved is not None:
        return moved
    if all(kind in INTEGERS for kind in kinds):
        return _widest(kinds)
    if _any_float(kinds):
        return FLOAT if kinds == [FLOAT, FLOAT] else DOUBLE
    if all(map(is_exact, kinds)):
        return _decimal_result(name, digits_of(left), digits_of(right))
    return UNKNOWN


def _moved(name: str, left: Node, right: Node) -> Kind | None:
    """A date or timestamp that is moved by days or an interval."""
    if name == "*":
        return None
    if isinstance(left, Interval) and name == "+":
        left, right = right, left
    if left.kind == DATE and right.kind in INTEGERS and right.kind != BIGINT:
        return DATE
    if not isinstance(right, Interval) or left.kind not in (DATE, TIMESTAMP, TIMESTAMP_NTZ):
        return None
    if left.kind == DATE and right.kind == DURATION and right.unit not in ("DAY", "WEEK"):
        return TIMESTAMP
    return left.kind if right.kind in (DURATION, MONTHS) else None


def digits_of(node: Node) -> Kind:
    """The decimal that an exact number counts as: a constant by its own digits, all else by its type."""
    if isinstance(node, Value) and isinstance(node.value, int) and node.kind in INTEGERS:
        return Kind("decimal", len(str(abs(node.value))), 0)
    return as_decimal(node.kind)


def _decimal_result(name: str, left: Kind, right: Kind) -> Kind:
    if name == "*":
        precision, scale = left.precision + right.precision + 1, left.scale + right.scale
    else:
        scale = max(left.scale, right.scale)
        precision = max(left.precision - left.scale, right.precision - right.scale) + scale + 1
    return Kind("decimal", precision, scale) if precision <= MOST_DIGITS else UNKNOWN


def _remainder(name: str, kinds: list[Kind]) -> Kind:
    if all(kind in INTEGERS for kind in kinds):
        return BIGINT if name == "div" else _widest(kinds)
    return DOUBLE if name == "%" and _any_float(kinds) else UNKNOWN


def _rounded(name: str, kind: Kind) -> Kind:
    if is_decimal(kind):
        return Kind("decimal", min(kind.precision - kind.scale + 1, MOST_DIGITS), 0)
    if name == "round":
        return kind if is_numeric(kind) else UNKNOWN
    return BIGINT if is_numeric(kind) else UNKNOWN
