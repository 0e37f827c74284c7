r"""Read the text in which SQLite, PostgreSQL and MySQL catalogs hold nested values.

DuckDB has no type for a list, a struct or a map there and writes text, not always the same. For the value
`{a: it's, d: 2024-01-01, l: [x]}`:

    cast      {'a': 'it\'s', 'd': 2024-01-01, 'l': [x]}                        lists and maps; DuckDB 1.4 on SQLite
    literal   {'a': 'it''s', 'd': CAST('2024-01-01' AS DATE), 'l': [x]}        structs since DuckDB 1.5
    recursive {'a': 'it''s', 'd': '2024-01-01'::DATE, 'l': ['x']}              DuckDB 1.4 on PostgreSQL

DuckDB reads all of them as the first and so loses what it wrote in the others. Here a text is read in the form that
would have produced exactly this text, the form of DuckDB 1.5 first; only a text that no form produces is read
with the freedom that DuckDB's own reader has (spaces, double quotes, fields in any order).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from quacklake.catalog.loose_text import read_loosely
from quacklake.catalog.text_syntax import SPACES, Mismatch, is_binary, needs_quotes, plain_value, unescape
from quacklake.types import DataType, Leaf, ListOf, MapOf, Primitive, Struct

Reader = Callable[[str, int], tuple[Any, int]]
"""Reads one value of a text from a position on; the value and the position behind it."""
Readers = Callable[[DataType], Reader]

_PLAIN = r"""[^"'(),:=\[\]{}]+"""
_BARE = re.compile(f"({_PLAIN})")
_CAST = re.compile(rf"({_PLAIN})|'([^'\\]*(?:\\['\\][^'\\]*)*)'")
_SQL_QUOTED = re.compile(r"'([^']*(?:''[^']*)*)'")
_CONCAT = re.compile(r"CONCAT\(('[^']*(?:''[^']*)*'(?:, chr\(0\), '[^']*(?:''[^']*)*')+)\)")
_PART = re.compile(r"'([^']*(?:''[^']*)*)'|chr\(0\)")
_TYPE = r"[A-Z][A-Z_ ]*(?:\(\d+,\d+\))?"
_TYPED = re.compile(rf"CAST\('([^']*)' AS {_TYPE}\)|'([^']*)'::{_TYPE}")
_STRINGS = frozenset(("varchar", "json"))
# Types whose literals carry the type; the others stand as they are.
_TYPED_NAMES = frozenset(
    "uuid date time time_ns timestamp timestamp_s timestamp_ms timestamp_ns timetz timestamptz interval blob".split()
)


class NestedText:
    """The reader of one nested column."""

    def __init__(self, type_: DataType) -> None:
        self._type = type_
        forms = (_literal, _cast, _recursive) if isinstance(type_, Struct) else (_cast, _recursive)
        self._forms = tuple(form(type_) for form in forms)
        self.arrow_type = text_type(type_)

    def read(self, text: str) -> Any:
        """The value: dicts, lists, lists of pairs; leaves are text, bytes for a blob.

        Raises:
            Mismatch: When the text is no value of the type in any form.
        """
        for form in self._forms:
            try:
                value, end = form(text, 0)
            except Mismatch:
                continue
            if end == len(text):
                return value
        return read_loosely(text, self._type)

    def read_all(self, texts: Sequence[str | None]) -> pa.Array[Any]:
        """The values of a column as Arrow."""
        return pa.array([None if text is None else self.read(text) for text in texts], self.arrow_type)


def text_type(type_: DataType) -> pa.DataType:
    """The Arrow type with the nesting of a column and text for its leaves, bytes for blobs."""
    match type_:
        case Struct(fields):
            return pa.struct([pa.field(field.name, text_type(field.type)) for field in fields])
        case ListOf(element):
            return pa.list_(pa.field(element.name, text_type(element.type)))
        case MapOf(key, value):
            return pa.map_(text_type(key.type), text_type(value.type))
        case _:
            return pa.binary() if is_binary(type_) else pa.string()


def _cast(type_: DataType) -> Reader:
    """The form of `CAST(x AS VARCHAR)`: quotes where they are needed, a backslash before quotes and backslashes."""
    match type_:
        case Struct(fields):
            heads = ["'" + re.sub(r"(['\\])", r"\\\1", field.name) + "': " for field in fields]
            return _struct(type_, heads, _cast)
        case ListOf(element):
            return _list(_cast(element.type))
        case MapOf(key, value):
            return _map(_cast(key.type), _cast(value.type))
        case _:
            return _cast_leaf(type_)


def _literal(type_: DataType) -> Reader:
    """The form of structs since DuckDB 1.5: an SQL literal, but lists and maps in it as the cast writes them."""
    if isinstance(type_, Struct):
        return _struct(type_, ["'" + field.name.replace("'", "''") + "': " for field in type_.fields], _literal)
    return _cast(type_) if isinstance(type_, ListOf | MapOf) else _literal_leaf(type_)


def _recursive(type_: DataType) -> Reader:
    """The form of DuckDB 1.4 on PostgreSQL: SQL literals at every depth, field names as they are, maps as the cast."""
    match type_:
        case Struct(fields):
            return _struct(type_, ["'" + field.name + "': " for field in fields], _recursive)
        case ListOf(element):
            return _list(_recursive(element.type))
        case MapOf():
            return _cast(type_)
        case _:
            return _literal_leaf(type_)


def _struct(type_: Struct, heads: Sequence[str], below: Readers) -> Reader:
    parts = []
    for index, (head, field) in enumerate(zip(heads, type_.fields, strict=True)):
        mark = ("{" if index == 0 else ", ") + head
        parts.append((mark, len(mark), field.name, below(field.type)))

    def read(text: str, position: int) -> tuple[Any, int]:
        if text.startswith("NULL", position):
            return None, position + 4
        value = {}
        for head, size, name, reader in parts:
            if not text.startswith(head, position):
                raise Mismatch
            value[name], position = reader(text, position + size)
        return value, _after(text, position, "}")

    return read


def _list(element: Reader) -> Reader:
    def read(text: str, position: int) -> tuple[Any, int]:
        if text.startswith("NULL", position):
            return None, position + 4
        value: list[Any] = []
        position = _after(text, position, "[")
        if text.startswith("]", position):
            return value, position + 1
        while True:
            item, position = element(text, position)
            value.append(item)
            if text.startswith("]", position):
                return value, position + 1
            position = _after(text, position, ", ")

    return read


def _map(key: Reader, value: Reader) -> Reader:
    def read(text: str, position: int) -> tuple[Any, int]:
        if text.startswith("NULL", position):
            return None, position + 4
        pairs: list[tuple[Any, Any]] = []
        position = _after(text, position, "{")
        if text.startswith("}", position):
            return pairs, position + 1
        while True:
            one, position = key(text, position)
            if one is None:
                raise Mismatch
            other, position = value(text, _after(text, position, "="))
            pairs.append((one, other))
            if text.startswith("}", position):
                return pairs, position + 1
            position = _after(text, position, ", ")

    return read


def _after(text: str, position: int, mark: str) -> int:
    if not text.startswith(mark, position):
        raise Mismatch
    return position + len(mark)


def _cast_leaf(type_: Leaf) -> Reader:
    binary = is_binary(type_)

    def read(text: str, position: int) -> tuple[Any, int]:
        match = _CAST.match(text, position)
        if match is None:
            raise Mismatch
        bare = match[1]
        if bare is not None:
            return _bare_value(bare, binary), match.end()
        value = unescape(match[2])
        if not needs_quotes(value):
            raise Mismatch
        return plain_value(value, binary), match.end()

    return read


def _bare_value(text: str, binary: bool) -> str | bytes | None:
    """What stands without quotes; marks that call for quotes are not in it."""
    if text == "NULL":
        return None
    if text[0] in SPACES or text[-1] in SPACES or (len(text) == 4 and text.lower() == "null"):
        raise Mismatch
    return plain_value(text, binary) if binary else text


def _literal_leaf(type_: Leaf) -> Reader:
    name = type_.name if isinstance(type_, Primitive) else "decimal"
    if name in _STRINGS:
        return _read_literal_string
    binary, typed = is_binary(type_), name in _TYPED_NAMES

    def read(text: str, position: int) -> tuple[Any, int]:
        match = _TYPED.match(text, position)
        if match is not None:
            return plain_value(match[1] or match[2] or "", binary), match.end()
        match = _BARE.match(text, position)
        if match is None or (typed and match[1] != "NULL"):
            raise Mismatch
        return _bare_value(match[1], binary), match.end()

    return read


def _read_literal_string(text: str, position: int) -> tuple[Any, int]:
    match = _SQL_QUOTED.match(text, position)
    if match is not None:
        return match[1].replace("''", "'"), match.end()
    match = _CONCAT.match(text, position)
    if match is not None:
        parts = (part[1] for part in _PART.finditer(match[1]))
        return "".join("\0" if part is None else part.replace("''", "'") for part in parts), match.end()
    for word, value in (("NULL", None), ("chr(0)", "\0")):
        if text.startswith(word, position):
            return value, position + len(word)
    raise Mismatch
