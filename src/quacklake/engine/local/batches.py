"""Arrow batches in the shape that a plan promises, and not too large."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from quacklake.plan.scan import ScanFile

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH_BYTES = 64 << 20
"""About how much of a file, as it is stored, is in one batch."""
LARGEST_BATCH = (1 << 31) - (1 << 20)
"""The offsets of text in a batch are numbers of 32 bits. Not every cast in Arrow says when they overflow."""
_FEWEST_ROWS = 2048
"""What DuckDB moves at once anyhow."""


def rows_per_batch(files: Iterable[ScanFile], most: int) -> int:
    """How many rows to hold at once, so that rows with large values do not fill the memory."""
    widest = max((file.size / file.record_count for file in files if file.size and file.record_count), default=1.0)
    return max(_FEWEST_ROWS, min(most, int(_BATCH_BYTES / widest)))


def shape_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with the names and types of the schema; columns are matched by position.

    Engines hand over the right values, but with names of their own for the element of a list, with no marks on
    fields, and with wider offsets for text.
    """
    import pyarrow as pa

    columns = [_shaped(column, field) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def split_batch(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch in parts whose texts fit into the offsets of a batch."""
    import numpy as np

    if batch.num_rows < 2 or batch.nbytes <= LARGEST_BATCH:
        yield batch
        return
    for rows in np.array_split(np.arange(batch.num_rows), 2):
        # A slice would keep the offsets that are too large.
        yield from split_batch(batch.take(rows))


def settle_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with every column so that DuckDB reads what is there."""
    import pyarrow as pa

    columns = [_settled(column) for column in batch.columns]
    if all(new is old for new, old in zip(columns, batch.columns, strict=True)):
        return batch
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _shaped(column: pa.Array[Any], field: pa.Field[Any]) -> pa.Array[Any]:
    # The cast is a safe one: a value that does not fit raises.
    return _settled(column if column.type.equals(field.type, check_metadata=True) else column.cast(field.type))


def _settled(column: pa.Array[Any]) -> pa.Array[Any]:
    """The column as it is, or copied: DuckDB forgets where structs begin that lists hold a part of."""
    import numpy as np

    return column.take(np.arange(len(column))) if _has_shifted_structs(column, in_list=False) else column


def _has_shifted_structs(array: Any, *, in_list: bool) -> bool:
    import pyarrow as pa

    if isinstance(array, pa.ExtensionArray):
        return _has_shifted_structs(array.storage, in_list=in_list)
    if isinstance(array, pa.StructArray):
        if in_list and array.offset:
            return True
        fields = (array.field(index) for index in range(array.type.num_fields))
        return any(_has_shifted_structs(field, in_list=in_list) for field in fields)
    return hasattr(array, "values") and _has_shifted_structs(array.values, in_list=True)
