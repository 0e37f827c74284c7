"""Inlined rows of a lake that is moved, and whether the other database can hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sqlalchemy as sa

from quacklake.catalog.inlined import load_ever_inlined
from quacklake.catalog.inlined_write import can_inline
from quacklake.catalog.moving.source import Source
from quacklake.catalog.view import TableEntry
from quacklake.names import TableName
from quacklake.plan.scan import InlinedRows
from quacklake.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

Settle = Callable[[InlinedRows], "pa.Table"]
"""Makes of inlined rows, as one database holds them, values that another can be given."""


@dataclass(frozen=True, slots=True)
class StoredRows:
    """All rows that one table of inlined rows holds, whenever they were to be seen."""

    table_id: int
    name: TableName
    """The user's table."""
    version: int
    """The schema version of the columns."""
    rows: InlinedRows


def load_stored(source: Source) -> Iterator[StoredRows]:
    """The tables of inlined rows, one after the other."""
    tables, backend = source.catalog.tables, source.catalog.backend
    for table_id, stored, version in source.inlined_tables():
        entry = TableEntry(table_id, _table_name(source, table_id), 0, "", Schema(()))
        rows = load_ever_inlined(source.connection, tables, backend, entry, stored, version)
        yield StoredRows(table_id, entry.name, version, rows)


def find_misfits(source: Source, backend_name: str, settle: Settle) -> list[str]:
    """Why a kind of database cannot hold inlined rows of the lake; nothing where it can."""
    # A table has several of them when its columns have changed.
    found: dict[str, None] = {}
    for stored in load_stored(source):
        reason = can_inline(backend_name, stored.rows.columns, settle(stored.rows))
        if reason is not None:
            found[f"inlined rows of {stored.name} cannot be kept in {backend_name}: {reason}"] = None
    return list(found)


def _table_name(source: Source, table_id: int) -> TableName:
    """What a table is called, or was last."""
    table, schema = source.tables.table.c, source.tables.schema.c
    query = (
        sa.select(schema.schema_name, table.table_name)
        .where(table.table_id == table_id, schema.schema_id == table.schema_id)
        .order_by(table.begin_snapshot.desc())
        .limit(1)
    )
    found = source.connection.execute(query).first()
    return TableName("", str(table_id)) if found is None else TableName(*found)
