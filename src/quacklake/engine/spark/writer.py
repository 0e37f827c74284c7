"""Changes of rows on Spark.

Spark's tasks read, compute and write; the driver learns what was written and never holds a table. One choice is made
here: a change that Spark cannot make as it is meant is made by the local engine, next to the catalog. That is so for
updates and merges of encrypted tables and of tables with a column that is only a text in Spark (`time`, `time_ns`,
`timetz`, `interval`, `timestamp_ns`, `variant`, `geometry`), for predicates and expressions that look at such a
column, for defaults that are expressions of DuckDB, and for sessions of Spark Connect without ANSI mode. All of this
is known before anything is written, and shows itself as an `UnsupportedError`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from quacklake.engine.local.conform import match_columns
from quacklake.engine.local.dml import LocalWriter
from quacklake.engine.spark import changing, merging
from quacklake.engine.spark.assigning import required
from quacklake.engine.spark.failures import spark_errors
from quacklake.engine.spark.incoming import fit_column, stored_type
from quacklake.engine.spark.output import write_frame
from quacklake.engine.spark.sessions import keeping_active, strict_session
from quacklake.engine.spark.staging import read_back, staged
from quacklake.errors import InvalidInputError, UnsupportedError
from quacklake.plan.merge import MergePlan
from quacklake.plan.results import join_results
from quacklake.plan.scan import ScanPlan
from quacklake.plan.write import WritePlan, WriteResult
from quacklake.predicates import Expression
from quacklake.schema import Column
from quacklake.storage.placement import remove, removing_on_failure
from quacklake.storage.stores import Stores

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession


class SparkWriter:
    """Makes changes of one table; what it returns becomes true when it is committed.

    Args:
        plan: How the table looks.
        stores: Where files go.
        session: Where changes run that bring no frame.
    """

    def __init__(self, plan: WritePlan, stores: Stores, session: Callable[[], SparkSession]) -> None:
        self._plan = plan
        self._session = session
        self._stores = stores
        self._local = LocalWriter(plan, stores)

    def append(self, frame: DataFrame) -> WriteResult:
        """The rows of a frame as new rows."""
        if self._plan.encryption_key is not None:
            raise UnsupportedError(
                f"Spark cannot write encrypted files of {self._plan.table}", hint="append an Arrow or pandas frame"
            )
        with spark_errors(self._plan, self._stores.secrets), keeping_active(frame.sparkSession):
            files = write_frame(self._plan, self._fitted(frame), self._stores)
        rows = sum(file.record_count for file in files)
        if rows and rows <= self._plan.inline_limit:
            # So few that they belong into the catalog: known only now, for a frame is evaluated once.
            paths = [file.path for file in files]
            try:
                return self._local.append(read_back(paths, self._stores))
            finally:
                remove(paths, self._stores)
        return WriteResult(files=files, rows_inserted=rows)

    def overwrite(self, scan: ScanPlan, frame: DataFrame) -> WriteResult:
        """Without the rows that the scan finds, and with those of a frame."""
        with removing_on_failure(self._stores) as placed:
            new = self.append(frame)
            placed += new.paths
            gone = self.truncate(scan) if scan.where is None else self.delete(scan)
        return join_results(gone, new)

    def overwrite_partitions(self, scan: ScanPlan, frame: DataFrame) -> WriteResult:
        """Without the rows in the partitions that a frame has rows of, and with those of the frame."""
        with spark_errors(self._plan, self._stores.secrets), keeping_active(frame.sparkSession):
            try:
                bench = self._bench(frame.sparkSession)
                return changing.overwrite_partitions(bench, scan, self._fitted(frame))
            except UnsupportedError:
                with staged(frame, self._plan, self._stores) as source:
                    return self._local.overwrite_partitions(scan, read_back(source.paths, self._stores))

    def delete(self, scan: ScanPlan) -> WriteResult:
        """Without the rows that the scan finds."""
        session = self._session()
        with spark_errors(self._plan, self._stores.secrets), keeping_active(session):
            try:
                return changing.delete(self._bench(session), scan)
            except UnsupportedError:
                return self._local.delete(scan)

    def truncate(self, scan: ScanPlan) -> WriteResult:
        """Without any row; none is read for that."""
        return self._local.truncate(scan)

    def update(self, scan: ScanPlan, values: Sequence[tuple[str, Expression]]) -> WriteResult:
        """The rows that the scan finds with other values; they keep their ids."""
        session = self._session()
        with spark_errors(self._plan, self._stores.secrets), keeping_active(session):
            try:
                return changing.update(self._bench(session), scan, values)
            except UnsupportedError:
                return self._local.update(scan, values)

    def merge(self, scan: ScanPlan, frame: DataFrame, plan: MergePlan) -> WriteResult:
        """The table with the frame merged into it."""
        with spark_errors(self._plan, self._stores.secrets), keeping_active(frame.sparkSession):
            try:
                return merging.merge(self._bench(frame.sparkSession), scan, frame, plan)
            except UnsupportedError:
                with staged(frame, self._plan, self._stores) as source:
                    return self._local.merge(scan, read_back(source.paths, self._stores), plan)

    def _bench(self, spark: SparkSession) -> changing.Bench:
        return changing.Bench(self._plan, self._stores, strict_session(spark))

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
        return required(value, column, self._plan.table).alias(column.name)


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
