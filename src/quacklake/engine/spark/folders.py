"""Folders that one job of Spark's writes to and nobody else looks into."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from quacklake.engine.spark.failures import java_errors
from quacklake.engine.spark.hadoop import Doors
from quacklake.errors import AuthError, StorageError
from quacklake.plan.write import WritePlan, WrittenDeletes, WrittenFile
from quacklake.storage.placement import is_gone, list_files, move_in, remove, removing_on_failure
from quacklake.storage.stores import Stores, is_remote, local_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROUNDS = 5
_PAUSE = 0.3
"""In seconds."""

Written = TypeVar("Written", WrittenFile, WrittenDeletes)


def clear(folder: str, stores: Stores, keep: Sequence[str] = ()) -> None:
    """Take away what is in a folder of ours, and on this disk the folder.

    What cannot be taken away stays: nobody knows of it, and it may be the store itself that has just failed.
    """
    if is_remote(folder):
        with suppress(StorageError, AuthError):
            remove(sorted({*list_files(folder, stores)} - {*keep}), stores)
    else:
        shutil.rmtree(local_path(folder), ignore_errors=True)


@contextmanager
def sweeping(folder: str, stores: Stores, spark: SparkSession) -> Iterator[None]:
    """When a write of Spark's fails, take away what it has begun in a folder of an object store."""
    try:
        yield
    except BaseException:
        sweep(folder, stores, spark)
        raise


def sweep(folder: str, stores: Stores, spark: SparkSession) -> None:
    """Take away everything in a folder of ours in an object store.

    Hadoop puts objects there that stand for folders. Their names end with a slash, and only Hadoop can remove them:
    it does so when a folder is written anew, with nothing.
    """
    for _ in range(_ROUNDS if is_remote(folder) else 0):
        clear(folder, stores)
        if is_gone(folder, stores):
            # A task that was told to stop may still be at it.
            time.sleep(_PAUSE)
            if is_gone(folder, stores):
                return
        elif not _empty(folder, stores, spark):
            return


def _empty(folder: str, stores: Stores, spark: SparkSession) -> bool:
    from pyspark.errors import PySparkException

    known: tuple[type[Exception], ...] = (PySparkException, *java_errors(), OSError)
    doors = Doors(stores.secrets)
    place = doors.writer_path(folder)
    try:
        spark.range(0).write.mode("overwrite").options(**doors.writing([place])).parquet(place)
    except known:
        # The process of Spark may be gone.
        return False
    return True


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
