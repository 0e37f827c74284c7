"""The rows of a table that a change looks at, each with its place and its id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from quacklake.engine.local.groups import group_files, wanted_columns
from quacklake.engine.spark.frames import Frames
from quacklake.plan.scan import ScanPlan
from quacklake.schema import Column
from quacklake.storage.stores import Stores

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Target:
    """Rows with the names of the columns that say where and which they are; no column of the table has such a name."""

    frame: DataFrame
    file: str
    """The id of the data file; NULL for a row that the catalog itself holds."""
    position: str
    """In the file; for a row of the catalog its row id. Never NULL."""
    layout: str
    """The schema version of the inlined table; NULL for a row of a file."""
    row_id: str

    @property
    def address(self) -> tuple[str, str, str]:
        """Where a row is."""
        return self.file, self.position, self.layout


def read_target(spark: SparkSession, scan: ScanPlan, columns: Sequence[Column], stores: Stores) -> Target:
    """The rows that a scan finds.

    Args:
        spark: The session.
        scan: Which rows.
        columns: What is needed of them, besides what the predicate looks at.
        stores: Where the files are.

    Raises:
        UnsupportedError: For a predicate that Spark would not understand as it is meant.
    """
    chosen = replace(scan, columns=tuple(columns))
    # Spark reads no row of a file without reading a column.
    wanted = wanted_columns(chosen) or scan.schema.columns[:1]
    frames = Frames(spark, chosen, wanted, stores, addresses=True)
    frame = frames.rows(group_files(chosen, wanted, stores))
    file, position, layout, row_id, _ = frames.hidden
    return Target(frame, file, position, layout, row_id)
