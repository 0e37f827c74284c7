"""The data files and delete files that a snapshot shows of a table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.queries import TABLE
from quacklake.catalog.tables import CatalogTables, optional, prepared, visible
from quacklake.catalog.view import TableEntry
from quacklake.plan.scan import DeleteFile, MappedName, ScanFile
from quacklake.storage.paths import join

if TYPE_CHECKING:
    from quacklake.catalog.queries import Query

_FEW = 500
_FILES = sa.bindparam("files", type_=sa.BigInteger(), expanding=True)


def load_files(
    connection: sa.Connection,
    tables: CatalogTables,
    backend: Backend,
    entry: TableEntry,
    snapshot_id: int,
    condition: sa.ColumnElement[bool] | None = None,
) -> tuple[ScanFile, ...]:
    """The files of a table with all that belongs to them, those only for which the condition holds."""
    query = _files_of_table(tables)
    if condition is not None:
        query = query.where(condition)
    rows = connection.execute(query, {"table": entry.table_id, "snapshot": snapshot_id}).all()
    if not rows:
        return ()
    ids = few_ids(rows)
    asked: dict[str, Any] = {"table": entry.table_id, "snapshot": snapshot_id}
    query = _deletes_of_table(tables)
    if ids is not None:
        query, asked = _deletes_of_files(tables), {**asked, "files": ids}
    deletes = load_delete_files(connection, entry, query, asked)
    deletions = load_deletions(connection, tables, backend, entry.table_id, snapshot_id, ids)
    return tuple(
        replace(
            file,
            delete_files=tuple(deletes.get(file.file_id, ())),
            deleted_positions=tuple(position for position, _ in deletions.get(file.file_id, ())),
        )
        for file in build_files(connection, tables, entry, rows)
    )


def few_ids(rows: Sequence[sa.Row[Any]]) -> list[int] | None:
    """What belongs to a handful of files is asked for by their ids, what belongs to many (None) all at once."""
    return [row.data_file_id for row in rows] if len(rows) <= _FEW else None


def build_files(
    connection: sa.Connection, tables: CatalogTables, entry: TableEntry, rows: Sequence[sa.Row[Any]]
) -> list[ScanFile]:
    """Data files from their rows in the catalog, with their names for columns and without deletes."""
    mappings = _load_mappings(connection, tables, {row.mapping_id for row in rows if row.mapping_id is not None})
    return [
        ScanFile(
            file_id=row.data_file_id,
            path=join(entry.path, row.path, row.path_is_relative),
            record_count=row.record_count,
            size=row.file_size_bytes,
            begin_snapshot=row.begin_snapshot,
            footer_size=row.footer_size,
            row_id_start=row.row_id_start,
            partial_max=row.partial_max,
            encryption_key=row.encryption_key,
            mapping=mappings.get(row.mapping_id),
            partition_id=row.partition_id,
        )
        for row in rows
    ]


@prepared
def _files_of_table(tables: CatalogTables) -> Query:
    files = tables.data_file
    return (
        sa.select(files, optional(files, "mapping_id"), optional(files, "partial_max"))
        .where(files.c.table_id == TABLE, visible(files))
        .order_by(files.c.data_file_id)
    )


def _load_mappings(
    connection: sa.Connection, tables: CatalogTables, ids: set[int]
) -> dict[int | None, tuple[MappedName, ...]]:
    if not ids:
        return {}
    table = tables.name_mapping
    below: dict[tuple[int, int | None], list[sa.Row[Any]]] = defaultdict(list)
    query = sa.select(table, optional(table, "is_partition")).where(table.c.mapping_id.in_(sorted(ids)))
    for row in connection.execute(query.order_by(table.c.mapping_id, table.c.column_id)):
        below[row.mapping_id, row.parent_column].append(row)

    def build(mapping_id: int, parent: int | None) -> tuple[MappedName, ...]:
        return tuple(
            MappedName(row.source_name, row.target_field_id, bool(row.is_partition), build(mapping_id, row.column_id))
            for row in below.get((mapping_id, parent), ())
        )

    return {mapping_id: build(mapping_id, None) for mapping_id in ids}


def count_files(connection: sa.Connection, tables: CatalogTables, table_id: int, snapshot_id: int) -> int:
    """How many files a snapshot shows of a table."""
    files = tables.data_file
    query = sa.select(sa.func.count()).select_from(files).where(files.c.table_id == TABLE, visible(files))
    return int(connection.execute(query, {"table": table_id, "snapshot": snapshot_id}).scalar_one())


def load_delete_files(
    connection: sa.Connection, entry: TableEntry, query: Query, asked: dict[str, Any]
) -> dict[int, list[DeleteFile]]:
    """The delete files that a query finds, by the id of their data file."""
    found: dict[int, list[DeleteFile]] = defaultdict(list)
    for row in connection.execute(query, asked):
        found[row.data_file_id].append(
            DeleteFile(
                path=join(entry.path, row.path, row.path_is_relative),
                format="puffin" if (row.format or "parquet").lower() == "puffin" else "parquet",
                encryption_key=row.encryption_key,
                count=row.delete_count,
                file_id=row.delete_file_id,
                begin_snapshot=row.begin_snapshot,
                size=row.file_size_bytes,
            )
        )
    return found


@prepared
def _deletes_of_table(tables: CatalogTables) -> Query:
    table = tables.delete_file
    return sa.select(table).where(table.c.table_id == TABLE, visible(table)).order_by(table.c.delete_file_id)


@prepared
def _deletes_of_files(tables: CatalogTables) -> Query:
    return _deletes_of_table(tables).where(tables.delete_file.c.data_file_id.in_(_FILES))


def load_deletions(
    connection: sa.Connection,
    tables: CatalogTables,
    backend: Backend,
    table_id: int,
    snapshot_id: int,
    ids: list[int] | None,
) -> dict[int, list[tuple[int, int]]]:
    """What the catalog itself notes of deleted rows: by file, their positions and the snapshots that deleted them."""
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    table = inlined_deletes(connection, tables, backend, table_id)
    if table is not None:
        columns = (table.c.file_id, table.c.row_id, table.c.begin_snapshot)
        query = sa.select(*columns).where(table.c.begin_snapshot <= snapshot_id)
        if ids is not None:
            query = query.where(table.c.file_id.in_(ids))
        for file_id, row_id, begin in connection.execute(query.order_by(table.c.file_id, table.c.row_id)):
            found[file_id].append((row_id, begin))
    return found


def inlined_deletes(
    connection: sa.Connection, tables: CatalogTables, backend: Backend, table_id: int
) -> sa.TableClause | None:
    """The table that notes deleted rows of files, if there is one."""
    # Nothing registers it: it is made with the first inlined delete.
    name = f"ducklake_inlined_delete_{table_id}"
    if not backend.has_table(connection, name):
        return None
    names = ("file_id", "row_id", "begin_snapshot")
    columns: list[sa.ColumnClause[int]] = [sa.column(each, sa.BigInteger()) for each in names]
    return sa.table(name, *columns, schema=tables.sql_schema)
