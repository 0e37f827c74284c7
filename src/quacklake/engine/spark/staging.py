"""Rows that are kept for the time of one change: computed once, by Spark, in files that nobody else looks at.

What a change needs of them must agree: which rows go and which come back. A frame that is computed twice may give
something else the second time, and so may a cache that has lost a part.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quacklake.engine.spark.folders import clear, sweeping
from quacklake.engine.spark.hadoop import Doors
from quacklake.engine.spark.output import in_writing_session
from quacklake.plan.write import WritePlan
from quacklake.storage.placement import list_files
from quacklake.storage.stores import Stores, duckdb_path

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Staged:
    """Rows that will not change any more."""

    frame: DataFrame
    paths: tuple[str, ...]
    """The files they are in, for whoever reads them without Spark."""


@contextmanager
def staged(frame: DataFrame, plan: WritePlan, stores: Stores) -> Iterator[Staged]:
    """The rows of a frame, written by Spark's tasks beside the table's files; gone when the change is made."""
    folder = f"{plan.path}staged-{uuid.uuid4()}/"
    doors = Doors(stores.secrets)
    place = doors.writer_path(folder)
    try:
        with sweeping(folder, stores, frame.sparkSession), in_writing_session(frame) as written:
            written.write.mode("error").options(**doors.writing([place])).parquet(place)
        paths = tuple(path for path in list_files(folder, stores) if path.endswith(".parquet"))
        reader = frame.sparkSession.read.schema(frame.schema).options(**doors.reading([place]))
        yield Staged(reader.parquet(place), paths)
    finally:
        clear(folder, stores)


def read_back(paths: Sequence[str], stores: Stores) -> pa.RecordBatchReader:
    """The rows of files that Spark wrote, as a stream."""
    cursor = stores.cursor(*paths)
    rows = cursor.execute(
        "FROM read_parquet($paths, hive_partitioning = false)", {"paths": [duckdb_path(path) for path in paths]}
    )
    return rows.to_arrow_reader(100_000)
