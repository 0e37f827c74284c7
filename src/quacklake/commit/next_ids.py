"""Ids that a transaction takes before it commits, because they belong to one table alone."""

from __future__ import annotations

import sqlalchemy as sa

from quacklake.catalog.backends.failures import insist
from quacklake.catalog.lake import Catalog
from quacklake.catalog.shared.counters import is_part_of_commit, peek_snapshot_id, take_ids


def load_next_row_id(catalog: Catalog, table_id: int) -> int:
    """The row id that the next new row of a table would get now. Others may take it first."""
    if table_id < 0:
        return 0
    stats = catalog.tables.table_stats
    with catalog.backend.read() as connection:
        found = connection.execute(sa.select(stats.c.next_row_id).where(stats.c.table_id == table_id)).scalar()
    return int(found or 0)


def reserve_snapshot_id(catalog: Catalog) -> int | None:
    """In a shared database, the id that the next snapshot gets unless others of the catalog commit before.

    None for a lake that is alone: there it is the one after the newest. Where a failed commit gives its ids back, this
    one is not taken yet, and the commit has to look.
    """
    tables, backend = catalog.tables, catalog.backend
    if tables.shared is None:
        return None
    if is_part_of_commit(backend):
        with backend.glance() as connection:
            return peek_snapshot_id(connection, tables)

    def take() -> int:
        with backend.glance() as connection:
            return take_ids(connection, backend, tables, {"snapshot": 1})["snapshot"][0]

    # No commit is under way that would be tried again. Ids that nobody uses are no loss.
    return insist(backend, take, may_repeat=True)


def load_next_column_id(catalog: Catalog, table_id: int) -> int:
    """The first id that no column of a table has or ever had. Whoever else takes it conflicts with us."""
    if table_id < 0:
        return 1
    columns = catalog.tables.column
    query = sa.select(sa.func.max(columns.c.column_id)).where(columns.c.table_id == table_id)
    with catalog.backend.read() as connection:
        found = connection.execute(query).scalar()
    return int(found or 0) + 1
