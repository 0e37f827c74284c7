"""What each table is called in the text that an engine runs, where a word stands for it, and columns with it.

A table keeps its own name as its alias. Where two tables of one name can be seen at one place, told apart by their
namespaces or catalogs only, each gets a name of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from quacklake.errors import InvalidInputError
from quacklake.names import fold
from quacklake.sql.expressions import Edit
from quacklake.sql.references import Reference

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(frozen=True, slots=True)
class Named:
    """A table of a statement without an alias."""

    reference: Reference
    whole: tuple[str, ...]
    """Catalog, namespace and table, folded."""

    @property
    def called(self) -> str:
        """Its own name."""
        return self.whole[-1]

    def answers(self, qualifier: tuple[str, ...]) -> bool:
        """Whether a column may be called by that."""
        return any(self.whole[start:] == qualifier for start in range(len(self.whole)))


@dataclass(slots=True)
class Aliases:
    """Finds out which table a column is called by.

    Args:
        tree: The statement.
        tables: Its tables that have no alias.
        word: A word that the text does not have.
        catalog: What names of two parts are of, folded.
    """

    tree: exp.Expr
    tables: Sequence[Named]
    word: str
    catalog: str
    _scopes: dict[int, list[Named]] = field(init=False, default_factory=dict)
    _others: dict[int, set[str]] = field(init=False, default_factory=dict)
    """What else can be seen in a SELECT: names in WITH, subqueries, aliases."""
    _renamed: set[int] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        for each in self.tables:
            self._scopes.setdefault(id(_select_of(each.reference.node)), []).append(each)
        for named in self._scopes.values():
            for each in named:
                twins = [other for other in named if other.called == each.called and other.whole != each.whole]
                if twins:
                    self._renamed.add(each.reference.start)
        self._rename_hidden()

    def alias(self, table: Reference) -> str:
        """What a table is called."""
        return f"{self.word}t{table.start}_" if table.start in self._renamed else table.parts[-1]

    def edits(self) -> Iterator[Edit]:
        """What to change about columns that are called by their tables."""
        for column, qualifier, table in self._columns():
            parts = column.parts
            if table.reference.start in self._renamed:
                yield parts[0].meta["start"], parts[qualifier - 1].meta["end"] + 1, self.alias(table.reference)
            elif qualifier > 1:
                yield parts[0].meta["start"], parts[qualifier - 1].meta["start"], ""

    def _rename_hidden(self) -> None:
        """Give names of their own to tables that a column is called by where a nearer one has the same name."""
        for column, qualifier, table in self._columns():
            if qualifier == 1:
                continue
            for select in _selects(column):
                seen = [each for each in self._scopes.get(id(select), ()) if each.called == table.called]
                if table in seen:
                    break
                if seen or table.called in self._names(select):
                    self._renamed.add(table.reference.start)

    def _columns(self) -> Iterator[tuple[exp.Column, int, Named]]:
        """Every column that is called by one of the tables, with how many parts of it are the table's."""
        from sqlglot import exp

        if not self.tables:
            return
        for column in self.tree.find_all(exp.Column):
            parts = [fold(part.name) for part in column.parts[:-1]]
            placed = all("start" in part.meta for part in column.parts[:-1])
            if not parts or not placed or column.find_ancestor(exp.Hint) is not None:
                continue
            found = self._owner(column, parts)
            if found is not None:
                yield column, *found

    def _owner(self, column: exp.Expr, parts: Sequence[str]) -> tuple[int, Named] | None:
        for select in _selects(column):
            for length in range(min(3, len(parts)), 0, -1):
                fitting = self._fitting(select, tuple(parts[:length]))
                if len({each.whole for each in fitting}) > 1:
                    names = " and ".join(".".join(each.reference.parts) for each in fitting)
                    raise InvalidInputError(
                        f"{column.sql('spark')} is ambiguous: {names} have one name",
                        hint="give each of them an alias, or write the namespace before the table",
                    )
                if fitting:
                    return length, fitting[0]
            if parts[0] in self._names(select):
                return None
        return None

    def _fitting(self, select: exp.Expr, qualifier: tuple[str, ...]) -> list[Named]:
        """The tables of a SELECT that a column may be called by."""
        seen = self._scopes.get(id(select), ())
        whole = (self.catalog, *qualifier) if len(qualifier) == 2 else qualifier
        return [each for each in seen if each.whole == whole] or [each for each in seen if each.answers(qualifier)]

    def _names(self, select: exp.Expr) -> set[str]:
        if id(select) not in self._others:
            plain = {each.reference.start for each in self.tables}
            self._others[id(select)] = {
                fold(source.alias_or_name) for source in _sources(select) if _start_of(source) not in plain
            }
        return self._others[id(select)]


def _select_of(node: exp.Expr) -> exp.Expr | None:
    from sqlglot import exp

    return node.find_ancestor(exp.Select)


def _selects(node: exp.Expr) -> Iterator[exp.Expr]:
    """The queries that a place is in, the nearest first."""
    from sqlglot import exp

    found = node.find_ancestor(exp.Select)
    while found is not None:
        yield found
        found = found.find_ancestor(exp.Select)


def _sources(select: exp.Expr) -> Iterator[exp.Expr]:
    first = select.args.get("from_")
    if first is not None:
        yield first.this
    for join in (*(select.args.get("joins") or ()), *(select.args.get("laterals") or ())):
        yield join.this if join.key == "join" else join


def _start_of(source: exp.Expr) -> int | None:
    from sqlglot import exp

    if not isinstance(source, exp.Table) or not isinstance(source.parts[0], exp.Identifier):
        return None
    start: int | None = source.parts[0].meta.get("start")
    return start
