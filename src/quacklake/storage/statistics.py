"""What the footers of finished Parquet files say about their columns, in the terms of the catalog.

DuckDB answers queries from these, so each is exact or left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quacklake.plan.write import ColumnStats
from quacklake.schema import Column
from quacklake.storage.stores import Stores, duckdb_path
from quacklake.types import FLOATS, Decimal, Primitive

# The format keeps no smallest and largest value of these, or a footer's text for them is not the catalog's.
_UNORDERED = frozenset("int128 uint128 interval timetz variant geometry blob unknown".split())


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The size of a file and what is in it."""

    record_count: int
    size: int
    footer_size: int
    stats: tuple[ColumnStats, ...]


def read_facts(
    paths: Sequence[str], leaves: Sequence[Column | None], types: Mapping[int, str], stores: Stores
) -> dict[str, FileFacts]:
    """The facts of files that all have the same columns.

    Args:
        paths: The files.
        leaves: The column of the table that each leaf of the files stands for, in the files' order; None for a leaf
            that is no column of the table.
        types: By column id, the DuckDB type in which values are compared.
        stores: Where the files are.
    """
    if not paths:
        return {}
    by_name = {duckdb_path(path): path for path in paths}
    with stores.cursor(*paths) as cursor:
        files = cursor.execute(
            "SELECT file_name, num_rows, file_size_bytes, footer_size, created_by FROM parquet_file_metadata($paths)",
            {"paths": list(by_name)},
        ).fetchall()
        found: dict[str, list[ColumnStats]] = defaultdict(list)
        writers = {name: writer or "" for name, *_, writer in files}
        for index, column in enumerate(leaves):
            if column is not None:
                for name, row in _aggregate(cursor, list(by_name), index, types[column.id]).items():
                    found[name].append(_column_stats(column, row, writers[name]))
    return {by_name[name]: FileFacts(rows, size, footer, tuple(found[name])) for name, rows, size, footer, _ in files}


def _aggregate(cursor: Any, names: list[str], index: int, type_: str) -> dict[str, tuple[Any, ...]]:
    query = f"""
        SELECT file_name, sum(total_compressed_size), sum(num_values), sum(stats_null_count),
               count(*) FILTER (stats_null_count IS NULL),
               CAST(min(TRY_CAST(stats_min_value AS {type_})) AS VARCHAR),
               CAST(max(TRY_CAST(stats_max_value AS {type_})) AS VARCHAR),
               count(*) FILTER (
                   coalesce(num_values - stats_null_count, 1) > 0
                   AND (TRY_CAST(stats_min_value AS {type_}) IS NULL OR TRY_CAST(stats_max_value AS {type_}) IS NULL
                        OR min_is_exact IS NOT DISTINCT FROM false OR max_is_exact IS NOT DISTINCT FROM false))
        FROM parquet_metadata($paths) WHERE column_id = {index} GROUP BY file_name"""
    return {row[0]: row[1:] for row in cursor.execute(query, {"paths": names}).fetchall()}


def _column_stats(column: Column, row: tuple[Any, ...], writer: str) -> ColumnStats:
    size, values, nulls, uncounted, low, high, unknown = row
    counted = None if uncounted or values is None or nulls is None else (int(values) - int(nulls), int(nulls))
    is_float = isinstance(column.type, Primitive) and column.type.name in FLOATS
    # parquet-java leaves out the bounds of a chunk that has a NaN, so bounds mean there is none. Others do not say.
    keeps_nan_out = writer.startswith("parquet-mr")
    exact = not unknown and low is not None and has_bounds(column) and (not is_float or keeps_nan_out)
    return ColumnStats(
        column_id=column.id,
        size_bytes=int(size or 0),
        value_count=None if counted is None else counted[0],
        null_count=None if counted is None else counted[1],
        min=stored_text(column, low) if exact else None,
        max=stored_text(column, high) if exact else None,
        contains_nan=False if is_float and exact else None,
    )


def has_bounds(column: Column) -> bool:
    """Whether the format keeps the smallest and largest value of a column."""
    return isinstance(column.type, Decimal) or (
        isinstance(column.type, Primitive) and column.type.name not in _UNORDERED
    )


def stored_text(column: Column, text: str) -> str:
    """The catalog's text of a bound that DuckDB names."""
    if column.type == Primitive("boolean"):
        return "1" if text == "true" else "0"
    # A footer says -0.0 for the smallest value whenever that is any zero.
    return "0.0" if text == "-0.0" else text
