"""Conditions too simple for Polars and DuckDB to differ about: whole numbers, dates and times beside constants.

Floats are not among them (NaN), nor texts (what a file's statistics say of them may be cut short), nor unsigned
numbers (old writers ordered their statistics as if they had a sign).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache, reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Any, Literal

from quacklake.engine.local.types import polars_type
from quacklake.plan.scan import ScanPlan
from quacklake.schema import Schema
from quacklake.types import Primitive

if TYPE_CHECKING:
    import polars as pl

Operator = Literal["=", "<>", "<", "<=", ">", ">="]
_MIRRORED: dict[Operator, Operator] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_WHOLE = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_MOMENTS = {"date": "DATE", "timestamp": "TIMESTAMPNTZ", "timestamptz": "TIMESTAMPTZ"}
_MOST_VALUES = 100
"""More values of an IN than this are better looked up than compared one by one."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A whole number, or a date or time with the type that it has in SQL."""

    value: int | date | datetime
    type: str = "INT"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A column beside constants: one, or for `=` several of which any will do."""

    column: str
    operator: Operator
    operands: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class NullTest:
    """Whether a column is NULL, or is not."""

    column: str
    wanted: bool


@dataclass(frozen=True, slots=True)
class Junction:
    """All of the parts, or any of them."""

    name: Literal["and", "or"]
    parts: tuple[Condition, ...]


Condition = Comparison | NullTest | Junction


def simple_condition(plan: ScanPlan) -> Condition | None:
    """The predicate of a plan, when it is simple in all its parts."""
    if plan.where is None:
        return None
    found = _parse(plan.where.sql("duckdb"))
    return found if found is not None and all(_is_exact(leaf, plan.schema) for leaf in leaves(found)) else None


def leaves(condition: Condition) -> Iterator[Comparison | NullTest]:
    """Every test of a column."""
    if isinstance(condition, Junction):
        for part in condition.parts:
            yield from leaves(part)
    else:
        yield condition


def polars_condition(condition: Condition, fields: Mapping[str, pl.Expr], schema: Schema) -> pl.Expr:
    """The condition for Polars.

    Args:
        condition: What `simple_condition` found.
        fields: Each column of the table, as the file has it.
        schema: The columns of the table.
    """
    match condition:
        case Junction(name, parts):
            below = (polars_condition(part, fields, schema) for part in parts)
            return reduce(and_ if name == "and" else or_, below)
        case NullTest(column, wanted):
            return fields[column].is_null() if wanted else fields[column].is_not_null()
        case Comparison(column, operator, operands):
            type_ = polars_type(schema.column(column).type)
            tests = (_compare(fields[column], operator, _constant(each.value, type_)) for each in operands)
            return reduce(or_, tests)


@lru_cache(maxsize=1024, typed=True)
def _constant(value: Any, type_: pl.DataType) -> pl.Expr:
    """A value for Polars, once for all files."""
    import polars as pl

    return pl.lit(value, type_)


def _compare(field: pl.Expr, operator: Operator, value: pl.Expr) -> pl.Expr:
    match operator:
        case "=":
            return field == value
        case "<>":
            return field != value
        case "<":
            return field < value
        case "<=":
            return field <= value
        case ">":
            return field > value
        case ">=":
            return field >= value


def _is_exact(leaf: Comparison | NullTest, schema: Schema) -> bool:
    """Whether the column has a type that is exact here, and the constants are of just that type."""
    column = schema.find(leaf.column)
    if column is None or not isinstance(column.type, Primitive):
        return False
    name = column.type.name
    if isinstance(leaf, NullTest):
        return name in _WHOLE or name in _MOMENTS
    if name in _WHOLE:
        end = 1 << (_WHOLE[name] - 1)
        return all(isinstance(each.value, int) and -end <= each.value < end for each in leaf.operands)
    return name in _MOMENTS and all(each.type == _MOMENTS[name] for each in leaf.operands)


@lru_cache(maxsize=256)
def _parse(sql: str) -> Condition | None:
    import sqlglot

    return _read(sqlglot.parse_one(sql, dialect="duckdb"))


def _read(node: Any) -> Condition | None:
    from sqlglot import exp

    match node:
        case exp.Paren():
            return _read(node.this)
        case exp.And() | exp.Or():
            left, right = _read(node.this), _read(node.expression)
            if left is None or right is None:
                return None
            return Junction("and" if isinstance(node, exp.And) else "or", (left, right))
        case exp.Not():
            inner = _read(node.this) if isinstance(node.this, exp.Is) else None
            return NullTest(inner.column, False) if isinstance(inner, NullTest) and inner.wanted else None
        case exp.Is():
            column = _column(node.this)
            return NullTest(column, True) if column is not None and isinstance(node.expression, exp.Null) else None
        case exp.In():
            return _comparison("=", node.this, node.expressions)
        case _:
            return _read_comparison(node)


def _read_comparison(node: Any) -> Condition | None:
    from sqlglot import exp

    operators: dict[type[Any], Operator] = {
        exp.EQ: "=",
        exp.NEQ: "<>",
        exp.LT: "<",
        exp.LTE: "<=",
        exp.GT: ">",
        exp.GTE: ">=",
    }
    operator = operators.get(type(node))
    if operator is None:
        return None
    straight = _comparison(operator, node.this, [node.expression])
    return straight or _comparison(_MIRRORED[operator], node.expression, [node.this])


def _comparison(operator: Operator, field: Any, values: list[Any]) -> Condition | None:
    column = _column(field)
    operands = tuple(each for each in map(_operand, values) if each is not None)
    if column is None or not 0 < len(values) <= _MOST_VALUES or len(operands) != len(values):
        return None
    return Comparison(column, operator, operands)


def _column(node: Any) -> str | None:
    from sqlglot import exp

    return node.name if isinstance(node, exp.Column) and len(node.parts) == 1 else None


def _operand(node: Any) -> Operand | None:
    from sqlglot import exp

    match node:
        case exp.Literal() if not node.is_string and node.name.isdigit():
            return Operand(int(node.name))
        case exp.Neg(this=exp.Literal() as inner) if not inner.is_string and inner.name.isdigit():
            return Operand(-int(inner.name))
        case exp.Cast(this=exp.Literal() as inner) if inner.is_string:
            return _moment(inner.name, node.to.this.name)
        case _:
            return None


def _moment(text: str, type_: str) -> Operand | None:
    if type_ not in _MOMENTS.values():
        return None
    try:
        value = date.fromisoformat(text) if type_ == "DATE" else datetime.fromisoformat(text)
    except ValueError:
        return None
    has_zone = isinstance(value, datetime) and value.tzinfo is not None
    return Operand(value, type_) if has_zone == (type_ == "TIMESTAMPTZ") else None
