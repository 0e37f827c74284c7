"""Elements of lists in views: Spark counts them from zero, DuckDB from one, and both write the keys of maps alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quacklake.errors import UnsupportedError

if TYPE_CHECKING:
    from sqlglot import exp


def refuse_items(tree: exp.Expr) -> None:
    """Refuse brackets of Spark's whose meaning depends on what they stand behind, a list or a map."""
    from sqlglot import exp

    lists = (exp.Array, exp.ArrayDistinct, exp.ArrayFilter, exp.ArraySort, exp.GenerateSeries, exp.MapKeys)
    for bracket in tree.find_all(exp.Bracket):
        index = bracket.expressions[0]
        is_key = isinstance(index, exp.Literal) and index.is_string
        is_place = isinstance(index, exp.Literal) and isinstance(bracket.this, (*lists, exp.RegexpSplit, exp.Transform))
        if not bracket.args.get("offset") and not is_key and not is_place:
            raise UnsupportedError(
                f"{bracket.sql('spark')} in a view: DuckDB, which keeps the view, counts lists from one, but not maps",
                hint="write element_at(…), which counts lists from one as well",
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
