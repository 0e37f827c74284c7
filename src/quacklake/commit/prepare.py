"""What must be known before the first statement of a commit: ids depend on it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import sqlalchemy as sa

from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.tables import CatalogTables
from quacklake.catalog.view import Snapshot
from quacklake.commit.apply.inlined import InlinedTable, needed_layouts, read_inlined, with_layouts
from quacklake.commit.apply.stats import TableStats, grown, read_stats, shift_row_ids
from quacklake.commit.changes import AddFiles, Intent
from quacklake.commit.ids import Allocation, MappingKey, allocate
from quacklake.commit.state import Turn, asking
from quacklake.commit.supply import Supply
from quacklake.plan.scan import MappedName

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Prepared:
    """The intent with all that follows from the state of the catalog, and its ids."""

    intent: Intent
    ids: Allocation
    stats: Mapping[int, TableStats]
    shifts: Mapping[int, int]
    """By table, how far row ids moved since the transaction took them."""
    mappings: Mapping[MappingKey, int]
    """Name mappings that the catalog has already."""
    inlined: Mapping[int, InlinedTable]
    """By table, the newest table for inlined rows that is there already."""


def prepare(
    connection: sa.Connection,
    tables: CatalogTables,
    backend: Backend,
    intent: Intent,
    turn: Turn,
    supply: Supply | None = None,
) -> Prepared:
    """Read what the commit builds on and allocate its ids.

    Args:
        connection: In the transaction of the commit.
        tables: The tables of the catalog.
        backend: What kind of database it is.
        intent: What to do.
        turn: What the commit comes after.
        supply: Where ids come from, in a shared database.
    """
    wanted = sorted({*grown(intent), *with_layouts(intent)})
    found = {
        table_id: turn.rows
        if table_id == turn.table_id
        else connection.execute(*asking(tables, backend, table_id=table_id)).all()
        for table_id in wanted
        if table_id >= 0
    }
    inlined = _present({table_id: read_inlined(found.get(table_id, ())) for table_id in with_layouts(intent)})
    layouts = needed_layouts(connection, tables, backend, intent, inlined)
    complete = replace(intent, changes=(*intent.changes, *layouts))
    stats = _present({table_id: read_stats(found.get(table_id, ())) for table_id in grown(intent)})
    mappings = _known_mappings(connection, tables, complete)
    return Prepared(
        intent=complete,
        ids=_allocate(connection, complete, turn.newest, mappings, supply),
        stats=stats,
        shifts=shift_row_ids(complete, stats),
        mappings=mappings,
        inlined=inlined,
    )


def _allocate(
    connection: sa.Connection,
    intent: Intent,
    newest: Snapshot,
    known: Mapping[MappingKey, int],
    supply: Supply | None,
) -> Allocation:
    ids = allocate(newest, intent.changes, known)
    if supply is None:
        return ids
    entries, files = ids.next_catalog_id - newest.next_catalog_id, ids.next_file_id - newest.next_file_id
    taken = supply.take(connection, newest.snapshot_id, entries, files)
    return allocate(newest, intent.changes, known, taken)


def _present(found: Mapping[int, T | None]) -> dict[int, T]:
    return {key: value for key, value in found.items() if value is not None}


def _known_mappings(connection: sa.Connection, tables: CatalogTables, intent: Intent) -> dict[MappingKey, int]:
    wanted = {
        change.table_id
        for change in intent.of(AddFiles)
        if change.table_id >= 0 and any(file.name_mapping is not None for file in change.files)
    }
    if not wanted:
        return {}
    table = tables.column_mapping
    query = sa.select(table.c.table_id, table.c.mapping_id).where(table.c.table_id.in_(sorted(wanted)))
    owners = {row.mapping_id: row.table_id for row in connection.execute(query)}
    return {(owners[id_], names): id_ for id_, names in _load_names(connection, tables, sorted(owners)).items()}


def _load_names(
    connection: sa.Connection, tables: CatalogTables, mapping_ids: Sequence[int]
) -> dict[int, tuple[MappedName, ...]]:
    table = tables.name_mapping
    below: dict[tuple[int, int | None], list[sa.Row[Any]]] = defaultdict(list)
    query = sa.select(table).where(table.c.mapping_id.in_(mapping_ids)).order_by(table.c.column_id)
    for row in connection.execute(query):
        below[row.mapping_id, row.parent_column].append(row)

    def build(mapping_id: int, parent: int | None) -> tuple[MappedName, ...]:
        return tuple(
            MappedName(row.source_name, row.target_field_id, bool(row.is_partition), build(mapping_id, row.column_id))
            for row in below[mapping_id, parent]
        )

    return {mapping_id: build(mapping_id, None) for mapping_id in mapping_ids}
