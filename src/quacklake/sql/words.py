"""Reads a statement word by word. What is an expression or a query in it stays as it was written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from quacklake.errors import InvalidInputError, UnsupportedError
from quacklake.names import fold
from quacklake.plan.query import Arguments
from quacklake.sql.literals import require

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

_OPEN, _CLOSE = ("L_PAREN", "L_BRACKET", "L_BRACE"), ("R_PAREN", "R_BRACKET", "R_BRACE")


class Words:
    """The words of one statement, read from the left.

    Args:
        text: The statement.
        tokens: Its tokens; a semicolon at the end is left out.
    """

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self._text = text
        self._tokens = list(tokens)
        while self._tokens and self._tokens[-1].token_type.name == "SEMICOLON":
            self._tokens.pop()
        self._at = 0
        self._is_silent = False

    @classmethod
    def of(cls, text: str) -> Words:
        """The words of a text."""
        from quacklake.sql.text import tokenize

        return cls(text, tokenize(text))

    @property
    def is_over(self) -> bool:
        """Whether every word was read."""
        return self._at >= len(self._tokens)

    @property
    def has_second(self) -> bool:
        """Whether a semicolon stands in the middle, which would hide what comes after it."""
        return any(token.token_type.name == "SEMICOLON" for token in self._tokens)

    def accept(self, *words: str) -> bool:
        """Read words if they come next, all of them."""
        length = self._match(words)
        self._at += length
        return length > 0

    def sees(self, *words: str) -> bool:
        """Whether words come next."""
        return self._match(words) > 0

    def _match(self, words: Sequence[str]) -> int:
        """How many tokens the words are that come next; none when they do not. A token may be several words."""
        coming: list[str] = []
        for length, token in enumerate(self._tokens[self._at : self._at + len(words)], 1):
            coming += _upper(token).split() or [""]
            if coming == [word.upper() for word in words]:
                return length
        return 0

    def expect(self, *words: str) -> None:
        """Read words that must come next."""
        if not self.accept(*words):
            raise self.refusal(" ".join(words))

    def refusal(self, wanted: str) -> InvalidInputError:
        """What to raise when something else was to come."""
        found = "the end" if self.is_over else "something else" if self._is_silent else repr(self._next.text)
        return InvalidInputError(f"{self.start}: {wanted} is expected and {found} found")

    @property
    def start(self) -> str:
        """The first words, for messages."""
        return " ".join(token.text.upper() for token in self._tokens[: 4 if self.opens("CREATE", "OR") else 2])

    @property
    def first(self) -> str:
        """The first word."""
        return (_upper(self._tokens[0]).split() or [""])[0] if self._tokens else ""

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def opens(self, *words: str) -> bool:
        """Whether the statement begins with words, read or not."""
        return [_upper(token) for token in self._tokens[: len(words)]] == [word.upper() for word in words]

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Let no error say what the statement has in it."""
        self._is_silent = True
        try:
            yield
        finally:
            self._is_silent = False

    @property
    def past(self) -> str:
        """What was read so far, as it was written."""
        return self._slice(0, self._at)

    @property
    def is_query(self) -> bool:
        """Whether a query in brackets comes next."""
        return any(self.sees("(", word) for word in ("SELECT", "WITH", "VALUES", "FROM", "TABLE", "("))

    def has(self, *words: str) -> str | None:
        """The first of some words that stands outside of brackets, read or not."""
        depth = 0
        for token in self._tokens:
            kind = token.token_type.name
            depth += (kind in _OPEN) - (kind in _CLOSE)
            if depth == 0 and _upper(token) in words:
                return _upper(token)
        return None

    def name(self) -> tuple[str, ...]:
        """Read a name of one part or several."""
        parts = [self._part()]
        while self.accept("."):
            parts.append(self._part())
        return tuple(parts)

    def _part(self) -> str:
        if self.is_over or not _is_name(self._tokens[self._at]):
            raise self.refusal("a name")
        self._at += 1
        return str(self._tokens[self._at - 1].text)

    def one_part(self) -> str:
        """Read a name of one part."""
        found = self.name()
        if len(found) != 1:
            raise InvalidInputError(f"{self.start}: {'.'.join(found)} has {len(found)} parts", hint="write one word")
        return found[0]

    def value(self, arguments: Arguments) -> Any:
        """Read a literal, a word that stands for itself, or a parameter."""
        if self.accept(":"):
            name = self.one_part()
            return require(arguments, name)
        sign = -1 if self.accept("-") else 1
        if self.is_over:
            raise self.refusal("a value")
        kind, text = self._next.token_type.name, str(self._next.text)
        if kind == "STRING":
            return self.string()
        if kind == "NUMBER":
            self._at += 1
            return sign * (int(text) if text.isdecimal() else float(text))
        if sign == -1 or not _is_name(self._next):
            raise self.refusal("a value")
        self._at += 1
        return {"true": True, "false": False, "null": None}.get(text.lower(), text)

    def options(self, arguments: Arguments) -> dict[str, Any]:
        """Read options in round brackets: `NAME value`, `name = value`, `name => value`, or a name alone for true."""
        self.expect("(")
        found: dict[str, Any] = {}
        while not self.accept(")"):
            name = fold(self.one_part())
            if name in found:
                raise InvalidInputError(f"{self.start}: {name.upper()} is there twice")
            _ = self.accept("=>") or self.accept("=")
            found[name] = True if self.sees(",") or self.sees(")") else self.value(arguments)
            if not self.accept(",") and not self.sees(")"):
                raise self.refusal(", or )")
        return found

    def string(self) -> str:
        """Read a text in quotes."""
        if self.is_over or self._tokens[self._at].token_type.name != "STRING":
            raise self.refusal("a text in quotes")
        found = ""
        while not self.is_over and self._tokens[self._at].token_type.name == "STRING":
            found += str(self._tokens[self._at].text)
            self._at += 1
        return found

    def brackets(self) -> str:
        """Read something in round brackets; gives what is inside, as it was written."""
        if not self.sees("("):
            raise self.refusal("(")
        first = self._at + 1
        self._at += 1
        self._skip(lambda token: False, inside=True)
        inner = self._slice(first, self._at)
        self._at += 1
        return inner

    def listed(self) -> list[str]:
        """Read a list in round brackets; gives its elements, as they were written."""
        words = Words.of(self.brackets())
        found = [words.until(",")]
        while words.accept(","):
            found.append(words.until(","))
        return found

    def until(self, *words: str) -> str:
        """Read up to one of some words, outside of brackets and of CASE; gives what came, as it was written."""
        wanted = {word.upper() for word in words}
        first = self._at
        self._skip(lambda token: _upper(token) in wanted, inside=False)
        found = self._slice(first, self._at)
        if not found:
            raise self.refusal("an expression")
        return found

    def rest(self) -> str:
        """Read everything that is left; gives it as it was written."""
        found = self._slice(self._at, len(self._tokens))
        self._at = len(self._tokens)
        return found

    def end(self) -> None:
        """Nothing may be left.

        Raises:
            UnsupportedError: When there are more words, which would be left out otherwise.
        """
        if not self.is_over:
            found = "something" if self._is_silent else repr(self._next.text)
            raise UnsupportedError(f"{self.start}: {found} and what follows is not handled")

    def _slice(self, first: int, last: int) -> str:
        if first >= last:
            return ""
        return self._text[self._tokens[first].start : self._tokens[last - 1].end + 1]

    def _skip(self, ends: Callable[[Token], bool], *, inside: bool) -> None:
        depth, cases = 0, 0
        while not self.is_over:
            token = self._tokens[self._at]
            kind = token.token_type.name
            if depth == 0 and (kind in _CLOSE or (cases == 0 and ends(token))):
                return
            depth += (kind in _OPEN) - (kind in _CLOSE)
            if kind == "CASE":
                cases += 1
            elif kind == "END" and cases:
                cases -= 1
            self._at += 1
        if inside:
            raise self.refusal(")")


def _upper(token: Token) -> str:
    # A name in quotes and a text are never words of the language.
    return "" if token.token_type.name in ("IDENTIFIER", "STRING") else str(token.text).upper()


def _is_name(token: Token) -> bool:
    kind = token.token_type.name
    return kind in ("IDENTIFIER", "VAR") or (kind not in ("STRING", "NUMBER") and str(token.text).isidentifier())
