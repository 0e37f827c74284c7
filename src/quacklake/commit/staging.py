"""The lake as a transaction sees it: the base snapshot with its own changes on top.

Everything is kept as it will be. What has to be done follows from the difference to what was, so that any number
of steps on one object comes down to what they lead to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Literal, TypeVar

from quacklake.catalog.view import (
    CatalogView,
    MacroEntry,
    Namespace,
    PartitionKey,
    PartitionSpec,
    SortKey,
    SortSpec,
    TableEntry,
    ViewEntry,
)
from quacklake.commit.changes import (
    AlterColumns,
    Change,
    CreateNamespace,
    CreateTable,
    CreateView,
    DropMacro,
    DropNamespace,
    DropTable,
    DropView,
    RenameTable,
    RenameView,
    SetColumnComment,
    SetComment,
    SetPartition,
    SetSort,
)
from quacklake.commit.writes import TableWrites
from quacklake.schema import Column, Schema


@dataclass(slots=True)
class Staging:
    """The objects that a transaction touched. New ones have negative ids."""

    namespaces: dict[int, Namespace] = field(default_factory=dict)
    """Made by the transaction."""
    dropped_namespaces: dict[int, DropNamespace] = field(default_factory=dict)
    tables: dict[int, TableEntry] = field(default_factory=dict)
    """As they will be."""
    former_tables: dict[int, TableEntry] = field(default_factory=dict)
    """Those of them that were there before, as they were."""
    dropped_tables: dict[int, TableEntry] = field(default_factory=dict)
    views: dict[int, ViewEntry] = field(default_factory=dict)
    former_views: dict[int, ViewEntry] = field(default_factory=dict)
    dropped_views: dict[int, ViewEntry] = field(default_factory=dict)
    dropped_macros: dict[int, MacroEntry] = field(default_factory=dict)
    tightened: set[int] = field(default_factory=set)
    """Tables of which a column no longer takes NULL."""
    next_column_ids: dict[int, int] = field(default_factory=dict)
    """By table, the id that is free next."""
    writes: dict[int, TableWrites] = field(default_factory=dict)
    inlines: set[int] = field(default_factory=set)
    paths: dict[int, str] = field(default_factory=dict)
    """Of new namespaces and tables, relative to what they are in."""
    ids: Iterator[int] = field(default_factory=lambda: count(-1, -1))
    garbage: list[str] = field(default_factory=list)
    """Files of tables that the transaction dropped again."""

    # --- what happens ----------------------------------------------------------------------------------------

    def put_table(self, before: TableEntry | None, after: TableEntry) -> None:
        """A table is new or another than before."""
        if before is not None and before.table_id >= 0:
            self.former_tables.setdefault(before.table_id, before)
        self.tables[after.table_id] = after

    def drop_table(self, entry: TableEntry) -> None:
        """A table goes; one of the transaction's own as if it had never been."""
        self.tables.pop(entry.table_id, None)
        writes = self.writes.pop(entry.table_id, None)
        if writes is not None:
            self.garbage.extend((*writes.paths, *writes.garbage))
        if entry.table_id >= 0:
            self.dropped_tables[entry.table_id] = self.former_tables.pop(entry.table_id, entry)

    def put_view(self, before: ViewEntry | None, after: ViewEntry) -> None:
        """A view is new or another than before."""
        if before is not None and before.view_id >= 0:
            self.former_views.setdefault(before.view_id, before)
        self.views[after.view_id] = after

    def drop_view(self, entry: ViewEntry) -> None:
        """A view goes."""
        self.views.pop(entry.view_id, None)
        if entry.view_id >= 0:
            self.dropped_views[entry.view_id] = self.former_views.pop(entry.view_id, entry)

    def drop_namespace(self, namespace: Namespace, table_ids: tuple[int, ...]) -> None:
        """A namespace goes; what is in it has gone already."""
        if self.namespaces.pop(namespace.namespace_id, None) is None:
            id_ = namespace.namespace_id
            self.dropped_namespaces[id_] = DropNamespace(id_, namespace.name, table_ids)

    # --- what it looks like ----------------------------------------------------------------------------------

    def overlay(self, view: CatalogView) -> CatalogView:
        """A view of the base snapshot with the changes on top; it may be a view of one table only."""
        namespaces = [each for each in view.namespaces if each.namespace_id not in self.dropped_namespaces]
        return replace(
            view,
            namespaces=(*namespaces, *self.namespaces.values()),
            tables=tuple(_merge(view.tables, self.tables, self.dropped_tables, lambda each: each.table_id)),
            views=tuple(_merge(view.views, self.views, self.dropped_views, lambda each: each.view_id)),
            macros=tuple(each for each in view.macros if each.macro_id not in self.dropped_macros),
        )

    # --- what has to be done ---------------------------------------------------------------------------------

    def changes(self) -> tuple[Change, ...]:
        """The difference between what was and what will be."""
        return tuple(self._changes())

    def _changes(self) -> Iterator[Change]:
        for each in self.namespaces.values():
            yield CreateNamespace(each.namespace_id, each.name, each.uuid or "", self.paths[each.namespace_id])
        yield from self.dropped_namespaces.values()
        yield from (DropTable(each.table_id, each.name) for each in self.dropped_tables.values())
        yield from (DropView(each.view_id, each.name) for each in self.dropped_views.values())
        yield from (DropMacro(each.macro_id, _macro_kind(each), each.name) for each in self.dropped_macros.values())
        for entry in self.tables.values():
            yield from self._table_changes(entry)
        for view in self.views.values():
            yield from self._view_changes(view)
        for table_id, writes in self.writes.items():
            yield from writes.changes(self.tables[table_id])

    def _table_changes(self, entry: TableEntry) -> Iterator[Change]:
        table_id, name = entry.table_id, entry.name
        before = self.former_tables.get(table_id)
        if before is None:
            path = self.paths[table_id]
            yield CreateTable(table_id, entry.namespace_id, name, entry.uuid or "", path, entry.schema)
        elif before.name != name:
            yield RenameTable(table_id, before.name, name)
        if before is not None and _differ(before.schema, entry.schema):
            yield AlterColumns(table_id, name, before.schema, entry.schema, table_id in self.tightened)
        was, is_ = before.partition if before is not None else None, entry.partition
        if _partition_keys(was) != _partition_keys(is_):
            # No partitioning is stored as one without keys.
            yield SetPartition(
                table_id, name, next(self.ids) if is_ is None else is_.partition_id, _partition_keys(is_)
            )
        sorted_before = before.sort if before is not None else None
        if _sort_keys(sorted_before) != _sort_keys(entry.sort):
            yield SetSort(table_id, name, 0 if entry.sort is None else entry.sort.sort_id, _sort_keys(entry.sort))
        if (before.comment if before is not None else None) != entry.comment:
            yield SetComment(table_id, "table", name, entry.comment)
        if before is not None:
            known = {column.id: column.comment for column in before.schema}
            for column in entry.schema:
                if known.get(column.id) != column.comment:
                    yield SetColumnComment(table_id, name, column.id, column.comment)

    def _view_changes(self, view: ViewEntry) -> Iterator[Change]:
        before = self.former_views.get(view.view_id)
        if before is None:
            yield CreateView(
                view.view_id, view.namespace_id, view.name, view.uuid or "", view.sql, view.dialect, view.column_aliases
            )
        elif before.name != view.name:
            yield RenameView(view.view_id, before.name, view.name)
        if (before.tags.get("comment") if before is not None else None) != view.tags.get("comment"):
            yield SetComment(view.view_id, "view", view.name, view.tags.get("comment"))


_E = TypeVar("_E", TableEntry, ViewEntry)


def _merge(
    base: tuple[_E, ...], staged: Mapping[int, _E], dropped: Mapping[int, _E], key: Callable[[_E], int]
) -> Iterator[_E]:
    known = set()
    for entry in base:
        known.add(key(entry))
        if key(entry) not in dropped:
            yield staged.get(key(entry), entry)
    yield from (entry for id_, entry in staged.items() if id_ not in known)


def _partition_keys(spec: PartitionSpec | None) -> tuple[PartitionKey, ...]:
    return () if spec is None else spec.keys


def _sort_keys(spec: SortSpec | None) -> tuple[SortKey, ...]:
    return () if spec is None else spec.keys


def _differ(before: Schema, now: Schema) -> bool:
    """Whether more than the comments of columns has changed."""
    return before is not now and _without_comments(before) != _without_comments(now)


def _without_comments(schema: Schema) -> tuple[Column, ...]:
    return tuple(replace(column, comment=None) for column in schema)


def _macro_kind(macro: MacroEntry) -> Literal["scalar", "table"]:
    return "table" if macro.kind == "table" else "scalar"
