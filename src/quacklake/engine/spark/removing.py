"""Dead rows, written down by Spark's tasks: one task has all dead rows of a file and says what that means.

Tasks write delete files into a folder that nobody else has, under names that no other attempt has, and describe them
in what they return. Only what is described counts: what a task left that failed or ran twice is taken away.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from quacklake.engine.local.removal import remove_from_file
from quacklake.engine.spark.folders import clear, place
from quacklake.plan.scan import ScanFile, ScanPlan
from quacklake.plan.write import (
    InlinedFileDeletes,
    InlinedRowDeletes,
    RemovedFile,
    WritePlan,
    WriteResult,
    WrittenDeletes,
)
from quacklake.secrets.keyring import Keyring
from quacklake.storage.stores import Stores

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Outcome = RemovedFile | InlinedFileDeletes | InlinedRowDeletes | WrittenDeletes
Work = Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]

_RETURNED = "outcome BINARY, dead BIGINT"


def remove_in_tasks(addresses: DataFrame, scan: ScanPlan, plan: WritePlan, stores: Stores) -> WriteResult:
    """What must be committed so that the rows at these addresses are gone.

    Args:
        addresses: File, position and layout of each row, each row once.
        scan: Where the rows were found.
        plan: How files of the table look.
        stores: Where files go.
    """
    folder = f"{plan.path}deletes-{uuid.uuid4()}/"
    kept: list[str] = []
    try:
        work = _work(_slim(scan.files), scan.snapshot_id, replace(plan, path=folder), stores.secrets)
        named = addresses.toDF("file", "position", "layout").selectExpr(
            "CAST(file IS NULL AS TINYINT) AS inlined", "coalesce(file, layout) AS number", "position"
        )
        # All rows of a file are in one task, in order.
        spread = named.repartition("inlined", "number").sortWithinPartitions("inlined", "number", "position")
        found = spread.mapInArrow(work, _RETURNED).collect()
        # Made by our own tasks, a moment ago.
        outcomes: list[Outcome] = [pickle.loads(row.outcome) for row in found]
        result = _describe(outcomes, sum(row.dead for row in found))
        placed = place(result.deletes, folder, plan, stores)
        kept += [each.path for each in placed]
        return replace(result, deletes=placed)
    finally:
        clear(folder, stores, kept)


def _slim(files: Sequence[ScanFile]) -> dict[int, ScanFile]:
    """Only what a task needs to know of the files."""
    return {file.file_id: replace(file, mapping=None, partition_values={}) for file in files}


def _work(files: dict[int, ScanFile], snapshot_id: int, plan: WritePlan, secrets: Keyring) -> Work:
    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        stores = Stores(secrets)
        try:
            for file_id, layout, dead in _by_file(batches):
                if file_id is None:
                    outcome: Outcome = InlinedRowDeletes(layout, tuple(dead.tolist()))
                else:
                    file = files[file_id]
                    with stores.cursor(file.path, plan.path) as cursor:
                        outcome = remove_from_file(cursor, file, dead, snapshot_id, plan, stores)
                held: list[pa.Array[Any]] = [
                    pa.array([pickle.dumps(outcome)], pa.binary()),
                    pa.array([len(dead)], pa.int64()),
                ]
                yield pa.RecordBatch.from_arrays(held, names=["outcome", "dead"])
        finally:
            stores.close()

    return work


def _by_file(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int | None, int, NDArray[np.int64]]]:
    """Addresses that come in order, put together: the file, or none and the layout, and the positions."""
    known: tuple[bool, int] | None = None
    parts: list[NDArray[np.int64]] = []
    for batch in batches:
        inlined, numbers, positions = (batch.column(index).to_numpy(zero_copy_only=False) for index in range(3))
        edges = np.flatnonzero((np.diff(numbers) != 0) | (np.diff(inlined) != 0)) + 1
        for start, end in pairwise([0, *edges.tolist(), batch.num_rows] if batch.num_rows else []):
            key = (bool(inlined[start]), int(numbers[start]))
            if known is not None and key != known:
                yield _address(known, parts)
                parts = []
            known = key
            parts.append(positions[start:end])
    if known is not None:
        yield _address(known, parts)


def _address(key: tuple[bool, int], parts: Sequence[NDArray[np.int64]]) -> tuple[int | None, int, NDArray[np.int64]]:
    is_inlined, number = key
    return None if is_inlined else number, number, np.concatenate(parts)


def _describe(outcomes: Sequence[Outcome], dead: int) -> WriteResult:
    return WriteResult(
        removed=tuple(sorted((each for each in outcomes if isinstance(each, RemovedFile)), key=_file)),
        deletes=tuple(sorted((each for each in outcomes if isinstance(each, WrittenDeletes)), key=_file)),
        inlined_rows=tuple(
            sorted((each for each in outcomes if isinstance(each, InlinedRowDeletes)), key=lambda e: e.schema_version)
        ),
        inlined_positions=tuple(sorted((each for each in outcomes if isinstance(each, InlinedFileDeletes)), key=_file)),
        rows_deleted=dead,
    )


def _file(outcome: RemovedFile | WrittenDeletes | InlinedFileDeletes) -> int:
    return outcome.data_file_id
