"""What is in a folder, however much it is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from quacklake.storage.stores import Stores, is_remote, local_errors, local_path


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file, and when it was written last."""

    path: str
    """As the folder's path goes on."""
    modified: datetime


def walk_files(folder: str, stores: Stores) -> Iterator[FoundFile]:
    """Every file below a folder, at every depth, one after the other. A folder that is not there has none.

    On this disk links are not followed and not files: what they lead to is somewhere else.

    Raises:
        AuthError: When it may not be looked at.
        StorageError: When the disk or the store fails.
    """
    if not is_remote(folder):
        yield from _walk_disk(folder)
        return
    with stores.errors(folder, "list"):
        store, prefix = stores.locate(folder)
        for batch in store.list(prefix):
            for entry in batch:
                # A store may know no folders, and give what merely begins alike.
                if entry["path"].startswith(prefix):
                    yield FoundFile(folder + entry["path"][len(prefix) :], entry["last_modified"])


def _walk_disk(folder: str) -> Iterator[FoundFile]:
    waiting = [folder]
    while waiting:
        place = waiting.pop()
        with local_errors(place):
            try:
                entries = list(os.scandir(local_path(place)))
            except (FileNotFoundError, NotADirectoryError):
                # Never made, or gone by now.
                continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                waiting.append(f"{place}{entry.name}/")
            elif entry.is_file(follow_symlinks=False) and (found := _look(entry, place)):
                yield found


def _look(entry: os.DirEntry[str], place: str) -> FoundFile | None:
    try:
        seconds = entry.stat(follow_symlinks=False).st_mtime
    except FileNotFoundError:
        return None
    return FoundFile(place + entry.name, datetime.fromtimestamp(seconds, UTC))
