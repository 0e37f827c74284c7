"""The text of a statement: one at a time, parsed once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from quacklake.errors import InvalidInputError

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.tokenizer_core import Token


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement with what a parser makes of it."""

    text: str
    tree: exp.Expr
    tokens: list[Token]
    dialect: Literal["spark", "duckdb"]


def parse(text: str, dialect: Literal["spark", "duckdb"] = "spark") -> Statement:
    """Parse one statement; a semicolon may end it.

    Raises:
        InvalidInputError: When it cannot be parsed, or there are none or several.
    """
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    if not isinstance(text, str):
        raise InvalidInputError(f"{text!r} is not a text", hint="give a statement in SQL")
    try:
        tokens = sqlglot.tokenize(text, read=dialect)
        found = sqlglot.parse(text, read=dialect)
    except SqlglotError as error:
        raise InvalidInputError(f"the statement cannot be read: {_first_line(error)}") from error
    # What stands behind the last semicolon may be a comment.
    trees = [tree for tree in found if tree is not None and not isinstance(tree, exp.Semicolon)]
    if len(trees) != 1:
        many = "nothing" if not trees else f"{len(trees)} statements"
        raise InvalidInputError(f"the text holds {many}", hint="give one statement at a time")
    return Statement(text, trees[0], list(tokens), dialect)


def _first_line(error: Exception) -> str:
    # sqlglot underlines the place with escape codes.
    return str(error).splitlines()[0].replace("\x1b[4m", "").replace("\x1b[0m", "")
