"""Arrow arrays as plain Python values that JSON can hold, every type without loss.

| Arrow | here |
|---|---|
| boolean, integers of any width | the same |
| floats | a number; NaN and the infinities as the texts `NaN`, `Infinity`, `-Infinity` |
| decimal | text, so that no digit is lost |
| date, time, timestamp | ISO text; a timestamp with zone in UTC with a `Z`; `infinity` and `-infinity` |
| duration | text: the number and its unit |
| interval | `{"months": …, "days": …, "nanoseconds": …}` |
| binary | base64 text |
| uuid | text with dashes |
| list, struct | array, object |
| map | array of `{"key": …, "value": …}` |
"""

from __future__ import annotations

import base64
import math
import uuid
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from quacklake.errors import UnsupportedError

Array = Any
"""An Arrow array; which of its methods there are depends on its type, which is only known when it is here."""

_FRACTION_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_ENDS_OF_TIME = {bits: {2 ** (bits - 1) - 1: "infinity", 1 - 2 ** (bits - 1): "-infinity"} for bits in (32, 64)}
"""The numbers that stand for the infinite dates and timestamps of DuckDB."""

ROWS_AT_ONCE = 4096
"""How many rows become Python values at a time."""


def rows_of(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    """The rows of a batch, each value as JSON can hold it."""
    for start in range(0, batch.num_rows, ROWS_AT_ONCE):
        part = batch.slice(start, ROWS_AT_ONCE)
        yield from zip(*(plain(column) for column in part.columns), strict=True)


def plain(array: Array) -> list[Any]:
    """The values of one array.

    Raises:
        UnsupportedError: When no rule says how to show the type; leave the column out.
    """
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return _extension(array, kind)
    if pa.types.is_nested(kind):
        return _nested(array)
    if pa.types.is_dictionary(kind):
        return plain(array.dictionary_decode())
    return _leaf(array)


def _leaf(array: Array) -> list[Any]:
    kind = array.type
    if _is_plain(kind):
        return list(array.to_pylist())
    if pa.types.is_floating(kind):
        return [_float(value) for value in _shortest(array)]
    if pa.types.is_decimal(kind):
        return [None if value is None else format(value, "f") for value in array.to_pylist()]
    if _is_binary(kind):
        return [None if value is None else base64.b64encode(value).decode() for value in array.to_pylist()]
    if pa.types.is_timestamp(kind):
        return _timestamps(array)
    if pa.types.is_date(kind):
        return _dates(array)
    if pa.types.is_time(kind):
        return list(array.cast(pa.string()).to_pylist())
    if pa.types.is_duration(kind):
        return [None if value is None else f"{value} {kind.unit}" for value in array.cast(pa.int64()).to_pylist()]
    if pa.types.is_interval(kind):
        names = ("months", "days", "nanoseconds")
        return [None if value is None else dict(zip(names, value, strict=True)) for value in array.to_pylist()]
    raise UnsupportedError(f"values of the type {kind} cannot be shown", hint="choose other columns with --columns")


def _is_plain(kind: pa.DataType) -> bool:
    return (
        pa.types.is_null(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or kind == pa.string_view()
    )


def _is_binary(kind: pa.DataType) -> bool:
    return (
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
        or kind == pa.binary_view()
    )


def _shortest(array: Array) -> list[float | None]:
    """The floats; narrow ones with the digits that tell them apart, not those of the double next to them."""
    if array.type == pa.float64():
        return list(array.to_pylist())
    texts = array.cast(pa.float32()).cast(pa.string()).to_pylist()
    return [None if text is None else float(text) for text in texts]


def _float(value: float | None) -> float | str | None:
    if value is None or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def _dates(array: Array) -> list[str | None]:
    days = array.cast(pa.date32(), safe=False).cast(pa.int32()).to_pylist()
    return [None if day is None else _ENDS_OF_TIME[32].get(day) or _date(day) for day in days]


def _timestamps(array: Array) -> list[str | None]:
    # The stored number is UTC whatever the zone says, so no zone database is needed.
    zone, digits = "Z" if array.type.tz else "", _FRACTION_DIGITS[array.type.unit]
    numbers = array.cast(pa.int64()).to_pylist()
    return [
        None if number is None else _ENDS_OF_TIME[64].get(number) or _moment(number, digits) + zone
        for number in numbers
    ]


def _moment(number: int, digits: int) -> str:
    seconds, fraction = divmod(number, 10**digits)
    days, second = divmod(seconds, 86_400)
    time = f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
    return f"{_date(days)}T{time}" + (f".{fraction:0{digits}d}" if digits else "")


@lru_cache(maxsize=4096)
def _date(days: int) -> str:
    """The date so many days after 1970-01-01.

    Neither Python nor Arrow will do: their years end at 9999 and 32767, those of the format at 5881580. Counted in
    eras of 400 years that begin on a first of March, so that the leap day is the last day of a year.
    """
    era, day = divmod(days + 719_468, 146_097)
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5
    month = month + 3 if month < 10 else month - 9
    year += era * 400 + (month <= 2)
    return f"{'-' if year < 0 else ''}{abs(year):04d}-{month:02d}-{day + 1:02d}"


def _extension(array: Array, kind: pa.BaseExtensionType) -> list[Any]:
    if kind.extension_name == "arrow.uuid":
        return [None if value is None else str(uuid.UUID(bytes=value)) for value in array.storage.to_pylist()]
    return plain(array.storage)


def _nested(array: Array) -> list[Any]:
    kind = array.type
    if pa.types.is_struct(kind):
        names = [field.name for field in kind]
        fields = [plain(child) for child in array.flatten()]
        rows = zip(*fields, strict=True) if fields else iter([()] * len(array))
        return _hide(array, (dict(zip(names, row, strict=True)) for row in rows))
    if pa.types.is_map(kind):
        pairs = pa.StructArray.from_arrays([array.keys, array.items], names=["key", "value"])
        return _hide(array, _cut(array.offsets, pairs))
    if pa.types.is_union(kind) or pa.types.is_run_end_encoded(kind):
        raise UnsupportedError(f"values of the type {kind} cannot be shown", hint="choose other columns with --columns")
    elements = iter(plain(array.flatten()))
    return [
        None if length is None else list(islice(elements, length)) for length in pc.list_value_length(array).to_pylist()
    ]


def _cut(offsets: Array, children: Array) -> Iterator[list[Any]]:
    edges = offsets.to_pylist()
    values = plain(children.slice(edges[0], edges[-1] - edges[0]))
    for start, end in pairwise(edges):
        yield values[start - edges[0] : end - edges[0]]


def _hide(array: Array, values: Iterator[Any]) -> list[Any]:
    return [value if valid else None for value, valid in zip(values, array.is_valid().to_pylist(), strict=True)]
