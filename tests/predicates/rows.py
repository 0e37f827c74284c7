"""A small table with the values at which SQL engines disagree, for Spark and DuckDB to read from one file."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from quacklake.schema import Column, Schema
from quacklake.types import Decimal as DecimalType
from quacklake.types import ListOf, MapOf, Primitive, Struct

NAN, INF = float("nan"), float("inf")

_VALUES: dict[str, tuple[pa.DataType, Any, list[Any]]] = {
    "t": (pa.int8(), "int8", [1, -128, 127, None, 0, 5]),
    "h": (pa.int16(), "int16", [1, -300, 300, None, 0]),
    "i": (pa.int32(), "int32", [1, -7, 7, None, 0, 2147483647, -2147483648, 16777217, 3, 5]),
    "b": (pa.int64(), "int64", [1, -7, 7, None, 0, 9007199254740993, 9223372036854775807, 5]),
    "f": (pa.float32(), "float32", [1.1, NAN, None, INF, -INF, 0.0, -0.0, 16777216.0, 2.5, -2.7]),
    "x": (pa.float64(), "float64", [1.1, NAN, None, INF, -INF, 0.0, -0.0, 2.5, -2.5, 9007199254740992.0, 1e300, 0.1]),
    "dec": (pa.decimal128(10, 2), DecimalType(10, 2), [*map(Decimal, ("1.50", "-2.55", "0.00", "99999999.99")), None]),
    "big": (
        pa.decimal128(38, 10),
        DecimalType(38, 10),
        [*map(Decimal, ("0.1234567890", "1234567890123456789012345678.0123456789")), None],
    ),
    "s": (
        pa.string(),
        "varchar",
        [
            *("abc", "ABC", "", " ", "5", " 5 ", "5.5", "it's", "10%", "a_b", "a\\b", "a%b", "a\nb", "a\rb", "ab\n"),
            *("Straße", "ΑΣ", "é", "😀x", "2024-01-01", "2024-1-5", "true", "NaN", "-7", "\t5\n", "zzz", "a.b", "aab"),
            None,
        ],
    ),
    "ok": (pa.bool_(), "boolean", [True, False, None]),
    "d": (
        pa.date32(),
        "date",
        [date(2024, 1, 1), date(2024, 1, 31), date(1, 1, 1), date(9999, 12, 31), date(1969, 12, 31), None],
    ),
    "ts": (
        pa.timestamp("us"),
        "timestamp",
        [
            *(datetime(2024, 1, 1), datetime(2024, 1, 1, 10, 30, 5, 123456), datetime(2024, 2, 29, 23, 59, 59, 999999)),
            *(datetime(1900, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 500000), None),
        ],
    ),
    "tz": (
        pa.timestamp("us", "UTC"),
        "timestamptz",
        [datetime(2024, 1, 1), datetime(2024, 1, 1, 5), datetime(2024, 6, 30, 23, 59, 59, 999999), None],
    ),
    "bin": (pa.binary(), "blob", [b"", b"a", b"\x00\xff", b"\xff", None]),
    "st": (
        pa.struct([("a", pa.int32()), ("my field", pa.string())]),
        Struct((Column(101, "a", Primitive("int32")), Column(102, "my field", Primitive("varchar")))),
        [{"a": 1, "my field": "q"}, {"a": None, "my field": None}, None],
    ),
    "l": (
        pa.list_(pa.int32()),
        ListOf(Column(103, "element", Primitive("int32"))),
        [[1, 2], [5, None], [None], [7], None],
    ),
    "m": (
        pa.map_(pa.string(), pa.int32()),
        MapOf(Column(104, "key", Primitive("varchar")), Column(105, "value", Primitive("int32"))),
        [[("k", 1)], [("k", None)], [("other", 2)], [], None],
    ),
    "odd name.x": (pa.int32(), "int32", [1, None, -5]),
    "order": (pa.int32(), "int32", [1, 2]),
}

COUNT = max(len(values) for _, _, values in _VALUES.values()) * 3

SCHEMA = Schema(
    tuple(
        Column(number, name, Primitive(type_) if isinstance(type_, str) else type_)
        for number, (name, (_, type_, _)) in enumerate(_VALUES.items(), 1)
    )
)


def write_rows(path: Path) -> None:
    """Every column goes through its values again and again; the lengths differ, so that they meet in many ways."""
    columns = {
        name: pa.array(list(islice(cycle(values), COUNT)), type_) for name, (type_, _, values) in _VALUES.items()
    }
    pq.write_table(pa.table({"n": pa.array(range(COUNT), pa.int32()), **columns}), path)
