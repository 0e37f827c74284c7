"""Rows that the catalog itself holds, because there were too few of them for a file."""

from __future__ import annotations

import pyarrow as pa
import sqlalchemy as sa

from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.load import load_schema
from quacklake.catalog.tables import CatalogTables
from quacklake.catalog.view import TableEntry
from quacklake.plan.scan import InlinedRows


def load_inlined(
    connection: sa.Connection, tables: CatalogTables, backend: Backend, entry: TableEntry, snapshot_id: int
) -> tuple[InlinedRows, ...]:
    """The inlined rows of a table that a snapshot shows, one record per layout they were written under."""
    registered = tables.inlined_data_tables
    query = sa.select(registered).where(registered.c.table_id == entry.table_id).order_by(registered.c.schema_version)
    found = []
    for row in connection.execute(query).all():
        layout = _layout_snapshot(connection, tables, entry, row.schema_version)
        columns = load_schema(connection, tables, entry.table_id, layout).columns
        source = sa.table(
            row.table_name,
            *(sa.column(name) for name in ("row_id", "begin_snapshot", "end_snapshot")),
            *(sa.column(column.name) for column in columns),
            schema=tables.sql_schema,
        )
        rows = connection.execute(
            sa.select(source.c.row_id, source.c.begin_snapshot, *(source.c[column.name] for column in columns)).where(
                source.c.begin_snapshot <= snapshot_id,
                sa.or_(source.c.end_snapshot.is_(None), source.c.end_snapshot > snapshot_id),
            ).order_by(source.c.row_id)
        ).all()
        if rows:
            names = ["row_id", "begin_snapshot", *(f"c{column.id}" for column in columns)]
            values = [pa.array([row[index] for row in rows], pa.int64()) for index in (0, 1)]
            for index in range(2, len(names)):
                values.append(pa.array([None if row[index] is None else str(row[index]) for row in rows], pa.string()))
            found.append(InlinedRows(columns, pa.table(dict(zip(names, values, strict=True)))))
    return tuple(found)


def _layout_snapshot(connection: sa.Connection, tables: CatalogTables, entry: TableEntry, schema_version: int) -> int:
    """The snapshot at which the table had the layout of that schema version."""
    versions = tables.schema_versions
    found = connection.execute(
        sa.select(sa.func.max(versions.c.begin_snapshot)).where(
            versions.c.table_id == entry.table_id, versions.c.schema_version <= schema_version
        )
    ).scalar()
    return entry.begin_snapshot if found is None else int(found)
