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
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from quacklake.engine.local.dml import LocalWriter
from quacklake.engine.local.types import duckdb_type
from quacklake.engine.local.writer import ROW_ID_COLUMN, write_files
from quacklake.engine.spark.folders import clear, place
from quacklake.engine.spark.output import with_keys
from quacklake.errors import InvalidInputError
from quacklake.names import quote
from quacklake.plan.write import WritePlan, WriteResult, WrittenFile
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


def append_in_task(plan: WritePlan, secrets: Keyring, batches: Iterable[pa.RecordBatch]) -> WriteResult:
    """The rows that a task gets as new rows: files that are complete and in their place, or rows for the catalog.

    Args:
        plan: How files of the table look.
        secrets: What opens object stores.
        batches: The rows, in Spark's types.
    """
    rest = iter(batches)
    first = next(rest, None)
    if first is None:
        return WriteResult()
    stores = Stores(secrets)
    try:
        rows = (read_texts(plan.schema, batch) for batch in chain([first], rest))
        first = next(rows)
        reader = pa.RecordBatchReader.from_batches(first.schema, chain([first], rows))
        return LocalWriter(plan, stores).append(reader)
    finally:
        stores.close()


def read_texts(schema: Schema, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with values in place of the texts that stand for them in Spark and in Arrow need not.

    Raises:
        InvalidInputError: For a text that stands for no value.
    """
    columns = list(batch.columns)
    for index, field in enumerate(batch.schema):
        column = schema.find(field.name)
        read = None if column is None else _TEXTS.get(str(column.type))
        if column is not None and read is not None and pa.types.is_string(field.type):
            try:
                columns[index] = read(columns[index])
            except pa.ArrowInvalid as error:
                raise InvalidInputError(f"{field.name}: a text is no {column.type}: {error}") from error
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _read_times(texts: Any) -> Any:
    days = pc.binary_join_element_wise("1970-01-01", texts, " ")
    return days.cast(pa.timestamp("us")).cast(pa.time64("us"))


_TEXTS: dict[str, Callable[[Any], Any]] = {
    "time": _read_times,
    "timestamp_ns": lambda texts: texts.cast(pa.timestamp("ns")),
}


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
