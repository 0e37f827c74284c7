"""Frames that come from outside: pandas, Polars and Arrow, each as one stream of Arrow batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from quacklake.engine.local.batches import settle_batch
from quacklake.errors import InvalidInputError


def as_reader(data: Any) -> pa.RecordBatchReader:
    """The rows of a pandas, Polars or Arrow object as a stream.

    Raises:
        InvalidInputError: When the object is none of these, or pandas holds mixed values in a column.
    """
    if isinstance(data, pa.RecordBatchReader):
        return _exact(data)
    if isinstance(data, pa.Table):
        return _exact(data.to_reader())
    if isinstance(data, pa.RecordBatch):
        return _exact(pa.RecordBatchReader.from_batches(data.schema, [data]))
    module = type(data).__module__.partition(".")[0]
    try:
        if module == "pandas":
            return _exact(pa.Table.from_pandas(data, preserve_index=False).to_reader())
        if module == "polars" and hasattr(data, "collect"):
            data = data.collect()
        if hasattr(data, "__arrow_c_stream__"):
            return _exact(pa.RecordBatchReader.from_stream(data))
        if isinstance(data, list) and all(isinstance(row, dict) for row in data):
            return _exact(pa.Table.from_pylist(data).to_reader())
    except pa.ArrowInvalid as error:
        raise InvalidInputError(f"the data cannot become Arrow: {error}", hint="give every column one type") from error
    except pa.ArrowTypeError as error:
        raise InvalidInputError(f"the data cannot become Arrow: {error}", hint="give every column one type") from error
    raise InvalidInputError(
        f"{type(data).__module__}.{type(data).__qualname__} is not a frame",
        hint="give a pandas, Polars, Arrow or Spark frame, or a list of dicts",
    )


def as_table(data: Any) -> pa.Table | None:
    """The rows of an Arrow table that DuckDB reads as they are, as often as need be."""
    return data if isinstance(data, pa.Table) and _is_exact(data.schema) else None


def _is_exact(schema: pa.Schema) -> bool:
    return not any(pa.types.is_nested(field.type) or _readable(field.type) != field.type for field in schema)


def _exact(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """The stream without what DuckDB would read with a silent loss, or not at all."""
    target = pa.schema([field.with_type(_readable(field.type)) for field in reader.schema])
    is_changed = not target.equals(reader.schema)
    if not is_changed and not any(pa.types.is_nested(field.type) for field in target):
        return reader

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            try:
                yield settle_batch(batch.cast(target) if is_changed else batch)
            except pa.ArrowInvalid as error:
                raise InvalidInputError(f"a timestamp is finer than a microsecond: {error}") from error

    return pa.RecordBatchReader.from_batches(target, batches())


def _readable(given: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(given) and given.unit == "ns" and given.tz is not None:
        # DuckDB has no nanoseconds with a zone and drops them; Arrow's own cast raises when there are any.
        return pa.timestamp("us", given.tz)
    if pa.types.is_float16(given):
        return pa.float32()
    if isinstance(given, pa.StructType):
        return pa.struct([field.with_type(_readable(field.type)) for field in given.fields])
    if isinstance(given, pa.ListType):
        return pa.list_(given.value_field.with_type(_readable(given.value_type)))
    if isinstance(given, pa.LargeListType):
        return pa.large_list(given.value_field.with_type(_readable(given.value_type)))
    if isinstance(given, pa.MapType):
        # A field is as good as a type here, though the signature does not say so.
        map_type: Any = pa.map_
        found: pa.DataType = map_type(_readable(given.key_type), given.item_field.with_type(_readable(given.item_type)))
        return found
    return given
