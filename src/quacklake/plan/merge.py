"""What a MERGE does: its clauses as users write them, and the same tied to columns of the table and the source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from quacklake.errors import InvalidInputError
from quacklake.predicates import Expression, parse_condition, parse_expression
from quacklake.schema import Schema

TARGET, SOURCE = "t", "s"
"""How expressions call the table and the source."""

Kind = Literal["matched", "not_matched", "not_matched_by_source"]
Action = Literal["update", "delete", "insert"]
Values = Mapping[str, str] | Literal["*"]


@dataclass(frozen=True, slots=True)
class WhenClause:
    """One WHEN of a MERGE. The first one of its kind whose condition holds is the one that acts."""

    kind: Kind
    action: Action
    where: str | None = None
    values: Values | None = None
    """Column -> expression; `*` for every column of the source by name."""


def when_matched(*, update: Values | None = None, delete: bool = False, where: str | None = None) -> WhenClause:
    """What happens to a row of the table that a row of the source matches."""
    return WhenClause("matched", _one_action(update, delete), where, update)


def when_not_matched(*, insert: Values = "*", where: str | None = None) -> WhenClause:
    """What happens with a row of the source that matches nothing."""
    return WhenClause("not_matched", "insert", where, insert)


def when_not_matched_by_source(
    *, update: Mapping[str, str] | None = None, delete: bool = False, where: str | None = None
) -> WhenClause:
    """What happens to a row of the table that no row of the source matches."""
    return WhenClause("not_matched_by_source", _one_action(update, delete), where, update)


def _one_action(update: Values | None, delete: bool) -> Action:
    if (update is None) == (not delete):
        raise InvalidInputError("a WHEN clause needs exactly one action", hint="give update=… or delete=True")
    return "delete" if delete else "update"


UPSERT = (when_matched(update="*"), when_not_matched(insert="*"))
"""Update what is there, insert what is not."""


@dataclass(frozen=True, slots=True)
class BoundClause:
    """A clause whose expressions name columns that exist."""

    kind: Kind
    action: Action
    where: Expression | None
    values: tuple[tuple[str, Expression], ...] = ()
    """Column of the table -> expression, columns spelled as the table does."""


@dataclass(frozen=True, slots=True)
class MergePlan:
    """A whole MERGE, ready for an engine."""

    on: Expression
    clauses: tuple[BoundClause, ...]

    def of(self, kind: Kind) -> tuple[BoundClause, ...]:
        """The clauses of one kind, in order."""
        return tuple(clause for clause in self.clauses if clause.kind == kind)


def bind_merge(
    on: str | Sequence[str], clauses: Sequence[WhenClause], schema: Schema, source: Schema, *, table: str
) -> MergePlan:
    """Parse the expressions of a MERGE and tie their columns.

    Args:
        on: A column both sides have, several of them, or a condition over `t` and `s`.
        clauses: In the order in which they apply.
        schema: The table's columns.
        source: The source's columns.
        table: For messages.

    Raises:
        InvalidInputError: When the MERGE contradicts itself or an expression cannot be parsed.
        NotFoundError: When a column does not exist.
    """
    if not clauses:
        raise InvalidInputError("a MERGE without clauses does nothing", hint="leave out when= for an upsert")
    _check_reachable(clauses)
    bound = tuple(_bind_clause(clause, schema, source, table) for clause in clauses)
    return MergePlan(_bind_on(on, schema, source), bound)


def bind_assignments(
    values: Mapping[str, str], schema: Schema, scopes: Mapping[str | None, Schema]
) -> tuple[tuple[str, Expression], ...]:
    """Column -> expression, tied to columns that exist, each column once."""
    bound: dict[str, Expression] = {}
    for name, text in values.items():
        column = schema.column(name)
        if column.name in bound:
            raise InvalidInputError(f"column {column.name!r} is set twice")
        bound[column.name] = parse_expression(str(text), scopes)
    return tuple(bound.items())


def _check_reachable(clauses: Sequence[WhenClause]) -> None:
    ended: set[Kind] = set()
    for clause in clauses:
        if clause.kind in ended:
            raise InvalidInputError(
                f"a {clause.kind.replace('_', ' ')} clause comes after one without a condition and can never act",
                hint="put the clause without a condition last",
            )
        if clause.where is None:
            ended.add(clause.kind)


def _bind_on(on: str | Sequence[str], schema: Schema, source: Schema) -> Expression:
    scopes: dict[str | None, Schema] = {TARGET: schema, SOURCE: source}
    names = [on] if isinstance(on, str) and schema.find(on) is not None else on
    if isinstance(names, str):
        return parse_condition(names, scopes)
    if not names:
        raise InvalidInputError("on=[] matches nothing", hint="name the columns that identify a row")
    tests = []
    for name in names:
        found = source.find(name)
        if found is None:
            raise InvalidInputError(f"the source has no column {name!r} to merge on", hint=_listed(source))
        tests.append(f"{TARGET}.{_quoted(schema.column(name).name)} = {SOURCE}.{_quoted(found.name)}")
    return parse_condition(" AND ".join(tests), scopes)


def _bind_clause(clause: WhenClause, schema: Schema, source: Schema, table: str) -> BoundClause:
    both: dict[str | None, Schema] = {TARGET: schema, SOURCE: source}
    scopes: dict[str, dict[str | None, Schema]] = {
        "matched": both,
        "not_matched": {SOURCE: source},
        "not_matched_by_source": {TARGET: schema},
    }
    visible = scopes[clause.kind]
    where = None if clause.where is None else parse_condition(clause.where, visible)
    if clause.action == "delete":
        return BoundClause(clause.kind, clause.action, where)
    given = _by_name(schema, source, table) if clause.values == "*" else clause.values or {}
    values = bind_assignments(given, schema, visible)
    if not values:
        raise InvalidInputError(f"an {clause.action} clause sets no column", hint="give {column: expression}")
    return BoundClause(clause.kind, clause.action, where, values)


def _by_name(schema: Schema, source: Schema, table: str) -> dict[str, str]:
    for column in source:
        if schema.find(column.name) is None:
            raise InvalidInputError(f"{table} has no column {column.name!r}", hint=_listed(schema))
    return {column.name: f"{SOURCE}.{_quoted(column.name)}" for column in source}


def _quoted(name: str) -> str:
    """The name as Spark quotes it."""
    return "`" + name.replace("`", "``") + "`"


def _listed(schema: Schema) -> str:
    return f"the columns are {', '.join(schema.names)}"
