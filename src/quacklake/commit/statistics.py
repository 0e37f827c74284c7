"""Statistics of a whole table: they only ever get wider, and are exact or not there. Pure.

DuckDB answers MIN, MAX and filters from them, for every snapshot. Text encodes each value as DuckDB does; what is
compared is the value. A missing row says "unknown" and stays missing, as DuckDB only updates rows it finds. A row
without minimum and maximum would not do: its next insert would put the range of its own rows there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal as Number
from decimal import InvalidOperation
from typing import Any

from quacklake.plan.write import ColumnStats
from quacklake.types import FLOATS, INTEGERS, TIMESTAMPS, DataType, Decimal

Key = Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class TableColumnStats:
    """One row of `ducklake_table_column_stats`."""

    column_id: int
    contains_null: bool
    contains_nan: bool | None = None
    min: str | None = None
    max: str | None = None
    extra: str | None = None

    @property
    def has_range(self) -> bool:
        """Whether there is a value and both ends are known."""
        return self.min is not None and self.max is not None


def start(files: Sequence[Sequence[ColumnStats]], column_id: int, type_: DataType) -> TableColumnStats | None:
    """The statistics of a column after the first rows of its table came in; None when not exact."""
    merged: TableColumnStats | None = None
    for stats in files:
        found = _of_file(stats, column_id, type_)
        if found is None:
            return None
        merged = found if merged is None else _merge(merged, found, type_, is_certain=True)
        if merged is None:
            return None
    return merged


def widen(old: TableColumnStats, files: Sequence[Sequence[ColumnStats]], type_: DataType) -> TableColumnStats | None:
    """The statistics of a column after more rows came in; None when they are not exact any more."""
    new = start(files, old.column_id, type_)
    return None if new is None else _merge(old, new, type_, is_certain=False)


def keeps_range(old: DataType, new: DataType) -> bool:
    """Whether the range of a column still holds after a change of its type: the same text is the same value."""
    before, after = str(old), str(new)
    if isinstance(old, Decimal) or before in INTEGERS:
        return isinstance(new, Decimal) or after in INTEGERS or after in FLOATS
    # A float32 is not the float64 of the same text, a moment without a zone is none with one, and JSON sorts as text.
    return (before == "date" or before in TIMESTAMPS) and after in TIMESTAMPS


def _of_file(stats: Sequence[ColumnStats], column_id: int, type_: DataType) -> TableColumnStats | None:
    found = next((each for each in stats if each.column_id == column_id), None)
    if found is None or found.null_count is None or found.value_count is None:
        return None
    known = TableColumnStats(column_id, found.null_count > 0, found.contains_nan, found.min, found.max, found.extra)
    if found.value_count == 0:
        return replace(known, min=None, max=None)
    if str(type_) in FLOATS and found.contains_nan is not False:
        # NaN is the greatest value to DuckDB, and not in the range.
        return None
    return known if known.has_range or found.extra is not None else None


def _merge(
    old: TableColumnStats, new: TableColumnStats, type_: DataType, *, is_certain: bool
) -> TableColumnStats | None:
    """Both together.

    Args:
        old: What there is.
        new: What comes in.
        type_: How to compare.
        is_certain: Whether a missing range in `old` can only mean that there was no value yet. DuckDB also leaves
            one out when it does not know.
    """
    contains_null = old.contains_null or new.contains_null
    contains_nan = (
        None if old.contains_nan is None or new.contains_nan is None else old.contains_nan or new.contains_nan
    )
    merged = replace(old, contains_null=contains_null, contains_nan=contains_nan)
    if new.min is None and new.max is None and new.extra is None:
        return merged
    if old.extra != new.extra:
        return None
    if not old.has_range:
        return replace(merged, min=new.min, max=new.max) if is_certain else None
    key = _key(type_)
    if key is None or not new.has_range:
        return None
    try:
        low, high = min(_both(old.min, new.min), key=key), max(_both(old.max, new.max), key=key)
    except (ValueError, InvalidOperation):
        return None
    return replace(merged, min=low, max=high)


def _both(*texts: str | None) -> list[str]:
    return [text for text in texts if text is not None]


def _key(type_: DataType) -> Key | None:
    """How the text of a type is ordered; None where the text of a value depends on who wrote it."""
    name = str(type_)
    if isinstance(type_, Decimal) or name in INTEGERS:
        return _number
    if name in FLOATS:
        return _float
    if name == "boolean":
        return _boolean
    if name == "date" or name in TIMESTAMPS or name == "timestamptz":
        return _moment
    if name in ("varchar", "json", "uuid", "time"):
        return lambda text: text.encode()
    return None


def _number(text: str) -> Number:
    number = Number(text)
    if not number.is_finite():
        raise ValueError(text)
    return number


def _float(text: str) -> float:
    number = float(text)
    if number != number:
        raise ValueError(text)
    return number


def _boolean(text: str) -> bool:
    # Rows in files leave 0 and 1, rows in the catalog false and true.
    if text.lower() not in ("0", "1", "false", "true"):
        raise ValueError(text)
    return text.lower() in ("1", "true")


_MOMENT = re.compile(r"(\d+)-(\d\d)-(\d\d)( \(BC\))?(?: (\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:\+00)?)?")


def _moment(text: str) -> tuple[float, ...]:
    """A date or timestamp in UTC, also beyond the years that Python has."""
    if text in ("infinity", "-infinity"):
        return (float(text.replace("infinity", "inf")),)
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise ValueError(text)
    year = int(match[1]) if match[4] is None else 1 - int(match[1])
    fraction = (match[8] or "").ljust(9, "0")
    return (year, *(int(match[part] or 0) for part in (2, 3, 5, 6, 7)), int(fraction))
