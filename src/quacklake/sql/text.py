"""The text of a statement: one at a time, parsed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal

from quacklake.errors import InvalidInputError

if TYPE_CHECKING:
    from sqlglot import TokenType, exp
    from sqlglot.dialects.dialect import Dialect
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

    tokens = tokenize(text, dialect)
    try:
        found = sqlglot.parse(text, read=dialect)
    except SqlglotError as error:
        raise InvalidInputError(f"the statement cannot be read: {first_line(error)}") from error
    # What stands behind the last semicolon may be a comment.
    trees = [tree for tree in found if tree is not None and not isinstance(tree, exp.Semicolon)]
    if len(trees) != 1:
        many = "nothing" if not trees else f"{len(trees)} statements"
        raise InvalidInputError(f"the text holds {many}", hint="give one statement at a time")
    return Statement(text, trees[0], tokens, dialect)


def tokenize(text: str, dialect: Literal["spark", "duckdb"] = "spark") -> list[Token]:
    """The words of a text."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        return list(sqlglot.tokenize(text, read=dialect if dialect == "duckdb" else ansi_spark()))
    except SqlglotError as error:
        raise InvalidInputError(f"the statement cannot be read: {first_line(error)}") from error


@lru_cache(maxsize=1)
def ansi_spark() -> type[Dialect]:
    """Spark's dialect as it has been since version 4, in which a cast raises.

    Every statement has words in it, where sqlglot otherwise takes the rest of some as one text.
    """
    from sqlglot.dialects.spark import Spark
    from sqlglot.parsers.spark import SparkParser

    class AnsiSpark(Spark):
        class Tokenizer(Spark.Tokenizer):
            COMMANDS: ClassVar[set[TokenType]] = set()

        class Parser(SparkParser):
            STRICT_CAST = True

    return AnsiSpark


def first_line(error: Exception) -> str:
    """What a parser says, in one line."""
    # sqlglot underlines the place with escape codes.
    return str(error).splitlines()[0].replace("\x1b[4m", "").replace("\x1b[0m", "")
