"""From 0.2 to 0.3: commits get authors and messages, the lake remembers when its schema changed."""

from __future__ import annotations

import sqlalchemy as sa

from quacklake.catalog.migrations.editor import CatalogEditor


def upgrade(editor: CatalogEditor) -> str:
    """Make the step; returns the version that the lake has now."""
    # Mappings to columns in the path came with this version, so those that are there have none.
    if editor.add_column("name_mapping", "is_partition"):
        mapping = editor.tables.name_mapping
        editor.execute(mapping.update().values(is_partition=False))
    for column in ("author", "commit_message", "commit_extra_info"):
        editor.add_column("snapshot_changes", column)
    editor.rename("file_column_statistics", "file_column_stats")
    editor.add_column("file_column_stats", "extra_stats")
    editor.add_column("table_column_stats", "extra_stats")
    # With the column of the next version already: without a table, a row means the whole lake.
    editor.create("schema_versions")
    with editor.together():
        versions, snapshot = editor.old_table("schema_versions"), editor.tables.snapshot.c
        if editor.execute(sa.select(sa.func.count()).select_from(versions)).scalar() == 0:
            first = sa.func.min(snapshot.snapshot_id)
            seen = sa.select(first, snapshot.schema_version).group_by(snapshot.schema_version)
            for begin, version in editor.execute(seen.order_by(snapshot.schema_version)).all():
                editor.execute(sa.insert(versions).values(begin_snapshot=begin, schema_version=version))
        return editor.set_version("0.3")
