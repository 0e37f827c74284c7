"""Read a nested value from text as freely as DuckDB's cast does, but with quotes inside quotes understood."""

from __future__ import annotations

import re
from typing import Any

from quacklake.catalog.text_syntax import SPACES, Mismatch, is_binary, plain_value, unescape
from quacklake.types import DataType, ListOf, MapOf, Struct, is_nested

_SPACE = re.compile(f"[{SPACES}]*")
_QUOTED = re.compile(r"""'([^'\\]*(?:\\.[^'\\]*)*)'|"([^"\\]*(?:\\.[^"\\]*)*)\"""", re.DOTALL)
_BARE = re.compile(r"""[^"',\[\]{}]*""")
_BARE_KEY = re.compile(r"""[^"',=\[\]{}]*""")
_BARE_NAME = re.compile(r"""[^"',:\[\]{}]*""")


def read_loosely(text: str, type_: DataType) -> Any:
    """The value that the text stands for.

    Raises:
        Mismatch: When it stands for none.
    """
    value, end = _read(text, _skip(text, 0), type_, _BARE)
    if _skip(text, end) != len(text):
        raise Mismatch
    return value


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return position if match is None else match.end()


def _at(text: str, position: int, mark: str) -> bool:
    return text.startswith(mark, position)


def _expect(text: str, position: int, mark: str) -> int:
    position = _skip(text, position)
    if not _at(text, position, mark):
        raise Mismatch
    return _skip(text, position + len(mark))


def _read(text: str, position: int, type_: DataType, bare: re.Pattern[str]) -> tuple[Any, int]:
    quoted = _QUOTED.match(text, position)
    if quoted is not None:
        inner = unescape(quoted[1] if quoted[2] is None else quoted[2])
        return read_loosely(inner, type_) if is_nested(type_) else plain_value(inner, is_binary(type_)), quoted.end()
    if not is_nested(type_) or text[position : position + 4].lower() == "null":
        return _read_bare(text, position, type_, bare)
    match type_:
        case Struct():
            return _read_struct(text, position, type_)
        case ListOf():
            return _read_list(text, position, type_)
        case MapOf():
            return _read_map(text, position, type_)
    raise Mismatch


def _read_bare(text: str, position: int, type_: DataType, bare: re.Pattern[str]) -> tuple[Any, int]:
    match = bare.match(text, position)
    if match is None:
        raise Mismatch
    value = match[0].strip(SPACES)
    if value.lower() == "null":
        return None, match.end()
    if is_nested(type_):
        raise Mismatch
    return plain_value(value, is_binary(type_)), match.end()


def _read_struct(text: str, position: int, type_: Struct) -> tuple[Any, int]:
    fields = {field.name: field for field in type_.fields}
    value: dict[str, Any] = dict.fromkeys(fields)
    seen: set[str] = set()
    position = _expect(text, position, "{")
    while not _at(text, position, "}"):
        if seen:
            position = _expect(text, position, ",")
        name, position = _read_name(text, position)
        field = fields.get(name)
        if field is None or name in seen:
            raise Mismatch
        seen.add(name)
        value[name], position = _read(text, _expect(text, position, ":"), field.type, _BARE)
        position = _skip(text, position)
    return value, position + 1


def _read_name(text: str, position: int) -> tuple[str, int]:
    quoted = _QUOTED.match(text, position)
    if quoted is not None:
        return unescape(quoted[1] if quoted[2] is None else quoted[2]), quoted.end()
    match = _BARE_NAME.match(text, position)
    if match is None:
        raise Mismatch
    return match[0].strip(SPACES), match.end()


def _read_list(text: str, position: int, type_: ListOf) -> tuple[Any, int]:
    value: list[Any] = []
    position = _expect(text, position, "[")
    while not _at(text, position, "]"):
        if value:
            position = _expect(text, position, ",")
        item, position = _read(text, position, type_.element.type, _BARE)
        value.append(item)
        position = _skip(text, position)
    return value, position + 1


def _read_map(text: str, position: int, type_: MapOf) -> tuple[Any, int]:
    pairs: list[tuple[Any, Any]] = []
    position = _expect(text, position, "{")
    while not _at(text, position, "}"):
        if pairs:
            position = _expect(text, position, ",")
        key, position = _read(text, position, type_.key.type, _BARE_KEY)
        if key is None:
            raise Mismatch
        value, position = _read(text, _expect(text, position, "="), type_.value.type, _BARE)
        pairs.append((key, value))
        position = _skip(text, position)
    return pairs, position + 1
