"""Predicates: SQL text in the Spark dialect, parsed once, understood alike by pruning and by both engines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from quacklake.errors import InvalidInputError
from quacklake.predicates.binding import bind
from quacklake.predicates.kinds import BOOLEAN, NULL, UNKNOWN
from quacklake.predicates.scope import Scope
from quacklake.predicates.syntax import parse_syntax
from quacklake.predicates.tree import Field, Node, walk
from quacklake.schema import Schema

Dialect = Literal["spark", "duckdb"]


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression over the columns of one table, or of several."""

    text: str
    """As the user wrote it."""
    tree: Node
    """Parsed; every column in it exists, and every part has a type."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The top-level columns it uses, each once, as the table spells them."""
        return tuple(dict.fromkeys(node.path[0].name for node in walk(self.tree) if isinstance(node, Field)))

    def sql(self, dialect: Dialect) -> str:
        """The expression in a dialect of SQL, for columns under the names of the table.

        Raises:
            UnsupportedError: When DuckDB has nothing that means just what it means in Spark.
            InvalidInputError: When Spark would refuse it, too: types that do not go together, a malformed text.
        """
        if dialect == "spark":
            from quacklake.predicates.spark import render

            return render(self.tree)
        from quacklake.predicates.duckdb import translate

        return translate(self.tree, self.text)


@dataclass(frozen=True, slots=True)
class Predicate(Expression):
    """A condition on the rows of one table."""


@lru_cache(maxsize=256)
def parse_predicate(text: str, schema: Schema) -> Predicate:
    """Parse a condition and tie its columns to those of the table.

    Raises:
        InvalidInputError: When it cannot be parsed, is not a condition, or needs more than one row.
        NotFoundError: When it uses a column that is not there; the hint lists those there are.
        UnsupportedError: When it says something that a predicate cannot say, such as a subquery.
    """
    return Predicate(text, parse_condition(text, {None: schema}).tree)


def parse_condition(text: str, schemas: Mapping[str | None, Schema]) -> Expression:
    """Parse a condition over one table, or over several that are called `t` and `s`."""
    found = parse_expression(text, schemas)
    if found.tree.kind not in (BOOLEAN, NULL, UNKNOWN):
        raise InvalidInputError(
            f"the predicate {text!r} is not a condition: it gives a {found.tree.kind}", hint="compare it with something"
        )
    return found


def parse_expression(text: str, schemas: Mapping[str | None, Schema]) -> Expression:
    """Parse any expression of one row; with several tables, columns may be written `t.id` and `s.id`."""
    return Expression(text, bind(parse_syntax(text), Scope(text, schemas)))
