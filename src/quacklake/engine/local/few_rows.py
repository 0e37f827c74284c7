"""Few rows that are in the table's types, or nearly, go into the catalog or a file as they are, without a query.

Everything here gives up on the first thing that is not certain: what it does not do, DuckDB does.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pyarrow as pa

from quacklake.engine.local.types import arrow_field
from quacklake.names import fold
from quacklake.plan.write import ColumnStats, InlinedInsert, WritePlan, WriteResult, WrittenFile
from quacklake.schema import Column, Schema
from quacklake.storage.placement import move_in, staging_root
from quacklake.storage.stores import Stores
from quacklake.types import Primitive

if TYPE_CHECKING:
    import pyarrow.parquet as pq

MOST = 1_000
"""More rows than this are counted faster by a query."""

_CODECS: dict[str, Any] = {"uncompressed": "none", "snappy": "snappy", "zstd": "zstd"}
_WHOLE = frozenset("int8 int16 int32 int64 uint8 uint16 uint32 uint64".split())


def direct_write(plan: WritePlan, rows: pa.Table, stores: Stores) -> WriteResult | None:
    """The rows in the catalog or in a file, or None when it takes a query to write them.

    Args:
        plan: How files of the table look.
        rows: What to write.
        stores: Where files go.
    """
    if rows.num_rows > plan.inline_limit and not _is_plain_file(plan):
        return None
    insert = direct_insert(plan.schema, rows)
    if insert is None:
        return None
    if rows.num_rows <= plan.inline_limit:
        return WriteResult(inserts=insert, rows_inserted=rows.num_rows)
    return WriteResult(files=(_write_file(plan, insert, stores),), rows_inserted=rows.num_rows)


def direct_insert(schema: Schema, rows: pa.Table) -> InlinedInsert | None:
    """The rows with their statistics, or None when it takes a query to know them."""
    if not 0 < rows.num_rows <= MOST or len(rows.column_names) != len(schema.columns):
        return None
    given = {fold(name): index for index, name in enumerate(rows.column_names)}
    fields = [arrow_field(column) for column in schema]
    columns, stats = [], []
    for column, field in zip(schema, fields, strict=True):
        index = given.get(fold(column.name))
        text = _TEXTS.get(column.type.name) if isinstance(column.type, Primitive) else None
        values = None if index is None or text is None else _fitted(rows.column(index), field.type)
        found = None if values is None or text is None else _count(column, values, text)
        if values is None or found is None:
            return None
        columns.append(values)
        stats.append(found)
    return InlinedInsert(pa.Table.from_arrays(columns, schema=pa.schema(fields)), stats=tuple(stats))


def _fitted(values: pa.ChunkedArray[Any], wanted: pa.DataType) -> pa.ChunkedArray[Any] | None:
    """The values in the type of their column, when they are the same there; None when it takes a query to say so.

    Polars has texts with other offsets, and Python's numbers come with 64 bits.
    """
    if values.type == wanted:
        return values
    are_texts = values.type in (pa.large_string(), pa.string_view()) and wanted == pa.string()
    if not are_texts and not (pa.types.is_integer(values.type) and pa.types.is_integer(wanted)):
        return None
    try:
        return values.cast(wanted)
    except pa.ArrowInvalid:
        # A number that does not fit, which the query names.
        return None


def _is_plain_file(plan: WritePlan) -> bool:
    """Whether a file of the table is nothing but its rows: in one folder, as they come, for everybody to read."""
    return (
        not plan.partition
        and not plan.sort
        and plan.encryption_key is None
        and plan.parquet_version == "V1"
        and plan.compression in _CODECS
        and plan.compression_level is None
        and plan.row_group_size >= MOST
        and plan.row_group_bytes is None
    )


def _write_file(plan: WritePlan, insert: InlinedInsert, stores: Stores) -> WrittenFile:
    import pyarrow.parquet as pq

    fields = [
        field.with_metadata({b"PARQUET:field_id": str(column.id).encode()})
        for field, column in zip(insert.data.schema, plan.schema, strict=True)
    ]
    held: list[pq.FileMetaData] = []
    sink = pa.BufferOutputStream()
    pq.write_table(
        insert.data.cast(pa.schema(fields)),
        sink,
        compression=_CODECS[plan.compression],
        store_schema=False,
        metadata_collector=held,
    )
    body = sink.getvalue().to_pybytes()
    name = f"ducklake-{_file_id()}.parquet"
    staging = staging_root(plan.path)
    staging.mkdir(parents=True, exist_ok=True)
    made = staging / f".staging-{name}"
    try:
        made.write_bytes(body)
        move_in(made, plan.path + name, stores)
    finally:
        made.unlink(missing_ok=True)
    group = held[0].row_group(0)
    sizes = (group.column(index).total_compressed_size for index in range(group.num_columns))
    return WrittenFile(
        path=plan.path + name,
        record_count=insert.data.num_rows,
        size=len(body),
        # The last bytes of a file are the length of its footer and four letters.
        footer_size=int.from_bytes(body[-8:-4], "little"),
        stats=tuple(replace(each, size_bytes=size) for each, size in zip(insert.stats, sizes, strict=True)),
    )


def _file_id() -> UUID:
    """A UUID of version 7: names of files sort by the time they were made."""
    moment, chance = time.time_ns() // 1_000_000, secrets.randbits(74)
    return UUID(int=moment << 80 | 7 << 76 | (chance >> 62) << 64 | 2 << 62 | chance & ((1 << 62) - 1))


def _count(column: Column, values: pa.ChunkedArray[Any], text: Callable[[Any], str | None]) -> ColumnStats | None:
    """What is known of a column; None when that is not certain, or when it may not be stored."""
    try:
        held = [value for value in values.to_pylist() if value is not None]
    except (ValueError, OverflowError):
        # Text that is no text, and moments that Python has no value for.
        return None
    nulls = len(values) - len(held)
    if nulls and not column.nullable:
        return None
    ends = _ends(held, text)
    if ends is None:
        return None
    has_nan = False if column.type == Primitive("float64") else None
    return ColumnStats(
        column_id=column.id,
        value_count=len(held),
        null_count=nulls,
        min=ends[0],
        max=ends[1],
        contains_nan=has_nan,
    )


def _ends(held: Sequence[Any], text: Callable[[Any], str | None]) -> tuple[str | None, str | None] | None:
    if not held:
        return None, None
    if isinstance(held[0], float) and not all(map(_is_plain, held)):
        return None
    low, high = text(min(held)), text(max(held))
    return None if low is None or high is None else (low, high)


def _is_plain(number: float) -> bool:
    """Whether Python and DuckDB agree about order and text: not about NaN, two zeros and powers of ten."""
    return math.isfinite(number) and ((number == 0 and math.copysign(1, number) > 0) or 1e-3 <= abs(number) < 1e15)


def _moment_text(moment: datetime) -> str:
    text = moment.isoformat(" ")
    return text.rstrip("0") if moment.microsecond else text


def _plain_text(text: str) -> str | None:
    return None if "\0" in text else text


def _date_text(day: date) -> str:
    return day.isoformat()


_TEXTS: dict[str, Callable[[Any], str | None]] = {
    **dict.fromkeys(_WHOLE, str),
    "float64": repr,
    "varchar": _plain_text,
    "boolean": lambda value: "1" if value else "0",
    "date": _date_text,
    "timestamp": _moment_text,
}
"""How a bound of each type is written in the catalog."""
