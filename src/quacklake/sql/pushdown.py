"""Which conditions of a query hold for every row of a table that can come out: files are left out by them.

Only what is sure is taken: comparisons of a table's own columns with literals, joined by AND and OR, from a WHERE that
no outer join stands in the way of, or from an ON that the table's rows must pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from quacklake.names import fold
from quacklake.schema import Schema

if TYPE_CHECKING:
    from sqlglot import exp


def find_conditions(tree: exp.Expr, schemas: Mapping[int, Schema | None]) -> dict[int, list[exp.Expr]]:
    """The conditions on each table, its columns without the table's name.

    Args:
        tree: The query.
        schemas: The columns of each table that it names, by where the name starts; None where they are not known.
    """
    from sqlglot import exp

    found: dict[int, list[exp.Expr]] = {}
    for select in tree.find_all(exp.Select):
        sources = _Sources(select, schemas)
        for condition in sources.conditions():
            table = sources.owner(condition)
            if table is not None:
                found.setdefault(table, []).append(_plain(condition))
    return found


class _Sources:
    """What one SELECT reads from, and which of it an outer join fills up with NULL."""

    def __init__(self, select: exp.Select, schemas: Mapping[int, Schema | None]) -> None:
        self._select = select
        self._starts: dict[str, int | None] = {}
        self._schemas: dict[str, Schema | None] = {}
        self._filled: set[str] = set()
        self._ons: list[tuple[exp.Expr, set[str]]] = []
        self._is_clear = not select.args.get("laterals")
        first = select.args.get("from_")
        if first is None:
            return
        self._put(first.this, schemas)
        for join in select.args.get("joins") or ():
            self._join(join, schemas)

    def _put(self, source: exp.Expr, schemas: Mapping[int, Schema | None]) -> str:
        from sqlglot import exp

        name = fold(source.alias_or_name)
        start = None
        if isinstance(source, exp.Table) and isinstance(source.parts[0], exp.Identifier):
            start = source.parts[0].meta.get("start")
        # What is drawn, turned, joined or renamed below a name is not what the condition is about.
        odd = any(source.args.get(each) for each in ("joins", "sample", "pivots", "laterals"))
        if name in self._starts or odd or source.alias_column_names:
            self._is_clear = False
        self._starts[name] = start if start in schemas else None
        self._schemas[name] = schemas.get(start) if start is not None else None
        return name

    def _join(self, join: exp.Join, schemas: Mapping[int, Schema | None]) -> None:
        before = set(self._starts)
        name = self._put(join.this, schemas)
        side, kind = str(join.args.get("side") or "").upper(), str(join.args.get("kind") or "").upper()
        if join.args.get("method") or join.args.get("using"):
            # Columns that two tables share have no owner.
            self._is_clear = False
        if side in ("LEFT", "FULL") and kind not in ("SEMI", "ANTI"):
            self._filled.add(name)
        if side in ("RIGHT", "FULL"):
            self._filled |= before
        on = join.args.get("on")
        if on is None or side in ("RIGHT", "FULL"):
            return
        # A row that fails the ON of an inner join is gone; one of the right side of another join only has no match.
        self._ons.append((on, {name} if side == "LEFT" or kind in ("SEMI", "ANTI") else {name, *before}))

    def conditions(self) -> Iterator[exp.Expr]:
        """Every part of WHERE and ON that must hold by itself."""
        if not self._is_clear:
            return
        where = self._select.args.get("where")
        if where is not None:
            for part in where.this.flatten() if where.this.key == "and" else (where.this,):
                yield from self._if_sure(part, set(self._starts) - self._filled)
        for on, allowed in self._ons:
            for part in on.flatten() if on.key == "and" else (on,):
                yield from self._if_sure(part, allowed - self._filled if len(allowed) > 1 else allowed)

    def _if_sure(self, part: exp.Expr, allowed: set[str]) -> Iterator[exp.Expr]:
        if _is_simple(part) and self._called(part) in allowed:
            yield part

    def owner(self, condition: exp.Expr) -> int | None:
        """Where the name of the table starts that a condition is about."""
        called = self._called(condition)
        return None if called is None else self._starts[called]

    def _called(self, condition: exp.Expr) -> str | None:
        from sqlglot import exp

        names = {self._source_of(column) for column in condition.find_all(exp.Column)}
        return names.pop() if len(names) == 1 else None

    def _source_of(self, column: exp.Column) -> str | None:
        parts = [fold(part.name) for part in column.parts]
        if len(parts) > 2:
            return None
        if len(parts) == 2:
            return parts[0] if self._starts.get(parts[0]) is not None else None
        if any(schema is None for schema in self._schemas.values()):
            return None
        owners = [
            name for name, schema in self._schemas.items() if schema is not None and schema.find(parts[0]) is not None
        ]
        return owners[0] if len(owners) == 1 else None


def _is_simple(part: exp.Expr) -> bool:
    from sqlglot import exp

    match part:
        case exp.And() | exp.Or():
            return _is_simple(part.this) and _is_simple(part.expression)
        case exp.Paren() | exp.Not():
            return _is_simple(part.this)
        case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            sides = (part.this, part.expression)
            return any(isinstance(each, exp.Column) for each in sides) and all(map(_is_operand, sides))
        case exp.Between():
            bounds = (part.args["low"], part.args["high"])
            plain = isinstance(part.this, exp.Column) and not part.args.get("symmetric")
            return plain and all(map(_is_operand, bounds))
        case exp.In():
            values = part.expressions
            return isinstance(part.this, exp.Column) and bool(values) and all(map(_is_operand, values))
        case exp.Is():
            return isinstance(part.this, exp.Column) and isinstance(part.expression, exp.Null)
        case _:
            return False


def _is_operand(node: exp.Expr) -> bool:
    from sqlglot import exp

    if isinstance(node, exp.Cast | exp.Neg):
        return isinstance(node.this, exp.Literal)
    return isinstance(node, exp.Column | exp.Literal | exp.Boolean | exp.Placeholder)


def _plain(condition: exp.Expr) -> exp.Expr:
    from sqlglot import exp

    copy = condition.copy()
    for column in copy.find_all(exp.Column):
        if column.args.get("table") is not None:
            column.set("table", None)
    return copy
