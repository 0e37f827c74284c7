"""Expressions inside of statements that change something, made ready for the verbs that take them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quacklake.errors import InvalidInputError
from quacklake.names import fold
from quacklake.plan.query import Arguments
from quacklake.sql.text import first_line

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(frozen=True, slots=True)
class Rewriter:
    """Puts values in the place of parameters, and other words in the place of tables' names.

    Args:
        arguments: Values for `:name`; `?` has no place of its own in a part of a statement.
        tables: What a column may be called by -> what the verb calls the table; None for nothing.
    """

    arguments: Arguments = ()
    tables: Mapping[tuple[str, ...], str | None] | None = None

    def rewrite(self, text: str) -> str:
        """The expression in Spark's dialect.

        Raises:
            InvalidInputError: When it cannot be read, or a parameter has no value.
        """
        import sqlglot
        from sqlglot import exp
        from sqlglot.errors import SqlglotError

        try:
            tree = sqlglot.parse_one(text, read="spark")
        except SqlglotError as error:
            raise InvalidInputError(f"{text!r} cannot be read: {first_line(error)}") from error
        changed = False
        for node in list(tree.walk()):
            if isinstance(node, exp.Placeholder):
                tree = _replaced(tree, node, self._value(node))
                changed = True
            elif isinstance(node, exp.Column) and self._call(node):
                changed = True
        return tree.sql("spark") if changed else text

    def _value(self, node: exp.Placeholder) -> exp.Expr:
        from sqlglot import exp

        if not node.name:
            raise InvalidInputError("? has no place in this statement", hint="give parameters names: :name")
        if not isinstance(self.arguments, Mapping) or node.name not in self.arguments:
            raise InvalidInputError(f"there is no value for the parameter :{node.name}")
        return exp.convert(self.arguments[node.name])

    def _call(self, column: exp.Column) -> bool:
        """Give a column that is called by its table the name that the verb knows."""
        from sqlglot import exp

        parts = column.parts
        for length in range(len(parts) - 1, 0, -1):
            name = tuple(fold(part.name) for part in parts[:length])
            if self.tables is not None and name in self.tables:
                word = self.tables[name]
                left = [exp.to_identifier(word), *parts[length:]] if word is not None else list(parts[length:])
                _set_parts(column, [part.copy() for part in left if part is not None])
                return True
        return False


def _set_parts(column: exp.Column, parts: list[Any]) -> None:
    """Give a column another name, whose first part may be a struct that the rest is in."""
    from sqlglot import exp

    places = ("this", "table", "db", "catalog")
    if len(parts) > len(places):
        column.replace(exp.Dot.build(parts))
        return
    for place, part in zip(places, (*reversed(parts), *[None] * 4), strict=False):
        column.set(place, part)


def _replaced(tree: exp.Expr, node: exp.Expr, value: exp.Expr) -> exp.Expr:
    if node is tree:
        return value
    node.replace(value)
    return tree
