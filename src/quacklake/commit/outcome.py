"""What a write did, as callers get to know it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit, or the part of one that a single write inside a transaction is."""

    snapshot_id: int | None
    """The snapshot it became; None inside a transaction, and when there was nothing to do."""
    rows_inserted: int = 0
    rows_updated: int = 0
    rows_deleted: int = 0
    files_added: int = 0
    files_removed: int = 0

    def __add__(self, other: Commit) -> Commit:
        return Commit(
            snapshot_id=self.snapshot_id if other.snapshot_id is None else other.snapshot_id,
            rows_inserted=self.rows_inserted + other.rows_inserted,
            rows_updated=self.rows_updated + other.rows_updated,
            rows_deleted=self.rows_deleted + other.rows_deleted,
            files_added=self.files_added + other.files_added,
            files_removed=self.files_removed + other.files_removed,
        )
