"""Which snapshots changed a table."""

from __future__ import annotations

from collections.abc import Iterable

from quacklake.catalog.view import Snapshot, TableEntry
from quacklake.commit.applied import parse_applied
from quacklake.names import fold


def touching(snapshots: Iterable[Snapshot], entry: TableEntry) -> list[Snapshot]:
    """The snapshots that made, changed or dropped a table, oldest first."""
    return [each for each in snapshots if _touches(each, entry)]


def _touches(snapshot: Snapshot, entry: TableEntry) -> bool:
    name = (fold(entry.name.namespace), fold(entry.name.table))
    for applied in parse_applied(snapshot.changes):
        if applied.id == entry.table_id:
            return True
        if applied.word == "created_table" and (fold(applied.namespace or ""), fold(applied.name or "")) == name:
            # The name alone says nothing of a table of the same name that was dropped before.
            return snapshot.snapshot_id >= entry.begin_snapshot
    return False
