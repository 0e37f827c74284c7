"""Bucket numbers as Spark expressions: murmur3 with seed 0, which Spark's own `hash` is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from quacklake.errors import UnsupportedError
from quacklake.schema import Column

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn

_MASK = 0xFFFFFFFF
_WHOLE = frozenset(("boolean", "int8", "int16", "int32", "int64"))


def bucket_of(value: SparkColumn, column: Column, buckets: int) -> SparkColumn:
    """The bucket of each value; NULL for NULL.

    Raises:
        UnsupportedError: For types whose hash Spark cannot compute by itself.
    """
    from pyspark.sql import functions as F

    kind = str(column.type)
    if kind in _WHOLE:
        hashed = _hash_whole(value.cast("bigint"))
    elif kind == "date":
        hashed = _hash_whole(F.unix_date(value).cast("bigint"))
    elif kind == "timestamptz":
        hashed = _hash_whole(F.unix_micros(value))
    elif kind in ("timestamp", "timestamp_ms", "timestamp_s"):
        unit = {"timestamp": 1, "timestamp_ms": 1_000, "timestamp_s": 1_000_000}[kind]
        micros = F.timestamp_diff("MICROSECOND", F.lit("1970-01-01").cast("timestamp_ntz"), value)
        hashed = _hash_whole(F.floor(micros / unit).cast("bigint") if unit > 1 else micros)
    elif kind in ("varchar", "json", "uuid", "uint8", "uint16", "uint32", "uint64", "int128", "uint128"):
        hashed = _hash_bytes(F.encode(value.cast("string"), "UTF-8"))
    elif kind == "blob":
        hashed = _hash_bytes(value)
    else:
        raise UnsupportedError(
            f"Spark cannot spread rows by buckets of {column.name!r}, which is {kind}", hint="append an Arrow table"
        )
    return (hashed.bitwiseAND(0x7FFFFFFF) % buckets).cast("int")


def _bound(value: SparkColumn, body: Callable[[SparkColumn], SparkColumn]) -> SparkColumn:
    """The body with a name for the value: written out, each use would repeat the whole expression behind it."""
    from pyspark.sql import functions as F

    return F.get(F.transform(F.array(value), body), F.lit(0))


def _times(word: SparkColumn, factor: int) -> SparkColumn:
    """The low 32 bits of a product, in steps that a long holds."""
    from pyspark.sql import functions as F

    def product(word: SparkColumn) -> SparkColumn:
        low = word.bitwiseAND(0xFFFF) * factor
        high = F.shiftleft((F.shiftright(word, 16) * factor).bitwiseAND(0xFFFF), 16)
        return (low + high).bitwiseAND(_MASK)

    return _bound(word, product)


def _rotate(word: SparkColumn, bits: int) -> SparkColumn:
    from pyspark.sql import functions as F

    return _bound(word, lambda word: F.shiftleft(word, bits).bitwiseOR(F.shiftright(word, 32 - bits)).bitwiseAND(_MASK))


def _scramble(word: SparkColumn) -> SparkColumn:
    return _times(_rotate(_times(word, 0xCC9E2D51), 15), 0x1B873593)


def _mix(state: SparkColumn, word: SparkColumn) -> SparkColumn:
    return (_times(_rotate(state.bitwiseXOR(_scramble(word)), 13), 5) + 0xE6546B64).bitwiseAND(_MASK)


def _folded(state: SparkColumn, bits: int) -> SparkColumn:
    from pyspark.sql import functions as F

    return _bound(state, lambda state: state.bitwiseXOR(F.shiftright(state, bits)))


def _finish(state: SparkColumn, length: SparkColumn) -> SparkColumn:
    state = _times(_folded(state.bitwiseXOR(length), 16), 0x85EBCA6B)
    state = _times(_folded(state, 13), 0xC2B2AE35)
    return _folded(state, 16)


def _hash_whole(value: SparkColumn) -> SparkColumn:
    from pyspark.sql import functions as F

    zero = F.lit(0).cast("bigint")
    low, high = value.bitwiseAND(_MASK), F.shiftrightunsigned(value, 32).bitwiseAND(_MASK)
    return _finish(_mix(_mix(zero, low), high), F.lit(8).cast("bigint"))


def _hash_bytes(value: SparkColumn) -> SparkColumn:
    from pyspark.sql import functions as F

    length = F.octet_length(value).cast("bigint")
    whole = F.floor(length / 4).cast("int")

    def byte(position: SparkColumn) -> SparkColumn:
        # Positions count from one; the last word may end early.
        return F.coalesce(F.conv(F.hex(F.substring(value, position, F.lit(1))), 16, 10).cast("bigint"), F.lit(0))

    def word(index: SparkColumn) -> SparkColumn:
        start = index * 4 + 1
        found = byte(start)
        for offset in (1, 2, 3):
            found = found.bitwiseOR(F.shiftleft(byte(start + offset), 8 * offset))
        return found

    indices = F.when(whole > 0, F.sequence(F.lit(0), whole - 1)).otherwise(F.array().cast("array<int>"))
    state = F.aggregate(indices, F.lit(0).cast("bigint"), lambda state, index: _mix(state, word(index)))
    tail = F.when(length % 4 > 0, _scramble(word(whole))).otherwise(F.lit(0).cast("bigint"))
    return _finish(state.bitwiseXOR(tail), length)
