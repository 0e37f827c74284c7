"""Files that Spark's own reader cannot give exactly, read by DuckDB inside Spark's tasks, one file each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from quacklake.engine.spark.rows import read_rows
from quacklake.engine.spark.sessions import is_connect
from quacklake.plan.scan import ScanFile, ScanPlan
from quacklake.secrets.keyring import Keyring

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

Work = Callable[[Iterable["pa.RecordBatch"]], Iterable["pa.RecordBatch"]]

_SMALL = 1 << 20
"""Files of fewer bytes in all may as well be sent to every executor."""


def read_in_tasks(
    spark: SparkSession,
    plan: ScanPlan,
    files: Sequence[ScanFile],
    schema: StructType,
    secrets: Keyring,
    *,
    addresses: bool = False,
) -> DataFrame:
    """The rows of files, each of which one task reads.

    Args:
        spark: The session.
        plan: What to read of each, without predicate, limit and inlined rows.
        files: The files.
        schema: What comes out.
        secrets: What opens object stores.
        addresses: Give each row its place as well.
    """
    numbers = spark.range(0, len(files), 1, len(files))
    rows = numbers.mapInArrow(_work(plan, tuple(files), schema, secrets, addresses), schema)
    return of_open_size(rows, files)


def of_open_size(rows: DataFrame, files: Sequence[ScanFile]) -> DataFrame:
    """Rows that tasks make of files, for which Spark knows no size, unless the files are small.

    It would take them for as small as the numbers that the tasks get, and in a join send all of them to every executor.
    """
    spark = rows.sparkSession
    if sum(file.size or _SMALL for file in files) < _SMALL or is_connect(spark):
        return rows
    # What comes from an RDD may be of any size for Spark; this one has no part that would have to run.
    return rows.union(spark.createDataFrame(spark.sparkContext.emptyRDD(), rows.schema))


def _work(plan: ScanPlan, files: tuple[ScanFile, ...], schema: StructType, secrets: Keyring, addresses: bool) -> Work:
    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from quacklake.storage.stores import Stores

        stores = Stores(secrets)
        try:
            for batch in batches:
                for number in batch.column(0).to_numpy():
                    yield from read_rows(replace(plan, files=(files[number],)), schema, stores, addresses=addresses)
        finally:
            stores.close()

    return read
