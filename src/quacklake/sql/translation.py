"""Puts a query into the SQL of another engine, or says why it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from quacklake.errors import UnsupportedError
from quacklake.names import fold
from quacklake.sql.items import settle_items
from quacklake.sql.local_functions import settle
from quacklake.sql.stars import refuse_stars, settle_stars
from quacklake.sql.text import parse

if TYPE_CHECKING:
    from sqlglot import exp

Dialect = Literal["spark", "duckdb"]
_USER_PARAMETER = "u_"


def transpile(text: str, read: Dialect, write: Dialect) -> str:
    """The query in another dialect.

    Raises:
        UnsupportedError: When it cannot be said there.
    """
    from sqlglot import errors, exp

    tree = parse(text, read).tree
    for parameter in tree.find_all(exp.Placeholder):
        parameter.set("this", f"{_USER_PARAMETER}{parameter.name}")
    if write == "duckdb":
        _refuse_words(tree)
        _name_functions(tree)
        _name_values(tree)
        settle_stars(tree)
        tree = settle(tree)
    else:
        refuse_stars(tree)
        settle_items(tree)
    try:
        # A comment before the query would hide what it begins with.
        return tree.sql(dialect=write, unsupported_level=errors.ErrorLevel.RAISE, comments=False)
    except errors.UnsupportedError as error:
        first = str(error).splitlines()[0]
        raise UnsupportedError(f"the query cannot be said in the SQL of {write}: {first}") from error


def _refuse_words(tree: exp.Expr) -> None:
    """Refuse what would mean something else, and leave out hints, which mean nothing for the rows."""
    from sqlglot import exp

    for select in tree.find_all(exp.Select):
        select.set("hint", None)
    for pivot in tree.find_all(exp.Pivot):
        if not pivot.args.get("unpivot"):
            raise UnsupportedError("PIVOT", hint="groups without rows count otherwise; connect with engine='spark'")


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


def _name_values(tree: exp.Expr) -> None:
    """Give the columns of VALUES the names that they have in Spark: `col1` is the first."""
    from sqlglot import exp

    for values in tree.find_all(exp.Values):
        if not values.expressions or values.alias_column_names:
            continue
        first = values.expressions[0]
        width = len(first.expressions) if isinstance(first, exp.Tuple) else 1
        columns = [exp.to_identifier(f"col{number}") for number in range(1, width + 1)]
        values.set("alias", exp.TableAlias(this=exp.to_identifier(values.alias or "col"), columns=columns))
