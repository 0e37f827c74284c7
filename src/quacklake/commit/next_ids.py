"""Ids that a transaction takes before it commits, because they belong to one table alone."""

from __future__ import annotations

import sqlalchemy as sa

from quacklake.catalog.lake import Catalog


def load_next_row_id(catalog: Catalog, table_id: int) -> int:
    """The row id that the next new row of a table would get now. Others may take it first."""
    if table_id < 0:
        return 0
    stats = catalog.tables.table_stats
    with catalog.backend.read() as connection:
        found = connection.execute(sa.select(stats.c.next_row_id).where(stats.c.table_id == table_id)).scalar()
    return int(found or 0)


def load_next_column_id(catalog: Catalog, table_id: int) -> int:
    """The first id that no column of a table has or ever had. Whoever else takes it conflicts with us."""
    if table_id < 0:
        return 1
    columns = catalog.tables.column
    query = sa.select(sa.func.max(columns.c.column_id)).where(columns.c.table_id == table_id)
    with catalog.backend.read() as connection:
        found = connection.execute(query).scalar()
    return int(found or 0) + 1
