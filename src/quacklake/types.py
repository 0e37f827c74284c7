"""The types a column can have, as the DuckLake format names them.

A type knows nothing of an engine. What each becomes in Arrow, DuckDB and Spark is in the engines' `types`
modules, and in `docs/types.md` for people.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quacklake.errors import InvalidInputError, UnsupportedError

if TYPE_CHECKING:
    from quacklake.schema import Column

PRIMITIVES = frozenset(
    """boolean int8 int16 int32 int64 int128 uint8 uint16 uint32 uint64 uint128 float32 float64
    time time_ns timetz date timestamp timestamp_ms timestamp_ns timestamp_s timestamptz interval
    varchar blob uuid json variant geometry unknown""".split()
)
INTEGERS = frozenset("int8 int16 int32 int64 int128 uint8 uint16 uint32 uint64 uint128".split())
FLOATS = frozenset(("float32", "float64"))
TIMESTAMPS = frozenset(("timestamp", "timestamp_ms", "timestamp_ns", "timestamp_s"))

# Spellings that some writers use and the format's own reader accepts.
_ALIASES = {"timestamp_us": "timestamp", "timestamp with time zone": "timestamptz", "time with time zone": "timetz"}
_DECIMAL = re.compile(r"decimal\s*\(\s*(\d+)\s*,\s*(\d+)\s*\)")


@dataclass(frozen=True, slots=True)
class Primitive:
    """A type without parts, by its name in the format."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Decimal:
    """An exact number of `precision` digits, `scale` of them behind the point."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True, slots=True)
class Struct:
    """Named fields, each with an id of its own."""

    fields: tuple[Column, ...]

    def __str__(self) -> str:
        return "struct<" + ", ".join(f"{field.name}: {field.type}" for field in self.fields) + ">"


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list; the element is a column of its own, named `element`."""

    element: Column

    def __str__(self) -> str:
        return f"list<{self.element.type}>"


@dataclass(frozen=True, slots=True)
class MapOf:
    """A map; key and value are columns of their own."""

    key: Column
    value: Column

    def __str__(self) -> str:
        return f"map<{self.key.type}, {self.value.type}>"


Leaf = Primitive | Decimal
DataType = Primitive | Decimal | Struct | ListOf | MapOf


def parse_leaf(text: str) -> Leaf:
    """Read the type of a column without children, as the catalog stores it.

    Raises:
        UnsupportedError: When the format knows no such type; a newer version of quacklake may.
    """
    word = text.strip().lower()
    word = _ALIASES.get(word, word)
    if word in PRIMITIVES:
        return Primitive(word)
    match = _DECIMAL.fullmatch(word)
    if match is None:
        raise UnsupportedError(f"the lake has a column of the unknown type {text!r}", hint="upgrade quacklake")
    precision, scale = int(match[1]), int(match[2])
    if not 1 <= precision <= 38 or scale > precision:
        raise InvalidInputError(f"{text!r} is not a decimal type: 1 to 38 digits, the scale among them")
    return Decimal(precision, scale)


def is_nested(type_: DataType) -> bool:
    """Whether the type has parts with ids of their own."""
    return isinstance(type_, Struct | ListOf | MapOf)


def children(type_: DataType) -> tuple[Column, ...]:
    """The columns right below a nested type; none for the others."""
    match type_:
        case Struct(fields):
            return fields
        case ListOf(element):
            return (element,)
        case MapOf(key, value):
            return (key, value)
        case _:
            return ()
