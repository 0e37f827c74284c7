"""What a lake says of itself beside its snapshots: settings, and which tables have files that old versions merged."""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa

from quacklake.catalog.lake import Catalog
from quacklake.catalog.load import load_options
from quacklake.catalog.moving.copying import OF_DATABASE
from quacklake.catalog.view import Option


def load_settings(catalog: Catalog) -> Iterator[Option]:
    """The settings of the lake itself, and of what it has."""
    tables = catalog.tables
    with catalog.backend.read() as connection:
        there = {
            "schema": set(connection.execute(sa.select(tables.schema.c.schema_id)).scalars()),
            "table": set(connection.execute(sa.select(tables.table.c.table_id)).scalars()),
        }
        options = load_options(connection, tables)
    for each in options:
        is_there = each.scope is None or each.scope_id in there.get(each.scope, ())
        if is_there and (each.scope is not None or each.name not in OF_DATABASE):
            yield each


def load_split_tables(catalog: Catalog) -> frozenset[int]:
    """The tables with files that an old version has merged: its catalog alone knows the snapshots of their rows."""
    files = catalog.tables.split_files
    if files is None:
        return frozenset()
    info = files.c.partial_file_info
    query = sa.select(files.c.table_id).where(info.is_not(None), info.not_like("partial_max:%")).distinct()
    with catalog.backend.read() as connection:
        return frozenset(connection.execute(query).scalars())
