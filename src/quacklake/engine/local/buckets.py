"""Bucket numbers of whole columns, by the hash that Iceberg and DuckLake share (murmur3, 32 bits, seed 0)."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from quacklake.names import quote
from quacklake.schema import Column
from quacklake.types import Decimal

Words = NDArray[np.uint32]

_WHOLE = "_quacklake_hash_whole"
_BYTES = "_quacklake_hash_bytes"
_FLOATS = frozenset(("float32", "float64"))


def bucket_sql(connection: duckdb.DuckDBPyConnection, column: Column, buckets: int) -> str:
    """SQL for the bucket of each value of a column; NULL for NULL."""
    _define(connection)
    function, value = _hash_input(column)
    return f"({function}({value}) % {buckets})"


def _hash_input(column: Column) -> tuple[str, str]:
    """Which hash a value takes and of what, as the format has it: eight bytes, raw bytes, or DuckDB's text."""
    name = quote(column.name)
    if isinstance(column.type, Decimal) and column.type.precision <= 18:
        # Stored as a whole number of its smallest unit, and hashed as that.
        return _WHOLE, f"CAST(replace(CAST({name} AS VARCHAR), '.', '') AS BIGINT)"
    kind = str(column.type)
    if kind in ("boolean", "int8", "int16", "int32", "int64"):
        return _WHOLE, f"CAST({name} AS BIGINT)"
    if kind == "date":
        return _WHOLE, f"CAST({name} - DATE '1970-01-01' AS BIGINT)"
    if kind == "time":
        return _WHOLE, f"CAST(epoch_us({name}) AS BIGINT)"
    if kind in ("timestamp", "timestamptz"):
        return _WHOLE, f"epoch_us({name})"
    if kind == "timestamp_ns":
        return _WHOLE, f"epoch_ns({name})"
    if kind == "timestamp_ms":
        return _WHOLE, f"epoch_ms({name})"
    if kind == "timestamp_s":
        return _WHOLE, f"CAST(epoch_ms({name}) // 1000 AS BIGINT)"
    if kind in _FLOATS:
        # Both zeros are one value: adding zero makes the negative one positive.
        return _BYTES, f"_quacklake_float_bytes(CAST({name} AS DOUBLE) + 0.0)"
    if kind == "blob":
        return _BYTES, name
    return _BYTES, f"encode(CAST({name} AS VARCHAR))"


def _define(connection: duckdb.DuckDBPyConnection) -> None:
    known = connection.execute("SELECT count(*) FROM duckdb_functions() WHERE function_name = ?", [_BYTES]).fetchone()
    if known is not None and known[0]:
        return
    for name, function, types in (
        (_WHOLE, _hash_whole, ["BIGINT"]),
        (_BYTES, _hash_bytes, ["BLOB"]),
        ("_quacklake_float_bytes", _float_bytes, ["DOUBLE"]),
    ):
        result = "BLOB" if function is _float_bytes else "BIGINT"
        try:
            connection.create_function(name, function, types, result, type="arrow")  # type: ignore[call-overload]
        except duckdb.Error:
            # Another cursor of the same database was quicker.
            continue


def _hash_whole(values: Any) -> Any:
    numbers = np.asarray(values.fill_null(pa.scalar(0, pa.int64()))).astype(np.int64).view(np.uint64)
    low, high = (numbers & 0xFFFFFFFF).astype(np.uint32), (numbers >> np.uint64(32)).astype(np.uint32)
    hashed = _finish(_mix(_mix(np.zeros_like(low), low), high), 8).astype(np.int64) & 0x7FFFFFFF
    found: pa.Array[Any] = pa.array(hashed, mask=np.asarray(values.is_null()))
    return found


def _mix(state: Words, word: Words) -> Words:
    with np.errstate(over="ignore"):
        word = _rotate(word * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
        return _rotate(state ^ word, 13) * np.uint32(5) + np.uint32(0xE6546B64)


def _rotate(word: Words, bits: int) -> Words:
    return (word << np.uint32(bits)) | (word >> np.uint32(32 - bits))


def _finish(state: Words, length: int) -> Words:
    with np.errstate(over="ignore"):
        state = state ^ np.uint32(length)
        state = (state ^ (state >> np.uint32(16))) * np.uint32(0x85EBCA6B)
        state = (state ^ (state >> np.uint32(13))) * np.uint32(0xC2B2AE35)
        return state ^ (state >> np.uint32(16))


def _hash_bytes(values: Any) -> Any:
    import mmh3

    # Partition columns repeat: hash each distinct value once.
    encoded: Any = (
        pa.chunked_array([values]).combine_chunks() if isinstance(values, pa.Array) else values.combine_chunks()
    )
    encoded = encoded.dictionary_encode()
    words: list[bytes] = encoded.dictionary.to_pylist()
    hashes: Any = pa.array([mmh3.hash(word, 0, signed=False) & 0x7FFFFFFF for word in words], pa.int64())
    found: pa.Array[Any] = hashes.take(encoded.indices)
    return found


def _float_bytes(values: Any) -> Any:
    numbers = np.asarray(values.fill_null(pa.scalar(0.0)))
    raw = numbers.astype("<f8").tobytes()
    cells = [raw[start : start + 8] for start in range(0, len(raw), 8)]
    return pa.array(cells, pa.binary(), mask=np.asarray(values.is_null()))
