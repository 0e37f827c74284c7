"""Partition values: what a transform makes of a constant, so that files of other partitions need not be read."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from quacklake.schema import Column
from quacklake.types import Primitive

_EPOCH = datetime(1970, 1, 1)
_MASK = 0xFFFFFFFF
_WHOLE = frozenset("boolean int8 int16 int32 int64".split())
_UNITS = {"timestamp": 1, "timestamp_ms": 1_000, "timestamp_s": 1_000_000}
_FIELDS = {"year": "year", "month": "month", "day": "day", "hour": "hour"}


def partition_value(column: Column, transform: str, value: object) -> str | None:
    """The text that a file has as its partition value when its rows have `value` in the column.

    None when that cannot be told: for types whose text or hash is not certain, and for timestamps with zone, which
    DuckDB spreads by the time zone of whoever wrote them.
    """
    kind = column.type.name if isinstance(column.type, Primitive) else ""
    if transform.startswith("bucket("):
        data = _hashed_bytes(kind, value)
        buckets = int(transform[7:-1])
        return None if data is None else str((murmur3(data) & 0x7FFFFFFF) % buckets)
    if transform in _FIELDS and kind in ("date", "timestamp", "timestamp_s", "timestamp_ms"):
        if transform == "hour" and kind == "date":
            return "0"
        return str(getattr(value, _FIELDS[transform], None)) if isinstance(value, date) else None
    if transform == "identity" and kind in ("varchar", *(_WHOLE - {"boolean"})):
        return str(value) if isinstance(value, str) or _is_whole(value) else None
    return None


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _hashed_bytes(kind: str, value: object) -> bytes | None:
    """What the format hashes: eight bytes of a number, the bytes of a text."""
    if kind in _WHOLE and isinstance(value, int):
        return _eight(int(value))
    if kind == "date" and isinstance(value, date) and not isinstance(value, datetime):
        return _eight((value - _EPOCH.date()).days)
    if kind in (*_UNITS, "timestamptz") and isinstance(value, datetime):
        plain = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo is not None else value
        return _eight((plain - _EPOCH) // timedelta(microseconds=_UNITS.get(kind, 1)))
    if kind == "varchar" and isinstance(value, str):
        return value.encode()
    return None


def _eight(number: int) -> bytes | None:
    return number.to_bytes(8, "little", signed=True) if -(1 << 63) <= number < 1 << 63 else None


def murmur3(data: bytes) -> int:
    """MurmurHash3 of 32 bits for x86 with seed 0, which Iceberg and DuckLake spread buckets by."""
    state = 0
    whole = len(data) // 4 * 4
    for start in range(0, whole, 4):
        state ^= _scramble(int.from_bytes(data[start : start + 4], "little"))
        state = ((state << 13 | state >> 19) * 5 + 0xE6546B64) & _MASK
    if whole < len(data):
        state ^= _scramble(int.from_bytes(data[whole:], "little"))
    state ^= len(data)
    state = (state ^ state >> 16) * 0x85EBCA6B & _MASK
    state = (state ^ state >> 13) * 0xC2B2AE35 & _MASK
    return state ^ state >> 16


def _scramble(word: int) -> int:
    word = word * 0xCC9E2D51 & _MASK
    return (word << 15 | word >> 17) * 0x1B873593 & _MASK
