"""The catalog of one lake: its database, where its data is, and what it shows at a snapshot."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.files import load_files
from quacklake.catalog.inlined import load_inlined
from quacklake.catalog.load import At, load_options, load_snapshot, load_snapshots, load_view
from quacklake.catalog.tables import CatalogTables
from quacklake.catalog.view import CatalogView, Option, Snapshot, TableEntry
from quacklake.names import TableName
from quacklake.plan.scan import InlinedRows, ScanFile
from quacklake.predicates import Predicate


@dataclass(frozen=True, slots=True)
class TableContents:
    """All that one scan needs of the catalog, read in one state of the database."""

    snapshot: Snapshot
    entry: TableEntry
    files: tuple[ScanFile, ...]
    files_total: int
    inlined: tuple[InlinedRows, ...]


@dataclass(frozen=True, slots=True)
class Catalog:
    """An open catalog. Holds no state of the lake: every call asks the database."""

    backend: Backend
    tables: CatalogTables
    data_path: str
    """Where the lake's files are, with a slash at the end."""
    version: str
    encrypted: bool = False

    def snapshot(self, at: At = None) -> Snapshot:
        """The snapshot of that id or moment; the newest without one."""
        with self.backend.read() as connection:
            return load_snapshot(connection, self.tables, at)

    def snapshots(self) -> list[Snapshot]:
        """Every snapshot, oldest first."""
        with self.backend.read() as connection:
            return load_snapshots(connection, self.tables)

    def options(self) -> tuple[Option, ...]:
        """Every setting of the lake."""
        with self.backend.read() as connection:
            return load_options(connection, self.tables)

    def view(self, at: At = None, *, only: TableName | None = None) -> CatalogView:
        """The lake at a snapshot; with `only`, nothing but that table or view."""
        with self.backend.read() as connection:
            return self._view(connection, at, only)

    def contents(self, name: TableName, at: At = None, where: Predicate | None = None) -> TableContents:
        """A table with its files and inlined rows at a snapshot; files that cannot match are left out.

        All of it comes from one state of the database: a flush between two queries would lose rows.
        """
        with self.backend.read() as connection:
            view = self._view(connection, at, name)
            entry = view.table(name)
            snapshot_id = view.snapshot.snapshot_id
            files = load_files(connection, self.tables, self.backend, entry, snapshot_id)
            return TableContents(
                snapshot=view.snapshot,
                entry=entry,
                files=files,
                files_total=len(files),
                inlined=load_inlined(connection, self.tables, self.backend, entry, snapshot_id),
            )

    def close(self) -> None:
        """Give back every connection."""
        self.backend.close()

    def _view(self, connection: sa.Connection, at: At, only: TableName | None) -> CatalogView:
        snapshot = load_snapshot(connection, self.tables, at)
        return load_view(connection, self.tables, snapshot, self.data_path, only=only)
