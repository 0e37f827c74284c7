"""Namespaces, tables, views and macros: what comes, what goes, what gets another name."""

from __future__ import annotations

import sqlalchemy as sa

from quacklake.commit.apply.attempt import Attempt
from quacklake.commit.apply.columns import column_rows
from quacklake.commit.changes import (
    CreateNamespace,
    CreateTable,
    CreateView,
    DropMacro,
    DropNamespace,
    DropTable,
    DropView,
    RenameTable,
    RenameView,
)
from quacklake.commit.verify import expect_rows
from quacklake.names import quote


def drop_tables(attempt: Attempt) -> None:
    """End tables with all that belongs to them."""
    changes = attempt.of(DropTable)
    if not changes:
        return
    ids = [change.table_id for change in changes]
    tables = attempt.tables
    names = ", ".join(str(change.name) for change in changes)
    expect_rows(attempt.end(tables.table, tables.table.c.table_id.in_(ids)), len(ids), names, "drop table")
    for table in (tables.partition_info, tables.column, tables.column_tag, tables.data_file, tables.delete_file):
        attempt.end(table, table.c.table_id.in_(ids))
    attempt.end(tables.tag, tables.tag.c.object_id.in_(ids))
    attempt.end(tables.sort_info, tables.sort_info.c.table_id.in_(ids))


def end_renamed_tables(attempt: Attempt) -> list[dict[str, object]]:
    """End the rows of tables that get another name; the rows that take their place."""
    table = attempt.tables.table
    rows = []
    for change in attempt.of(RenameTable):
        query = sa.select(table).where(table.c.table_id == change.table_id, table.c.end_snapshot.is_(None))
        found = attempt.connection.execute(query).mappings().all()
        expect_rows(len(found), 1, str(change.before), "rename table")
        attempt.end(table, table.c.table_id == change.table_id)
        rows.append({**found[0], "begin_snapshot": attempt.snapshot_id, "table_name": change.after.table})
    return rows


def drop_views(attempt: Attempt) -> None:
    """End views and their comments."""
    changes = attempt.of(DropView)
    if not changes:
        return
    ids = [change.view_id for change in changes]
    view, tag = attempt.tables.view, attempt.tables.tag
    names = ", ".join(str(change.name) for change in changes)
    expect_rows(attempt.end(view, view.c.view_id.in_(ids)), len(ids), names, "drop view")
    attempt.end(tag, tag.c.object_id.in_(ids))


def end_renamed_views(attempt: Attempt) -> list[dict[str, object]]:
    """End the rows of views that get another name; the rows that take their place."""
    view = attempt.tables.view
    rows = []
    for change in attempt.of(RenameView):
        query = sa.select(view).where(view.c.view_id == change.view_id, view.c.end_snapshot.is_(None))
        found = attempt.connection.execute(query).mappings().all()
        expect_rows(len(found), 1, str(change.before), "rename view")
        attempt.end(view, view.c.view_id == change.view_id)
        rows.append({**found[0], "begin_snapshot": attempt.snapshot_id, "view_name": change.after.table})
    return rows


def drop_macros(attempt: Attempt) -> None:
    """End macros."""
    ids = [change.macro_id for change in attempt.of(DropMacro)]
    if ids:
        attempt.end(attempt.tables.macro, attempt.tables.macro.c.macro_id.in_(ids))


def drop_namespaces(attempt: Attempt) -> None:
    """End namespaces."""
    schema = attempt.tables.schema
    for change in attempt.of(DropNamespace):
        expect_rows(attempt.end(schema, schema.c.schema_id == change.namespace_id), 1, change.name, "drop namespace")


def create_namespaces(attempt: Attempt) -> None:
    """Make namespaces."""
    attempt.insert(
        attempt.tables.schema,
        [
            {
                "schema_id": attempt.ids.object_id(change.namespace_id),
                "schema_uuid": change.uuid,
                "begin_snapshot": attempt.snapshot_id,
                "schema_name": change.name,
                "path": change.path,
                "path_is_relative": True,
            }
            for change in attempt.of(CreateNamespace)
        ],
    )


def create_tables(attempt: Attempt, renamed: list[dict[str, object]]) -> None:
    """Make tables with their columns, and put renamed ones back."""
    ids, changes = attempt.ids, attempt.of(CreateTable)
    attempt.insert(
        attempt.tables.table,
        [
            {
                "table_id": ids.object_id(change.table_id),
                "table_uuid": change.uuid,
                "begin_snapshot": attempt.snapshot_id,
                "schema_id": ids.object_id(change.namespace_id),
                "table_name": change.name.table,
                "path": change.path,
                "path_is_relative": True,
            }
            for change in changes
        ]
        + renamed,
    )
    attempt.insert(
        attempt.tables.column,
        [
            row
            for change in changes
            for column in change.schema
            for row in column_rows(column, ids.object_id(change.table_id), attempt.snapshot_id)
        ],
    )


def create_views(attempt: Attempt, renamed: list[dict[str, object]]) -> None:
    """Make views, and put renamed ones back."""
    attempt.insert(
        attempt.tables.view,
        [
            {
                "view_id": attempt.ids.object_id(change.view_id),
                "view_uuid": change.uuid,
                "begin_snapshot": attempt.snapshot_id,
                "schema_id": attempt.ids.object_id(change.namespace_id),
                "view_name": change.name.table,
                "dialect": change.dialect,
                "sql": change.sql,
                "column_aliases": ",".join(quote(alias) for alias in change.column_aliases),
            }
            for change in attempt.of(CreateView)
        ]
        + renamed,
    )
