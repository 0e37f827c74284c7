"""Read the lake at one snapshot from the catalog database."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from quacklake.catalog import queries
from quacklake.catalog.tables import CatalogTables
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

if TYPE_CHECKING:
    from quacklake.catalog.queries import Query, Row

At = int | datetime | None
"""Which snapshot: an id, a moment, or None for the newest."""


def load_snapshot(connection: sa.Connection, tables: CatalogTables, at: At = None) -> Snapshot:
    """The snapshot that was asked for.

    Raises:
        NotFoundError: When there is no snapshot of that id, or none as old as that moment.
    """
    if at is None:
        row = connection.execute(queries.newest_snapshot(tables)).first()
    else:
        id_ = _snapshot_at(connection, tables, at) if isinstance(at, datetime) else at
        row = None
        if id_ is not None:
            row = connection.execute(queries.snapshot_of_id(tables), {"snapshot": id_}).first()
    if row is None:
        raise _no_snapshot(connection, tables, at)
    return Snapshot(*row)


def load_snapshots(connection: sa.Connection, tables: CatalogTables, after: int | None = None) -> list[Snapshot]:
    """Every snapshot, oldest first; or those after one."""
    query = queries.all_snapshots(tables)
    if after is not None:
        query = query.where(tables.snapshot.c.snapshot_id > after)
    return [Snapshot(*row) for row in connection.execute(query)]


def load_options(connection: sa.Connection, tables: CatalogTables) -> tuple[Option, ...]:
    """Every setting of the lake, of its namespaces and of its tables."""
    return tuple(Option(*row) for row in connection.execute(queries.options(tables)))


def load_view(
    connection: sa.Connection,
    tables: CatalogTables,
    snapshot: Snapshot,
    data_path: str,
    *,
    only: TableName | None = None,
) -> CatalogView:
    """Everything the snapshot shows; with `only`, nothing but that table or view and all namespaces.

    Settings are left to `load_options`: they belong to no snapshot.
    """
    if only is not None:
        return load_entry(connection, tables, snapshot, data_path, only)
    return _load_everything(connection, tables, snapshot, data_path)


def load_entry(
    connection: sa.Connection, tables: CatalogTables, snapshot: Snapshot, data_path: str, name: TableName
) -> CatalogView:
    """The table or view of one name, and all namespaces."""
    at = {"snapshot": snapshot.snapshot_id}
    namespaces = _load_namespaces(connection, tables, at, data_path)
    places = {each.namespace_id: each for each in namespaces}
    found = [
        row
        for row in connection.execute(*_of_name(queries.tables_named, queries.all_tables, tables, at, name))
        if row.schema_id in places and _matches(name, places[row.schema_id], row.table_name)
    ]
    entries = []
    for row in found:
        asked = {**at, "table": row.table_id}
        entries.append(
            _table(
                row,
                places[row.schema_id],
                _schemas(
                    connection.execute(queries.columns_of_table(tables), asked),
                    connection.execute(queries.comments_of_table(tables), asked),
                ),
                _partitions(connection.execute(queries.partitions_of_table(tables), asked)),
                _sorts(connection.execute(queries.sorts_of_table(tables), asked)),
                _tags(connection.execute(queries.tags_of_object(tables), asked)),
            )
        )
    # Tables and views share their names: where there is a table, there is no view.
    views = () if entries else _views_named(connection, tables, at, places, name)
    return CatalogView(snapshot, data_path, namespaces, tuple(entries), views)


def is_still(connection: sa.Connection, tables: CatalogTables, view: CatalogView, snapshot: Snapshot) -> bool:
    """Whether the one table of a view is the same at another snapshot with the same version of the schema.

    Two lakes may have the same numbers, when one was put in the place of the other. Their tables have other UUIDs.
    """
    if len(view.tables) != 1 or view.tables[0].uuid is None:
        return False
    entry = view.tables[0]
    asked = {"snapshot": snapshot.snapshot_id, "table": entry.table_id}
    return connection.execute(queries.table_of_id(tables), asked).scalars().all() == [entry.uuid]


def recall(connection: sa.Connection, tables: CatalogTables, view: CatalogView) -> CatalogView | None:
    """A view of one table as it stands at the newest snapshot; None when more than its rows may have changed."""
    if len(view.tables) != 1 or view.tables[0].uuid is None:
        return None
    entry = view.tables[0]
    rows = connection.execute(queries.standing(tables), {"table": entry.table_id}).all()
    if not rows or rows[0].schema_version != view.snapshot.schema_version or rows[0].table_uuid != entry.uuid:
        return None
    options = tuple(Option(*row[-4:]) for row in rows)
    return replace(view, snapshot=Snapshot(*rows[0][1:-4]), options=options)


def load_schema(connection: sa.Connection, tables: CatalogTables, table_id: int, snapshot_id: int) -> Schema:
    """The columns of one table as they were at a snapshot."""
    asked = {"snapshot": snapshot_id, "table": table_id}
    columns = connection.execute(queries.columns_of_table(tables), asked)
    comments = connection.execute(queries.comments_of_table(tables), asked)
    return _schemas(columns, comments).get(table_id, Schema(()))


def _views_named(
    connection: sa.Connection,
    tables: CatalogTables,
    at: dict[str, Any],
    places: dict[int, Namespace],
    name: TableName,
) -> tuple[ViewEntry, ...]:
    found = connection.execute(*_of_name(queries.views_named, queries.all_views, tables, at, name)).all()
    return tuple(
        _view(
            row,
            places[row.schema_id],
            _tags(connection.execute(queries.tags_of_object(tables), {**at, "table": row.view_id})),
        )
        for row in found
        if row.schema_id in places and _matches(name, places[row.schema_id], row.view_name)
    )


def _load_everything(
    connection: sa.Connection, tables: CatalogTables, snapshot: Snapshot, data_path: str
) -> CatalogView:
    at = {"snapshot": snapshot.snapshot_id}
    namespaces = _load_namespaces(connection, tables, at, data_path)
    places = {each.namespace_id: each for each in namespaces}
    schemas = _schemas(
        connection.execute(queries.all_columns(tables), at), connection.execute(queries.all_comments(tables), at)
    )
    partitions = _partitions(connection.execute(queries.all_partitions(tables), at))
    sorts = _sorts(connection.execute(queries.all_sorts(tables), at))
    tags = _tags(connection.execute(queries.all_tags(tables), at))
    return CatalogView(
        snapshot=snapshot,
        data_path=data_path,
        namespaces=namespaces,
        tables=tuple(
            _table(row, places[row.schema_id], schemas, partitions, sorts, tags)
            for row in connection.execute(queries.all_tables(tables), at)
            if row.schema_id in places
        ),
        views=tuple(
            _view(row, places[row.schema_id], tags)
            for row in connection.execute(queries.all_views(tables), at)
            if row.schema_id in places
        ),
        macros=_macros(connection.execute(queries.macros(tables), at)),
    )


def _snapshot_at(connection: sa.Connection, tables: CatalogTables, moment: datetime) -> int | None:
    if connection.dialect.name != "sqlite":
        return connection.execute(queries.snapshot_at_moment(tables), {"moment": moment}).scalar()
    # Moments are text there, and not every writer spells them alike: compare what they mean.
    wanted = moment.astimezone(UTC)
    times = connection.execute(queries.snapshot_times(tables))
    found = max(((time, id_) for time, id_ in times if time is not None and time <= wanted), default=None)
    return None if found is None else int(found[1])


def _no_snapshot(connection: sa.Connection, tables: CatalogTables, at: At) -> NotFoundError:
    ids = tables.snapshot.c.snapshot_id
    oldest, newest = connection.execute(sa.select(sa.func.min(ids), sa.func.max(ids))).one()
    if oldest is None and tables.shared is not None:
        return NotFoundError("the catalog is gone", hint="somebody has dropped it")
    if oldest is None:
        return NotFoundError("the lake has no snapshot at all", hint="the catalog is damaged; restore it from a backup")
    what = f"as old as {at.isoformat()}" if isinstance(at, datetime) else f"{at}"
    return NotFoundError(f"there is no snapshot {what}", hint=f"the lake has snapshots {oldest} to {newest}")


def _of_name(
    narrow: Any, wide: Any, tables: CatalogTables, at: dict[str, Any], name: TableName
) -> tuple[Query, dict[str, Any]]:
    """The narrow query where the database folds case as we do: the exact comparison follows in Python."""
    if name.table.isascii():
        return narrow(tables), {**at, "name": name.table.lower()}
    return wide(tables), at


def _matches(name: TableName, namespace: Namespace, found: str) -> bool:
    return (fold(namespace.name), fold(found)) == (fold(name.namespace), fold(name.table))


def _load_namespaces(
    connection: sa.Connection, tables: CatalogTables, at: dict[str, Any], data_path: str
) -> tuple[Namespace, ...]:
    return tuple(
        Namespace(id_, name, join(data_path, path, is_relative), uuid, begin)
        for id_, name, path, is_relative, uuid, begin in connection.execute(queries.namespaces(tables), at)
    )


def _table(
    row: Row,
    namespace: Namespace,
    schemas: dict[int, Schema],
    partitions: dict[int, PartitionSpec],
    sorts: dict[int, SortSpec],
    tags: dict[int, dict[str, str]],
) -> TableEntry:
    id_ = row.table_id
    return TableEntry(
        table_id=id_,
        name=TableName(namespace.name, row.table_name),
        namespace_id=namespace.namespace_id,
        path=join(namespace.path, row.path, row.path_is_relative),
        schema=schemas.get(id_, Schema(())),
        uuid=row.table_uuid,
        begin_snapshot=row.begin_snapshot,
        partition=partitions.get(id_),
        sort=sorts.get(id_),
        tags=tags.get(id_, {}),
    )


def _view(row: Row, namespace: Namespace, tags: dict[int, dict[str, str]]) -> ViewEntry:
    return ViewEntry(
        view_id=row.view_id,
        name=TableName(namespace.name, row.view_name),
        namespace_id=namespace.namespace_id,
        sql=row.sql,
        dialect=row.dialect,
        column_aliases=_aliases(row.column_aliases),
        uuid=row.view_uuid,
        begin_snapshot=row.begin_snapshot,
        tags=tags.get(row.view_id, {}),
    )


def _aliases(text: str | None) -> tuple[str, ...]:
    if not text:
        return ()
    # `"a b","c"`: quoted names with doubled quotes inside, which is what a CSV line is.
    import csv

    return tuple(next(csv.reader([text])))


def _schemas(columns: Iterable[Row], comments: Iterable[Row]) -> dict[int, Schema]:
    below: dict[tuple[int, int | None], list[Row]] = defaultdict(list)
    for row in columns:
        below[row[0], row[2]].append(row)
    texts = {(table_id, column_id): value for table_id, column_id, value in comments}
    return {
        table_id: Schema(tuple(_column(row, below, texts) for row in rows))
        for (table_id, parent), rows in below.items()
        if parent is None
    }


def _column(
    row: Row, below: dict[tuple[int, int | None], list[Row]], comments: dict[tuple[int, int], str | None]
) -> Column:
    table_id, id_, parent, name, word, nulls_allowed, initial_default, *default = row
    children = tuple(_column(each, below, comments) for each in below.get((table_id, id_), ()))
    match word.strip().lower():
        case "struct":
            type_: Any = Struct(children)
        case "list":
            type_ = ListOf(_expected(children, row, 1)[0])
        case "map":
            type_ = MapOf(*_expected(children, row, 2))
        case _:
            type_ = parse_leaf(word)
    return Column(
        id=id_,
        name=name,
        type=type_,
        # Below the top level it means nothing: DuckDB says no for every field that joined a struct later.
        nullable=nulls_allowed is not False or parent is not None,
        initial_default=initial_default,
        default=_default(*default),
        comment=comments.get((table_id, id_)),
    )


def _expected(children: tuple[Column, ...], row: Row, count: int) -> tuple[Column, ...]:
    if len(children) != count:
        raise CatalogError(
            f"column {row.column_name!r} of table {row.table_id} is a {row.column_type} with {len(children)} children",
            hint="the catalog is damaged; restore it from a backup",
        )
    return children


def _default(text: str | None, kind: str | None, dialect: str | None) -> Default | None:
    # DuckDB stores the word NULL for no default; other writers store a real NULL.
    if text is None or (text == "NULL" and kind in (None, "", "literal")):
        return None
    return Default(text, kind == "expression", dialect or "duckdb")


def _partitions(rows: Iterable[Row]) -> dict[int, PartitionSpec]:
    grouped = _group(rows, 2)
    return {
        table_id: PartitionSpec(partition_id, tuple(PartitionKey(row.column_id, row.transform) for row in keys))
        for (table_id, partition_id), keys in grouped.items()
    }


def _sorts(rows: Iterable[Row]) -> dict[int, SortSpec]:
    return {
        table_id: SortSpec(
            sort_id,
            tuple(
                SortKey(expression, direction == "DESC", nulls == "NULLS_FIRST", dialect)
                for _, _, expression, direction, nulls, dialect in keys
            ),
        )
        for (table_id, sort_id), keys in _group(rows, 2).items()
    }


def _tags(rows: Iterable[Row]) -> dict[int, dict[str, str]]:
    found: dict[int, dict[str, str]] = defaultdict(dict)
    for object_id, key, value in rows:
        if value is not None:
            found[object_id][key] = value
    return found


def _macros(rows: Iterable[Row]) -> tuple[MacroEntry, ...]:
    return tuple(
        MacroEntry(macro_id, schema_id, name, bodies[0].type, tuple(row.sql for row in bodies))
        for (macro_id, schema_id, name), bodies in _group(rows, 3).items()
    )


def _group(rows: Iterable[Row], width: int) -> dict[Any, Sequence[Row]]:
    """The rows by their first values, in the order in which they come."""
    grouped: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        grouped[tuple(row[:width])].append(row)
    return dict(grouped)
