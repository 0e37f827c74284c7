"""The counters of a snapshot and the ids that a commit takes from them. Pure.

Two counters are shared by everything: one by namespaces, tables, views, partitionings and sort orders, one by
data files, delete files and name mappings. They are read from the newest snapshot inside the transaction that
commits, so a failed attempt takes none. Where many catalogs share a database, ids are taken from counters that they
share, and the counters of a snapshot only say how far it got.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from quacklake.catalog.view import Snapshot
from quacklake.commit.applied import describe
from quacklake.commit.changes import (
    AddDeletes,
    AddFiles,
    Change,
    CreateNamespace,
    CreateTable,
    CreateView,
    InlineRows,
    NewLayout,
    SetPartition,
    SetSort,
)
from quacklake.plan.scan import MappedName

MappingKey = tuple[int, tuple[MappedName, ...]]
"""The table that a name mapping belongs to, and its names."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """The ids of one attempt."""

    snapshot_id: int
    schema_version: int
    next_catalog_id: int
    next_file_id: int
    objects: Mapping[int, int] = field(default_factory=dict)
    """Negative id of a namespace, table, view, partitioning or sort order -> its real one."""
    files: Mapping[int, int] = field(default_factory=dict)
    """Negative id of a data file -> its real one."""
    delete_files: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """(Table, data file), as the transaction knows them -> the id of its new delete file."""
    mappings: Mapping[MappingKey, int] = field(default_factory=dict)
    """(Table as the transaction knows it, mapping) -> the id of a new mapping."""

    def object_id(self, id_: int) -> int:
        """The real id of a namespace, table, view, partitioning or sort order."""
        return self.objects[id_] if id_ < 0 else id_

    def file_id(self, id_: int) -> int:
        """The real id of a data file."""
        return self.files[id_] if id_ < 0 else id_


@dataclass(frozen=True, slots=True)
class Taken:
    """Ids that were taken from the counters of a shared database, in order."""

    snapshot_id: int
    entries: Sequence[int]
    files: Sequence[int]

    def fits(self, newest: int, entries: int, files: int) -> bool:
        """Whether these are as many as needed, and newer than what a snapshot has."""
        return self.snapshot_id > newest and (len(self.entries), len(self.files)) == (entries, files)


class _Counter:
    def __init__(self, next_id: int, taken: Sequence[int] | None) -> None:
        self.next_id = next_id
        self._taken = None if taken is None else iter(taken)

    def take(self) -> int:
        id_ = self.next_id if self._taken is None else next(self._taken)
        self.next_id = id_ + 1
        return id_


def allocate(
    newest: Snapshot, changes: Sequence[Change], known: Mapping[MappingKey, int], taken: Taken | None = None
) -> Allocation:
    """Ids for everything that the changes make.

    Args:
        newest: The snapshot that the commit comes after.
        changes: What it does.
        known: Name mappings that the catalog has already, which are used again.
        taken: The ids to use, in a shared database: as many as there would be without.
    """
    objects, catalog = _allocate_objects(newest, changes, None if taken is None else taken.entries)
    files = _Counter(newest.next_file_id, None if taken is None else taken.files)
    mappings: dict[MappingKey, int] = {}
    data_files: dict[int, int] = {}
    for change in changes:
        if isinstance(change, AddFiles):
            for file in change.files:
                if file.name_mapping is not None and (change.table_id, file.name_mapping) not in known:
                    mappings.setdefault((change.table_id, file.name_mapping), -1)
    for key in mappings:
        mappings[key] = files.take()
    for change in changes:
        if isinstance(change, AddFiles):
            data_files.update((id_, files.take()) for id_ in change.file_ids)
    deletes = {
        (change.table_id, each.data_file_id): files.take()
        for change in changes
        if isinstance(change, AddDeletes)
        for each in change.deletes
    }
    _signal_inlined(files, changes)
    return Allocation(
        snapshot_id=newest.snapshot_id + 1 if taken is None else taken.snapshot_id,
        schema_version=newest.schema_version + int(changes_catalog(changes)),
        next_catalog_id=catalog,
        next_file_id=files.next_id,
        objects=objects,
        files=data_files,
        delete_files=deletes,
        mappings={**known, **mappings},
    )


def _allocate_objects(
    newest: Snapshot, changes: Sequence[Change], taken: Sequence[int] | None
) -> tuple[dict[int, int], int]:
    counter, ids = _Counter(newest.next_catalog_id, taken), dict[int, int]()
    for change in changes:
        if isinstance(change, CreateNamespace):
            ids[change.namespace_id] = counter.take()
    for change in changes:
        if isinstance(change, CreateTable):
            ids[change.table_id] = counter.take()
        elif isinstance(change, SetPartition):
            ids[change.partition_id] = counter.take()
        elif isinstance(change, SetSort) and change.keys:
            ids[change.sort_id] = counter.take()
    for change in changes:
        if isinstance(change, CreateView):
            ids[change.view_id] = counter.take()
    return ids, counter.next_id


def _signal_inlined(files: _Counter, changes: Sequence[Change]) -> None:
    # DuckDB keeps statistics until the counter moves, so an insert without files must move it too.
    with_files = {change.table_id for change in changes if isinstance(change, AddFiles)}
    for change in changes:
        if isinstance(change, InlineRows) and change.table_id not in with_files:
            files.take()


def changes_catalog(changes: Sequence[Change]) -> bool:
    """Whether DuckDB must look at the catalog anew: it keeps what it knows until the schema version moves."""
    data = ("inserted_into_table", "deleted_from_table", "inlined_insert", "inlined_delete")
    for change in changes:
        if isinstance(change, NewLayout):
            return True
        entry = describe(change, {})
        if entry is None or entry.word not in data:
            return True
    return False
