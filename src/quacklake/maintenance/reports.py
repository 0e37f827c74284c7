"""What maintenance did, or would do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

MOST_LISTED = 10_000
"""So many paths a report lists at the most; it counts all of them."""


@dataclass(frozen=True, slots=True)
class Expired:
    """Snapshots that are gone, and what went with them."""

    snapshots: tuple[int, ...] = ()
    """The ids, in order."""
    tables: int = 0
    """Tables that no snapshot shows any more."""
    data_files: int = 0
    delete_files: int = 0
    files_scheduled: int = 0
    """Files that `cleanup` will delete; fewer than those above when another row of the lake leads to the same file."""
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Stuck:
    """A file that could not be deleted."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Removed:
    """Files that are gone."""

    files: int = 0
    paths: tuple[str, ...] = ()
    """Which; the first of them when they are very many."""
    in_use: int = 0
    """Files that were to go and stay, because rows of the lake lead to them."""
    files_failed: int = 0
    failed: tuple[Stuck, ...] = ()
    """Files that could not be deleted; they are tried again the next time."""
    dry_run: bool = False

    def add(self, paths: Iterable[str], failures: Mapping[str, str], in_use: int = 0) -> Removed:
        """The report with another batch: its files, those among them that could not be deleted, and why."""
        gone = [path for path in paths if path not in failures]
        stuck = tuple(Stuck(path, reason) for path, reason in failures.items())
        return replace(
            self,
            files=self.files + len(gone),
            paths=(*self.paths, *gone[: MOST_LISTED - len(self.paths)]),
            in_use=self.in_use + in_use,
            files_failed=self.files_failed + len(stuck),
            failed=(*self.failed, *stuck[: MOST_LISTED - len(self.failed)]),
        )
