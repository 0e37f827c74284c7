"""Random nested types and values: what they are to the lake, to Arrow and to DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal as Number
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from quacklake.catalog.inlined_types import duckdb_type
from quacklake.schema import Column
from quacklake.types import DataType, Decimal, ListOf, MapOf, Primitive, Struct

NASTY = (
    "it's", "''", "'", '"', 'a"b', "\\", "a\\", "back\\slash", "a\\\\b", "\\'", "\\\\'", "C:\\dir, x",
    "a,b", "a:b", "a=b", "{", "}", "{x}", "[", "]", "[y]", "(", ")", "'}", "}'", "]'",
    "NULL", "null", "Null", "", " ", " a", "a ", "\t", "a\nb", "invalid", "true", "1", "ä", "🦆",
    "CAST('2024-01-01' AS DATE)", "'x'::DATE", "CONCAT('a', chr(0), 'b')", "chr(0)",
    "{'a': 1}", "[1, 2]", "a', 'b': 'c", "\\x41", "--", "%s", ":p",
)  # fmt: skip
"""Strings that mean something in one form of text or another."""
NAMES = (
    "a",
    "b",
    "it's",
    "a b",
    'q"q',
    "c:d",
    "NULL",
    "x}",
    "back\\slash",
    "ä",
    "=",
    "[",
    "A,",
    "row_id",
    "%(p)s",
    "a''b",
)
"""Names of struct fields, most of them odd."""

_texts = st.sampled_from(NASTY) | st.text(st.sampled_from("ab'\"\\,:=[]{}() \t\nNULä🦆x"), max_size=8)


@dataclass(frozen=True)
class Kind:
    """A type in every world, and what values of it there are."""

    type: DataType
    arrow: pa.DataType
    values: st.SearchStrategy[Any]
    """Of Python's classes; dates and times as the numbers that Arrow holds."""

    @property
    def duckdb(self) -> str:
        """The type in DuckDB's words."""
        return duckdb_type(self.type)


def _integers(bits: int, *, signed: bool = True) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else st.integers(0, 2**bits - 1)


def _leaf(name: str, arrow: pa.DataType, values: st.SearchStrategy[Any]) -> Kind:
    return Kind(Primitive(name), arrow, values)


_INFINITY = st.sampled_from((2**63 - 1, -(2**63) + 1))
LEAVES = (
    _leaf("varchar", pa.string(), _texts),
    _leaf("blob", pa.binary(), st.binary(max_size=6) | st.sampled_from(NASTY).map(str.encode)),
    _leaf("boolean", pa.bool_(), st.booleans()),
    _leaf("int8", pa.int8(), _integers(8)),
    _leaf("int64", pa.int64(), _integers(64)),
    _leaf("uint64", pa.uint64(), _integers(64, signed=False)),
    _leaf("int128", pa.string(), _integers(128).map(str)),
    _leaf("float32", pa.float32(), st.floats(width=32)),
    _leaf("float64", pa.float64(), st.floats()),
    Kind(Decimal(10, 2), pa.decimal128(10, 2), _integers(30).map(lambda value: Number(value).scaleb(-2))),
    _leaf("date", pa.date32(), st.integers(-(2**31) + 1, 2**31 - 1)),
    _leaf("timestamp", pa.timestamp("us"), st.integers(-9_223_372_022_400_000_000, 2**63 - 1) | _INFINITY),
    _leaf("timestamptz", pa.timestamp("us", "UTC"), st.integers(-(10**16), 10**16) | _INFINITY),
    _leaf("timestamp_ns", pa.timestamp("ns"), st.integers(-9_223_286_400_000_000_000, 2**63 - 1)),
    _leaf("timestamp_ms", pa.timestamp("ms"), st.integers(-9_223_372_022_400_000, 9_223_372_036_854_775)),
    _leaf("timestamp_s", pa.timestamp("s"), st.integers(-9_223_372_022_400, 9_223_372_036_854) | _INFINITY),
    _leaf("time", pa.time64("us"), st.integers(0, 86_400_000_000)),
    _leaf("timetz", pa.string(), st.sampled_from(("10:11:12+02", "24:00:00-15:59:59", "00:00:00.000001+05:30"))),
    _leaf(
        "interval",
        pa.month_day_nano_interval(),
        st.tuples(_integers(32), _integers(32), st.integers(-(9 * 10**15), 9 * 10**15).map(lambda value: value * 1000)),
    ),
    _leaf("uuid", pa.string(), st.uuids().map(str)),
)


@st.composite
def kinds(draw: st.DrawFn, depth: int = 3, *, leaf: bool = False) -> Kind:
    """A type, nested at the top unless a leaf may be there too."""
    shapes = ("struct", "list", "map") if not leaf else ("leaf",) * 3 + (("struct", "list", "map") if depth > 0 else ())
    match draw(st.sampled_from(shapes)):
        case "struct":
            names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique_by=str.lower))
            return struct_of({name: draw(kinds(depth - 1, leaf=True)) for name in names})
        case "list":
            return list_of(draw(kinds(depth - 1, leaf=True)))
        case "map":
            key = draw(kinds(0, leaf=True) | kinds(depth - 1, leaf=True))
            # Two floats or two intervals may be equal without being the same.
            loose = any(word in str(key.type) for word in ("float", "interval"))
            return map_of(LEAVES[0] if loose else key, draw(kinds(depth - 1, leaf=True)))
        case _:
            return draw(st.sampled_from(LEAVES))


def struct_of(fields: dict[str, Kind]) -> Kind:
    """A struct of these fields."""
    columns = tuple(Column(index, name, kind.type) for index, (name, kind) in enumerate(fields.items(), 100))
    return Kind(
        Struct(columns),
        pa.struct([pa.field(name, kind.arrow) for name, kind in fields.items()]),
        # Drawn in any order; told in one, so that equal structs look equal.
        st.fixed_dictionaries({name: st.none() | kind.values for name, kind in fields.items()}).map(
            lambda row: {name: row[name] for name in fields}
        ),
    )


def list_of(element: Kind) -> Kind:
    """A list."""
    return Kind(
        ListOf(Column(100, "element", element.type)),
        pa.list_(element.arrow),
        st.lists(st.none() | element.values, max_size=3),
    )


def map_of(key: Kind, value: Kind) -> Kind:
    """A map."""
    return Kind(
        MapOf(Column(100, "key", key.type), Column(101, "value", value.type)),
        pa.map_(key.arrow, value.arrow),
        st.lists(st.tuples(key.values, st.none() | value.values), max_size=3, unique_by=lambda pair: repr(pair[0])),
    )


def as_arrow(values: Sequence[Any], arrow: Any) -> Any:
    """The values as Arrow; `pa.array` takes neither numbers for dates nor a year that Python lacks."""
    missing = pa.array([value is None for value in values], pa.bool_())
    if pa.types.is_struct(arrow):
        parts = [
            as_arrow([None if each is None else each[field.name] for each in values], field.type) for field in arrow
        ]
        return pa.StructArray.from_arrays(parts, fields=list(arrow), mask=missing)
    if pa.types.is_list(arrow) or pa.types.is_map(arrow):
        items = [item for each in values for item in each or ()]
        offsets = [0]
        for each in values:
            offsets.append(offsets[-1] + len(each or ()))
        places: Any = pa.array(offsets, pa.int32())
        if pa.types.is_list(arrow):
            return pa.ListArray.from_arrays(places, as_arrow(items, arrow.value_type), mask=missing)
        keys = as_arrow([key for key, _ in items], arrow.key_type)
        return pa.MapArray.from_arrays(
            places, keys, as_arrow([item for _, item in items], arrow.item_type), mask=missing
        )
    if pa.types.is_temporal(arrow) and not pa.types.is_interval(arrow):
        return pa.array(values, pa.int32() if arrow.bit_width == 32 else pa.int64()).view(arrow)
    return pa.array(values, arrow)
