"""The files of a whole lake, of whatever snapshot."""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa

from quacklake.catalog.legacy import parse_splits
from quacklake.catalog.moving.source import Source
from quacklake.plan.scan import DeleteFile, ScanFile
from quacklake.storage.paths import join

Splits = list[tuple[int, int]]


def load_data_files(source: Source) -> Iterator[list[tuple[int, ScanFile]]]:
    """All data files with the ids of their tables, some at a time."""
    for rows in source.rows("data_file"):
        yield [
            (
                row["table_id"],
                ScanFile(
                    file_id=row["data_file_id"],
                    path=source.path(row["table_id"], row["path"], row["path_is_relative"]),
                    record_count=row["record_count"],
                    size=row["file_size_bytes"],
                    begin_snapshot=row["begin_snapshot"],
                    footer_size=row["footer_size"],
                    row_id_start=row["row_id_start"],
                    partial_max=row["partial_max"],
                    encryption_key=row["encryption_key"],
                ),
            )
            for row in rows
        ]


def load_delete_files(source: Source) -> Iterator[list[tuple[int, int, DeleteFile]]]:
    """All delete files with the ids of their tables and data files, some at a time."""
    for rows in source.rows("delete_file"):
        yield [
            (
                row["table_id"],
                row["data_file_id"],
                DeleteFile(
                    path=source.path(row["table_id"], row["path"], row["path_is_relative"]),
                    format="puffin" if (row["format"] or "parquet").lower() == "puffin" else "parquet",
                    encryption_key=row["encryption_key"],
                    file_id=row["delete_file_id"],
                    begin_snapshot=row["begin_snapshot"],
                    size=row["file_size_bytes"],
                ),
            )
            for row in rows
        ]


def load_splits(source: Source) -> dict[int, Splits]:
    """What old versions say of merged files: up to which snapshot how many of their rows exist."""
    files = source.catalog.tables.split_files
    if files is None:
        return {}
    query = sa.select(files.c.data_file_id, files.c.partial_file_info).where(files.c.partial_file_info.is_not(None))
    found = {file_id: parse_splits(text) for file_id, text in source.connection.execute(query)}
    return {file_id: sorted(splits) for file_id, splits in found.items() if splits}


def load_scheduled(source: Source) -> Iterator[str]:
    """The paths of files that wait for their deletion."""
    for rows in source.rows("files_scheduled_for_deletion"):
        yield from (join(source.catalog.data_path, row["path"], row["path_is_relative"]) for row in rows)
