"""Stars over joins by names of columns: Spark puts those columns first, DuckDB leaves them where they are.

Rows go into tables by position, so the order counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from quacklake.errors import UnsupportedError
from quacklake.names import fold

if TYPE_CHECKING:
    from sqlglot import exp


def settle_stars(tree: exp.Expr) -> None:
    """Let a star of Spark's give its columns in Spark's order.

    Raises:
        UnsupportedError: Where it takes the columns of the tables to tell.
    """
    from sqlglot import exp

    for select, star in _stars_over_names(tree):
        keys = [[each.name for each in join.args.get("using") or ()] for join in _joins(select)]
        alike = {tuple(map(fold, each)) for each in keys}
        if len(alike) > 1 or not keys[0] or _has_inner_joins(select) or _exceptions(star):
            raise _refusal()
        names = [exp.to_identifier(key, quoted=True) for key in keys[0]]
        rest: exp.Expr = exp.Star(except_=names)
        owner = star.args.get("table")
        if owner is not None:
            rest = exp.Column(this=rest, table=owner.copy())
        first = [exp.Column(this=name.copy(), table=owner.copy() if owner is not None else None) for name in names]
        place = next(place for place, each in enumerate(select.expressions) if each is star)
        select.set("expressions", [*select.expressions[:place], *first, rest, *select.expressions[place + 1 :]])


def refuse_stars(tree: exp.Expr) -> None:
    """Refuse a star of DuckDB's whose columns Spark would give in another order."""
    for _, star in _stars_over_names(tree):
        if not _exceptions(star):
            raise _refusal()


def _stars_over_names(tree: exp.Expr) -> Iterator[tuple[Any, Any]]:
    from sqlglot import exp

    for select in list(tree.find_all(exp.Select)):
        if any(_is_by_names(join) for join in _joins(select)):
            yield from ((select, each) for each in list(select.expressions) if each.is_star and not each.find(exp.Func))


def _exceptions(star: exp.Expr) -> bool:
    return bool((star if star.key == "star" else star.this).args.get("except_"))


def _joins(select: exp.Expr) -> Iterator[exp.Expr]:
    yield from select.args.get("joins") or ()
    for source in _sources(select):
        yield from source.args.get("joins") or ()


def _has_inner_joins(select: exp.Expr) -> bool:
    return any(source.args.get("joins") for source in _sources(select))


def _sources(select: exp.Expr) -> Iterator[exp.Expr]:
    """What stands in FROM and JOIN; a join in brackets is a table with joins of its own, or has one inside."""
    first = select.args.get("from_")
    waiting = [*([first.this] if first is not None else []), *(each.this for each in select.args.get("joins") or ())]
    while waiting:
        source = waiting.pop()
        yield source
        if source.key in ("paren", "subquery") and source.this.key in ("table", "paren", "subquery"):
            waiting.append(source.this)


def _is_by_names(join: exp.Expr) -> bool:
    return bool(join.args.get("using")) or str(join.args.get("method") or "").upper() == "NATURAL"


def _refusal() -> UnsupportedError:
    return UnsupportedError(
        "* over a join by names of columns (USING, NATURAL): Spark and DuckDB give the columns in another order",
        hint="name the columns",
    )
