"""Reads any plan with DuckDB, without its ducklake extension."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from quacklake.engine.local.batches import rows_per_batch, shape_batch, split_batch
from quacklake.engine.local.expressions import read_sql
from quacklake.engine.local.failures import duckdb_errors
from quacklake.engine.local.groups import FileGroup
from quacklake.engine.local.query import Query, build_count, build_query
from quacklake.engine.local.types import arrow_type, export_sql
from quacklake.errors import StorageError
from quacklake.plan.scan import ScanPlan
from quacklake.plan.sources import Constant
from quacklake.schema import Column
from quacklake.storage.stores import Stores

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

BATCH_ROWS = 122_880
"""At most so many rows in one batch: as many as DuckDB puts into a row group."""


def read_batches(
    plan: ScanPlan, groups: Sequence[FileGroup], columns: Sequence[Column], stores: Stores, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The rows of a plan, as they come, in the types of a schema."""
    with duckdb_errors(plan, stores), stores.cursor(*(file.path for file in plan.files)) as cursor:
        result = execute(cursor, build_query(plan, groups, columns))
        for batch in result.to_arrow_reader(rows_per_batch(plan.files, BATCH_ROWS)):
            for part in split_batch(batch):
                if part.num_rows:
                    yield shape_batch(part, schema)


def count_rows(plan: ScanPlan, groups: Sequence[FileGroup], columns: Sequence[Column], stores: Stores) -> int:
    """How many rows a plan gives."""
    with duckdb_errors(plan, stores), stores.cursor(*(file.path for file in plan.files)) as cursor:
        row = execute(cursor, build_count(plan, groups, columns)).fetchone()
        return 0 if row is None else int(row[0])


def execute(cursor: duckdb.DuckDBPyConnection, query: Query) -> duckdb.DuckDBPyConnection:
    """Run a query with all it refers to."""
    for name, table in query.tables.items():
        cursor.register(f"{name}_arrow", table)
        cursor.execute(f"CREATE TEMP TABLE {name} AS FROM {name}_arrow")
        cursor.unregister(f"{name}_arrow")
    return cursor.execute(query.sql, query.parameters)


def evaluate(constant: Constant, stores: Stores) -> pa.Scalar[Any]:
    """The value of a constant, in the form in which it leaves."""
    import duckdb

    type_ = arrow_type(constant.column.type)
    value = export_sql(constant.column.type, read_sql(constant, ""))
    with stores.cursor() as cursor:
        try:
            return cursor.execute(f"SELECT {value}").to_arrow_table().column(0).cast(type_)[0]
        except duckdb.Error as error:
            name = constant.column.name
            raise StorageError(f"{constant.text!r} is not a value for column {name!r}: {error}") from error
