"""A predicate as Spark's SQL, with every operator in parentheses, so that it can be read in one way only."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import Decimal

from quacklake.predicates.kinds import BIGINT, FLOAT, INTEGERS, SMALLINT, TIMESTAMP, TINYINT, Kind
from quacklake.predicates.tree import (
    Call,
    Case,
    Cast,
    Field,
    Interval,
    Junction,
    Lambda,
    Member,
    Node,
    Value,
    Variable,
)

_BINARY = frozenset("= <> < <= > >= <=> + - * / % div & | ^ ||".split())
_IS = {"isnull": "IS NULL", "isnotnull": "IS NOT NULL", "istrue": "IS TRUE", "isfalse": "IS FALSE"}
_ORDERING = frozenset("< <= > >=".split())
_SUFFIX = {TINYINT: "Y", SMALLINT: "S", BIGINT: "L"}


def quote_name(name: str) -> str:
    """The name in backticks."""
    return "`" + name.replace("`", "``") + "`"


def quote_text(text: str) -> str:
    """The text as a literal of Spark."""
    out = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r").replace("\0", "\\0")
    return f"'{out}'"


def render(node: Node) -> str:
    """The node in Spark's words."""
    match node:
        case Field():
            scope = "" if node.scope is None else f"{quote_name(node.scope)}."
            return scope + ".".join(quote_name(column.name) for column in node.path)
        case Value():
            return _value(node)
        case Call():
            return _call(node)
        case Junction():
            return "(" + f" {node.name.upper()} ".join(map(render, node.parts)) + ")"
        case Cast():
            return f"{'TRY_CAST' if node.safe else 'CAST'}({render(node.node)} AS {node.text})"
        case Case():
            return _case(node)
        case Interval():
            return f"INTERVAL '{node.amount}' {node.unit}"
        case Member():
            return f"{render(node.node)}.{quote_name(node.name)}"
        case Variable():
            return quote_name(node.name)
        case Lambda():
            names = ", ".join(map(quote_name, node.names))
            return f"{names if len(node.names) == 1 else f'({names})'} -> {render(node.body)}"


def _call(node: Call) -> str:
    args = [_beside_huge(arg, node) for arg in node.args] if node.name in _ORDERING else list(map(render, node.args))
    if node.name in _BINARY:
        return f"({args[0]} {node.name.upper()} {args[1]})"
    if node.name in _IS:
        return f"({args[0]} {_IS[node.name]})"
    if node.name in ("like", "ilike", "rlike") and len(args) <= 3:
        escape = f" ESCAPE {args[2]}" if len(args) == 3 else ""
        return f"({args[0]} {node.name.upper()} {args[1]}{escape})"
    match node.name:
        case "not":
            return f"(NOT {args[0]})"
        case "neg":
            return f"(- {args[0]})"
        case "~":
            return f"(~ {args[0]})"
        case "in":
            return f"({args[0]} IN ({', '.join(args[1:])}))"
        case "[]":
            return f"{args[0]}[{args[1]}]"
        case name:
            return f"{name}({', '.join(args)})"


def _beside_huge(node: Node, comparison: Call) -> str:
    """An integer beside a number that no integer reaches: Spark would say true or false for NULL as well."""
    huge = any(
        isinstance(arg, Value) and isinstance(arg.value, Decimal) and abs(arg.value) >= 1 << 63
        for arg in comparison.args
    )
    return f"CAST({render(node)} AS DECIMAL(20,0))" if huge and node.kind in INTEGERS else render(node)


def _case(node: Case) -> str:
    branches = "".join(f" WHEN {render(test)} THEN {render(result)}" for test, result in node.branches)
    default = "" if node.default is None else f" ELSE {render(node.default)}"
    return f"CASE{branches}{default} END"


def _value(node: Value) -> str:
    match node.value:
        case None:
            return "NULL"
        case bool(flag):
            return "TRUE" if flag else "FALSE"
        case str(text):
            return quote_text(text)
        case bytes(data):
            return f"X'{data.hex()}'"
        case int(number):
            return _negative(f"{number}{_SUFFIX.get(node.kind, '')}")
        case Decimal():
            return _negative(f"{node.value:f}BD")
        case float(number):
            return _float(number, node.kind)
        case datetime():
            return _moment(node.value, node.kind)
        case _:
            return f"DATE '{node.value.isoformat()}'"


def _negative(text: str) -> str:
    return f"({text})" if text.startswith("-") else text


def _float(number: float, kind: Kind) -> str:
    if not math.isfinite(number):
        return f"CAST('{number}' AS {kind.name.upper()})"
    return _negative(f"{number!r}{'F' if kind == FLOAT else 'D'}")


def _moment(moment: datetime, kind: Kind) -> str:
    zone = ""
    if moment.tzinfo is not None:
        moment, zone = moment.astimezone(UTC).replace(tzinfo=None), "+00:00"
    text = moment.isoformat(" ", "microseconds")
    return f"{'TIMESTAMP_LTZ' if kind == TIMESTAMP else 'TIMESTAMP_NTZ'} '{text}{zone}'"
