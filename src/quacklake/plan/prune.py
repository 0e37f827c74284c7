"""Which values a file must hold to be worth reading: what a predicate demands of a column, and nothing it does not.

Everything errs on the side of reading: a part of a predicate that is not understood here demands nothing, and every
bound may be wider than what was asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Literal

from quacklake.predicates import Predicate
from quacklake.predicates.kinds import FLOATS, STRING, TIMESTAMP, TIMESTAMP_NTZ, common_kind, is_numeric
from quacklake.predicates.literals import Malformed, cast_literal
from quacklake.predicates.tree import Call, Field, Junction, Node, Value
from quacklake.schema import Column
from quacklake.types import Decimal as DecimalType
from quacklake.types import Primitive

Domain = Literal["whole", "real", "text", "date", "timestamp", "timestamptz", "boolean"]
"""How the texts of a column's statistics are compared."""
Scalar = int | float | str

_WHOLE = frozenset("int8 int16 int32 int64 uint8 uint16 uint32".split())
_REAL = frozenset("uint64 float32 float64".split())
_DOMAINS: dict[str, Domain] = {
    **dict.fromkeys(_WHOLE, "whole"),
    **dict.fromkeys(_REAL, "real"),
    **dict.fromkeys(("varchar", "uuid"), "text"),
    **dict.fromkeys(("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"), "timestamp"),
    "date": "date",
    "timestamptz": "timestamptz",
    "boolean": "boolean",
}
_ZONES = timedelta(hours=15)
"""A time of day means another point in time in another zone, but never by more than this."""
_SLACK = 1e-9
"""How much of a number may be lost when the catalog compares it as a float."""
_FLOAT_SLACK = 1e-6
"""The same for floats: those that had 32 bits once have texts of no more digits than tell them apart."""
_NEGATED = {
    "=": "<>",
    "<>": "=",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
    "isnull": "isnotnull",
    "isnotnull": "isnull",
}
_MOST_TESTS = 100
"""So many tests are put to the catalog side by side: some databases refuse conditions of more than a thousand parts."""
_LARGEST_WHOLE = 1 << 62
"""Beyond this a whole number is compared as a float, for the catalog could not hold the one next to it."""
_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "<=>": "<=>"}


@dataclass(frozen=True, slots=True)
class Range:
    """Some value of the column must be in a range; both ends belong to it, and an end may be open."""

    column: Column
    domain: Domain
    low: Scalar | None
    high: Scalar | None
    equals: object = None
    """The one value that is wanted, where there is only one: partitions can tell more from it."""
    text: str = ""
    """For people."""


@dataclass(frozen=True, slots=True)
class Nulls:
    """Some value of the column must be NULL, or must not be."""

    column: Column
    wanted: bool
    text: str = ""


@dataclass(frozen=True, slots=True)
class All:
    """All of these."""

    parts: tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class Any:
    """At least one of these."""

    parts: tuple[Test, ...]


Test = Range | Nulls | All | Any


@dataclass(frozen=True, slots=True)
class Demand:
    """What a predicate demands of a file."""

    test: Test | None
    """None when any file may match."""
    ignored: tuple[str, ...] = ()
    """The parts that demand nothing of a file, in words."""

    def leaves(self) -> Iterator[Range | Nulls]:
        """Every test on a column."""
        waiting = [self.test] if self.test is not None else []
        while waiting:
            found = waiting.pop()
            if isinstance(found, All | Any):
                waiting.extend(found.parts)
            else:
                yield found


def demand(predicate: Predicate) -> Demand:
    """What a file must hold so that a row of it can match."""
    ignored: list[str] = []
    test = _read(predicate.tree, ignored)
    return Demand(test, tuple(dict.fromkeys(ignored)))


def _read(node: Node, ignored: list[str]) -> Test | None:
    match node:
        case Junction("and", parts):
            known = [test for part in parts if (test := _read(part, ignored)) is not None][:_MOST_TESTS]
            return None if not known else known[0] if len(known) == 1 else All(tuple(known))
        case Junction("or", parts):
            # One part that demands nothing lets every file through.
            tests = [_read(part, ignored) for part in parts]
            found = tuple(test for test in tests if test is not None)
            return _any(found, ignored) if len(found) == len(tests) else None
        case Call("not", (inner,)):
            return _negate(inner, ignored)
        case Field():
            return _boolean(node, True)
        case Call():
            test = _call(node)
            if test is None:
                ignored.append(_words(node))
            return test
        case _:
            ignored.append("an expression")
            return None


def _any(tests: tuple[Test, ...], ignored: list[str]) -> Test | None:
    """At least one of some tests; of very many, such as those of a long IN, a few wider ones that cover them all."""
    if len(tests) <= _MOST_TESTS:
        return Any(tests)
    first = tests[0]
    ranges = [each for each in tests if isinstance(each, Range) and each.low is not None and each.high is not None]
    if not isinstance(first, Range) or len(ranges) < len(tests):
        ignored.append(f"{len(tests)} conditions, one of which must hold")
        return None
    if any((each.column, each.domain) != (first.column, first.domain) for each in ranges):
        ignored.append(f"{len(tests)} conditions, one of which must hold")
        return None
    ordered = sorted(ranges, key=lambda each: each.low)  # type: ignore[arg-type, return-value]
    step = -(-len(ordered) // _MOST_TESTS)
    groups = [ordered[start : start + step] for start in range(0, len(ordered), step)]
    return Any(tuple(_cover(group) for group in groups))


def _cover(ranges: Sequence[Range]) -> Range:
    low, high = ranges[0].low, max(each.high for each in ranges)  # type: ignore[type-var]
    text = f"{ranges[0].column.name} is one of {len(ranges)} values"
    return Range(ranges[0].column, ranges[0].domain, low, high, text=text)


def _negate(node: Node, ignored: list[str]) -> Test | None:
    match node:
        case Junction(name, parts):
            turned = tuple(Call("not", (part,)) for part in parts)
            return _read(Junction("or" if name == "and" else "and", turned), ignored)
        case Call("not", (inner,)):
            return _read(inner, ignored)
        case Call(name, args) if name in _NEGATED:
            return _read(Call(_NEGATED[name], args), ignored)
        case Field():
            return _boolean(node, False)
        case _:
            ignored.append("a negated condition")
            return None


def _words(node: Call) -> str:
    names = sorted({str(each) for each in _fields(node)})
    return f"{node.name} on {', '.join(names)}" if names else node.name


def _fields(node: Node) -> Iterator[Field]:
    if isinstance(node, Field):
        yield node
    for part in node.args if isinstance(node, Call) else node.parts if isinstance(node, Junction) else ():
        yield from _fields(part)


def _boolean(field: Field, wanted: bool) -> Test | None:
    column = _own_column(field)
    if column is None or column.type != Primitive("boolean"):
        return None
    end = int(wanted)
    return Range(column, "boolean", end, end, equals=wanted, text=f"{column.name} is {str(wanted).lower()}")


def _own_column(node: Node) -> Column | None:
    """The column, when the node is one of the table's own; what statistics count of nested ones is not rows."""
    return node.path[0] if isinstance(node, Field) and len(node.path) == 1 else None


def _call(node: Call) -> Test | None:
    match node:
        case Call("isnull" | "isnotnull" as name, (inner,)):
            column = _own_column(inner)
            if column is None or domain_of(column) is None:
                return None
            words = "NULL" if name == "isnull" else "not NULL"
            return Nulls(column, name == "isnull", f"{column.name} is {words}")
        case Call("in", (inner, *values)):
            tests = [_compare("=", inner, value) for value in values if not _is_null(value)]
            known = tuple(test for test in tests if test is not None)
            return _any(known, []) if known and len(known) == len(tests) else None
        case Call("like" | "startswith" as name, (inner, Value(str() as text))):
            return _prefixed(inner, _fixed_part(text) if name == "like" else text)
        case Call(name, (left, Value() as value)) if name in _MIRRORED:
            return _compare(name, left, value)
        case Call(name, (Value() as value, right)) if name in _MIRRORED:
            return _compare(_MIRRORED[name], right, value)
        case _:
            return None


def _is_null(node: Node) -> bool:
    return isinstance(node, Value) and node.value is None


def _fixed_part(pattern: str) -> str:
    """What every text that matches begins with."""
    for index, mark in enumerate(pattern):
        if mark in "%_\\":
            return pattern[:index]
    return pattern


def _prefixed(node: Node, prefix: str) -> Test | None:
    column = _own_column(node)
    if column is None or domain_of(column) != "text" or not prefix or ord(prefix[-1]) >= 0xD7FF:
        return None
    after = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    return Range(column, "text", prefix, after, text=f"{column.name} begins with {prefix!r}")


def domain_of(column: Column) -> Domain | None:
    """How statistics of the column are compared; None when they are not."""
    if isinstance(column.type, DecimalType):
        return "real"
    return _DOMAINS.get(column.type.name) if isinstance(column.type, Primitive) else None


def _compare(operator: str, node: Node, value: Node) -> Test | None:
    column = _own_column(node)
    if column is None or not isinstance(value, Value) or not isinstance(node, Field):
        return None
    if value.value is None:
        # `<=>` alone is true of NULL.
        return Nulls(column, True, f"{column.name} is NULL") if operator == "<=>" else None
    ends = _ends(column, node, value)
    if ends is None:
        return None
    low, high, exact = ends
    text = f"{column.name} {operator} {value.value!s}"
    domain = domain_of(column)
    assert domain is not None
    match operator:
        case "=" | "<=>":
            return Range(column, domain, low, high, exact, text)
        case "<" | "<=":
            # Below a whole number means at most the one before it.
            end = high - 1 if operator == "<" and domain == "whole" and isinstance(high, int) else high
            return Range(column, domain, None, end, text=text)
        case _:
            end = low + 1 if operator == ">" and domain == "whole" and isinstance(low, int) else low
            return Range(column, domain, end, None, text=text)


def _ends(column: Column, field: Field, value: Value) -> tuple[Scalar, Scalar, object] | None:
    """The value as the smallest and the largest it may mean, and itself where it is exact."""
    domain = domain_of(column)
    literal = _literal(field, value)
    match domain, literal:
        case None, _:
            return None
        case "boolean", bool():
            return int(literal), int(literal), literal
        case "whole", int() if not isinstance(literal, bool) and abs(literal) < _LARGEST_WHOLE:
            return literal, literal, literal
        case "whole" | "real", int() | float() | Decimal() if not isinstance(literal, bool):
            return _number_ends(literal, _FLOAT_SLACK if is_float(column) else _SLACK)
        case "text", str() if value.kind == STRING:
            return literal, literal, literal
        case "date", date() if not isinstance(literal, datetime):
            text = literal.isoformat()
            return text, text, literal
        case "timestamp" | "timestamptz", datetime():
            return _moment_ends(domain, literal)
        case _:
            return None


def _literal(field: Field, value: Value) -> object:
    """The constant as it is compared; a text beside a date means a date. None when the column itself is cast."""
    if is_numeric(field.kind) and is_numeric(value.kind):
        return value.value
    common = common_kind(field.kind, value.kind)
    if {field.kind, value.kind} == {TIMESTAMP, TIMESTAMP_NTZ}:
        return value.value
    if common != field.kind:
        return None
    try:
        return cast_literal(value.value, field.kind)
    except Malformed:
        return None


def _number_ends(literal: float | Decimal, share: float) -> tuple[Scalar, Scalar, object] | None:
    number = float(literal)
    if math.isnan(number) or math.isinf(number):
        return None
    slack = abs(number) * share
    exact = int(literal) if literal == int(literal) else None
    return number - slack, number + slack, exact


def _moment_ends(domain: Domain, literal: datetime) -> tuple[Scalar, Scalar, object] | None:
    """Texts as statistics have them. Without a zone on one side only, any zone may be meant."""
    has_zone = literal.tzinfo is not None
    plain = literal.astimezone(UTC).replace(tzinfo=None) if has_zone else literal
    certain = has_zone == (domain == "timestamptz")
    slack = timedelta(0) if certain else _ZONES
    try:
        low, high = plain - slack, plain + slack
    except OverflowError:
        return None
    if not 1 <= low.year <= high.year <= 9999:
        return None
    mark = "+00" if domain == "timestamptz" else ""
    return _moment_text(low) + mark, _moment_text(high) + mark, plain if certain else None


def _moment_text(moment: datetime) -> str:
    """DuckDB's text: no more digits behind the second than needed."""
    text = moment.strftime("%H:%M:%S.%f").rstrip("0").rstrip(".")
    return f"{moment.date().isoformat()} {text}"


def is_float(column: Column) -> bool:
    """Whether values may be NaN, which is greater than every number."""
    return field_kind(column) in FLOATS


def field_kind(column: Column) -> object:
    """The column's kind in predicates."""
    from quacklake.predicates.kinds import kind_of

    return kind_of(column.type)
