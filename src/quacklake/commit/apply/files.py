"""Data files with their statistics, partition values and name mappings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quacklake.catalog.shared.holders import note_added
from quacklake.commit.apply.attempt import Attempt
from quacklake.commit.changes import AddFiles
from quacklake.plan.scan import MappedName
from quacklake.plan.write import ColumnStats, WrittenFile


def relative_to(folder: str, path: str) -> dict[str, Any]:
    """A path as the catalog stores it: relative where it lies below the folder it belongs to."""
    if path.startswith(folder):
        return {"path": path[len(folder) :], "path_is_relative": True}
    return {"path": path, "path_is_relative": False}


def add_mappings(attempt: Attempt, known: Mapping[tuple[int, tuple[MappedName, ...]], int]) -> None:
    """Register name mappings that the catalog does not have yet."""
    fresh = {key: id_ for key, id_ in attempt.ids.mappings.items() if key not in known}
    attempt.insert(
        attempt.tables.column_mapping,
        [
            {"mapping_id": id_, "table_id": attempt.ids.object_id(table_id), "type": "map_by_name"}
            for (table_id, _), id_ in fresh.items()
        ],
    )
    attempt.insert(
        attempt.tables.name_mapping, [row for (_, names), id_ in fresh.items() for row in _mapping_rows(id_, names)]
    )


def _mapping_rows(mapping_id: int, names: Sequence[MappedName]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []

    def put(name: MappedName, parent: int | None) -> None:
        # The column id of a mapping is nothing but a running number.
        ordinal = len(rows)
        rows.append(
            {
                "mapping_id": mapping_id,
                "column_id": ordinal,
                "source_name": name.source_name,
                "target_field_id": name.column_id,
                "parent_column": parent,
                "is_partition": name.is_partition,
            }
        )
        for child in name.children:
            put(child, ordinal)

    for name in names:
        put(name, None)
    return rows


def add_files(attempt: Attempt, shifts: Mapping[int, int]) -> None:
    """Register new data files.

    Args:
        attempt: The commit.
        shifts: By table, how far row ids moved since the transaction took them.
    """
    tables = attempt.tables
    files: list[dict[str, Any]] = []
    stats: list[dict[str, Any]] = []
    variants: list[dict[str, Any]] = []
    values: list[dict[str, Any]] = []
    for change in attempt.of(AddFiles):
        table_id = attempt.ids.object_id(change.table_id)
        shift = shifts.get(change.table_id, 0)
        for file, local_id, start in zip(change.files, change.file_ids, change.row_starts, strict=True):
            file_id = attempt.ids.file_id(local_id)
            key = {"data_file_id": file_id, "table_id": table_id}
            files.append({**key, **_file_row(attempt, change, file, start + shift)})
            stats.extend({**key, **_stats_row(each)} for each in file.stats)
            variants.extend({**key, **row} for row in _variant_rows(file))
            values.extend(
                {**key, "partition_key_index": index, "partition_value": value}
                for index, value in enumerate(file.partition_values)
                if _partition_id(attempt, file) is not None
            )
    attempt.insert(tables.data_file, files)
    attempt.insert(tables.file_column_stats, stats)
    attempt.insert(tables.file_partition_value, values)
    attempt.insert(tables.file_variant_stats, variants)


def list_adopted(attempt: Attempt) -> list[str]:
    """Where catalogs share a database, the files that somebody else has written."""
    if attempt.tables.shared is None:
        return []
    return [file.path for change in attempt.of(AddFiles) for file in change.files if file.is_adopted]


def note_adopted(attempt: Attempt) -> None:
    """Note of such files that the catalog needs them: others may need them too."""
    if paths := list_adopted(attempt):
        note_added(attempt.connection, attempt.tables, attempt.data_path, paths)


def _file_row(attempt: Attempt, change: AddFiles, file: WrittenFile, row_id_start: int) -> dict[str, Any]:
    mapping_id = None
    if file.name_mapping is not None:
        mapping_id = attempt.ids.mappings[change.table_id, file.name_mapping]
    return {
        "begin_snapshot": attempt.snapshot_id if file.begin_snapshot is None else file.begin_snapshot,
        **relative_to(attempt.entry(change.table_id).path, file.path),
        "file_format": "parquet",
        "record_count": file.record_count,
        "file_size_bytes": file.size,
        "footer_size": file.footer_size,
        "row_id_start": row_id_start if file.takes_row_ids else file.row_id_start,
        "partition_id": _partition_id(attempt, file),
        "encryption_key": file.encryption_key,
        "mapping_id": mapping_id,
        "partial_max": file.partial_max,
    }


def _partition_id(attempt: Attempt, file: WrittenFile) -> int | None:
    if file.partition_id is None or file.partition_id >= 0:
        return file.partition_id
    # The transaction may have changed the partitioning again: then this one never was, as far as anybody can tell.
    return attempt.ids.objects.get(file.partition_id)


def _stats_row(stats: ColumnStats) -> dict[str, Any]:
    return {
        "column_id": stats.column_id,
        "column_size_bytes": stats.size_bytes,
        "value_count": stats.value_count,
        "null_count": stats.null_count,
        "min_value": stats.min,
        "max_value": stats.max,
        "contains_nan": stats.contains_nan,
        "extra_stats": stats.extra,
    }


def _variant_rows(file: WrittenFile) -> Iterator[dict[str, Any]]:
    for stats in file.stats:
        for each in stats.variant:
            yield {
                "column_id": stats.column_id,
                "variant_path": each.path,
                "shredded_type": each.shredded_type,
                "column_size_bytes": each.size_bytes,
                "value_count": each.value_count,
                "null_count": each.null_count,
                "min_value": each.min,
                "max_value": each.max,
                "contains_nan": each.contains_nan,
                "extra_stats": each.extra,
            }
