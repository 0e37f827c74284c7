"""The WITH before a statement that changes rows: its queries can be named in every query of the statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quacklake.errors import InvalidInputError
from quacklake.names import fold
from quacklake.sql.words import Words


@dataclass(frozen=True, slots=True)
class Prelude:
    """A WITH as it was written; empty where there is none."""

    text: str = ""
    names: tuple[str, ...] = ()
    """What its queries are called, folded."""

    def before(self, query: str) -> str:
        """A query that sees the queries of the WITH."""
        return f"{self.text} {query}" if self.text else query

    def refuse_target(self, name: Sequence[str]) -> None:
        """Refuse to change what the WITH has hidden behind a query of its own."""
        if len(name) == 1 and fold(name[0]) in self.names:
            raise InvalidInputError(
                f"{name[0]} is a query of the WITH, whose rows cannot be changed",
                hint="call the query otherwise, or write the namespace of the table",
            )


NO_PRELUDE = Prelude()


def read_prelude(words: Words) -> Prelude:
    """Read a WITH with all its queries, up to the word that begins the statement."""
    words.expect("WITH")
    words.accept("RECURSIVE")
    names = []
    while True:
        names.append(fold(words.one_part()))
        if words.sees("(") and not words.is_query:
            words.brackets()
        if words.accept("MAX", "RECURSION", "LEVEL"):
            words.value(())
        words.accept("AS")
        words.brackets()
        if not words.accept(","):
            return Prelude(words.past, tuple(names))
