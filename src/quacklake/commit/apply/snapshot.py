"""The rows of the snapshot itself: the first statement of a commit and the last."""

from __future__ import annotations

from quacklake.catalog.view import Snapshot
from quacklake.commit.applied import describe, write_applied
from quacklake.commit.apply.attempt import Attempt


def insert_snapshot(attempt: Attempt) -> None:
    """Claim the snapshot id. Its primary key lets one writer through and no other."""
    ids = attempt.ids
    row = {
        "snapshot_id": ids.snapshot_id,
        "snapshot_time": attempt.time,
        "schema_version": ids.schema_version,
        "next_catalog_id": ids.next_catalog_id,
        "next_file_id": ids.next_file_id,
    }
    attempt.insert(attempt.tables.snapshot, [row])


def insert_changes(attempt: Attempt) -> None:
    """Say what was done, and by whom."""
    intent = attempt.intent
    row = {
        "snapshot_id": attempt.snapshot_id,
        "changes_made": changes_text(attempt),
        "author": intent.author,
        "commit_message": intent.message,
        "commit_extra_info": intent.extra,
    }
    attempt.insert(attempt.tables.snapshot_changes, [row])


def snapshot_of(attempt: Attempt) -> Snapshot:
    """The snapshot that the commit makes."""
    ids, intent = attempt.ids, attempt.intent
    return Snapshot(
        ids.snapshot_id,
        attempt.time,
        ids.schema_version,
        ids.next_catalog_id,
        ids.next_file_id,
        changes_text(attempt),
        intent.author,
        intent.message,
        intent.extra,
    )


def changes_text(attempt: Attempt) -> str:
    """What the snapshot did, in the words of the format."""
    described = (describe(change, attempt.ids.objects) for change in attempt.intent.changes)
    return write_applied(entry for entry in described if entry is not None)
