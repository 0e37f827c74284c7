"""The statements of a commit, in the order in which DuckDB runs them. One module per kind of row."""

from __future__ import annotations

from quacklake.commit.apply.attempt import Attempt
from quacklake.commit.apply.batches import note_batch
from quacklake.commit.apply.columns import alter_columns
from quacklake.commit.apply.deletes import add_deletes, remove_files
from quacklake.commit.apply.files import add_files, add_mappings, list_adopted, note_adopted
from quacklake.commit.apply.inlined import create_layouts, delete_inlined, insert_rows
from quacklake.commit.apply.layout import insert_versions, set_partitions, set_sorts
from quacklake.commit.apply.objects import (
    create_namespaces,
    create_tables,
    create_views,
    drop_macros,
    drop_namespaces,
    drop_tables,
    drop_views,
    end_renamed_tables,
    end_renamed_views,
)
from quacklake.commit.apply.snapshot import insert_changes, insert_snapshot
from quacklake.commit.apply.stats import forget_retyped, write_stats
from quacklake.commit.apply.tags import set_column_comments, set_comments
from quacklake.commit.changes import AddFiles, InlineRows
from quacklake.commit.prepare import Prepared


def is_blind(attempt: Attempt) -> bool:
    """Whether no statement of the commit depends on what another one found."""
    if attempt.intent.batch is not None or list_adopted(attempt):
        return False
    return all(isinstance(change, AddFiles | InlineRows) for change in attempt.intent.changes)


def apply_all(attempt: Attempt, prepared: Prepared) -> None:
    """Run every statement of the commit."""
    note_batch(attempt)
    insert_snapshot(attempt)
    drop_tables(attempt)
    renamed_tables = end_renamed_tables(attempt)
    drop_views(attempt)
    renamed_views = end_renamed_views(attempt)
    drop_macros(attempt)
    drop_namespaces(attempt)
    create_namespaces(attempt)
    create_tables(attempt, renamed_tables)
    set_partitions(attempt)
    create_views(attempt, renamed_views)
    set_comments(attempt)
    set_column_comments(attempt)
    alter_columns(attempt)
    create_layouts(attempt)
    set_sorts(attempt)
    add_mappings(attempt, prepared.mappings)
    forget_retyped(attempt)
    write_stats(attempt, prepared.stats)
    add_files(attempt, prepared.shifts)
    note_adopted(attempt)
    insert_rows(attempt, prepared.shifts, prepared.inlined)
    remove_files(attempt)
    add_deletes(attempt)
    delete_inlined(attempt)
    insert_versions(attempt)
    insert_changes(attempt)
