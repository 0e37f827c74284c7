"""Rows that are few enough to go into the catalog itself, and what is known about them."""

from __future__ import annotations

import duckdb
import pyarrow as pa

from quacklake.engine.local.batches import shape_batch
from quacklake.engine.local.types import arrow_field, export_sql
from quacklake.names import quote
from quacklake.plan.write import ColumnStats, InlinedInsert
from quacklake.schema import Column, Schema
from quacklake.types import FLOATS, children

# The format keeps no smallest and largest value of these.
_UNORDERED = frozenset(("int128", "uint128", "interval", "timetz", "variant", "geometry", "json", "blob"))


def inlined_insert(cursor: duckdb.DuckDBPyConnection, schema: Schema, query: str) -> InlinedInsert:
    """The rows of a query with their statistics.

    Args:
        cursor: Where the query runs.
        schema: The table's columns.
        query: Yields them by name.
    """
    target = pa.schema([arrow_field(column) for column in schema])
    outputs = ", ".join(
        f"{export_sql(column.type, quote(column.name))} AS _o{index}" for index, column in enumerate(schema)
    )
    found = cursor.execute(f"SELECT {outputs} FROM ({query})").to_arrow_table()
    batches = [shape_batch(batch, target) for batch in found.to_batches()]
    return InlinedInsert(pa.Table.from_batches(batches, target), stats=_statistics(cursor, schema, query))


def _statistics(cursor: duckdb.DuckDBPyConnection, schema: Schema, query: str) -> tuple[ColumnStats, ...]:
    leaves = [column for column in schema if not children(column.type)]
    if not leaves:
        return ()
    parts = [part for column in leaves for part in _aggregates(column)]
    row = cursor.execute(f"SELECT {', '.join(parts)} FROM ({query})").fetchone()
    assert row is not None
    return tuple(_stats(column, row[index * 5 : index * 5 + 5]) for index, column in enumerate(leaves))


def _aggregates(column: Column) -> tuple[str, str, str, str, str]:
    name, kind = quote(column.name), str(column.type)
    counts = (f"count({name})", f"count(*) FILTER ({name} IS NULL)")
    if kind in _UNORDERED:
        return (*counts, "NULL", "NULL", "NULL")
    # DuckDB takes NaN for the largest value; statistics leave it out and say that it is there.
    real = f"FILTER (NOT isnan({name}))" if kind in FLOATS else ""
    has_nan = f"coalesce(bool_or(isnan({name})), false)" if kind in FLOATS else "NULL"
    value = f"CAST({name} AS TINYINT)" if kind == "boolean" else name
    return (*counts, f"CAST(min({value}) {real} AS VARCHAR)", f"CAST(max({value}) {real} AS VARCHAR)", has_nan)


def _stats(column: Column, found: tuple[object, ...]) -> ColumnStats:
    values, nulls, low, high, has_nan = found
    return ColumnStats(
        column_id=column.id,
        value_count=values,  # type: ignore[arg-type]
        null_count=nulls,  # type: ignore[arg-type]
        min=low,  # type: ignore[arg-type]
        max=high,  # type: ignore[arg-type]
        contains_nan=has_nan,  # type: ignore[arg-type]
    )
