"""Settings of the lake: which there are, where they may be set, and how their values are stored."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import sqlalchemy as sa

from quacklake.catalog.lake import Catalog
from quacklake.commit.state import standing_in_line, take_turn
from quacklake.errors import InvalidInputError

Value = str | int | float | bool
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?b?|bytes?)\s*", re.IGNORECASE)
_FACTORS = {"": 1, "b": 1, "byte": 1, "bytes": 1} | {
    f"{letter}{suffix}": base**power
    for power, letter in enumerate("kmgt", start=1)
    for suffix, base in (("", 1000), ("b", 1000), ("i", 1024), ("ib", 1024))
}
_CODECS = ("uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4", "lz4_raw")
_INTERVAL = re.compile(
    r"\s*-?\d+\s*(microsecond|millisecond|second|sec|minute|min|hour|day|week|month|mon|year)s?"
    r"(\s+-?\d+\s*(microsecond|millisecond|second|sec|minute|min|hour|day|week|month|mon|year)s?)*\s*",
    re.IGNORECASE,
)


def _flag(value: Value) -> str:
    text = str(value).strip().lower()
    if text in ("true", "t", "1", "yes", "on"):
        return "true"
    if text in ("false", "f", "0", "no", "off"):
        return "false"
    raise ValueError("true or false")


def _whole(value: Value) -> str:
    text = str(value).strip()
    if isinstance(value, bool) or not re.fullmatch(r"\d+", text):
        raise ValueError("a whole number, 0 or more")
    return str(int(text))


def _positive(value: Value) -> str:
    if _whole(value) == "0":
        raise ValueError("a whole number above 0")
    return _whole(value)


def _size(value: Value) -> str:
    match = _SIZE.fullmatch(str(value))
    if isinstance(value, bool) or match is None:
        raise ValueError("a size such as 100MB or 1048576")
    number = int(float(match[1]) * _FACTORS[match[2].lower()])
    if number < 1:
        raise ValueError("a size above 0")
    return str(number)


def _codec(value: Value) -> str:
    if str(value).lower() not in _CODECS:
        raise ValueError(f"one of {', '.join(_CODECS)}")
    return str(value).lower()


def _version(value: Value) -> str:
    text = str(value).upper().removeprefix("V")
    if text not in ("1", "2"):
        raise ValueError("1 or 2")
    return f"V{text}"


def _fraction(value: Value) -> str:
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if isinstance(value, bool) or not 0 <= number <= 1:
        raise ValueError("a number from 0 to 1")
    return f"{number:f}"


def _interval(value: Value) -> str:
    if not isinstance(value, str) or not _INTERVAL.fullmatch(value):
        raise ValueError("an interval such as '7 days'")
    return value.strip()


@dataclass(frozen=True, slots=True)
class _Known:
    store: Callable[[Value], str]
    """Makes the stored text of a value; its ValueError says what it takes."""
    scoped: bool = True
    """Whether a namespace or a table can have its own."""


OPTIONS: Mapping[str, _Known] = {
    "data_inlining_row_limit": _Known(_whole),
    "parquet_compression": _Known(_codec),
    "parquet_version": _Known(_version),
    "parquet_compression_level": _Known(_whole),
    "parquet_row_group_size": _Known(_positive),
    "parquet_row_group_size_bytes": _Known(_size),
    "target_file_size": _Known(_size),
    "hive_file_pattern": _Known(_flag),
    "require_commit_message": _Known(_flag, scoped=False),
    "rewrite_delete_threshold": _Known(_fraction),
    "delete_older_than": _Known(_interval, scoped=False),
    "expire_older_than": _Known(_interval, scoped=False),
    "auto_compact": _Known(_flag),
    "per_thread_output": _Known(_flag),
    "write_deletion_vectors": _Known(_flag),
    "sort_on_insert": _Known(_flag),
}
_FIXED = ("version", "created_by", "data_path", "encrypted")


def stored_value(name: str, value: Value, *, scoped: bool) -> str:
    """The text that the lake keeps for a setting.

    Raises:
        InvalidInputError: When there is no such setting, or it does not take the value.
    """
    known = OPTIONS.get(name)
    if known is None:
        why = "is fixed when a lake is made" if name in _FIXED else "does not exist"
        raise InvalidInputError(f"the setting {name!r} {why}", hint=f"there is {', '.join(OPTIONS)}")
    if scoped and not known.scoped:
        raise InvalidInputError(f"{name} is a setting of the whole lake", hint="leave namespace and table out")
    try:
        return known.store(value)
    except ValueError as error:
        raise InvalidInputError(f"{name}={value!r}: {name} is {error}") from None


def write_option(
    catalog: Catalog, name: str, value: str, scope: Literal["schema", "table", "catalog"] | None, scope_id: int | None
) -> None:
    """Store a setting. It takes effect at once and belongs to no snapshot."""
    metadata = catalog.tables.metadata
    if scope is None and catalog.catalog_id is not None:
        scope, scope_id = "catalog", catalog.catalog_id
    same = sa.and_(
        metadata.c.key == name,
        metadata.c.scope.is_(None) if scope is None else metadata.c.scope == scope,
        metadata.c.scope_id.is_(None) if scope_id is None else metadata.c.scope_id == scope_id,
    )
    try:
        # One at a time, or two writers would each insert a row.
        with catalog.backend.write(standing_in_line(catalog.tables, catalog.backend)) as connection:
            take_turn(connection, catalog.tables, catalog.backend)
            known = connection.execute(metadata.update().where(same).values(value=value)).rowcount
            if not known:
                row = {"key": name, "value": value, "scope": scope, "scope_id": scope_id}
                connection.execute(metadata.insert(), row)
    except sa.exc.SQLAlchemyError as error:
        raise catalog.backend.translate(error) from error
