"""Expressions inside of statements that change something, made ready for the verbs that take them.

What was written stays as it is, but for names of tables and parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from quacklake.errors import UnsupportedError
from quacklake.names import fold
from quacklake.plan.query import Arguments
from quacklake.sql.literals import bound
from quacklake.sql.text import parse_expression

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.tokenizer_core import Token

Edit = tuple[int, int, str]
"""From where to where in a text, and what is to stand there."""


@dataclass(frozen=True, slots=True)
class Rewriter:
    """Puts values in the place of parameters, and other words in the place of tables' names.

    Args:
        arguments: Values for `:name`.
        tables: What a column may be called by -> what the verb calls the table; None for nothing.
    """

    arguments: Arguments = ()
    tables: Mapping[tuple[str, ...], str | None] | None = None

    def rewrite(self, text: str) -> str:
        """The expression in Spark's dialect.

        Raises:
            InvalidInputError: When it cannot be read, or a parameter has no value.
        """
        from sqlglot import exp

        tree, tokens = parse_expression(text)
        edits = [*self._parameters(tree, tokens)]
        for column in tree.find_all(exp.Column):
            edits += self._called(column)
        return edit(text, edits)

    def _parameters(self, tree: exp.Expr, tokens: Sequence[Token]) -> Iterator[Edit]:
        from sqlglot import exp

        places = parameters(tokens)
        if len(places) != sum(1 for _ in tree.find_all(exp.Placeholder)):
            raise UnsupportedError("a colon in this statement is not understood", hint="write parameters as :name")
        for name, start, end in places:
            yield start, end, bound(self.arguments, name)

    def _called(self, column: exp.Column) -> Iterator[Edit]:
        """Give a column that is called by its table the name that the verb knows."""
        parts = column.parts
        for length in range(len(parts) - 1, 0, -1):
            name = tuple(fold(part.name) for part in parts[:length])
            if self.tables is not None and name in self.tables:
                word = self.tables[name]
                yield parts[0].meta["start"], parts[length].meta["start"], "" if word is None else f"{word}."
                return


def parameters(tokens: Sequence[Token]) -> list[tuple[str, int, int]]:
    """The parameters among some words: their names, and where they stand."""
    found = []
    for index, (mark, name) in enumerate(pairwise(tokens)):
        if mark.token_type.name != "COLON" or name.start != mark.end + 1 or not str(name.text).isidentifier():
            continue
        before = tokens[index - 1] if index else None
        # `a:b` is a field of a type or of JSON.
        if before is None or before.end + 1 != mark.start or before.token_type.name not in ("VAR", "IDENTIFIER"):
            found.append((str(name.text), int(mark.start), int(name.end) + 1))
    return found


def edit(text: str, edits: Iterable[Edit]) -> str:
    """The text with something else in some places."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text
