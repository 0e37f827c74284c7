"""The Spark engine: the driver plans, Spark's own Parquet reader reads, rows leave as a DataFrame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from quacklake.engine.local.groups import group_files, wanted_columns
from quacklake.engine.protocol import Dialect
from quacklake.engine.spark.sessions import check_session, find_session, keeping_active
from quacklake.errors import InvalidInputError, UnsupportedError
from quacklake.names import fold
from quacklake.plan.changes import ChangePlan
from quacklake.plan.query import Query
from quacklake.plan.scan import ROW_ID, SNAPSHOT_ID, ScanPlan
from quacklake.plan.write import WritePlan
from quacklake.schema import Column
from quacklake.secrets.keyring import Keyring
from quacklake.storage.stores import Stores

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from quacklake.engine.spark.changes import FeedFrames
    from quacklake.engine.spark.frames import Frames
    from quacklake.engine.spark.sql import SparkRows
    from quacklake.engine.spark.writer import SparkWriter


class SparkEngine:
    """Runs plans on Spark. The user's session is used as it is, and none of its settings is changed.

    Args:
        spark: The session; else the active one; else one is started when first needed.
        secrets: The secrets of a session, or settings for object stores by any of their names.
        places: Where files are: a session that is started brings what opens them.
    """

    name = "spark"
    dialect: Dialect = "spark"

    def __init__(
        self,
        spark: SparkSession | None = None,
        secrets: Keyring | Mapping[str, object] | None = None,
        *,
        places: Sequence[str] = (),
    ) -> None:
        if spark is not None:
            check_session(spark)
        self._given = spark
        self.stores = Stores(secrets)
        # Not copied: lakes may be attached before a session is started.
        self._places = places

    @property
    def spark(self) -> SparkSession:
        """The session in use; one is started when there is none."""
        return self._given if self._given is not None else find_session(self._places)

    def read(self, plan: ScanPlan | ChangePlan) -> DataFrame:
        """The rows, not read before something is done with them.

        Raises:
            StorageError: When a file that the driver looks into is missing or damaged.
            UnsupportedError: For a predicate on a column whose type Spark has not.
        """
        if isinstance(plan, ChangePlan):
            feed = self._feed(plan)
            with keeping_active(self.spark):
                return feed.read()
        if not plan.output_names:
            raise UnsupportedError(f"a scan of {plan.table} without columns", hint="use count()")
        self._refuse_double_names(plan)
        columns = wanted_columns(plan)
        groups = group_files(plan, columns, self.stores)
        frames = self._frames(plan, columns)
        with keeping_active(self.spark):
            return frames.read(groups)

    def query(self, query: Query) -> SparkRows:
        """The rows of a SELECT, not read before something is done with them."""
        spark = self.spark
        from quacklake.engine.spark.sql import SparkRows, run_query

        with keeping_active(spark):
            return SparkRows(run_query(spark, query, self.read))

    def count(self, plan: ScanPlan | ChangePlan) -> int:
        """How many rows `read` would give."""
        if isinstance(plan, ChangePlan):
            feed = self._feed(plan)
            with keeping_active(self.spark):
                return feed.count()
        slim = replace(plan, columns=(), row_ids=False)
        columns = wanted_columns(slim) or plan.schema.columns[:1]
        groups = group_files(slim, columns, self.stores)
        if plan.where is None and not any(group.is_partial for group in groups):
            # Exact: footers say how many rows there are, delete files which are dead.
            rows = sum(group.live_rows for group in groups) + sum(each.data.num_rows for each in plan.inlined)
            return rows if plan.limit is None else min(rows, plan.limit)
        frames = self._frames(slim, columns)
        with keeping_active(self.spark):
            return frames.count(groups)

    def writer(self, plan: WritePlan) -> SparkWriter:
        """What makes changes of one table."""
        from quacklake.engine.spark.writer import SparkWriter

        return SparkWriter(plan, self.stores, lambda: self.spark)

    def close(self) -> None:
        """Let go of what the engine holds. Sessions of Spark stay as they are."""
        self.stores.close()

    def _frames(self, plan: ScanPlan, columns: Sequence[Column]) -> Frames:
        spark = self.spark  # says what is missing, where the import would only fail
        from quacklake.engine.spark.frames import Frames

        return Frames(spark, plan, columns, self.stores)

    def _feed(self, plan: ChangePlan) -> FeedFrames:
        spark = self.spark
        from quacklake.engine.spark.changes import FeedFrames

        return FeedFrames(spark, plan, self.stores)

    def _refuse_double_names(self, plan: ScanPlan) -> None:
        taken = [column.name for column in plan.columns if fold(column.name) in (ROW_ID, SNAPSHOT_ID)]
        if plan.row_ids and taken:
            raise InvalidInputError(
                f"{plan.table} has a column {taken[0]!r}, so that Spark could not tell it from the row id",
                hint="read without row_ids, or without the column",
            )
