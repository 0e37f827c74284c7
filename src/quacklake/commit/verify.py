"""The last check of a commit: what a statement was to change must have been there to be changed."""

from __future__ import annotations

from quacklake.errors import Conflict, ConflictError


def expect_rows(found: int, expected: int, subject: str, act: str) -> None:
    """Refuse to go on when rows are missing or too many: somebody else was there, whatever the snapshots say.

    Raises:
        ConflictError: When the counts differ.
    """
    if found != expected:
        raise conflict(subject, act, f"changed what it is about ({found} of {expected} rows are left)")


def conflict(subject: str, mine: str, theirs: str) -> ConflictError:
    """The error for one conflict."""
    return conflict_error((Conflict(mine, theirs, subject),))


def conflict_error(conflicts: tuple[Conflict, ...]) -> ConflictError:
    """The error for conflicts, which names the first of them."""
    more = f" and {len(conflicts) - 1} more" if len(conflicts) > 1 else ""
    return ConflictError(
        f"the commit conflicts with another one: {conflicts[0]}{more}",
        hint="run the transaction again on the new state",
        conflicts=conflicts,
    )
