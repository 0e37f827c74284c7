"""Rows and deletes that the catalog itself holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.inlined_types import stored_type
from quacklake.catalog.inlined_write import can_inline, create_inlined, encode_rows, inlined_name, insert_inlined
from quacklake.catalog.load import load_schema
from quacklake.catalog.shared.security import ask_for_table, must_ask
from quacklake.catalog.tables import CatalogTables
from quacklake.catalog.view import TableEntry
from quacklake.commit.apply.attempt import Attempt
from quacklake.commit.apply.columns import changes_layout, layout_of
from quacklake.commit.changes import (
    AlterColumns,
    CreateTable,
    InlineDeletes,
    InlineRows,
    Intent,
    NewLayout,
    RenameTable,
    SetPartition,
)
from quacklake.commit.state import Row
from quacklake.commit.verify import expect_rows
from quacklake.plan.write import InlinedRowDeletes


@dataclass(frozen=True, slots=True)
class InlinedTable:
    """The newest table for inlined rows of one table."""

    name: str
    schema_version: int
    is_newest_layout: bool
    """Whether nothing about the table's columns changed since it was made."""


def read_inlined(rows: Sequence[Row]) -> InlinedTable | None:
    """The newest table for inlined rows of a table that was looked at, if it has one."""
    row = rows[0] if rows else None
    if row is None or row.inlined_name is None:
        return None
    is_newest = row.layout is not None and row.layout <= row.inlined_version
    return InlinedTable(row.inlined_name, row.inlined_version, is_newest)


def with_layouts(intent: Intent) -> set[int]:
    """The tables that get inlined rows or another layout."""
    return {*_changed_layouts(intent), *(change.table_id for change in intent.of(InlineRows))}


def needed_layouts(
    connection: sa.Connection,
    tables: CatalogTables,
    backend: Backend,
    intent: Intent,
    newest: Mapping[int, InlinedTable],
) -> list[NewLayout]:
    """The tables that need a new place for inlined rows.

    DuckDB makes one with every table and every change of layout while small writes are inlined. It also puts rows
    into the newest one there is without a look at its columns, so that a table that has one always gets the next.
    """
    changed = _changed_layouts(intent)
    inserted = {change.table_id for change in intent.of(InlineRows)}
    needed = []
    for table_id in dict.fromkeys((*changed, *inserted)):
        entry, known = intent.entries[table_id], newest.get(table_id)
        if table_id in changed:
            is_needed = table_id in intent.inlines or table_id in inserted or known is not None
        else:
            is_needed = known is None or not _fits(connection, tables, entry, known)
        if is_needed and can_inline(backend.name, entry.schema.columns) is None:
            needed.append(NewLayout(table_id, entry.name, entry.schema))
    return needed


def _changed_layouts(intent: Intent) -> list[int]:
    found = []
    for change in intent.changes:
        if isinstance(change, AlterColumns) and not changes_layout(change):
            continue
        if isinstance(change, CreateTable | RenameTable | SetPartition | AlterColumns):
            found.append(change.table_id)
    return list(dict.fromkeys(found))


def _fits(connection: sa.Connection, tables: CatalogTables, entry: TableEntry, known: InlinedTable) -> bool:
    """Whether the newest place for inlined rows has the columns that the table has now."""
    if known.is_newest_layout:
        return True
    versions = tables.schema_versions
    begin = connection.execute(
        sa.select(sa.func.max(versions.c.begin_snapshot)).where(
            versions.c.table_id == entry.table_id, versions.c.schema_version <= known.schema_version
        )
    ).scalar()
    written = load_schema(connection, tables, entry.table_id, entry.begin_snapshot if begin is None else int(begin))
    return layout_of(written) == layout_of(entry.schema)


def create_layouts(attempt: Attempt) -> None:
    """Make and register the tables for inlined rows."""
    backend, tables, version = attempt.backend, attempt.tables, attempt.ids.schema_version
    for change in attempt.of(NewLayout):
        table_id = attempt.ids.object_id(change.table_id)
        columns = change.schema.columns
        if backend.transactional_ddl and must_ask(attempt.connection, tables):
            stored = [(each.name, stored_type(backend.name, each.type)) for each in columns]
            ask_for_table(attempt.connection, tables, table_id, version, stored)
        elif backend.transactional_ddl:
            create_inlined(attempt.connection, backend.name, table_id, version, columns, tables.sql_schema)
        row = {"table_id": table_id, "table_name": inlined_name(table_id, version), "schema_version": version}
        attempt.insert(tables.inlined_data_tables, [row])


def insert_rows(attempt: Attempt, shifts: Mapping[int, int], newest: Mapping[int, InlinedTable]) -> None:
    """Put rows into the newest table for them.

    Args:
        attempt: The commit.
        shifts: By table, how far row ids moved since the transaction took them.
        newest: The tables for inlined rows that were there before.
    """
    made = {change.table_id for change in attempt.of(NewLayout)}
    for change in attempt.of(InlineRows):
        entry = attempt.entry(change.table_id)
        first = attempt.intent.row_ids[change.table_id].first
        shift = shifts.get(change.table_id, 0)
        if change.table_id in made:
            name = inlined_name(attempt.ids.object_id(change.table_id), attempt.ids.schema_version)
        else:
            name = newest[change.table_id].name
        for insert, row_ids in zip(change.inserts, change.row_ids, strict=True):
            insert_inlined(
                attempt.connection,
                name,
                entry.schema.columns,
                # Rows of an update keep the ids they had before the transaction.
                [id_ + shift if id_ >= first else id_ for id_ in row_ids],
                attempt.snapshot_id,
                encode_rows(attempt.backend.name, entry.schema.columns, insert.data),
                attempt.tables.sql_schema,
            )


def delete_inlined(attempt: Attempt) -> None:
    """End inlined rows, and note positions of files as dead."""
    for change in attempt.of(InlineDeletes):
        for rows in change.rows:
            expect_rows(_end_rows(attempt, change, rows), len(rows.row_ids), str(change.name), "delete")
        if change.positions:
            _note_positions(attempt, change)


def _end_rows(attempt: Attempt, change: InlineDeletes, rows: InlinedRowDeletes) -> int:
    registered = attempt.tables.inlined_data_tables
    name = attempt.connection.execute(
        sa.select(registered.c.table_name).where(
            registered.c.table_id == change.table_id, registered.c.schema_version == rows.schema_version
        )
    ).scalar()
    if name is None:
        return 0
    table = sa.Table(
        name,
        sa.MetaData(),
        sa.Column("row_id", sa.BigInteger),
        sa.Column("begin_snapshot", sa.BigInteger),
        sa.Column("end_snapshot", sa.BigInteger),
        schema=attempt.tables.sql_schema,
    )
    return sum(
        # A row that was updated has come back under its own id before this.
        attempt.end(
            table,
            table.c.row_id.in_(rows.row_ids[start : start + 500]) & (table.c.begin_snapshot != attempt.snapshot_id),
        )
        for start in range(0, len(rows.row_ids), 500)
    )


def positions_table(table_id: int, sql_schema: str | None) -> sa.Table:
    """The table that notes dead rows of files; nothing registers it, and it is made with the first of them."""
    columns = (sa.Column(name, sa.BigInteger, autoincrement=False) for name in ("file_id", "row_id", "begin_snapshot"))
    return sa.Table(f"ducklake_inlined_delete_{table_id}", sa.MetaData(), *columns, schema=sql_schema)


def _note_positions(attempt: Attempt, change: InlineDeletes) -> None:
    table = positions_table(attempt.ids.object_id(change.table_id), attempt.tables.sql_schema)
    if attempt.backend.transactional_ddl and must_ask(attempt.connection, attempt.tables):
        ask_for_table(attempt.connection, attempt.tables, attempt.ids.object_id(change.table_id), None)
    elif attempt.backend.transactional_ddl:
        attempt.connection.execute(sa.schema.CreateTable(table, if_not_exists=True))
    attempt.insert(
        table,
        [
            {
                "file_id": attempt.ids.file_id(each.data_file_id),
                "row_id": position,
                "begin_snapshot": attempt.snapshot_id,
            }
            for each in change.positions
            for position in each.positions
        ],
    )
