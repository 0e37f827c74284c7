"""Rows that DuckDB reads and Arrow brings to Spark, in Spark's types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from quacklake.engine.local.batches import rows_per_batch, shape_batch
from quacklake.engine.local.changes import build_feed
from quacklake.engine.local.duckdb_hand import execute
from quacklake.engine.local.failures import duckdb_errors
from quacklake.engine.local.groups import FileGroup, group_files, wanted_columns
from quacklake.engine.local.query import Query, build_query, build_rows
from quacklake.engine.spark.types import arrow_schema, export_sql
from quacklake.plan.changes import INSERT, ChangePlan
from quacklake.plan.scan import ScanFile, ScanPlan
from quacklake.secrets.keyring import Keyring
from quacklake.storage.stores import Stores

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    from pyspark.sql.types import StructType

_BATCH_ROWS = 10_000
"""As many as Spark itself puts into a batch."""


def read_plan(plan: ScanPlan | ChangePlan, schema: StructType, secrets: Keyring) -> Iterator[pa.RecordBatch]:
    """All that a plan gives, read here and now: what a task does that has nothing but the plan.

    Args:
        plan: The plan, with its predicate.
        schema: Spark's types for what comes out. A feed may come without its own columns, and rows with their ids may
            come as a feed of inserts.
        secrets: What opens object stores.
    """
    stores = Stores(secrets)
    try:
        outline = plan.outline if isinstance(plan, ChangePlan) else plan
        with duckdb_errors(outline, stores), stores.cursor(*(file.path for file in outline.files)) as cursor:
            if isinstance(plan, ChangePlan):
                query = build_feed(plan, stores, export_sql)
            else:
                columns = wanted_columns(plan)
                query = build_query(plan, group_files(plan, columns, stores), columns, export_sql)
            query.sql = _arranged(plan, query.sql, len(schema.fields))
            yield from shaped_batches(execute(cursor, query), outline.files, schema)
    finally:
        stores.close()


def _arranged(plan: ScanPlan | ChangePlan, sql: str, width: int) -> str:
    own = len(plan.output_names) - len(plan.columns)
    if width == own + len(plan.columns):
        return sql
    values = [f"_o{own + index}" for index in range(len(plan.columns))]
    first = [] if isinstance(plan, ChangePlan) else ["_o1", "_o0", f"'{INSERT}'"]
    return f"SELECT {', '.join([*first, *values])} FROM ({sql})"


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
