"""Puts a query into the SQL of another engine, or says why it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from quacklake.errors import UnsupportedError
from quacklake.names import fold
from quacklake.sql.text import ansi_spark

if TYPE_CHECKING:
    from sqlglot import exp

Dialect = Literal["spark", "duckdb"]


def transpile(text: str, read: Dialect, write: Dialect) -> str:
    """The query in another dialect.

    Raises:
        UnsupportedError: When it cannot be said there.
    """
    import sqlglot
    from sqlglot import errors, exp

    tree = sqlglot.parse_one(text, read=ansi_spark() if read == "spark" else read)
    for parameter in tree.find_all(exp.Placeholder):
        parameter.set("this", f"u_{parameter.name}")
    if write == "duckdb":
        _name_functions(tree)
    try:
        return tree.sql(dialect=write, unsupported_level=errors.ErrorLevel.RAISE)
    except errors.UnsupportedError as error:
        first = str(error).splitlines()[0]
        raise UnsupportedError(f"the query cannot be said in the SQL of {write}: {first}") from error


def _name_functions(tree: exp.Expr) -> None:
    """Give the columns of functions the names that they have in Spark."""
    from sqlglot import exp

    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Func):
            continue
        if fold(table.this.name) != "range":
            raise UnsupportedError(
                f"{table.this.sql('spark')} in FROM", hint="only Spark has it; connect with engine='spark'"
            )
        if not table.alias_column_names:
            alias = exp.TableAlias(this=exp.to_identifier(table.alias or "range"), columns=[exp.to_identifier("id")])
            table.set("alias", alias)
