"""Rows that DuckDB reads and Arrow brings to Spark, in Spark's types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from quacklake.engine.local.batches import rows_per_batch, shape_batch
from quacklake.engine.local.duckdb_hand import execute
from quacklake.engine.local.failures import duckdb_errors
from quacklake.engine.local.groups import FileGroup, group_files
from quacklake.engine.local.query import Query, build_query, build_rows
from quacklake.engine.spark.types import arrow_schema, export_sql
from quacklake.plan.scan import ScanFile, ScanPlan
from quacklake.storage.stores import Stores

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    from pyspark.sql.types import StructType

_BATCH_ROWS = 10_000
"""As many as Spark itself puts into a batch."""


def read_rows(
    plan: ScanPlan, schema: StructType, stores: Stores, *, addresses: bool = False
) -> Iterator[pa.RecordBatch]:
    """The rows of a plan without a predicate.

    Args:
        plan: The plan; its columns, and the ids of rows where it asks for them, come out.
        schema: Spark's types for these, in order.
        stores: Where the files are.
        addresses: Give each row its place as well, before its ids.
    """
    groups = group_files(plan, plan.columns, stores)
    with duckdb_errors(plan, stores), stores.cursor(*(file.path for file in plan.files)) as cursor:
        build = _addressed if addresses else _plain
        yield from shaped_batches(execute(cursor, build(plan, groups)), plan.files, schema)


def shaped_batches(
    result: duckdb.DuckDBPyConnection, files: Sequence[ScanFile], schema: StructType
) -> Iterator[pa.RecordBatch]:
    """What DuckDB read from files, as batches in the form in which Spark takes them."""
    target = arrow_schema(schema)
    for batch in result.to_arrow_reader(rows_per_batch(files, _BATCH_ROWS)):
        if batch.num_rows:
            yield shape_batch(batch, target)


def _plain(plan: ScanPlan, groups: Sequence[FileGroup]) -> Query:
    return build_query(plan, groups, plan.columns, export_sql)


def _addressed(plan: ScanPlan, groups: Sequence[FileGroup]) -> Query:
    query = build_rows(plan, groups, plan.columns)
    # Three columns say where a row is, two which row it is; the table's come behind them.
    names = [f"_a{index}" for index in range(5 + len(plan.columns))]
    outputs = names[:5] + [export_sql(column.type, name) for column, name in zip(plan.columns, names[5:], strict=True)]
    select = ", ".join(f"{sql} AS _o{index}" for index, sql in enumerate(outputs))
    query.sql = f"SELECT {select} FROM ({query.sql}) AS _rows({', '.join(names)})"
    return query
