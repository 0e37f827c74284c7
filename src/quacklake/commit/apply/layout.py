"""Partitioning, sort order and the versions of a table's layout."""

from __future__ import annotations

from quacklake.commit.apply.attempt import Attempt
from quacklake.commit.changes import AlterColumns, CreateTable, RenameTable, SetPartition, SetSort


def set_partitions(attempt: Attempt) -> None:
    """End old partitionings and let new ones begin; one without keys says that there is none."""
    info, keys = attempt.tables.partition_info, attempt.tables.partition_column
    for change in attempt.of(SetPartition):
        table_id = attempt.ids.object_id(change.table_id)
        partition_id = attempt.ids.object_id(change.partition_id)
        if change.table_id >= 0:
            attempt.end(info, info.c.table_id == table_id)
        attempt.insert(
            info, [{"partition_id": partition_id, "table_id": table_id, "begin_snapshot": attempt.snapshot_id}]
        )
        attempt.insert(
            keys,
            [
                {
                    "partition_id": partition_id,
                    "table_id": table_id,
                    "partition_key_index": index,
                    "column_id": key.column_id,
                    "transform": key.transform,
                }
                for index, key in enumerate(change.keys)
            ],
        )


def set_sorts(attempt: Attempt) -> None:
    """End old sort orders and let new ones begin."""
    info, keys = attempt.tables.sort_info, attempt.tables.sort_expression
    for change in attempt.of(SetSort):
        table_id = attempt.ids.object_id(change.table_id)
        if change.table_id >= 0:
            attempt.end(info, info.c.table_id == table_id)
        if not change.keys:
            continue
        sort_id = attempt.ids.object_id(change.sort_id)
        attempt.insert(info, [{"sort_id": sort_id, "table_id": table_id, "begin_snapshot": attempt.snapshot_id}])
        attempt.insert(
            keys,
            [
                {
                    "sort_id": sort_id,
                    "table_id": table_id,
                    "sort_key_index": index,
                    "expression": key.expression,
                    "dialect": key.dialect,
                    "sort_direction": "DESC" if key.descending else "ASC",
                    "null_order": "NULLS_FIRST" if key.nulls_first else "NULLS_LAST",
                }
                for index, key in enumerate(change.keys)
            ],
        )


def insert_versions(attempt: Attempt) -> None:
    """Note the schema version of every table whose columns, partitioning or name changed."""
    kinds = (CreateTable, RenameTable, AlterColumns, SetPartition)
    changed = dict.fromkeys(change.table_id for change in attempt.intent.changes if isinstance(change, kinds))
    attempt.insert(
        attempt.tables.schema_versions,
        [
            {
                "begin_snapshot": attempt.snapshot_id,
                "schema_version": attempt.ids.schema_version,
                "table_id": attempt.ids.object_id(table_id),
            }
            for table_id in changed
        ],
    )
