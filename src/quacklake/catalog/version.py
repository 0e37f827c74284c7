"""Versions of the format: which are read, which are written, and what to do about the others."""

from __future__ import annotations

from quacklake.errors import VersionError

CURRENT = "1.0"
"""What is created and written."""

SHARED = "1.0-shared"
"""What a database says that many catalogs share: DuckDB, which knows no catalogs, then refuses it."""

READABLE = ("0.1", "0.2", "0.3-dev1", "0.3", "0.4-dev1", "0.4", CURRENT, "1.1-dev1")
"""What is read as it is, oldest first. The last adds columns and tables that reading does without."""

OLD = READABLE[: READABLE.index(CURRENT)]
"""What `migrate=True` turns into the current version."""


def check_readable(version: str, display: str) -> None:
    """Refuse a lake of a version that nobody here has read.

    Raises:
        VersionError: When the version is unknown, or newer than this package.
    """
    if version not in (*READABLE, SHARED):
        raise VersionError(
            f"the lake in {display} has version {version!r}, and this package reads {READABLE[0]} to {READABLE[-1]}",
            hint="upgrade quacklake",
        )


def check_writable(version: str, display: str) -> None:
    """Refuse to write to a lake of another version than the current one.

    Raises:
        VersionError: When the lake is older (it can be migrated) or newer (it is read only).
    """
    if version in OLD:
        raise VersionError(
            f"the lake in {display} has version {version}, and only {CURRENT} is written",
            hint="open it once with migrate=True; programs that know only the old version cannot read it after that",
        )
    if version not in (CURRENT, SHARED):
        raise VersionError(
            f"the lake in {display} has version {version}, and only {CURRENT} is written", hint="upgrade quacklake"
        )
