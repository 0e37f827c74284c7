"""The SQL door of sessions and transactions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from quacklake.errors import InvalidInputError, UnsupportedError

if TYPE_CHECKING:
    from quacklake.plan.query import Arguments
    from quacklake.session import Session
    from quacklake.sql.result import Result
    from quacklake.sql.text import Statement
    from quacklake.transaction import Transaction


class SqlDoor:
    """What a session and a transaction can do with SQL."""

    def sql(self, text: str, params: Mapping[str, Any] | Sequence[Any] | None = None) -> Result:
        """Run one statement in Spark's dialect.

        Args:
            text: The statement. A table may be read as it was: `t VERSION AS OF 3`, `t TIMESTAMP AS OF '…'`,
                `t AT (VERSION => 3)`.
            params: Values for `:name` by name, or for `?` in order. They are bound, never put into the text.

        Raises:
            InvalidInputError: When the statement cannot be read, or the engine refuses it.
            NotFoundError: When it names a table that is not there.
            UnsupportedError: For a statement that is not handled here.
        """
        from sqlglot import exp

        from quacklake.sql.text import parse

        arguments = _check_arguments(params)
        statement = parse(text)
        if isinstance(statement.tree, exp.Query):
            return self._select(statement, arguments)
        raise UnsupportedError(
            f"{_kind(statement)} cannot be run with sql() yet", hint="it can be done with the methods of the session"
        )

    def _select(self, statement: Statement, arguments: Arguments) -> Result:
        from quacklake.sql.result import Result
        from quacklake.sql.select import Builder

        session = cast("Session | Transaction", self)
        engine = session._engine()
        query = Builder(session, engine.dialect, arguments).build(statement)
        return Result(engine.query(query))


def _check_arguments(params: Mapping[str, Any] | Sequence[Any] | None) -> Arguments:
    if params is None:
        return ()
    if isinstance(params, str | bytes) or not isinstance(params, Mapping | Sequence):
        raise InvalidInputError(f"params={params!r} is one value", hint="give a list, or a dict by name")
    if isinstance(params, Mapping):
        return dict(params)
    return list(params)


def _kind(statement: Statement) -> str:
    """The first words of a statement, for messages."""
    words = [token.text.upper() for token in statement.tokens[:2]]
    return " ".join(words)
