"""Data files that DuckDB writes inside Spark's tasks, where Spark's own writer cannot.

Spark gives no field ids to what is inside a list or a map. A mapping by name makes up for that, but DuckDB finds no row
ids in a file that has a mapping: rows that keep their ids need a file with every id.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa

from quacklake.engine.local.types import duckdb_type
from quacklake.engine.local.writer import ROW_ID_COLUMN, write_files
from quacklake.engine.spark.folders import clear, place
from quacklake.engine.spark.output import with_keys
from quacklake.names import quote
from quacklake.plan.write import WritePlan, WrittenFile
from quacklake.predicates.spark import quote_name
from quacklake.schema import Schema
from quacklake.secrets.keyring import Keyring
from quacklake.storage.stores import Stores

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Work = Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]


def write_in_tasks(plan: WritePlan, frame: DataFrame, stores: Stores) -> tuple[WrittenFile, ...]:
    """Write rows that keep their ids, complete and in their place.

    Args:
        plan: How files of the table look.
        frame: The table's columns in order, as Spark stores them, and the row ids behind them.
        stores: Where files go.
    """
    folder = f"{plan.path}files-{uuid.uuid4()}/"
    kept: list[str] = []
    try:
        work = _work(replace(plan, path=folder), stores.secrets)
        spread = with_keys(plan, frame).select(*map(quote_name, frame.columns))
        # Made by our own tasks, a moment ago.
        found = [pickle.loads(row.file) for row in spread.mapInArrow(work, "file BINARY").collect()]
        placed = place(found, folder, plan, stores)
        kept += [file.path for file in placed]
        return placed
    finally:
        clear(folder, stores, kept)


def stored_sql(schema: Schema) -> str:
    """The select list that makes the table's own types of what Spark stores."""
    return ", ".join(
        f"CAST({quote(column.name)} AS {duckdb_type(column.type)}) AS {quote(column.name)}" for column in schema
    )


def _work(plan: WritePlan, secrets: Keyring) -> Work:
    query = f"SELECT {stored_sql(plan.schema)}, {ROW_ID_COLUMN} FROM _quacklake_rows"

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rest = iter(batches)
        first = next(rest, None)
        if first is None:
            return
        stores = Stores(secrets)
        try:
            with stores.cursor() as cursor:
                cursor.register(
                    "_quacklake_rows", pa.RecordBatchReader.from_batches(first.schema, chain([first], rest))
                )
                files = write_files(cursor, plan, query, stores, row_ids=True)
        finally:
            stores.close()
        yield pa.record_batch({"file": pa.array([pickle.dumps(file) for file in files], pa.binary())})

    return work
