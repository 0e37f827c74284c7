"""How much catalogs hold: rows, files and bytes, as their newest snapshots show them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.files import inlined_deletes
from quacklake.catalog.shared.layout import unbound
from quacklake.catalog.shared.registry import Tenant
from quacklake.catalog.tables import CatalogTables


def with_sizes(
    connection: sa.Connection, tables: CatalogTables, backend: Backend, tenants: Sequence[Tenant]
) -> list[Tenant]:
    """The same catalogs with what they hold. Inlined rows are counted table by table."""
    owners = _load_owners(connection, tables, [each.catalog_id for each in tenants])
    rows, files, size = Counter[int](), Counter[int](), Counter[int]()
    for table, counted, sign in ((tables.data_file, "record_count", 1), (tables.delete_file, "delete_count", -1)):
        for table_id, number, count, total in connection.execute(_live(tables, table, counted, list(owners))):
            catalog_id = owners[table_id]
            rows[catalog_id] += sign * int(count or 0)
            files[catalog_id] += int(number)
            size[catalog_id] += int(total or 0)
    for table_id, count in _count_inlined(connection, tables, backend, list(owners)).items():
        rows[owners[table_id]] += count
    return [
        replace(each, rows=rows[each.catalog_id], files=files[each.catalog_id], bytes=size[each.catalog_id])
        for each in tenants
    ]


def _load_owners(connection: sa.Connection, tables: CatalogTables, ids: Sequence[int]) -> dict[int, int]:
    """The catalog of each table that is there."""
    table = unbound(tables.table)
    query = sa.select(table.c.table_id, table.c.catalog_id).where(
        table.c.catalog_id.in_(ids), table.c.end_snapshot.is_(None)
    )
    return {row.table_id: row.catalog_id for row in connection.execute(query)}


def _live(tables: CatalogTables, table: sa.Table, counted: str, ids: Sequence[int]) -> sa.Select[Any]:
    columns, files = table.c, tables.data_file.c
    sums = (sa.func.sum(columns[counted]), sa.func.sum(columns.file_size_bytes))
    query = sa.select(columns.table_id, sa.func.count(), *sums)
    query = query.where(columns.table_id.in_(ids), columns.end_snapshot.is_(None)).group_by(columns.table_id)
    if table is tables.data_file:
        return query
    # Deletes of a file that is gone may not have ended themselves.
    alive = sa.select(files.data_file_id).where(files.table_id.in_(ids), files.end_snapshot.is_(None))
    return query.where(columns.data_file_id.in_(alive))


def _count_inlined(
    connection: sa.Connection, tables: CatalogTables, backend: Backend, ids: Sequence[int]
) -> dict[int, int]:
    found: dict[int, int] = defaultdict(int)
    registered, files = tables.inlined_data_tables.c, tables.data_file.c
    query = sa.select(registered.table_id, registered.table_name).where(registered.table_id.in_(ids))
    for table_id, name in connection.execute(query).all():
        stored = sa.table(sa.quoted_name(name, True), sa.column("end_snapshot"), schema=tables.sql_schema)
        live = sa.select(sa.func.count()).select_from(stored).where(stored.c.end_snapshot.is_(None))
        found[table_id] += int(connection.execute(live).scalar_one())
    for table_id in ids:
        noted = inlined_deletes(connection, tables, backend, table_id)
        if noted is not None:
            alive = sa.select(files.data_file_id).where(files.table_id == table_id, files.end_snapshot.is_(None))
            dead = sa.select(sa.func.count()).select_from(noted).where(noted.c.file_id.in_(alive))
            found[table_id] -= int(connection.execute(dead).scalar_one())
    return found
