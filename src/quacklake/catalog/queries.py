"""The questions that every read of the catalog asks, each built once for a set of tables.

Their parameters are `snapshot`, `table` (its id), `name` (in lower case) and `moment`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from quacklake.catalog.columns import Moment
from quacklake.catalog.tables import SNAPSHOT, CatalogTables, of_own_tables, prepared, visible

if TYPE_CHECKING:
    Query = sa.Select[*tuple[Any, ...]]
    Row = sa.Row[*tuple[Any, ...]]

TABLE = sa.bindparam("table", type_=sa.BigInteger())
NAME = sa.bindparam("name", type_=sa.String())
MOMENT = sa.bindparam("moment", type_=Moment())


@prepared
def all_snapshots(tables: CatalogTables) -> Query:
    """Every snapshot with what was said about it, oldest first."""
    snapshot, changes = tables.snapshot.c, tables.snapshot_changes.c
    return (
        sa.select(
            snapshot.snapshot_id,
            snapshot.snapshot_time,
            snapshot.schema_version,
            snapshot.next_catalog_id,
            snapshot.next_file_id,
            changes.changes_made,
            changes.author,
            changes.commit_message,
            changes.commit_extra_info,
        )
        .select_from(tables.snapshot.outerjoin(tables.snapshot_changes, changes.snapshot_id == snapshot.snapshot_id))
        .order_by(snapshot.snapshot_id)
    )


@prepared
def newest_snapshot(tables: CatalogTables) -> Query:
    """The snapshot that was made last."""
    newest = all_snapshots(tables).order_by(None)
    return newest.order_by(tables.snapshot.c.snapshot_id.desc()).limit(1)


@prepared
def snapshot_of_id(tables: CatalogTables) -> Query:
    """The snapshot of an id."""
    return all_snapshots(tables).where(tables.snapshot.c.snapshot_id == SNAPSHOT)


@prepared
def snapshot_at_moment(tables: CatalogTables) -> Query:
    """The id of the newest snapshot that is not younger than a moment."""
    snapshot = tables.snapshot.c
    return (
        sa.select(snapshot.snapshot_id)
        .where(snapshot.snapshot_time <= MOMENT)
        .order_by(snapshot.snapshot_time.desc(), snapshot.snapshot_id.desc())
        .limit(1)
    )


@prepared
def snapshot_since_moment(tables: CatalogTables) -> Query:
    """The id of the oldest snapshot that is not older than a moment."""
    snapshot = tables.snapshot.c
    return (
        sa.select(snapshot.snapshot_id)
        .where(snapshot.snapshot_time >= MOMENT)
        .order_by(snapshot.snapshot_time, snapshot.snapshot_id)
        .limit(1)
    )


@prepared
def snapshot_times(tables: CatalogTables) -> Query:
    """When each snapshot was made."""
    return sa.select(tables.snapshot.c.snapshot_time, tables.snapshot.c.snapshot_id)


@prepared
def options(tables: CatalogTables) -> Query:
    """Every setting."""
    metadata = tables.metadata.c
    return sa.select(metadata.key, metadata.value, metadata.scope, metadata.scope_id)


@prepared
def namespaces(tables: CatalogTables) -> Query:
    """The namespaces of a snapshot."""
    schema = tables.schema.c
    return (
        sa.select(
            schema.schema_id,
            schema.schema_name,
            schema.path,
            schema.path_is_relative,
            schema.schema_uuid,
            schema.begin_snapshot,
        )
        .where(visible(tables.schema))
        .order_by(schema.schema_id)
    )


@prepared
def all_tables(tables: CatalogTables) -> Query:
    """The tables of a snapshot."""
    table = tables.table.c
    return (
        sa.select(
            table.table_id,
            table.schema_id,
            table.table_name,
            table.path,
            table.path_is_relative,
            table.table_uuid,
            table.begin_snapshot,
        )
        .where(visible(tables.table))
        .order_by(table.table_id)
    )


@prepared
def tables_named(tables: CatalogTables) -> Query:
    """The tables of one name, in any namespace."""
    return all_tables(tables).where(sa.func.lower(tables.table.c.table_name) == NAME)


@prepared
def table_of_id(tables: CatalogTables) -> Query:
    """The UUID of one table, once for every row of it that a snapshot shows."""
    return sa.select(tables.table.c.table_uuid).where(tables.table.c.table_id == TABLE, visible(tables.table))


@prepared
def standing(tables: CatalogTables) -> Query:
    """The newest snapshot and the UUID of one table in it, once for every setting: all of that in one query."""
    newest, table, metadata = newest_snapshot(tables).subquery("newest"), tables.table, tables.metadata.c
    uuid = sa.select(table.c.table_uuid).where(table.c.table_id == TABLE, visible(table, newest.c.snapshot_id)).limit(1)
    settings = (metadata.key, metadata.value, metadata.scope, metadata.scope_id)
    return sa.select(uuid.scalar_subquery().label("table_uuid"), *newest.c, *settings).join_from(
        newest, tables.metadata, sa.true()
    )


@prepared
def all_views(tables: CatalogTables) -> Query:
    """The views of a snapshot."""
    view = tables.view.c
    return (
        sa.select(
            view.view_id,
            view.schema_id,
            view.view_name,
            view.sql,
            view.dialect,
            view.column_aliases,
            view.view_uuid,
            view.begin_snapshot,
        )
        .where(visible(tables.view))
        .order_by(view.view_id)
    )


@prepared
def views_named(tables: CatalogTables) -> Query:
    """The views of one name, in any namespace."""
    return all_views(tables).where(sa.func.lower(tables.view.c.view_name) == NAME)


@prepared
def all_columns(tables: CatalogTables) -> Query:
    """The columns of all tables of a snapshot, at every depth, in order."""
    column = tables.column.c
    return (
        sa.select(
            column.table_id,
            column.column_id,
            column.parent_column,
            column.column_name,
            column.column_type,
            column.nulls_allowed,
            column.initial_default,
            column.default_value,
            column.default_value_type,
            column.default_value_dialect,
        )
        .where(visible(tables.column), *of_own_tables(tables, column.table_id))
        .order_by(column.table_id, column.column_order, column.column_id)
    )


@prepared
def columns_of_table(tables: CatalogTables) -> Query:
    """The columns of one table."""
    return all_columns(tables).where(tables.column.c.table_id == TABLE)


@prepared
def all_comments(tables: CatalogTables) -> Query:
    """The comments of columns."""
    tag = tables.column_tag.c
    # The newest last: readers keep the last one.
    return (
        sa.select(tag.table_id, tag.column_id, tag.value)
        .where(visible(tables.column_tag), tag.key == "comment", *of_own_tables(tables, tag.table_id))
        .order_by(tag.begin_snapshot)
    )


@prepared
def comments_of_table(tables: CatalogTables) -> Query:
    """The comments of the columns of one table."""
    return all_comments(tables).where(tables.column_tag.c.table_id == TABLE)


@prepared
def all_partitions(tables: CatalogTables) -> Query:
    """The partition keys of all tables of a snapshot, in order."""
    info, key = tables.partition_info, tables.partition_column.c
    keys = sa.and_(key.partition_id == info.c.partition_id, key.table_id == info.c.table_id)
    # A reset partitioning is a spec without keys: the join leaves it out, and nothing older is visible.
    return (
        sa.select(info.c.table_id, info.c.partition_id, key.column_id, key.transform)
        .select_from(info.join(tables.partition_column, keys))
        .where(visible(info))
        .order_by(info.c.partition_id, key.partition_key_index)
    )


@prepared
def partitions_of_table(tables: CatalogTables) -> Query:
    """The partition keys of one table."""
    return all_partitions(tables).where(tables.partition_info.c.table_id == TABLE)


@prepared
def all_sorts(tables: CatalogTables) -> Query:
    """The sort keys of all tables of a snapshot, in order."""
    info, key = tables.sort_info, tables.sort_expression.c
    keys = sa.and_(key.sort_id == info.c.sort_id, key.table_id == info.c.table_id)
    return (
        sa.select(info.c.table_id, info.c.sort_id, key.expression, key.sort_direction, key.null_order, key.dialect)
        .select_from(info.join(tables.sort_expression, keys))
        .where(visible(info), *of_own_tables(tables, info.c.table_id))
        .order_by(info.c.sort_id, key.sort_key_index)
    )


@prepared
def sorts_of_table(tables: CatalogTables) -> Query:
    """The sort keys of one table."""
    return all_sorts(tables).where(tables.sort_info.c.table_id == TABLE)


@prepared
def all_tags(tables: CatalogTables) -> Query:
    """The tags of tables and views."""
    tag = tables.tag.c
    query = sa.select(tag.object_id, tag.key, tag.value).where(visible(tables.tag)).order_by(tag.begin_snapshot)
    if tables.shared is None:
        return query
    own = sa.union_all(sa.select(tables.table.c.table_id), sa.select(tables.view.c.view_id))
    return query.where(tag.object_id.in_(own))


@prepared
def tags_of_object(tables: CatalogTables) -> Query:
    """The tags of one table or view."""
    return all_tags(tables).where(tables.tag.c.object_id == TABLE)


@prepared
def macros(tables: CatalogTables) -> Query:
    """The macros of a snapshot with their implementations."""
    macro, body = tables.macro.c, tables.macro_impl.c
    return (
        sa.select(macro.macro_id, macro.schema_id, macro.macro_name, body.type, body.sql)
        .select_from(tables.macro.join(tables.macro_impl, body.macro_id == macro.macro_id))
        .where(visible(tables.macro))
        .order_by(macro.macro_id, body.impl_id)
    )
