"""From text to a syntax tree, with errors in the user's own lines and columns.

Functions are left as they are written: sqlglot would turn many into another database's idea of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from quacklake.errors import InvalidInputError

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.tokenizer_core import Token

_COMPARING = frozenset("= == <=> < <= > >= <> != IS IN LIKE ILIKE RLIKE REGEXP BETWEEN".split())
_BITS = frozenset("& | ^ || << >> >>>".split())
_TERMS = frozenset("+ -".split())
_SEPARATING = frozenset("AND OR NOT ! , WHEN THEN ELSE CASE END ->".split())
_STATEMENTS = frozenset("SELECT INSERT UPDATE DELETE DROP CREATE ALTER MERGE TRUNCATE WITH SET".split())


def parse_syntax(text: str) -> exp.Expression:
    """The syntax tree of one expression.

    Raises:
        InvalidInputError: When it cannot be parsed, or could be read in two ways; the message says where.
    """
    from sqlglot import exp
    from sqlglot.errors import ParseError, TokenError

    dialect = _dialect()
    try:
        tokens = join_quotes(text, dialect.tokenize(text))
        _refuse_statements(text, tokens)
        _refuse_ambiguity(text, tokens)
        found = dialect.parser().parse_into(exp.Condition, tokens, text)
    except TokenError as error:
        raise _open_quote(text) from error
    except ParseError as error:
        raise _syntax_error(text, error) from error
    except RecursionError as error:
        raise InvalidInputError("the predicate is nested too deeply", hint="use IN for long lists of values") from error
    if len(found) != 1 or found[0] is None:
        raise InvalidInputError("the predicate is empty", hint="leave it out to get every row")
    tree: exp.Expression = found[0]
    return tree


@lru_cache(maxsize=1)
def _dialect() -> Any:
    # Made here because importing sqlglot takes a third of a second, and most sessions filter nothing.
    from sqlglot.dialects.spark import Spark

    parser: Any = Spark.Parser
    special = ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "POSITION")
    settings = {
        "FUNCTIONS": {},
        "FUNCTION_PARSERS": {
            name: parser.FUNCTION_PARSERS[name] for name in special if name in parser.FUNCTION_PARSERS
        },
        "NO_PAREN_FUNCTION_PARSERS": {"CASE": parser.NO_PAREN_FUNCTION_PARSERS["CASE"]},
    }
    return type("Predicates", (Spark,), {"Parser": type("Parser", (parser,), settings)})()


def join_quotes(text: str, tokens: Sequence[Token]) -> list[Token]:
    """One text where a quote was doubled (`'it''s'`), as Spark 4 reads it; the tokenizer sees two side by side."""
    out: list[Token] = []
    for token in tokens:
        last = out[-1] if out else None
        both = last is not None and {last.token_type.name, token.token_type.name} == {"STRING"}
        if last is not None and both and last.end + 1 == token.start and text[last.end] == text[token.start]:
            last.text, last.end, last.col = last.text + text[token.start] + token.text, token.end, token.col
        else:
            out.append(token)
    return out


def place(text: str, offset: int) -> str:
    """Where a character is, as people count: lines and columns from one."""
    before = text[:offset]
    return f"line {before.count(chr(10)) + 1}, column {offset - (before.rfind(chr(10)) + 1) + 1}"


def _syntax_error(text: str, error: Any) -> InvalidInputError:
    found = error.errors[0] if error.errors else {}
    word = str(found.get("highlight") or "")
    line, end = int(found.get("line") or 1), int(found.get("col") or 1)
    where = f"line {line}, column {max(end - len(word) + 1, 1)}"
    if str(found.get("description", "")).startswith("Required keyword"):
        message = f"the predicate {text!r} cannot be parsed: something is missing after {word!r} at {where}"
    elif str(found.get("description", "")).startswith("Expecting"):
        message = f"the predicate {text!r} cannot be parsed: a {found['description'][10:]} is missing after {where}"
    else:
        message = f"the predicate {text!r} cannot be parsed: {word!r} is not expected at {where}"
    return InvalidInputError(message, hint="write a condition as after WHERE in Spark SQL")


def _open_quote(text: str) -> InvalidInputError:
    """The tokenizer does not say where it gave up, so look for what was opened last and never closed."""
    position, length = 0, len(text)
    while position < length:
        mark = text[position]
        if mark in "'\"`":
            end = _end_of_quote(text, position)
        elif text.startswith("/*", position):
            end, mark = text.find("*/", position + 2), "/*"
            end = end + 1 if end >= 0 else -1
        elif text.startswith("--", position):
            end = text.find("\n", position)
            end = length if end < 0 else end
        else:
            end = position
        if end < 0:
            what = f"the predicate {text!r} cannot be parsed: {mark} at {place(text, position)} is never closed"
            return InvalidInputError(what, hint=f"close it with {'*/' if mark == '/*' else mark}")
        position = end + 1
    return InvalidInputError(f"the predicate {text!r} cannot be parsed: a literal in it is malformed")


def _end_of_quote(text: str, start: int) -> int:
    mark, position = text[start], start + 1
    while position < len(text):
        if text[position] == "\\" and mark != "`":
            position += 1
        elif text[position] == mark:
            return position
        position += 1
    return -1


def _refuse_statements(text: str, tokens: Sequence[Token]) -> None:
    for index, token in enumerate(tokens):
        if token.token_type.name == "SEMICOLON":
            raise InvalidInputError(
                f"the predicate {text!r} has a ; at {place(text, token.start)}: it must be one condition",
                hint="statements go through session.sql",
            )
        word = _word(token)
        if word in _STATEMENTS and (index == 0 or word in ("SELECT", "WITH")):
            following = tokens[index + 1].token_type.name if index + 1 < len(tokens) else ""
            if following in ("VAR", "STAR", "NUMBER", "STRING", "FROM", "TABLE", "INTO", "IDENTIFIER", "DISTINCT"):
                raise InvalidInputError(
                    f"the predicate {text!r} has a statement or subquery at {place(text, token.start)} ({word})",
                    hint="a predicate is a condition on the rows of one table",
                )


def _word(token: Token) -> str:
    """The token as an operator or keyword; nothing for quoted names and texts."""
    quoted = token.token_type.name in ("STRING", "IDENTIFIER", "RAW_STRING", "HEX_STRING", "NATIONAL_STRING")
    return "" if quoted else token.text.upper()


def _refuse_ambiguity(text: str, tokens: Sequence[Token]) -> None:
    """Refuse what Spark and this parser bind differently: two comparisons in a row, mixed bit operators.

    `a = b IS NULL` is `(a = b) IS NULL` in Spark and `a = (b IS NULL)` in most databases. Parentheses settle it.
    """
    for piece in map(_without_shifts, _pieces(tokens)):
        words = [_word(token) for token in piece]
        comparing = [token for token, word in zip(piece, words, strict=True) if word in _COMPARING]
        bits = {word for word in words if word in _BITS}
        if len(comparing) > 1:
            raise _ambiguous(text, comparing[1], "a second comparison")
        if len(bits) > 1 or (bits and any(word in _TERMS for word in words)):
            token = next(token for token, word in zip(piece, words, strict=True) if word in bits)
            raise _ambiguous(text, token, "operators of different strength")


def _without_shifts(piece: list[Token]) -> list[Token]:
    """The tokenizer sees `<<` and `>>` as two comparisons."""
    halves = {
        index
        for index, (one, two) in enumerate(pairwise(piece))
        if one.end + 1 == two.start and one.text == two.text and one.text in "<>"
    }
    return [token for index, token in enumerate(piece) if index not in halves and index - 1 not in halves]


def _ambiguous(text: str, token: Token, what: str) -> InvalidInputError:
    return InvalidInputError(
        f"the predicate {text!r} has {what} at {place(text, token.start)} and could be read in two ways",
        hint="put parentheses around the part that comes first",
    )


def _pieces(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """The runs of tokens between AND, OR, NOT, commas and parentheses: what the grammar's middle levels see."""
    stack: list[list[Token]] = [[]]
    between = [0]
    for token in tokens:
        word = _word(token)
        if word in ("(", "["):
            stack.append([])
            between.append(0)
        elif word in (")", "]"):
            if len(stack) > 1:
                between.pop()
                yield stack.pop()
        elif word == "AND" and between[-1]:
            # The AND of BETWEEN: both bounds are on the level of the comparison itself.
            between[-1] -= 1
        elif word == "NOT" and stack[-1]:
            continue
        elif word in _SEPARATING:
            yield stack[-1]
            stack[-1] = []
        else:
            between[-1] += word == "BETWEEN"
            stack[-1].append(token)
    yield from reversed(stack)
