"""Rows that the catalog itself holds, because there were too few of them for a file."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sqlalchemy as sa

from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.inlined_columns import Choice, StoredTable, describe, has_rows, read_rows
from quacklake.catalog.load import load_schema
from quacklake.catalog.queries import TABLE
from quacklake.catalog.tables import CatalogTables, prepared
from quacklake.catalog.view import TableEntry
from quacklake.errors import CatalogError
from quacklake.names import fold
from quacklake.plan.scan import InlinedRows
from quacklake.schema import Column

if TYPE_CHECKING:
    from quacklake.catalog.queries import Query

NEWEST = 2**62
"""Later than any snapshot."""


def load_inlined(
    connection: sa.Connection,
    tables: CatalogTables,
    backend: Backend,
    entry: TableEntry,
    snapshot_id: int,
    columns: Collection[int] | None = None,
    choice: Choice | None = None,
) -> tuple[InlinedRows, ...]:
    """The inlined rows of a table that a snapshot shows, one record per layout they were written under.

    Args:
        connection: To the catalog database.
        tables: Its tables.
        backend: Its kind.
        entry: The table, as it is at the snapshot.
        snapshot_id: The snapshot.
        columns: Ids of the top-level columns to read; all without it.
        choice: Other rows than those that the snapshot shows.

    Raises:
        CatalogError: When a value or a table of inlined rows cannot be read.
    """
    chosen = choice or Choice("alive", snapshot_id)
    rows = [
        (stored, version)
        for name, version in connection.execute(_registered(tables), {"table": entry.table_id}).all()
        if has_rows(connection, stored := _describe(connection, tables, backend, entry, name), chosen)
    ]
    if not rows:
        return ()
    layouts = _Layouts(connection, tables, entry, snapshot_id, _load_versions(connection, tables, entry.table_id))
    found = []
    for stored, version in rows:
        layout = layouts.find(version, stored)
        wanted = tuple(column for column in layout if columns is None or column.id in columns)
        data = read_rows(connection, backend.name, stored, wanted, chosen, str(entry.name))
        if data.num_rows:
            found.append(InlinedRows(wanted, data, version))
    return tuple(found)


def load_ever_inlined(
    connection: sa.Connection, tables: CatalogTables, backend: Backend, entry: TableEntry, name: str, version: int
) -> InlinedRows:
    """All rows of one table of inlined rows that any snapshot ever showed, with the snapshot in which each died.

    Args:
        connection: To the catalog database.
        tables: Its tables.
        backend: Its kind.
        entry: The table, of which nothing but id and name need be known.
        name: The table of inlined rows.
        version: Its schema version.
    """
    stored = _describe(connection, tables, backend, entry, name)
    layouts = _Layouts(connection, tables, entry, NEWEST, _load_versions(connection, tables, entry.table_id))
    columns = layouts.find(version, stored)
    data = read_rows(connection, backend.name, stored, columns, Choice("ever", NEWEST), str(entry.name))
    return InlinedRows(columns, data, version)


def _describe(
    connection: sa.Connection, tables: CatalogTables, backend: Backend, entry: TableEntry, name: str
) -> StoredTable:
    try:
        return describe(connection, name, tables.sql_schema)
    except sa.exc.DBAPIError as error:
        if backend.classify(error) != "missing_table":
            raise
        raise CatalogError(
            f"the inlined rows of {entry.name} are gone: there is no table {name}",
            hint="another client may have flushed them just now; read again",
        ) from error


def _load_versions(connection: sa.Connection, tables: CatalogTables, table_id: int) -> list[tuple[int, int]]:
    """When the layout of the table changed: pairs of schema version and snapshot."""
    rows = connection.execute(_layout_changes(tables), {"table": table_id})
    return [(int(version), int(snapshot_id)) for version, snapshot_id in rows]


@prepared
def _registered(tables: CatalogTables) -> Query:
    registered = tables.inlined_data_tables
    return (
        sa.select(registered.c.table_name, registered.c.schema_version)
        .where(registered.c.table_id == TABLE)
        .order_by(registered.c.schema_version)
    )


@prepared
def _layout_changes(tables: CatalogTables) -> Query:
    versions = tables.schema_versions
    return sa.select(versions.c.schema_version, versions.c.begin_snapshot).where(versions.c.table_id == TABLE)


@dataclass(frozen=True, slots=True)
class _Layouts:
    """The columns that a table had under its schema versions."""

    connection: sa.Connection
    tables: CatalogTables
    entry: TableEntry
    snapshot_id: int
    versions: list[tuple[int, int]]

    def find(self, version: int, stored: StoredTable) -> tuple[Column, ...]:
        """The layout of a table of inlined rows: that of its schema version, which its columns must agree with.

        Raises:
            CatalogError: When no layout of the table has the columns that are stored.
        """
        names = sorted(fold(name) for name in stored.column_names)
        for columns in self._candidates(version):
            if sorted(fold(column.name) for column in columns) == names:
                return columns
        raise CatalogError(
            f"the columns of {stored.name} are not those of {self.entry.name} at schema version {version}:"
            f" {', '.join(stored.column_names)}",
            hint="the catalog is damaged; restore it from a backup",
        )

    def _candidates(self, version: int) -> Iterator[tuple[Column, ...]]:
        # A table of inlined rows that came after the layout has a version of its own that is listed nowhere.
        begin = max((snapshot for each, snapshot in self.versions if each <= version), default=None)
        if begin is not None:
            changed = any(begin < snapshot <= self.snapshot_id for _, snapshot in self.versions)
            known = not changed and self.entry.schema.columns
            yield self.entry.schema.columns if known else self._load(begin)
        snapshots, versions = self.tables.snapshot, self.tables.table
        for query in (
            sa.select(sa.func.min(snapshots.c.snapshot_id)).where(snapshots.c.schema_version == version),
            sa.select(sa.func.min(versions.c.begin_snapshot)).where(versions.c.table_id == self.entry.table_id),
        ):
            snapshot_id = self.connection.execute(query).scalar()
            if snapshot_id is not None:
                yield self._load(int(snapshot_id))

    def _load(self, snapshot_id: int) -> tuple[Column, ...]:
        return load_schema(self.connection, self.tables, self.entry.table_id, snapshot_id).columns
