"""Folders that one job of Spark's writes to and nobody else looks into."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from quacklake.plan.write import WritePlan, WrittenDeletes, WrittenFile
from quacklake.storage.placement import list_files, move_in, remove, removing_on_failure
from quacklake.storage.stores import Stores, is_remote, local_path

Written = TypeVar("Written", WrittenFile, WrittenDeletes)


def clear(folder: str, stores: Stores, keep: Sequence[str] = ()) -> None:
    """Take away what is in a folder of ours, and on this disk the folder."""
    if is_remote(folder):
        remove(sorted({*list_files(folder, stores)} - {*keep}), stores)
    else:
        shutil.rmtree(local_path(folder), ignore_errors=True)


def place(written: Sequence[Written], folder: str, plan: WritePlan, stores: Stores) -> tuple[Written, ...]:
    """Move files out of a folder of ours to the table's; on an object store, where that is a copy, they stay."""
    moved: list[Written] = []
    with removing_on_failure(stores) as placed:
        for each in written:
            target = each.path if is_remote(each.path) else plan.path + each.path.removeprefix(folder)
            if target != each.path:
                move_in(Path(local_path(each.path)), target, stores)
            placed.append(target)
            moved.append(replace(each, path=target))
    return tuple(moved)
