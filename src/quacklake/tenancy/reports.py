"""What came, or would come, of moving a lake."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Move:
    """A lake on its way from one database to another."""

    name: str
    """The catalog that it becomes, or was."""
    tables: int
    """All that any snapshot shows."""
    snapshots: int
    files: int
    """Data files and delete files."""
    bytes: int
    written_files: int
    """Those that are written anew, because they name snapshots inside: merged, flushed and repeated deletes."""
    written_bytes: int
    compared: int = 0
    """How often a table was read in both places and found the same, each time at another snapshot."""
    problems: tuple[str, ...] = ()
    """Why it would fail."""
    dry_run: bool = False
