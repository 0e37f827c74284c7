"""From 0.3 to 0.4: macros, sort orders, statistics of variants, expressions as defaults, versions per table."""

from __future__ import annotations

import sqlalchemy as sa

from quacklake.catalog.legacy import parse_splits
from quacklake.catalog.migrations.editor import CatalogEditor


def upgrade(editor: CatalogEditor) -> str:
    """Make the step; returns the version that the lake has now."""
    for name in ("macro", "macro_impl", "macro_parameters", "sort_info", "sort_expression", "file_variant_stats"):
        editor.create(name)
    editor.add_column("column", "default_value_type")
    editor.add_column("column", "default_value_dialect")
    editor.add_column("schema_versions", "table_id")
    editor.add_column("data_file", "partial_max")
    editor.add_column("delete_file", "partial_max")
    columns = editor.tables.column
    editor.execute(columns.update().where(columns.c.default_value_type.is_(None)).values(default_value_type="literal"))
    if editor.has("data_file", "partial_file_info"):
        found = _partial_files(editor)
        if editor.every_step_is_final:
            _set_partial_max(editor, found)
        editor.drop_column("data_file", "partial_file_info")
        if not editor.every_step_is_final:
            # DuckDB does not alter a table after it has changed rows of it in the same transaction.
            _set_partial_max(editor, found)
    with editor.together():
        _count_versions_by_table(editor)
        return editor.set_version("0.4")


def _partial_files(editor: CatalogEditor) -> dict[int, int]:
    """The files that hold rows of several snapshots, each with the newest of them.

    Old merges wrote how many rows belong to each snapshot; newer files have that in a column of their own. From
    now on only the second is read. A file without that column is marked all the same as long as a snapshot is
    left that does not show all of it: to read that snapshot is then refused, and not answered with rows too many.
    """
    files, snapshot = editor.old_table("data_file"), editor.tables.snapshot.c
    ids = sorted(editor.execute(sa.select(snapshot.snapshot_id)).scalars())
    query = sa.select(files.c.data_file_id, files.c.begin_snapshot, files.c.partial_file_info)
    found: dict[int, int] = {}
    for file_id, begin, info in editor.execute(query.where(files.c.partial_file_info.is_not(None))).all():
        splits = parse_splits(info)
        if splits is None:
            found[file_id] = int(info.partition(":")[2])
        elif any(begin <= id_ < max(splits)[0] for id_ in ids):
            found[file_id] = max(splits)[0]
    return found


def _set_partial_max(editor: CatalogEditor, found: dict[int, int]) -> None:
    files = editor.tables.data_file
    for file_id, newest in found.items():
        editor.execute(
            files.update()
            .where(files.c.data_file_id == file_id, files.c.partial_max.is_(None))
            .values(partial_max=newest)
        )


def _count_versions_by_table(editor: CatalogEditor) -> None:
    """Versions were counted for the whole lake: each becomes one of every table that was there."""
    versions, table = editor.tables.schema_versions, editor.tables.table.c
    of_lake = sa.select(versions.c.begin_snapshot, versions.c.schema_version).where(versions.c.table_id.is_(None))
    lives = editor.execute(sa.select(table.table_id, table.begin_snapshot, table.end_snapshot)).all()
    for begin, version in editor.execute(of_lake).all():
        for table_id, first, end in lives:
            if first <= begin and (end is None or begin < end):
                editor.execute(
                    versions.insert().values(begin_snapshot=begin, schema_version=version, table_id=table_id)
                )
    editor.execute(versions.delete().where(versions.c.table_id.is_(None)))
