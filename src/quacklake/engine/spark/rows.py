"""Rows that DuckDB reads and Arrow brings to Spark, in Spark's types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from quacklake.engine.local.batches import rows_per_batch, shape_batch
from quacklake.engine.local.duckdb_hand import execute
from quacklake.engine.local.failures import duckdb_errors
from quacklake.engine.local.groups import group_files
from quacklake.engine.local.query import build_query
from quacklake.engine.spark.types import arrow_schema, export_sql
from quacklake.plan.scan import ScanPlan
from quacklake.storage.stores import Stores

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

_BATCH_ROWS = 10_000
"""As many as Spark itself puts into a batch."""


def read_rows(plan: ScanPlan, schema: StructType, stores: Stores) -> Iterator[pa.RecordBatch]:
    """The rows of a plan without a predicate.

    Args:
        plan: The plan; its columns, and the ids of rows where it asks for them, come out.
        schema: Spark's types for these, in order.
        stores: Where the files are.
    """
    target = arrow_schema(schema)
    groups = group_files(plan, plan.columns, stores)
    with duckdb_errors(plan, stores), stores.cursor(*(file.path for file in plan.files)) as cursor:
        result = execute(cursor, build_query(plan, groups, plan.columns, export_sql))
        for batch in result.to_arrow_reader(rows_per_batch(plan.files, _BATCH_ROWS)):
            if batch.num_rows:
                yield shape_batch(batch, target)
