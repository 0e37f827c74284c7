"""The SQL door of sessions and transactions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from quacklake.errors import InvalidInputError

if TYPE_CHECKING:
    from quacklake.plan.query import Arguments
    from quacklake.session import Session
    from quacklake.sql.result import Result
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
        from quacklake.sql.execute import run
        from quacklake.sql.text import tokenize
        from quacklake.sql.words import Words

        if not isinstance(text, str):
            raise InvalidInputError(f"{text!r} is not a text", hint="give a statement in SQL")
        text, arguments = _name_parameters(text, _check_arguments(params))
        words = Words(text, tokenize(text))
        session = cast("Session | Transaction", self)
        try:
            return run(session._sql_target(), words, text, arguments)
        except RecursionError as error:
            hint = "use IN for long lists of values"
            raise InvalidInputError("the statement is nested too deeply", hint=hint) from error


def _name_parameters(text: str, arguments: Arguments) -> tuple[str, Arguments]:
    """Give parameters that have none a name, so that each part of the statement knows its own."""
    from quacklake.sql.expressions import edit
    from quacklake.sql.text import tokenize

    marks = [token for token in tokenize(text) if token.token_type.name == "PLACEHOLDER"]
    if isinstance(arguments, Mapping):
        if marks:
            raise InvalidInputError("the statement has ? and its values have names", hint="write :name, or give a list")
        return text, arguments
    if len(marks) != len(arguments):
        raise InvalidInputError(f"the statement has {len(marks)} ? and there are {len(arguments)} values")
    names = [f"quacklake_{number}" for number in range(1, len(marks) + 1)]
    edits = [(token.start, token.end + 1, f":{name}") for token, name in zip(marks, names, strict=True)]
    return edit(text, edits), dict(zip(names, arguments, strict=True))


def _check_arguments(params: Mapping[str, Any] | Sequence[Any] | None) -> Arguments:
    if params is None:
        return ()
    if isinstance(params, str | bytes) or not isinstance(params, Mapping | Sequence):
        raise InvalidInputError(f"params={params!r} is one value", hint="give a list, or a dict by name")
    if isinstance(params, Mapping):
        return dict(params)
    return list(params)
