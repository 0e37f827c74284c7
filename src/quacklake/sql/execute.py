"""Runs one statement: by its first word it is known who runs it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from quacklake.commit.outcome import Commit
from quacklake.errors import InvalidInputError, UnsupportedError
from quacklake.plan.query import Arguments
from quacklake.sql.changes import Changes
from quacklake.sql.definitions import Definitions
from quacklake.sql.result import NoRows, Result
from quacklake.sql.select import Builder
from quacklake.sql.shows import describe, show
from quacklake.sql.text import parse
from quacklake.sql.words import Words

if TYPE_CHECKING:
    from quacklake.session import Session
    from quacklake.transaction import Transaction

_CHANGES = ("insert", "update", "delete", "merge", "truncate")
_DEFINITIONS = ("create", "drop", "alter", "comment")
_SHOWS = {"SHOW": show, "DESCRIBE": describe, "DESC": describe}


def run(session: Session | Transaction, words: Words, text: str, arguments: Arguments) -> Result:
    """Run a statement.

    Args:
        session: The session, or the transaction that is open in it.
        words: The statement, word by word.
        text: The statement.
        arguments: Values of parameters.
    """
    if words.has_second:
        raise InvalidInputError("the text holds several statements", hint="give one statement at a time")
    changes = Changes(session, arguments)
    for runner, names in ((changes, _CHANGES), (Definitions(session, changes), _DEFINITIONS)):
        act = next((name for name in names if words.sees(name)), None)
        if act is not None:
            return Result(NoRows(), getattr(runner, act)(words))
    tell = next((each for word, each in _SHOWS.items() if words.sees(word)), None)
    if tell is not None:
        return Result(tell(session, words))
    control = next((name for name in ("begin", "start", "commit", "rollback") if words.sees(name)), None)
    if control is not None:
        return Result(NoRows(), _control(session, words))
    return _select(session, text, arguments)


def _select(session: Session | Transaction, text: str, arguments: Arguments) -> Result:
    from sqlglot import exp

    statement = parse(text)
    if not isinstance(statement.tree, exp.Query):
        first = " ".join(token.text.upper() for token in statement.tokens[:2])
        raise UnsupportedError(f"{first} is not a statement that sql() runs", hint="see docs/sql.md")
    engine = session._engine()
    builder = Builder(session, engine.dialect, arguments)
    query = builder.build(statement)
    return Result(engine.query(query), plans=lambda: replace(builder, count=True).build(statement).plans())


def _control(session: Session | Transaction, words: Words) -> Commit:
    """BEGIN, COMMIT and ROLLBACK: from the first to one of the others, statements belong to one transaction."""
    begins = words.accept("BEGIN") or words.accept("START")
    commits = not begins and words.accept("COMMIT")
    if not begins and not commits:
        words.expect("ROLLBACK")
    if not words.accept("TRANSACTION"):
        words.accept("WORK")
    words.end()
    if begins:
        session._sql_begin()
        return Commit(None)
    done: Commit = session._sql_end(commits)
    return done
