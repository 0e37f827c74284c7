"""Write values as the text that DuckDB's cast reads back exactly.

It is the text of DuckDB's own `CAST(x AS VARCHAR)` wherever DuckDB reads that back; where it does not, more is put
in quotes than DuckDB would.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import pyarrow as pa

from quacklake.catalog import moment_text
from quacklake.catalog.moment_text import Unreadable
from quacklake.catalog.text_syntax import blob_text, escape, needs_quotes
from quacklake.types import (
    FLOATS,
    INTEGERS,
    TIMESTAMPS,
    DataType,
    Decimal,
    Leaf,
    ListOf,
    MapOf,
    Primitive,
    Struct,
)

Texts = list[str | None]
Test = Callable[[pa.DataType], bool]

_KINDS: Any = pa.types

_BRACKET = re.compile(r"[\[\](){}]")
_CLOSING = {"[": "]", "{": "}", "(": ")"}


def texts(values: Any, type_: DataType) -> Texts:
    """The values of a column, an Arrow array, as DuckDB's text, NULL as None.

    Raises:
        Unreadable: When DuckDB reads no text as one of the values; it says which and why.
    """
    match type_:
        case Struct():
            return _structs(values, type_, plain_path=True)
        case ListOf():
            return _lists(values, type_)
        case MapOf():
            return _maps(values, type_)
        case Primitive() | Decimal():
            return leaf_texts(values, type_)


def leaf_texts(values: Any, type_: Leaf) -> Texts:
    """The values of a column without parts as DuckDB's text; text is taken as it is."""
    plain = as_plain(values, type_)
    write = _writer(plain.type, type_)
    is_counted = pa.types.is_temporal(plain.type) and not pa.types.is_interval(plain.type)
    ready = _integers(plain) if is_counted else plain
    return [None if value is None else write(value) for value in ready.to_pylist()]


def as_plain(values: Any, type_: Leaf) -> Any:
    """The values without Arrow's wrappers around them.

    Raises:
        Unreadable: When Arrow's type for them is none for a column of this type.
    """
    arrow = values.type
    if isinstance(arrow, pa.DictionaryType):
        return as_plain(values.dictionary_decode(), type_)
    if isinstance(arrow, pa.BaseExtensionType):
        return as_plain(values.storage, type_)
    if not fits(arrow, _name(type_)):
        raise Unreadable(f"{arrow} values cannot be written as {type_}")
    return values


def _name(type_: Leaf) -> str:
    return type_.name if isinstance(type_, Primitive) else "decimal"


def _integers(values: Any) -> Any:
    """The numbers behind dates and times: Python's own classes have no infinity and no year 10000."""
    return values.view(pa.int32() if values.type.bit_width == 32 else pa.int64())


def _writer(arrow: pa.DataType, type_: Leaf) -> Callable[[Any], str]:
    name = _name(type_)
    if isinstance(arrow, pa.TimestampType):
        return moment_text.timestamp_writer(arrow.unit, name)
    if isinstance(arrow, pa.Time32Type | pa.Time64Type):
        return moment_text.time_writer(arrow.unit, name)
    if _KINDS.is_floating(arrow):
        return _float32_text if arrow.bit_width == 32 else repr
    if name == "interval" and is_text(arrow):
        return moment_text.readable_interval
    tests: Iterable[tuple[Test, Callable[[Any], str]]] = (
        (_KINDS.is_boolean, lambda value: "true" if value else "false"),
        (_KINDS.is_decimal, lambda value: format(value, "f")),
        (_KINDS.is_date32, moment_text.date_text),
        (_KINDS.is_interval, moment_text.interval_text),
        (_is_bytes, _uuid_text if name == "uuid" else blob_text),
    )
    return next((write for test, write in tests if test(arrow)), str)


@lru_cache(maxsize=1024)
def is_text(arrow: pa.DataType) -> bool:
    """Whether Arrow holds strings."""
    return bool(_KINDS.is_string(arrow) or _KINDS.is_large_string(arrow) or _KINDS.is_string_view(arrow))


def _is_bytes(arrow: pa.DataType) -> bool:
    tests = (_KINDS.is_binary, _KINDS.is_large_binary, _KINDS.is_binary_view, _KINDS.is_fixed_size_binary)
    return any(test(arrow) for test in tests)


def _is_local(arrow: pa.DataType) -> bool:
    return isinstance(arrow, pa.TimestampType) and arrow.tz is None


def _is_instant(arrow: pa.DataType) -> bool:
    return isinstance(arrow, pa.TimestampType) and arrow.tz is not None


def _is_whole(arrow: pa.DataType) -> bool:
    return isinstance(arrow, pa.Decimal128Type | pa.Decimal256Type) and arrow.scale == 0


_NATIVE: Mapping[str, Sequence[Test]] = {
    **dict.fromkeys(INTEGERS, (_KINDS.is_integer,)),
    **dict.fromkeys(("int128", "uint128"), (_KINDS.is_integer, _is_whole)),
    **dict.fromkeys(FLOATS, (_KINDS.is_floating,)),
    **dict.fromkeys(TIMESTAMPS, (_is_local,)),
    **dict.fromkeys(("time", "time_ns"), (_KINDS.is_time,)),
    "boolean": (_KINDS.is_boolean,),
    "decimal": (_KINDS.is_decimal, _KINDS.is_integer),
    "date": (_KINDS.is_date32,),
    "timestamptz": (_is_instant,),
    "interval": (_KINDS.is_interval,),
    "uuid": (_is_bytes,),
    "blob": (_is_bytes,),
}
"""What Arrow may have for each type besides text."""


@lru_cache(maxsize=1024)
def fits(arrow: pa.DataType, name: str) -> bool:
    """Whether Arrow's type is one for values of a type of the lake."""
    if is_text(arrow):
        return name not in ("boolean", "blob")
    return _KINDS.is_null(arrow) or any(test(arrow) for test in _NATIVE.get(name, ()))


def _float32_text(value: float) -> str:
    # The fewest digits that are still this float: nine always are.
    for digits in range(6, 10):
        short = float(f"{value:.{digits}g}")
        if struct.unpack("f", struct.pack("f", short))[0] == value:
            break
    return repr(short)


def _uuid_text(value: bytes) -> str:
    from uuid import UUID

    return str(UUID(bytes=value))


def _structs(values: Any, type_: Struct, *, plain_path: bool) -> Texts:
    fields = [
        _embedded(values.field(index), field.type, plain_path=plain_path) for index, field in enumerate(type_.fields)
    ]
    heads = [escape(field.name, "'") + ": " for field in type_.fields]
    rows = zip(*fields, strict=True)
    return [
        "{" + ", ".join(map(str.__add__, heads, row)) + "}" if valid else None
        for valid, row in zip(values.is_valid().to_pylist(), rows, strict=True)
    ]


def _lists(values: Any, type_: ListOf) -> Texts:
    items = iter(_embedded(values.flatten(), type_.element.type))
    return [
        None if length is None else "[" + ", ".join(islice(items, length)) + "]"
        for length in values.value_lengths().to_pylist()
    ]


def _maps(values: Any, type_: MapOf) -> Texts:
    offsets = values.offsets.to_pylist()
    first, length = offsets[0], offsets[-1] - offsets[0]
    keys = _embedded(values.keys.slice(first, length), type_.key.type, is_key=True)
    items = _embedded(values.items.slice(first, length), type_.value.type)
    out: Texts = []
    for valid, start, stop in zip(values.is_valid().to_pylist(), offsets, offsets[1:], strict=False):
        own = slice(start - first, stop - first)
        if valid:
            _check_keys(keys[own])
            out.append("{" + ", ".join(f"{key}={item}" for key, item in zip(keys[own], items[own], strict=True)) + "}")
        else:
            out.append(None)
    return out


def _check_keys(keys: Sequence[str]) -> None:
    if "NULL" in keys:
        raise Unreadable("a map has a NULL key")
    if len(set(keys)) < len(keys):
        raise Unreadable("a map has the same key twice")


def _embedded(values: Any, type_: DataType, *, plain_path: bool = False, is_key: bool = False) -> list[str]:
    """The values as they stand inside a list, a struct or a map.

    Args:
        values: The values.
        type_: Their type.
        plain_path: Whether nothing but structs is around them: there DuckDB itself writes SQL literals, in which
            backslashes and quotes mean something else, so ours must not look like one.
        is_key: Whether they are keys of a map.
    """
    if not isinstance(type_, Primitive | Decimal):
        inner = _structs(values, type_, plain_path=plain_path) if isinstance(type_, Struct) else texts(values, type_)
        return ["NULL" if text is None else text if _survives(text) else escape(text, "'") for text in inner]
    is_string = plain_path and isinstance(type_, Primitive) and type_.name in ("varchar", "json")
    return [_embedded_leaf(text, is_string, is_key) for text in leaf_texts(values, type_)]


def _embedded_leaf(text: str | None, is_literal: bool, is_key: bool) -> str:
    if text is None:
        return "NULL"
    # DuckDB takes a backslash at the end of a key for an escape of the value behind it.
    if not needs_quotes(text) and not (is_key and text.endswith("\\")):
        return text
    return escape(text, '"' if is_literal and ("'" in text or "\\" in text) else "'")


def _survives(text: str) -> bool:
    """Whether DuckDB hands a nested value on as it is.

    It counts brackets without looking at quotes, so a bracket inside a string may seem to end the value; behind
    that it drops quotes.
    """
    scopes: list[str] = []
    for bracket in _BRACKET.finditer(text):
        mark = bracket[0]
        if scopes and mark == scopes[-1]:
            scopes.pop()
            if not scopes and bracket.end() != len(text):
                return False
        elif mark in _CLOSING:
            scopes.append(_CLOSING[mark])
    return True
