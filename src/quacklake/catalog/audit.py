"""Whether a catalog agrees with itself: ids that are unique, counters that cover them, rows that lead somewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.load import load_snapshot
from quacklake.catalog.shared.layout import only_own
from quacklake.catalog.tables import CatalogTables
from quacklake.storage.paths import join

# Ids that come from one counter: table and column.
_CATALOG_IDS = (
    ("schema", "schema_id"),
    ("table", "table_id"),
    ("view", "view_id"),
    ("macro", "macro_id"),
    ("partition_info", "partition_id"),
    ("sort_info", "sort_id"),
)
_FILE_IDS = (("data_file", "data_file_id"), ("delete_file", "delete_file_id"), ("column_mapping", "mapping_id"))
# Things of which one may be alive at a time: table and what tells them apart.
_LIVE_ONCE = (
    ("schema", ("schema_id",)),
    ("schema", ("schema_name",)),
    ("table", ("table_id",)),
    ("table", ("schema_id", "table_name")),
    ("view", ("view_id",)),
    ("column", ("table_id", "column_id")),
    ("column", ("table_id", "parent_column", "column_name")),
    ("partition_info", ("table_id",)),
    ("sort_info", ("table_id",)),
)
# What leads from one table to another: table, column, table, column.
_LINKS = (
    ("table", "schema_id", "schema", "schema_id"),
    ("column", "table_id", "table", "table_id"),
    ("data_file", "table_id", "table", "table_id"),
    ("delete_file", "data_file_id", "data_file", "data_file_id"),
    ("file_column_stats", "data_file_id", "data_file", "data_file_id"),
    ("file_partition_value", "data_file_id", "data_file", "data_file_id"),
    ("data_file", "mapping_id", "column_mapping", "mapping_id"),
    ("snapshot_changes", "snapshot_id", "snapshot", "snapshot_id"),
    ("snapshot", "snapshot_id", "snapshot_changes", "snapshot_id"),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong with a lake."""

    kind: str
    """A stable word: `duplicate`, `counter`, `dangling`, `rows` or `file`."""
    subject: str
    reason: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.reason}"


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file that the catalog says is there."""

    path: str
    size: int | None


def find_faults(connection: sa.Connection, tables: CatalogTables, backend: Backend) -> Iterator[Finding]:
    """Everything in which the catalog contradicts itself."""
    tables = only_own(tables)
    yield from _find_duplicates(connection, tables)
    yield from _find_counters(connection, tables)
    yield from _find_dangling(connection, tables)
    yield from _find_deletes(connection, tables)
    yield from _find_row_ids(connection, tables, backend)


def load_known_files(connection: sa.Connection, tables: CatalogTables, data_path: str) -> Iterator[KnownFile]:
    """Every data file and delete file that some snapshot shows."""
    tables = only_own(tables)
    roots = load_roots(connection, tables, data_path)
    for table in (tables.data_file, tables.delete_file):
        query = sa.select(table.c.table_id, table.c.path, table.c.path_is_relative, table.c.file_size_bytes)
        for row in connection.execute(query):
            if row.table_id in roots:
                yield KnownFile(join(roots[row.table_id], row.path, row.path_is_relative), row.file_size_bytes)


def load_roots(connection: sa.Connection, tables: CatalogTables, data_path: str) -> dict[int, str]:
    """By table, of any snapshot, the folder of its files."""
    schemas = {row.schema_id: row for row in connection.execute(sa.select(tables.schema)).all()}
    roots: dict[int, str] = {}
    for row in connection.execute(sa.select(tables.table)).all():
        schema = schemas.get(row.schema_id)
        above = data_path if schema is None else join(data_path, schema.path, schema.path_is_relative)
        roots[row.table_id] = join(above, row.path, row.path_is_relative)
    return roots


def _table(tables: CatalogTables, name: str) -> sa.Table:
    found: sa.Table = getattr(tables, name)
    return found


def _find_duplicates(connection: sa.Connection, tables: CatalogTables) -> Iterator[Finding]:
    for name, columns in _LIVE_ONCE:
        table = _table(tables, name)
        keys = [table.c[column] for column in columns]
        query = sa.select(*keys).where(table.c.end_snapshot.is_(None)).group_by(*keys).having(sa.func.count() > 1)
        for row in connection.execute(query):
            yield Finding("duplicate", f"{table.name} {_words(columns, row)}", "several rows of it are alive")
    for name, column in (("snapshot", "snapshot_id"), *_FILE_IDS):
        table = _table(tables, name)
        id_ = table.c[column]
        for row in connection.execute(sa.select(id_).group_by(id_).having(sa.func.count() > 1)):
            yield Finding("duplicate", f"{table.name} {_words((column,), row)}", "there are several rows of this id")


def _words(columns: tuple[str, ...], row: Any) -> str:
    return ", ".join(f"{column} {value}" for column, value in zip(columns, row, strict=True))


def _find_counters(connection: sa.Connection, tables: CatalogTables) -> Iterator[Finding]:
    newest = load_snapshot(connection, tables, None)
    for counter, ids, limit in (
        ("next_catalog_id", _CATALOG_IDS, newest.next_catalog_id),
        ("next_file_id", _FILE_IDS, newest.next_file_id),
    ):
        for name, column in ids:
            table = _table(tables, name)
            largest = connection.execute(sa.select(sa.func.max(table.c[column]))).scalar()
            if largest is not None and largest >= limit:
                yield Finding("counter", f"{table.name} {column} {largest}", f"{counter} is {limit}, not above it")


def _find_dangling(connection: sa.Connection, tables: CatalogTables) -> Iterator[Finding]:
    for name, column, other_name, other_column in _LINKS:
        table, other = _table(tables, name), _table(tables, other_name)
        value = table.c[column]
        missing = sa.select(value).distinct().where(value.is_not(None), value.not_in(sa.select(other.c[other_column])))
        for row in connection.execute(missing):
            yield Finding("dangling", f"{table.name} {column} {row[0]}", f"there is no such row in {other.name}")


def _find_deletes(connection: sa.Connection, tables: CatalogTables) -> Iterator[Finding]:
    deletes, files = tables.delete_file, tables.data_file
    joined = deletes.join(files, files.c.data_file_id == deletes.c.data_file_id)
    query = (
        sa.select(deletes.c.delete_file_id, deletes.c.delete_count, files.c.record_count)
        .select_from(joined)
        .where(deletes.c.delete_count > files.c.record_count)
    )
    for row in connection.execute(query):
        reason = f"it deletes {row.delete_count} of {row.record_count} rows"
        yield Finding("rows", f"delete file {row.delete_file_id}", reason)
    outliving = (
        sa.select(deletes.c.delete_file_id, files.c.data_file_id)
        .select_from(joined)
        .where(deletes.c.end_snapshot.is_(None), files.c.end_snapshot.is_not(None), deletes.c.partial_max.is_(None))
        .where(deletes.c.begin_snapshot >= files.c.end_snapshot)
    )
    for delete_file_id, data_file_id in connection.execute(outliving):
        reason = f"it deletes rows of data file {data_file_id}, which was gone before"
        yield Finding("rows", f"delete file {delete_file_id}", reason)


def _find_row_ids(connection: sa.Connection, tables: CatalogTables, backend: Backend) -> Iterator[Finding]:
    """New rows get ids from a counter of their table: no two files share one, and all are below it."""
    stats, files = tables.table_stats, tables.data_file
    counters = {row.table_id: row.next_row_id for row in connection.execute(sa.select(stats)).all()}
    query = (
        sa.select(files.c.table_id, files.c.data_file_id, files.c.row_id_start, files.c.record_count)
        # Merged and flushed files hold the ids of their rows themselves, and start where the smallest is.
        .where(files.c.row_id_start.is_not(None), files.c.partial_max.is_(None), files.c.end_snapshot.is_(None))
        .order_by(files.c.table_id, files.c.row_id_start, files.c.data_file_id)
    )
    before: tuple[int, int] = (-1, 0)
    for row in connection.execute(query):
        subject = f"data file {row.data_file_id} of table {row.table_id}"
        if before[0] == row.table_id and row.row_id_start < before[1]:
            yield Finding("rows", subject, f"row ids from {row.row_id_start} on are another file's, too")
        before = (row.table_id, row.row_id_start + row.record_count)
        if before[1] > counters.get(row.table_id, 0):
            reason = f"it has row ids up to {before[1] - 1}, next_row_id is {counters.get(row.table_id, 0)}"
            yield Finding("counter", subject, reason)
    yield from _find_inlined(connection, tables, backend, counters)


def _find_inlined(
    connection: sa.Connection, tables: CatalogTables, backend: Backend, counters: dict[int, int]
) -> Iterator[Finding]:
    for row in connection.execute(sa.select(tables.inlined_data_tables)).all():
        if not backend.has_table(connection, row.table_name):
            yield Finding("dangling", row.table_name, "the table for inlined rows is registered and not there")
            continue
        inlined = sa.table(sa.quoted_name(row.table_name, True), sa.column("row_id"), schema=tables.sql_schema)
        largest = connection.execute(sa.select(sa.func.max(inlined.c.row_id))).scalar()
        if largest is not None and largest >= counters.get(row.table_id, 0):
            reason = f"it has row ids up to {largest}, next_row_id is {counters.get(row.table_id, 0)}"
            yield Finding("counter", row.table_name, reason)
