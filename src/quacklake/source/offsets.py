"""How far a stream has read: a snapshot of one table, or a place before the first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from quacklake.errors import InvalidInputError

Start = Literal["content", "latest"]
"""Where a stream begins that has read nothing: with what the table holds, or after it."""


@dataclass(frozen=True, slots=True)
class Offset:
    """All changes up to a snapshot, this one among them, have been read."""

    snapshot_id: int | None = None
    table: str | None = None
    """The uuid of the table, where it is known."""
    start: Start | None = None
    """Where to begin, when there is no snapshot yet. Spark may ask for the first batch again after a restart: this
    must not depend on when it asks."""

    def as_dict(self) -> dict[str, Any]:
        """For the checkpoint."""
        if self.snapshot_id is None:
            return {"start": self.start}
        return {"snapshot_id": self.snapshot_id, "table": self.table}


def read_offset(found: dict[str, Any]) -> Offset:
    """An offset of a checkpoint.

    Raises:
        InvalidInputError: When it was written by something else.
    """
    start, snapshot_id = found.get("start"), found.get("snapshot_id")
    if start in ("content", "latest") and snapshot_id is None:
        return Offset(start=start)
    if isinstance(snapshot_id, int):
        return Offset(snapshot_id, found.get("table"))
    raise InvalidInputError(f"the checkpoint has an offset {found!r}", hint="give the query a checkpoint of its own")
