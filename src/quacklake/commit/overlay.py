"""The catalog as a transaction reads it: one snapshot, with what the transaction did on top."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.lake import Catalog, FeedContents, TableContents
from quacklake.catalog.load import At
from quacklake.catalog.tables import CatalogTables
from quacklake.catalog.view import CatalogView, Option, Snapshot, TableEntry
from quacklake.commit.next_ids import load_next_row_id, reserve_snapshot_id
from quacklake.commit.staging import Staging
from quacklake.commit.writes import STAGED_ROWS, UNTIL_READ, TableWrites
from quacklake.names import TableName, fold
from quacklake.plan.scan import DeleteFile, InlinedRows, ScanFile
from quacklake.predicates import Predicate, parse_predicate

if TYPE_CHECKING:
    import pyarrow as pa


class StagedCatalog:
    """Answers what a `Catalog` answers, for readers inside a transaction.

    A read of another snapshot than the base goes past the transaction's changes.
    """

    def __init__(self, catalog: Catalog, staging: Staging, base: Snapshot | None = None) -> None:
        self._catalog = catalog
        self._staging = staging
        self._base = base
        self.reserved: int | None = None
        """In a shared database, the id of the snapshot that this becomes, once it has to be known."""
        self._views: dict[tuple[str, ...] | None, CatalogView] = {}

    @property
    def backend(self) -> Backend:
        """The database."""
        return self._catalog.backend

    @property
    def tables(self) -> CatalogTables:
        """Its tables."""
        return self._catalog.tables

    @property
    def data_path(self) -> str:
        """Where the lake's files are."""
        return self._catalog.data_path

    @property
    def encrypted(self) -> bool:
        """Whether the lake's files are encrypted."""
        return self._catalog.encrypted

    @property
    def version(self) -> str:
        """The version of the format."""
        return self._catalog.version

    @property
    def base(self) -> Snapshot:
        """The snapshot that the transaction sees, fixed by its first look."""
        if self._base is None:
            self._base = self._catalog.snapshot()
        return self._base

    @property
    def upcoming(self) -> int:
        """The id of the snapshot that this becomes when nobody else commits before."""
        return self.base.snapshot_id + 1 if self.reserved is None else self.reserved

    def reserve(self) -> None:
        """Settle the id of the snapshot that this becomes, because files will have to say it."""
        if self.reserved is None and self.tables.shared is not None:
            # Fixed before, so that whatever it names is newer.
            _ = self.base
            self.reserved = reserve_snapshot_id(self._catalog)

    def snapshot(self, at: At = None) -> Snapshot:
        """The base, or another snapshot by id or moment."""
        return self.base if at is None else self._catalog.snapshot(at)

    def snapshots(self) -> list[Snapshot]:
        """Every snapshot up to the base."""
        return [each for each in self._catalog.snapshots() if each.snapshot_id <= self.base.snapshot_id]

    def options(self) -> tuple[Option, ...]:
        """Every setting of the lake, as the transaction saw it first."""
        known = next(iter(self._views.values()), None)
        return self._catalog.options() if known is None else known.options

    def view(self, at: At = None, *, only: TableName | None = None) -> CatalogView:
        """The lake as the transaction sees it; with `only`, at least that table or view, if there is one."""
        if at is not None:
            return self._catalog.view(at, only=only)
        return self._staging.overlay(self.base_view(only))

    def base_view(self, only: TableName | None) -> CatalogView:
        """The lake at the base snapshot, without what the transaction did."""
        key = None if only is None else (fold(only.namespace), fold(only.table))
        if key not in self._views:
            at = None if self._base is None else self._base.snapshot_id
            self._views[key] = self._catalog.view(at, only=only)
            self._base = self._base or self._views[key].snapshot
        return self._views[key]

    def lookup(self, name: TableName) -> CatalogView:
        """All namespaces, and the table or view of that name, if there is one."""
        known = self._catalog.lookup(name, None if self._base is None else self._base.snapshot_id)
        self._base = self._base or known.snapshot
        if not self._views:
            # Settings come with every view; later questions about them are answered from here.
            self._views[fold(name.namespace), fold(name.table), "alone"] = known
        return self._staging.overlay(known)

    def contents(
        self, name: TableName, at: At = None, where: str | Predicate | None = None, *, count: bool = False
    ) -> TableContents:
        """A table with its files and inlined rows, those of the transaction among them."""
        if at is not None:
            return self._catalog.contents(name, at, where, count=count)
        entry = self.view(only=name).table(name)
        where = parse_predicate(where, entry.schema) if isinstance(where, str) else where
        former = self._staging.former_tables.get(entry.table_id, entry)
        if entry.table_id < 0:
            found = TableContents(self.base, entry, (), 0, ())
        else:
            # What the catalog knows of columns is older than the predicate when the transaction changed them.
            known = where if former.schema == entry.schema else None
            found = self._catalog.contents(former.name, self.base.snapshot_id, known, count=count)
        writes = self._staging.writes.get(entry.table_id)
        found = replace(found, entry=entry, where=where)
        if writes is None:
            return found
        if writes.first_row_id == UNTIL_READ:
            writes.settle_row_ids(load_next_row_id(self._catalog, entry.table_id))
        return _with_writes(found, writes, entry, self.upcoming)

    def changes(self, name: TableName, start: int | datetime, end: At = None, where: str | None = None) -> FeedContents:
        """Where the changes of a table are, up to the base; what the transaction did is in no snapshot yet."""
        return self._catalog.changes(name, start, self.base.snapshot_id if end is None else end, where)

    def check_writable(self) -> None:
        """Refuse to write to a lake of another version than the current one."""
        self._catalog.check_writable()


def _with_writes(found: TableContents, writes: TableWrites, entry: TableEntry, upcoming: int) -> TableContents:
    base = found.snapshot.snapshot_id
    files = [_with_deletes(file, writes, upcoming) for file in found.files if file.file_id not in writes.removed]
    files.extend(_with_deletes(file, writes, upcoming) for file in _own_files(writes, upcoming))
    # New positions in delete files carry the snapshot that they are expected to get.
    stamps = [staged.deletes.stamp or 0 for staged in writes.deletes.values()]
    snapshot = replace(found.snapshot, snapshot_id=max((base, *stamps)))
    return replace(
        found,
        snapshot=snapshot,
        files=tuple(files),
        files_total=found.files_total - len(writes.removed) + len(writes.files),
        inlined=(*_live_inlined(found, writes), *_own_inlined(writes, entry, upcoming)),
    )


def _own_files(writes: TableWrites, upcoming: int) -> list[ScanFile]:
    return [
        ScanFile(
            file_id=file_id,
            path=file.path,
            record_count=file.record_count,
            size=file.size,
            begin_snapshot=upcoming if file.begin_snapshot is None else file.begin_snapshot,
            footer_size=file.footer_size,
            row_id_start=start if file.takes_row_ids else file.row_id_start,
            encryption_key=file.encryption_key,
            mapping=file.name_mapping,
            partition_id=file.partition_id,
            partition_values=dict(enumerate(file.partition_values)),
        )
        for file_id, (file, start) in writes.files.items()
    ]


def _with_deletes(file: ScanFile, writes: TableWrites, upcoming: int) -> ScanFile:
    staged = writes.deletes.get(file.file_id)
    if staged is not None:
        deletes = staged.deletes
        own = DeleteFile(
            path=deletes.path,
            format=deletes.format,
            encryption_key=deletes.encryption_key,
            count=deletes.count,
            file_id=staged.delete_file_id,
            begin_snapshot=upcoming,
            size=deletes.size,
        )
        others = tuple(each for each in file.delete_files if each.file_id != deletes.replaces)
        file = replace(file, delete_files=(own, *others))
    positions = writes.positions.get(file.file_id)
    if positions:
        file = replace(file, deleted_positions=tuple(sorted({*file.deleted_positions, *positions})))
    return file


def _live_inlined(found: TableContents, writes: TableWrites) -> list[InlinedRows]:
    live = []
    for rows in found.inlined:
        gone = writes.rows.get(rows.schema_version)
        live.append(rows if not gone else replace(rows, data=_without_rows(rows.data, gone)))
    return live


def _without_rows(data: pa.Table, gone: set[int]) -> pa.Table:
    import pyarrow as pa

    row_ids = data.column("row_id").to_pylist()
    return data.filter(pa.array([row_id not in gone for row_id in row_ids], pa.bool_()))


def _own_inlined(writes: TableWrites, entry: TableEntry, upcoming: int) -> list[InlinedRows]:
    import pyarrow as pa

    found = []
    for insert, row_ids in writes.inserts:
        names = ["row_id", "begin_snapshot", *(f"c{column.id}" for column in entry.schema)]
        system = [pa.array(row_ids, pa.int64()), pa.array([upcoming] * len(row_ids), pa.int64())]
        data = pa.table([*system, *insert.data.columns], names=names)
        found.append(InlinedRows(entry.schema.columns, data, STAGED_ROWS))
    return found
