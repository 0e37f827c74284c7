"""Elements of lists in views: Spark counts them from zero, DuckDB from one, and both write the keys of maps alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quacklake.errors import UnsupportedError

if TYPE_CHECKING:
    from sqlglot import exp


def refuse_items(tree: exp.Expr) -> None:
    """Refuse brackets of Spark's whose meaning depends on what they stand behind, a list or a map.

    A number alone is taken for the place in a list.
    """
    from sqlglot import exp

    for bracket in tree.find_all(exp.Bracket):
        if not bracket.args.get("offset") and not isinstance(bracket.expressions[0], exp.Literal):
            raise UnsupportedError(
                f"{bracket.sql('spark')} in a view: lists are counted from one in DuckDB, which keeps the view",
                hint="write element_at(…), which counts from one",
            )


def settle_items(tree: exp.Expr) -> None:
    """Let brackets of DuckDB's mean for Spark what they mean there, behind a list and behind a map."""
    from sqlglot import exp

    for bracket in reversed(list(tree.find_all(exp.Bracket))):
        index = bracket.expressions[0]
        if isinstance(index, exp.Slice):
            raise UnsupportedError(f"{bracket.sql('duckdb')} of a view, which Spark does not know")
        if isinstance(index, exp.Literal) and index.is_string:
            continue
        bracket.replace(exp.Anonymous(this="try_element_at", expressions=[bracket.this.copy(), index.copy()]))
