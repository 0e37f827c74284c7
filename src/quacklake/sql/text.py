"""The text of a statement: one at a time, parsed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from quacklake.errors import InvalidInputError, UnsupportedError
from quacklake.predicates.syntax import join_quotes

if TYPE_CHECKING:
    from sqlglot import TokenType, exp
    from sqlglot.dialects.dialect import Dialect
    from sqlglot.tokenizer_core import Token

    from quacklake.sql.words import Words


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
    from sqlglot import exp

    tokens = tokenize(text, dialect)
    # What stands behind the last semicolon may be a comment.
    found = [tree for tree in _parsed(text, tokens, dialect) if tree is not None]
    trees = [tree for tree in found if not isinstance(tree, exp.Semicolon)]
    if len(trees) != 1:
        many = "nothing" if not trees else f"{len(trees)} statements"
        raise InvalidInputError(f"the text holds {many}", hint="give one statement at a time")
    return Statement(text, trees[0], tokens, dialect)


def split_statements(text: str) -> list[str]:
    """The statements of a text that has semicolons between them."""
    found: list[str] = []
    first: int | None = None
    for token in tokenize(text):
        if token.token_type.name == "SEMICOLON":
            first = None
            continue
        if first is None:
            first = token.start
            found.append("")
        found[-1] = text[first : token.end + 1]
    return found


def query_text(words: Words, text: str) -> str:
    """A query as a SELECT, where it is written in another way: `TABLE t`, `VALUES …`.

    Raises:
        UnsupportedError: For a query that is more than one: `FROM t INSERT INTO a … INSERT INTO b …`.
    """
    if words.first == "FROM" and words.has("INSERT") is not None:
        raise UnsupportedError("FROM … INSERT is not handled", hint="write one INSERT for each table")
    if words.first == "TABLE":
        words.expect("TABLE")
        return f"SELECT * FROM {words.rest()}"
    return f"SELECT * FROM {text.strip().rstrip(';')}" if words.first == "VALUES" else text


def parse_expression(text: str) -> tuple[exp.Expr, list[Token]]:
    """Parse an expression; gives its words as well."""
    tokens = tokenize(text)
    found = _parsed(text, tokens, "spark")
    if len(found) != 1 or found[0] is None:
        raise InvalidInputError(f"{text!r} is no expression")
    return found[0], tokens


def tokenize(text: str, dialect: Literal["spark", "duckdb"] = "spark") -> list[Token]:
    """The words of a text."""
    from sqlglot.errors import SqlglotError

    try:
        tokens = _dialect(dialect).tokenize(text)
    except SqlglotError as error:
        raise InvalidInputError(f"the statement cannot be read: {first_line(error)}") from error
    return list(tokens) if dialect == "duckdb" else join_quotes(text, tokens)


def _parsed(text: str, tokens: list[Token], dialect: Literal["spark", "duckdb"]) -> list[exp.Expr | None]:
    from sqlglot.errors import SqlglotError

    try:
        return list(_dialect(dialect).parser().parse(list(tokens), text))
    except SqlglotError as error:
        raise InvalidInputError(f"the statement cannot be read: {first_line(error)}") from error
    except RecursionError as error:
        raise InvalidInputError("the statement is nested too deeply", hint="use IN for long lists of values") from error


def _dialect(dialect: Literal["spark", "duckdb"]) -> Dialect:
    from sqlglot.dialects.dialect import Dialect

    return Dialect.get_or_raise(plain_duckdb() if dialect == "duckdb" else ansi_spark())


@lru_cache(maxsize=1)
def plain_duckdb() -> type[Dialect]:
    """DuckDB's dialect, in which places in lists stay as they were written: sqlglot counts some of them anew."""
    from sqlglot.dialects.duckdb import DuckDB

    class PlainDuckDB(DuckDB):
        INDEX_OFFSET = 0

    return PlainDuckDB


@lru_cache(maxsize=1)
def ansi_spark() -> type[Dialect]:
    """Spark's dialect as it has been since version 4, in which a cast raises.

    Every statement has words in it, where sqlglot otherwise takes the rest of some as one text.
    """
    from sqlglot.dialects.spark import Spark
    from sqlglot.parsers.spark import SparkParser

    read: Any = SparkParser.FUNCTIONS["TO_TIMESTAMP"]

    class AnsiSpark(Spark):
        class Tokenizer(Spark.Tokenizer):
            COMMANDS: ClassVar[set[TokenType]] = set()

        class Parser(SparkParser):
            STRICT_CAST = True
            # A moment has a zone, unless the type says otherwise.
            FUNCTIONS: ClassVar[dict[str, Any]] = {
                **SparkParser.FUNCTIONS,
                "TIMESTAMP": _as_moment,
                "TO_TIMESTAMP": lambda args, dialect: _as_moment(args) if len(args) == 1 else read(args, dialect),
            }

    return AnsiSpark


def _as_moment(args: list[exp.Expr]) -> exp.Expr:
    from sqlglot import exp

    return exp.Cast(this=args[0], to=exp.DataType.build("TIMESTAMPTZ"))


def first_line(error: Exception) -> str:
    """What a parser says, in one line."""
    # sqlglot underlines the place with escape codes.
    return str(error).splitlines()[0].replace("\x1b[4m", "").replace("\x1b[0m", "")
