"""Changes of rows on Spark.

Spark evaluates and writes what it is given: rows to append never pass the driver. Changes of rows that are there
already (delete, update, merge) are computed by the local engine next to the catalog, from the table's files and,
for a merge, from files that Spark wrote of the source.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from quacklake.engine.local.conform import match_columns
from quacklake.engine.local.dml import LocalWriter
from quacklake.engine.spark.incoming import fit_column, stored_type
from quacklake.engine.spark.output import in_writing_session, spark_path, write_frame
from quacklake.errors import InvalidInputError, QuacklakeError, StorageError, UnsupportedError
from quacklake.plan.merge import MergePlan
from quacklake.plan.results import join_results
from quacklake.plan.scan import ScanPlan
from quacklake.plan.write import WritePlan, WriteResult
from quacklake.predicates import Expression
from quacklake.schema import Column
from quacklake.storage.placement import list_files, remove
from quacklake.storage.stores import Stores, is_remote, local_path

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame


class SparkWriter:
    """Makes changes of one table; what it returns becomes true when it is committed."""

    def __init__(self, plan: WritePlan, stores: Stores) -> None:
        self._plan = plan
        self._stores = stores
        self._local = LocalWriter(plan, stores)

    def append(self, frame: DataFrame) -> WriteResult:
        """The rows of a frame as new rows."""
        if self._plan.encryption_key is not None:
            raise UnsupportedError(
                f"Spark cannot write encrypted files of {self._plan.table}", hint="append an Arrow or pandas frame"
            )
        with _spark_errors(self._plan):
            files = write_frame(self._plan, self._fitted(frame), self._stores)
        rows = sum(file.record_count for file in files)
        if rows and rows <= self._plan.inline_limit:
            # So few that they belong into the catalog: known only now, for a frame is evaluated once.
            paths = [file.path for file in files]
            try:
                return self._local.append(self._read_back(paths))
            finally:
                remove(paths, self._stores)
        return WriteResult(files=files, rows_inserted=rows)

    def overwrite(self, scan: ScanPlan, frame: DataFrame) -> WriteResult:
        """Without the rows that the scan finds, and with those of a frame."""
        new = self.append(frame)
        gone = self._local.truncate(scan) if scan.where is None else self._local.delete(scan)
        return join_results(gone, new)

    def overwrite_partitions(self, scan: ScanPlan, frame: DataFrame) -> WriteResult:
        """Without the rows in the partitions that a frame has rows of, and with those of the frame."""
        with self._staged(frame) as source:
            return self._local.overwrite_partitions(scan, source)

    def delete(self, scan: ScanPlan) -> WriteResult:
        """Without the rows that the scan finds."""
        return self._local.delete(scan)

    def truncate(self, scan: ScanPlan) -> WriteResult:
        """Without any row."""
        return self._local.truncate(scan)

    def update(self, scan: ScanPlan, values: Sequence[tuple[str, Expression]]) -> WriteResult:
        """The rows that the scan finds with other values; they keep their ids."""
        return self._local.update(scan, values)

    def merge(self, scan: ScanPlan, frame: DataFrame, plan: MergePlan) -> WriteResult:
        """The table with the frame merged into it."""
        with self._staged(frame) as source:
            return self._local.merge(scan, source, plan)

    def _fitted(self, frame: DataFrame) -> DataFrame:
        """The frame with the table's columns in order, each value checked."""
        columns = self._plan.schema.columns
        found, extra = match_columns(frame.columns, columns, table=self._plan.table)
        if extra:
            raise InvalidInputError(
                f"{self._plan.table} has no column {extra[0]!r}",
                hint=f"its columns are {', '.join(self._plan.schema.names)}; schema='merge' adds new ones",
            )
        return frame.select(*(self._value(frame, column, found.get(column.id)) for column in columns))

    def _value(self, frame: DataFrame, column: Column, name: str | None) -> SparkColumn:
        from pyspark.sql import functions as F

        if name is None:
            value = _default(column)
        else:
            given = frame.schema[name].dataType
            value = fit_column(F.col("`" + name.replace("`", "``") + "`"), given, column)
        if not column.nullable:
            fault = F.raise_error(F.lit(f"column {column.name!r} of {self._plan.table} may not be NULL"))
            value = F.when(value.isNotNull(), value).otherwise(fault)
        return value.alias(column.name)

    @contextmanager
    def _staged(self, frame: DataFrame) -> Iterator[pa.RecordBatchReader]:
        """The rows of a frame, written by Spark's tasks and read as a stream."""
        folder = f"{self._plan.path}source-{uuid.uuid4()}/"
        try:
            with _spark_errors(self._plan), in_writing_session(frame) as written:
                written.write.parquet(spark_path(folder))
            yield self._read_back([path for path in list_files(folder, self._stores) if path.endswith(".parquet")])
        finally:
            if is_remote(folder):
                remove(list_files(folder, self._stores), self._stores)
            else:
                shutil.rmtree(local_path(folder), ignore_errors=True)

    def _read_back(self, paths: Sequence[str]) -> pa.RecordBatchReader:
        cursor = self._stores.cursor(*paths)
        rows = cursor.execute("FROM read_parquet($paths, hive_partitioning = false)", {"paths": list(paths)})
        return rows.to_arrow_reader(100_000)


def _default(column: Column) -> SparkColumn:
    """What a new row has in a column that nobody gave."""
    from pyspark.sql import functions as F

    if column.default is None:
        return F.lit(None).cast(stored_type(column))
    if column.default.is_expression:
        raise UnsupportedError(
            f"the default of column {column.name!r} is an expression of DuckDB", hint="give the column in the frame"
        )
    return F.lit(column.default.text).cast(stored_type(column))


@contextmanager
def _spark_errors(plan: WritePlan) -> Iterator[None]:
    """Turn what Spark raises while it writes into our errors."""
    from pyspark.errors import PySparkException

    try:
        yield
    except QuacklakeError:
        raise
    except PySparkException as error:
        reason = str(error).split("\n", 1)[0]
        condition = error.getCondition() or ""
        # Py4J wraps what a task raised; the reason is in its words.
        text = str(error)
        bad_value = ("USER_RAISED_EXCEPTION", "CAST_OVERFLOW", "NUMERIC_VALUE_OUT_OF_RANGE", "CAST_INVALID_INPUT")
        if condition.startswith(bad_value) or any(mark in text for mark in bad_value):
            raise InvalidInputError(f"{plan.table}: {reason}", hint="nothing was written") from error
        raise StorageError(f"Spark cannot write to {plan.path}: {reason}") from error
