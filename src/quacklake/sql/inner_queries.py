"""The queries inside of an expression of a MERGE, as columns of its source.

A verb takes expressions without queries. A query that asks for nothing of the table has one answer for each row of the
source, so the source brings it along, and the expression names that column in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from quacklake.errors import InvalidInputError, UnsupportedError
from quacklake.sql.expressions import Edit, edit
from quacklake.sql.text import tokenize

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

ANSWER = "quacklake_answer_"
"""What the columns are called that the source brings along."""
_STARTS = ("SELECT", "WITH", "VALUES", "FROM", "TABLE")
_BEFORE_OPERAND = ("AND", "OR", "NOT", "(", ",", "WHEN", "THEN", "ELSE", "CASE")


@dataclass(frozen=True, slots=True)
class Answers:
    """Collects the queries of a MERGE."""

    texts: list[str] = field(default_factory=list)
    """An expression for each column that the source brings along, in order."""

    def extract(self, text: str) -> str:
        """The expression with a column of the source in the place of each query.

        Raises:
            UnsupportedError: For a form of query that has no such column.
        """
        tokens = tokenize(text)
        edits: list[Edit] = []
        index = 0
        while index < len(tokens):
            if not _opens_query(tokens, index):
                index += 1
                continue
            last = _closing(tokens, index)
            start, end = tokens[_first_of(tokens, index)].start, tokens[last].end + 1
            asked = text[start:end]
            is_in = index > 0 and _word(tokens[index - 1]) == "IN"
            edits.append((start, end, self._column(_settled(asked) if is_in else asked)))
            index = last + 1
        return edit(text, edits)

    def _column(self, text: str) -> str:
        if text not in self.texts:
            self.texts.append(text)
        return f"{ANSWER}{self.texts.index(text)}"

    @property
    def columns(self) -> str:
        """What stands in the SELECT of the source, after its own columns."""
        return "".join(f", {text} AS {ANSWER}{number}" for number, text in enumerate(self.texts))


def _settled(test: str) -> str:
    """A test by IN, which may be neither true nor false; Spark forgets that of one that is no whole condition."""
    return f"CASE WHEN {test} THEN true WHEN NOT ({test}) THEN false END"


def _opens_query(tokens: Sequence[Token], index: int) -> bool:
    return _word(tokens[index]) == "(" and index + 1 < len(tokens) and _word(tokens[index + 1]) in _STARTS


def _closing(tokens: Sequence[Token], index: int) -> int:
    depth = 0
    for place in range(index, len(tokens)):
        depth += {"(": 1, ")": -1}.get(_word(tokens[place]), 0)
        if not depth:
            return place
    raise InvalidInputError("a bracket is left open")


def _first_of(tokens: Sequence[Token], index: int) -> int:
    """Where the test or the value begins that a query is a part of."""
    before = _word(tokens[index - 1]) if index else ""
    if before == "EXISTS":
        return index - 1
    if before in ("ANY", "SOME", "ALL"):
        raise UnsupportedError(f"{before} (SELECT …) in a MERGE", hint="write it with IN, EXISTS, min or max")
    if before != "IN":
        return index
    # NOT IN becomes NOT of a column, for what is neither true nor false stays so.
    return _operand(tokens, index - (2 if index > 1 and _word(tokens[index - 2]) == "NOT" else 1))


def _operand(tokens: Sequence[Token], end: int) -> int:
    """Where the left side of an IN begins: a name, or something in brackets, with a function's name before it."""
    place = end - 1
    if place >= 0 and _word(tokens[place]) == ")":
        depth = 0
        while place >= 0:
            depth += {")": 1, "(": -1}.get(_word(tokens[place]), 0)
            if not depth:
                break
            place -= 1
        if place > 0 and _is_name(tokens[place - 1]):
            place -= 1
    elif place >= 0 and (_is_name(tokens[place]) or tokens[place].token_type.name in ("NUMBER", "STRING")):
        while place > 1 and _word(tokens[place - 1]) == "." and _is_name(tokens[place - 2]):
            place -= 2
        if place > 0 and _word(tokens[place - 1]) == ":":
            place -= 1
    else:
        place = end
    if place >= end or place < 0 or (place and _word(tokens[place - 1]) not in _BEFORE_OPERAND):
        raise UnsupportedError("the left side of IN (SELECT …) in a MERGE", hint="put it into brackets")
    return place


def _is_name(token: Token) -> bool:
    kind = token.token_type.name
    return kind in ("IDENTIFIER", "VAR") or (
        kind not in ("STRING", "NUMBER") and str(token.text).isidentifier() and _word(token) not in _BEFORE_OPERAND
    )


def _word(token: Token) -> str:
    return "" if token.token_type.name in ("IDENTIFIER", "STRING") else str(token.text).upper()
