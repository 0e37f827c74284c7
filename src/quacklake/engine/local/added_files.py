"""Make Parquet files from elsewhere part of a table, where they are and as they are. Only footers are read."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import duckdb

from quacklake.engine.local.types import duckdb_type
from quacklake.errors import InvalidInputError
from quacklake.names import quote
from quacklake.plan.added_files import Fit, fit
from quacklake.plan.scan import ScanFile
from quacklake.plan.write import ColumnStats, PartitionField, WritePlan, WrittenFile
from quacklake.schema import Column
from quacklake.storage.footers import read_layout
from quacklake.storage.placement import find_files
from quacklake.storage.statistics import FileFacts, has_bounds, read_facts, stored_text
from quacklake.storage.stores import Stores
from quacklake.types import FLOATS

# Some writers cut long texts in their footers and do not say so.
_LONGEST_BOUND = 60
# How much of the text of a moment all rows of a partition share.
_PERIODS = {"year": 4, "month": 7, "day": 10, "hour": 13}
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d(\.\d+)?(\+00)?)?")


def adopt_files(
    plan: WritePlan, given: Sequence[str], stores: Stores, *, allow_missing: bool, ignore_extra: bool
) -> tuple[WrittenFile, ...]:
    """Describe files, each checked against the table.

    Args:
        plan: The table.
        given: Paths; `*` and `**` stand for any name and any folders.
        stores: What opens them.
        allow_missing: Take the default of a column that a file lacks.
        ignore_extra: Leave out columns of a file that the table lacks.

    Raises:
        InvalidInputError: When a file does not fit the table, or its rows belong to several partitions.
        StorageError: When a file is missing or is not a Parquet file.
    """
    paths = [path for each in given for path in find_files(each, stores)]
    if len(set(paths)) < len(paths):
        raise InvalidInputError(f"{_first_repeated(paths)} is given twice")
    fits: dict[str, Fit] = {}
    alike: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    for path in paths:
        layout = read_layout(ScanFile(-1, path, 0, None, 0), stores)
        fits[path] = fit(path, layout, plan.schema.columns, allow_missing=allow_missing, ignore_extra=ignore_extra)
        # A variant is several leaves in the file: there is no telling which footer entry is whose.
        leaves = () if "VARIANT" in str(layout.columns) else fits[path].leaves
        alike[leaves].append(path)
    facts: dict[str, FileFacts] = {}
    for leaves, group in alike.items():
        types = {leaf.id: duckdb_type(leaf.type) for leaf in leaves if leaf is not None}
        facts.update(read_facts(group, leaves, types, stores))
    with stores.cursor() as cursor:
        return tuple(_describe(cursor, plan, path, fits[path], facts[path]) for path in paths)


def _first_repeated(paths: Sequence[str]) -> str:
    return next(path for path in paths if paths.count(path) > 1)


def _describe(cursor: Any, plan: WritePlan, path: str, found: Fit, facts: FileFacts) -> WrittenFile:
    if not facts.record_count:
        raise InvalidInputError(f"{path} has no rows", hint="leave it out")
    in_path = {column.id: _canonical(cursor, path, column, text) for column, text in found.in_path}
    stats = (
        *(_certain(each, found) for each in facts.stats),
        *(_path_stats(column, in_path[column.id], facts.record_count) for column, _ in found.in_path),
    )
    known = {each.column_id: each for each in stats}
    for column in plan.schema:
        _refuse_nulls(path, column, known.get(column.id))
    values = tuple(_partition_value(cursor, path, field, known) for field in plan.partition)
    return WrittenFile(
        path=path,
        record_count=facts.record_count,
        size=facts.size,
        footer_size=facts.footer_size,
        stats=stats,
        partition_id=plan.partition_id if plan.partition else None,
        partition_values=values,
        name_mapping=found.mapping,
        is_adopted=True,
    )


def _canonical(cursor: Any, path: str, column: Column, text: str | None) -> str | None:
    """The text that DuckDB has for a value of a path."""
    type_ = duckdb_type(column.type)
    try:
        row = cursor.execute(f"SELECT CAST(CAST($text AS {type_}) AS VARCHAR)", {"text": text}).fetchone()
    except duckdb.Error as error:
        raise InvalidInputError(f"{path}: {text!r} is no {column.type} for column {column.name!r}") from error
    return None if row is None else row[0]


def _certain(stats: ColumnStats, found: Fit) -> ColumnStats:
    too_long = any(len((bound or "").encode()) >= _LONGEST_BOUND for bound in (stats.min, stats.max))
    if too_long or stats.column_id in found.retyped:
        return replace(stats, min=None, max=None, contains_nan=None)
    return stats


def _path_stats(column: Column, text: str | None, rows: int) -> ColumnStats:
    if text is None:
        return ColumnStats(column.id, value_count=0, null_count=rows)
    if not has_bounds(column) or str(column.type) in FLOATS:
        return ColumnStats(column.id, value_count=rows, null_count=0)
    bound = stored_text(column, text)
    return ColumnStats(column.id, value_count=rows, null_count=0, min=bound, max=bound)


def _refuse_nulls(path: str, column: Column, stats: ColumnStats | None) -> None:
    if column.nullable or (stats is not None and stats.null_count == 0):
        return
    is_certain = stats is None or stats.null_count is not None
    words = "has NULL" if is_certain else "may have NULL"
    raise InvalidInputError(
        f"{path} {words} in column {column.name!r}, which may not be NULL", hint="append its rows instead of the file"
    )


def _partition_value(cursor: Any, path: str, field: PartitionField, known: Mapping[int, ColumnStats]) -> str | None:
    stats = known.get(field.column.id)
    if stats is not None and stats.null_count and stats.value_count == 0:
        return None
    if stats is not None and stats.null_count == 0 and stats.min is not None and _is_one(field, stats.min, stats.max):
        return _transformed(cursor, field, stats.min)
    raise InvalidInputError(
        f"{path} has rows of several partitions by {field.transform} of {field.column.name!r}, as far as its footer"
        " tells",
        hint="append its rows instead of the file",
    )


def _is_one(field: PartitionField, low: str, high: str | None) -> bool:
    length = _PERIODS.get(field.transform)
    if low == high or length is None:
        return low == high
    return all(_MOMENT.fullmatch(each or "") for each in (low, high)) and low[:length] == (high or "")[:length]


def _transformed(cursor: Any, field: PartitionField, text: str) -> str | None:
    from quacklake.engine.local.writer import transformed

    value = f"CAST($text AS {duckdb_type(field.column.type)}) AS {quote(field.column.name)}"
    row = cursor.execute(
        f"SELECT CAST({transformed(cursor, field)} AS VARCHAR) FROM (SELECT {value})", {"text": text}
    ).fetchone()
    return None if row is None else row[0]
