"""Runs one statement: by its first word it is known who runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from quacklake.commit.outcome import Commit
from quacklake.errors import InvalidInputError, UnsupportedError
from quacklake.plan.query import Arguments
from quacklake.sql.calls import run_call
from quacklake.sql.changes import Changes
from quacklake.sql.definitions import Definitions
from quacklake.sql.prelude import Prelude, read_prelude
from quacklake.sql.result import NoRows, Result
from quacklake.sql.select import Builder
from quacklake.sql.sessions import is_secret, run_attach, run_detach, run_secret, run_set, run_use
from quacklake.sql.shows import FewRows, describe, show
from quacklake.sql.text import parse, query_text
from quacklake.sql.words import Words

if TYPE_CHECKING:
    from quacklake.session import Session
    from quacklake.transaction import Transaction

_CHANGES = ("INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE")
_DEFINITIONS = ("CREATE", "DROP", "ALTER", "COMMENT")
_SHOWS = {"SHOW": show, "DESCRIBE": describe, "DESC": describe}
_QUERIES = ("SELECT", "WITH", "VALUES", "FROM", "TABLE", "(")
_CONTROL = ("BEGIN", "START", "COMMIT", "ROLLBACK")
_REFUSED = frozenset(
    """ADD ANALYZE CACHE CHECKPOINT CLEAR COPY DEALLOCATE DECLARE DFS EXECUTE EXPORT FETCH GRANT IMPORT
    INSTALL LIST LOAD LOCK MSCK OPEN OPTIMIZE PRAGMA PREPARE REFRESH REINDEX REPAIR RESET RESTORE REVOKE
    SAVEPOINT UNCACHE UNLOCK VACUUM""".split()
)
"""Words that statements of Spark, DuckDB and others begin with, which are not handled here."""


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
    first = words.first
    if is_secret(words):
        run_secret(session, words, arguments)
        return Result(NoRows())
    if first in _CHANGES:
        return Result(NoRows(), getattr(Changes(session, arguments), first.lower())(words))
    if first in _DEFINITIONS:
        definitions = Definitions(session, Changes(session, arguments))
        return Result(NoRows(), getattr(definitions, first.lower())(words))
    if first in _SHOWS:
        return Result(_SHOWS[first](session, words))
    if first in _CONTROL:
        return Result(NoRows(), _control(session, words))
    if first == "EXPLAIN":
        return Result(_explain(session, words, arguments))
    acts: dict[str, Callable[[], FewRows | None]] = {
        "CALL": lambda: run_call(session, words, arguments),
        "ATTACH": lambda: run_attach(session, words, arguments),
        "DETACH": lambda: run_detach(session, words),
        "USE": lambda: run_use(session, words),
        "SET": lambda: run_set(session, words, arguments),
    }
    if first in acts:
        return Result(acts[first]() or NoRows())
    if first in _REFUSED:
        raise UnsupportedError(f"{words.start} is not handled", hint="see docs/sql.md")
    if first == "WITH" and words.has(*_CHANGES) is not None:
        prelude = read_prelude(words)
        change = next((word for word in _CHANGES if words.sees(word)), None)
        if change is not None:
            return _with_change(session, words, change, prelude, arguments)
    return _select(session, query_text(words, text), arguments)


def _with_change(
    session: Session | Transaction, words: Words, change: str, prelude: Prelude, arguments: Arguments
) -> Result:
    """WITH … INSERT, UPDATE, DELETE or MERGE."""
    if change == "TRUNCATE":
        raise UnsupportedError("WITH … TRUNCATE is not handled", hint="write TRUNCATE TABLE alone")
    return Result(NoRows(), getattr(Changes(session, arguments, prelude), change.lower())(words))


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


def _explain(session: Session | Transaction, words: Words, arguments: Arguments) -> FewRows:
    """EXPLAIN of a query: which files are read of each table, and why the others are not."""
    words.expect("EXPLAIN")
    if not any(words.sees(word) for word in _QUERIES):
        raise UnsupportedError(f"{words.start} is not handled", hint="EXPLAIN a query")
    rest = words.rest()
    found = _select(session, query_text(Words.of(rest), rest), arguments).explain()
    return FewRows(session, ("plan",), [(line,) for line in found.splitlines()])


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
