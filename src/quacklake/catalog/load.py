"""Read the lake at one snapshot from the catalog database."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from quacklake.catalog.tables import CatalogTables, optional, visible
from quacklake.catalog.view import (
    CatalogView,
    MacroEntry,
    Namespace,
    Option,
    PartitionKey,
    PartitionSpec,
    Snapshot,
    SortKey,
    SortSpec,
    TableEntry,
    ViewEntry,
)
from quacklake.errors import CatalogError, NotFoundError
from quacklake.names import TableName, fold
from quacklake.schema import Column, Default, Schema
from quacklake.storage.paths import join
from quacklake.types import ListOf, MapOf, Struct, parse_leaf

At = int | datetime | None
"""Which snapshot: an id, a moment, or None for the newest."""

Row = sa.Row[Any]


def load_snapshot(connection: sa.Connection, tables: CatalogTables, at: At = None) -> Snapshot:
    """The snapshot that was asked for.

    Raises:
        NotFoundError: When there is no snapshot of that id, or none as old as that moment.
    """
    snapshot = tables.snapshot
    query = _select_snapshots(tables).limit(1)
    if at is None:
        query = query.order_by(snapshot.c.snapshot_id.desc())
    elif isinstance(at, datetime):
        moment = sa.literal(at, snapshot.c.snapshot_time.type)
        query = query.where(snapshot.c.snapshot_time <= moment).order_by(
            snapshot.c.snapshot_time.desc(), snapshot.c.snapshot_id.desc()
        )
    else:
        query = query.where(snapshot.c.snapshot_id == at)
    row = connection.execute(query).first()
    if row is None:
        raise _no_snapshot(connection, tables, at)
    return _snapshot(row)


def load_snapshots(connection: sa.Connection, tables: CatalogTables) -> list[Snapshot]:
    """Every snapshot, oldest first."""
    return [_snapshot(row) for row in connection.execute(_select_snapshots(tables).order_by(tables.snapshot.c.snapshot_id))]


def load_options(connection: sa.Connection, tables: CatalogTables) -> tuple[Option, ...]:
    """Every setting of the lake, of its namespaces and of its tables."""
    metadata = tables.metadata
    scope, scope_id = optional(metadata, "scope"), optional(metadata, "scope_id")
    rows = connection.execute(sa.select(metadata.c.key, metadata.c.value, scope, scope_id))
    return tuple(Option(*row) for row in rows)


def load_view(
    connection: sa.Connection,
    tables: CatalogTables,
    snapshot: Snapshot,
    data_path: str,
    *,
    only: TableName | None = None,
) -> CatalogView:
    """Everything the snapshot shows; with `only`, nothing but that table or view and all namespaces."""
    namespaces = _load_namespaces(connection, tables, snapshot, data_path)
    by_id = {each.namespace_id: each for each in namespaces}
    rows = connection.execute(_of_name(_select_visible(tables.table, snapshot), tables.table, "table_name", only)).all()
    rows = [row for row in rows if row.schema_id in by_id and _matches(only, by_id[row.schema_id], row.table_name)]
    ids = [row.table_id for row in rows] if only is not None else None
    schemas = _load_schemas(connection, tables, snapshot.snapshot_id, ids)
    partitions = _load_partitions(connection, tables, snapshot, ids)
    sorts = _load_sorts(connection, tables, snapshot, ids)
    tags = _load_tags(connection, tables, snapshot)
    entries = tuple(
        TableEntry(
            table_id=row.table_id,
            name=TableName(by_id[row.schema_id].name, row.table_name),
            namespace_id=row.schema_id,
            path=join(by_id[row.schema_id].path, row.path, row.path_is_relative),
            schema=schemas.get(row.table_id, Schema(())),
            uuid=row.table_uuid,
            begin_snapshot=row.begin_snapshot,
            partition=partitions.get(row.table_id),
            sort=sorts.get(row.table_id),
            tags=tags.get(row.table_id, {}),
        )
        for row in rows
    )
    return CatalogView(
        snapshot=snapshot,
        data_path=data_path,
        namespaces=namespaces,
        tables=entries,
        views=_load_views(connection, tables, snapshot, by_id, tags, only),
        macros=() if only is not None else _load_macros(connection, tables, snapshot),
        options=load_options(connection, tables),
    )


def load_schema(connection: sa.Connection, tables: CatalogTables, table_id: int, snapshot_id: int) -> Schema:
    """The columns of one table as they were at a snapshot."""
    return _load_schemas(connection, tables, snapshot_id, [table_id]).get(table_id, Schema(()))


def _select_snapshots(tables: CatalogTables) -> sa.Select[Any]:
    snapshot, changes = tables.snapshot, tables.snapshot_changes
    return sa.select(
        snapshot,
        optional(changes, "changes_made"),
        optional(changes, "author"),
        optional(changes, "commit_message"),
        optional(changes, "commit_extra_info"),
    ).select_from(snapshot.outerjoin(changes, changes.c.snapshot_id == snapshot.c.snapshot_id))


def _snapshot(row: Row) -> Snapshot:
    return Snapshot(
        snapshot_id=row.snapshot_id,
        time=row.snapshot_time,
        schema_version=row.schema_version,
        next_catalog_id=row.next_catalog_id,
        next_file_id=row.next_file_id,
        changes=row.changes_made,
        author=row.author,
        message=row.commit_message,
        extra=row.commit_extra_info,
    )


def _no_snapshot(connection: sa.Connection, tables: CatalogTables, at: At) -> NotFoundError:
    ids = tables.snapshot.c.snapshot_id
    oldest, newest = connection.execute(sa.select(sa.func.min(ids), sa.func.max(ids))).one()
    what = f"as old as {at.isoformat()}" if isinstance(at, datetime) else f"{at}"
    return NotFoundError(f"there is no snapshot {what}", hint=f"the lake has snapshots {oldest} to {newest}")


def _select_visible(table: sa.Table, snapshot: Snapshot, ids: Sequence[int] | None = None) -> sa.Select[Any]:
    query = sa.select(table).where(visible(table, snapshot.snapshot_id))
    return query if ids is None else query.where(table.c.table_id.in_(ids))


def _of_name(query: sa.Select[Any], table: sa.Table, column: str, only: TableName | None) -> sa.Select[Any]:
    """Narrow to one name in the database; the exact, case-folded comparison follows in Python."""
    if only is None or not only.table.isascii():
        return query
    return query.where(sa.func.lower(table.c[column]) == only.table.lower())


def _matches(only: TableName | None, namespace: Namespace, name: str) -> bool:
    return only is None or (fold(namespace.name), fold(name)) == (fold(only.namespace), fold(only.table))


def _load_namespaces(
    connection: sa.Connection, tables: CatalogTables, snapshot: Snapshot, data_path: str
) -> tuple[Namespace, ...]:
    table = tables.schema
    path, is_relative = optional(table, "path"), optional(table, "path_is_relative")
    query = (
        sa.select(table.c.schema_id, table.c.schema_uuid, table.c.schema_name, table.c.begin_snapshot, path, is_relative)
        .where(visible(table, snapshot.snapshot_id))
        .order_by(table.c.schema_id)
    )
    return tuple(
        Namespace(
            namespace_id=row.schema_id,
            name=row.schema_name,
            path=join(data_path, row.path, row.path_is_relative),
            uuid=row.schema_uuid,
            begin_snapshot=row.begin_snapshot,
        )
        for row in connection.execute(query)
    )


def _load_schemas(
    connection: sa.Connection, tables: CatalogTables, snapshot_id: int, ids: Sequence[int] | None
) -> dict[int, Schema]:
    columns, tags = tables.column, tables.column_tag
    query = sa.select(
        columns, optional(columns, "default_value_type"), optional(columns, "default_value_dialect")
    ).where(visible(columns, snapshot_id))
    comments = sa.select(tags.c.table_id, tags.c.column_id, tags.c.value).where(
        visible(tags, snapshot_id), tags.c.key == "comment"
    )
    if ids is not None:
        query = query.where(columns.c.table_id.in_(ids))
        comments = comments.where(tags.c.table_id.in_(ids))
    by_parent: dict[tuple[int, int | None], list[Row]] = defaultdict(list)
    for row in connection.execute(query.order_by(columns.c.table_id, columns.c.column_order, columns.c.column_id)):
        by_parent[row.table_id, row.parent_column].append(row)
    texts = {(table_id, column_id): value for table_id, column_id, value in connection.execute(comments)}
    return {
        table_id: Schema(tuple(_column(row, by_parent, texts) for row in rows))
        for (table_id, parent), rows in by_parent.items()
        if parent is None
    }


def _column(
    row: Row, by_parent: dict[tuple[int, int | None], list[Row]], comments: dict[tuple[int, int], str | None]
) -> Column:
    below = tuple(_column(each, by_parent, comments) for each in by_parent.get((row.table_id, row.column_id), ()))
    match row.column_type.strip().lower():
        case "struct":
            type_: Any = Struct(below)
        case "list":
            type_ = ListOf(_only(below, row, 1)[0])
        case "map":
            type_ = MapOf(*_only(below, row, 2))
        case _:
            type_ = parse_leaf(row.column_type)
    return Column(
        id=row.column_id,
        name=row.column_name,
        type=type_,
        nullable=row.nulls_allowed is not False,
        initial_default=row.initial_default,
        default=_default(row),
        comment=comments.get((row.table_id, row.column_id)),
    )


def _only(below: tuple[Column, ...], row: Row, count: int) -> tuple[Column, ...]:
    if len(below) != count:
        raise CatalogError(
            f"column {row.column_name!r} of table {row.table_id} is a {row.column_type} with {len(below)} children",
            hint="the catalog is damaged; restore it from a backup",
        )
    return below


def _default(row: Row) -> Default | None:
    # DuckDB stores the word NULL for no default; other writers store a real NULL.
    if row.default_value is None or (row.default_value == "NULL" and row.default_value_type in (None, "", "literal")):
        return None
    is_expression = row.default_value_type == "expression"
    return Default(row.default_value, is_expression, row.default_value_dialect or "duckdb")


def _load_partitions(
    connection: sa.Connection, tables: CatalogTables, snapshot: Snapshot, ids: Sequence[int] | None
) -> dict[int, PartitionSpec]:
    info, keys = tables.partition_info, tables.partition_column
    query = (
        _select_visible(info, snapshot, ids)
        .join(keys, sa.and_(keys.c.partition_id == info.c.partition_id, keys.c.table_id == info.c.table_id))
        .add_columns(keys.c.column_id, keys.c.transform)
        .order_by(info.c.partition_id, keys.c.partition_key_index)
    )
    # A reset partitioning is a spec without keys: the join leaves it out, and nothing older is visible.
    grouped = _group(connection.execute(query), lambda row: (row.table_id, row.partition_id))
    return {
        table_id: PartitionSpec(partition_id, tuple(PartitionKey(row.column_id, row.transform) for row in rows))
        for (table_id, partition_id), rows in grouped.items()
    }


def _load_sorts(
    connection: sa.Connection, tables: CatalogTables, snapshot: Snapshot, ids: Sequence[int] | None
) -> dict[int, SortSpec]:
    info, keys = tables.sort_info, tables.sort_expression
    query = (
        _select_visible(info, snapshot, ids)
        .join(keys, sa.and_(keys.c.sort_id == info.c.sort_id, keys.c.table_id == info.c.table_id))
        .add_columns(keys.c.expression, keys.c.dialect, keys.c.sort_direction, keys.c.null_order)
        .order_by(info.c.sort_id, keys.c.sort_key_index)
    )
    grouped = _group(connection.execute(query), lambda row: (row.table_id, row.sort_id))
    return {
        table_id: SortSpec(sort_id, tuple(_sort_key(row) for row in rows)) for (table_id, sort_id), rows in grouped.items()
    }


def _sort_key(row: Row) -> SortKey:
    return SortKey(
        expression=row.expression,
        descending=row.sort_direction == "DESC",
        nulls_first=row.null_order == "NULLS_FIRST",
        dialect=row.dialect,
    )


def _load_tags(connection: sa.Connection, tables: CatalogTables, snapshot: Snapshot) -> dict[int, dict[str, str]]:
    query = sa.select(tables.tag).where(visible(tables.tag, snapshot.snapshot_id))
    grouped = _group(connection.execute(query), lambda row: row.object_id)
    return {
        object_id: {row.key: row.value for row in rows if row.value is not None} for object_id, rows in grouped.items()
    }


def _load_views(
    connection: sa.Connection,
    tables: CatalogTables,
    snapshot: Snapshot,
    namespaces: dict[int, Namespace],
    tags: dict[int, dict[str, str]],
    only: TableName | None,
) -> tuple[ViewEntry, ...]:
    query = _of_name(sa.select(tables.view).where(visible(tables.view, snapshot.snapshot_id)), tables.view, "view_name", only)
    return tuple(
        ViewEntry(
            view_id=row.view_id,
            name=TableName(namespaces[row.schema_id].name, row.view_name),
            namespace_id=row.schema_id,
            sql=row.sql,
            dialect=row.dialect,
            column_aliases=_aliases(row.column_aliases),
            uuid=row.view_uuid,
            begin_snapshot=row.begin_snapshot,
            tags=tags.get(row.view_id, {}),
        )
        for row in connection.execute(query)
        if row.schema_id in namespaces and _matches(only, namespaces[row.schema_id], row.view_name)
    )


def _aliases(text: str | None) -> tuple[str, ...]:
    if not text:
        return ()
    # `"a b","c"`: quoted names with doubled quotes inside, which is what a CSV line is.
    import csv

    return tuple(next(csv.reader([text])))


def _load_macros(connection: sa.Connection, tables: CatalogTables, snapshot: Snapshot) -> tuple[MacroEntry, ...]:
    macro, implementation = tables.macro, tables.macro_impl
    query = (
        sa.select(macro, implementation.c.type, implementation.c.sql)
        .join(implementation, implementation.c.macro_id == macro.c.macro_id)
        .where(visible(macro, snapshot.snapshot_id))
        .order_by(macro.c.macro_id, implementation.c.impl_id)
    )
    return tuple(
        MacroEntry(macro_id, rows[0].schema_id, rows[0].macro_name, rows[0].type, tuple(row.sql for row in rows))
        for macro_id, rows in _group(connection.execute(query), lambda row: row.macro_id).items()
    )


def _group(rows: Iterable[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    grouped: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        grouped[key(row)].append(row)
    return grouped
