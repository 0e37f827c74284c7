"""From 0.1 to 0.2: namespaces and tables get paths, settings get scopes, files get name mappings."""

from __future__ import annotations

import sqlalchemy as sa

from quacklake.catalog.migrations.editor import CatalogEditor


def upgrade(editor: CatalogEditor) -> str:
    """Make the step; returns the version that the lake has now."""
    for name in ("schema", "table"):
        editor.add_column(name, "path")
        editor.add_column(name, "path_is_relative")
    editor.add_column("metadata", "scope")
    editor.add_column("metadata", "scope_id")
    editor.add_column("data_file", "mapping_id")
    editor.create("column_mapping")
    editor.create("name_mapping")
    with editor.together():
        for table in (editor.tables.schema, editor.tables.table):
            # Files lay right below the data path.
            editor.execute(table.update().where(table.c.path.is_(None)).values(path="", path_is_relative=True))
        _point_partitions_at_columns(editor)
        return editor.set_version("0.2")


def _point_partitions_at_columns(editor: CatalogEditor) -> None:
    """A partition key named its column by its place among the live ones; from now on by its id."""
    columns, keys = editor.tables.column.c, editor.tables.partition_column
    live: dict[int, list[int]] = {}
    query = sa.select(columns.table_id, columns.column_id).where(
        columns.parent_column.is_(None), columns.end_snapshot.is_(None)
    )
    for table_id, column_id in editor.execute(query.order_by(columns.table_id, columns.column_order)).all():
        live.setdefault(table_id, []).append(column_id)
    stored = sa.select(keys.c.partition_id, keys.c.table_id, keys.c.partition_key_index, keys.c.column_id)
    for partition_id, table_id, index, place in editor.execute(stored).all():
        if place < len(live.get(table_id, ())):
            editor.execute(
                keys.update()
                .where(
                    keys.c.partition_id == partition_id,
                    keys.c.table_id == table_id,
                    keys.c.partition_key_index == index,
                )
                .values(column_id=live[table_id][place])
            )
