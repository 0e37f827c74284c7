"""Write rows as Parquet files of a table: DuckDB's writer, with field ids, exact statistics and partition folders."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote as url_quote

import duckdb

from quacklake.engine.local.buckets import bucket_sql
from quacklake.names import quote
from quacklake.plan.layout import ROW_ID_FIELD
from quacklake.plan.sources import HIVE_NULL
from quacklake.plan.write import ColumnStats, PartitionField, WritePlan, WrittenFile
from quacklake.schema import Column
from quacklake.storage.encryption import encryption_option
from quacklake.storage.placement import move_in, removing_on_failure, staging_root
from quacklake.storage.stores import Stores
from quacklake.types import Primitive, children

ROW_ID_COLUMN = "_ducklake_internal_row_id"

# DuckDB itself stores these as doubles and loses what is beyond 2^53; a decimal column of the same field id is
# read back by DuckDB as the whole number it is.
_AS_DECIMAL = frozenset(("int128", "uint128"))


def write_files(
    connection: duckdb.DuckDBPyConnection, plan: WritePlan, query: str, stores: Stores, *, row_ids: bool = False
) -> tuple[WrittenFile, ...]:
    """Write the rows of a query as data files of the table, complete and in their place.

    Args:
        connection: Where the query runs.
        plan: How files of the table look.
        query: Yields the table's columns by name and type; with `row_ids`, `_ducklake_internal_row_id` as well.
        stores: Where files go.
        row_ids: Keep the row ids of the query inside the files.
    """
    staging = _staging_folder(plan)
    try:
        rows = connection.execute(_copy_statement(connection, plan, query, staging, row_ids)).fetchall()
        with removing_on_failure(stores) as placed:
            return tuple(_place(plan, stores, row, row_ids, placed) for row in rows if row[1] > 0)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _staging_folder(plan: WritePlan) -> Path:
    """A folder for files under way: beside their place on this disk, or a temporary one before an upload."""
    return staging_root(plan.path) / f".staging-{uuid.uuid4().hex}"


def _copy_statement(
    connection: duckdb.DuckDBPyConnection, plan: WritePlan, query: str, staging: Path, row_ids: bool
) -> str:
    columns = [_stored(column) for column in plan.schema]
    if row_ids:
        columns.append(quote(ROW_ID_COLUMN))
    keys = [f"{transformed(connection, field)} AS {key_name(field)}" for field in plan.partition]
    select = f"SELECT {', '.join([*columns, *keys])} FROM ({query}) AS _source"
    if plan.sort:
        select += f" ORDER BY {', '.join(_sort_key(field) for field in plan.sort)}"
    staging.mkdir(parents=True, exist_ok=True)
    target = str(staging).replace("'", "''")
    return f"COPY ({select}) TO '{target}' ({', '.join(_copy_options(connection, plan, row_ids))})"


def _copy_options(connection: duckdb.DuckDBPyConnection, plan: WritePlan, row_ids: bool) -> list[str]:
    options = [
        "FORMAT parquet",
        "RETURN_STATS",
        "OVERWRITE_OR_IGNORE",
        "FILENAME_PATTERN 'ducklake-{uuidv7}'",
        f"FIELD_IDS {_field_ids(plan, row_ids)}",
        f"COMPRESSION {plan.compression}",
        f"ROW_GROUP_SIZE {plan.row_group_size}",
        f"PARQUET_VERSION {plan.parquet_version}",
    ]
    if plan.compression_level is not None:
        options.append(f"COMPRESSION_LEVEL {plan.compression_level}")
    if plan.row_group_bytes is not None:
        options.append(f"ROW_GROUP_SIZE_BYTES {plan.row_group_bytes}")
    if plan.partition:
        options.append(f"PARTITION_BY ({', '.join(key_name(field) for field in plan.partition)})")
        options.append("WRITE_PARTITION_COLUMNS false")
    else:
        options.append(f"FILE_SIZE_BYTES {plan.target_file_size}")
    if plan.encryption_key is not None:
        options.append(encryption_option(connection, plan.encryption_key))
    return options


def _stored(column: Column) -> str:
    name = quote(column.name)
    return f"CAST({name} AS DECIMAL(38,0)) AS {name}" if _is_wide(column) else name


def _is_wide(column: Column) -> bool:
    return isinstance(column.type, Primitive) and column.type.name in _AS_DECIMAL


def _field_ids(plan: WritePlan, row_ids: bool) -> str:
    parts = [f"{quote(column.name)}: {_field_id(column)}" for column in plan.schema]
    if row_ids:
        parts.append(f"{ROW_ID_COLUMN}: {ROW_ID_FIELD}")
    return "{" + ", ".join(parts) + "}"


def _field_id(column: Column) -> str:
    below = children(column.type)
    if not below:
        return str(column.id)
    inner = ", ".join(f"{quote(child.name)}: {_field_id(child)}" for child in below)
    return f"{{__duckdb_field_id: {column.id}, {inner}}}"


def key_name(field: PartitionField) -> str:
    """What the value of a partition key is called while rows are spread."""
    return f"_quacklake_key_{field.key_index}"


def transformed(connection: duckdb.DuckDBPyConnection, field: PartitionField) -> str:
    """The value that rows are spread by; the connection's time zone is UTC."""
    name = quote(field.column.name)
    if field.transform == "identity":
        return name
    if field.buckets is None:
        return f"{field.transform}({name})"
    return bucket_sql(connection, field.column, field.buckets)


def _sort_key(field: Any) -> str:
    direction = "DESC" if field.descending else "ASC"
    return f"{field.expression} {direction} NULLS {'FIRST' if field.nulls_first else 'LAST'}"


def _place(plan: WritePlan, stores: Stores, row: Sequence[Any], row_ids: bool, placed: list[str]) -> WrittenFile:
    filename, count, size, footer_size, statistics, keys = row
    values = tuple((keys or {}).get(key_name(field)) for field in plan.partition)
    path = plan.path + _folder(plan, values) + Path(filename).name
    move_in(Path(filename), path, stores)
    placed.append(path)
    return WrittenFile(
        path=path,
        record_count=count,
        size=size,
        footer_size=footer_size,
        stats=tuple(read_statistics(plan, statistics)),
        partition_id=plan.partition_id if plan.partition else None,
        partition_values=values,
        encryption_key=plan.encryption_key,
        has_row_ids=row_ids,
    )


def _folder(plan: WritePlan, values: Sequence[str | None]) -> str:
    if not plan.hive_paths:
        return ""
    parts = []
    for field, value in zip(plan.partition, values, strict=True):
        text = HIVE_NULL if value is None else url_quote(value, safe="")
        parts.append(f"{url_quote(field.folder, safe='')}={text}/")
    return "".join(parts)


def read_statistics(plan: WritePlan, found: Mapping[str, Mapping[str, str]]) -> list[ColumnStats]:
    """What DuckDB's writer says of each leaf, in the terms of the catalog."""
    return [_column_stats(column, found[path]) for path, column in _leaves(plan.schema.columns, "") if path in found]


def _leaves(columns: Sequence[Column], prefix: str) -> list[tuple[str, Column]]:
    found: list[tuple[str, Column]] = []
    for column in columns:
        path = f"{prefix}{quote(column.name)}"
        below = children(column.type)
        found += _leaves(below, f"{path}.") if below else [(path, column)]
    return found


def _column_stats(column: Column, found: Mapping[str, str]) -> ColumnStats:
    size = int(found.get("column_size_bytes", 0))
    type_ = str(column.type)
    if type_ in ("interval", "timetz"):
        # The writer counts nothing for these, and zero would be a lie.
        return ColumnStats(column.id, size)
    nulls = int(found["null_count"]) if "null_count" in found else None
    values = int(found["num_values"]) - nulls if nulls is not None and "num_values" in found else None
    # DuckDB loses rows of a blob column that has bounds, when it filters by one.
    exact = not _is_wide(column) and type_ != "blob"
    nan = found.get("has_nan")
    return ColumnStats(
        column_id=column.id,
        size_bytes=size,
        value_count=values,
        null_count=nulls,
        min=found.get("min") if exact else None,
        max=found.get("max") if exact else None,
        contains_nan=None if nan is None else nan == "true",
    )
