"""The settings of the lake as they hold for one table, and the plan for writing to it that follows from them."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Sequence
from typing import get_args

from quacklake.catalog.inlined_write import can_inline
from quacklake.catalog.view import Option, TableEntry
from quacklake.errors import InvalidInputError
from quacklake.names import fold
from quacklake.plan.write import (
    DEFAULT_ROW_GROUP_SIZE,
    DEFAULT_TARGET_FILE_SIZE,
    Compression,
    PartitionField,
    SortField,
    WritePlan,
)

DEFAULT_INLINE_ROWS = 10
"""What DuckDB inlines when nobody said anything."""


class Settings:
    """Settings of one table: its own come first, then those of its namespace, then those of the lake."""

    def __init__(self, options: Sequence[Option], entry: TableEntry) -> None:
        self._values: dict[str, str] = {}
        scopes = ((None, None), ("schema", entry.namespace_id), ("table", entry.table_id))
        for scope, scope_id in scopes:
            for option in options:
                if option.scope == scope and (scope is None or option.scope_id == scope_id):
                    self._values[option.name] = option.value

    def text(self, name: str) -> str | None:
        """The value as it is stored."""
        return self._values.get(name)

    def number(self, name: str) -> int | None:
        """A whole number.

        Raises:
            InvalidInputError: When the lake holds something else under that name.
        """
        text = self._values.get(name)
        if text is None:
            return None
        try:
            return int(text)
        except ValueError:
            raise InvalidInputError(
                f"the setting {name} of the lake is {text!r}, which is no whole number", hint="set_option puts it right"
            ) from None

    def flag(self, name: str, default: bool) -> bool:
        """A yes or no."""
        text = self._values.get(name)
        return default if text is None else text.strip().lower() in ("true", "t", "1", "yes", "on")


def wanted_inline_limit(settings: Settings, session_default: int | None) -> int:
    """How many rows at the most are to go into the catalog, whether or not the columns can."""
    limit = settings.number("data_inlining_row_limit")
    if limit is None:
        limit = DEFAULT_INLINE_ROWS if session_default is None else session_default
    return max(0, limit)


def inline_limit(settings: Settings, entry: TableEntry, session_default: int | None, backend_name: str) -> int:
    """How many rows at the most go into the catalog; 0 when the columns cannot."""
    limit = wanted_inline_limit(settings, session_default)
    return limit if limit and can_inline(backend_name, entry.schema.columns) is None else 0


def build_write_plan(
    options: Sequence[Option], entry: TableEntry, *, encrypted: bool, inline_rows: int | None, backend_name: str
) -> WritePlan:
    """How new files of a table look, and where they go.

    Args:
        options: The settings of the lake.
        entry: The table.
        encrypted: Whether files of the lake are.
        inline_rows: What the session says about inlining, where the lake says nothing.
        backend_name: The kind of the catalog database.
    """
    settings = Settings(options, entry)
    return WritePlan(
        table=str(entry.name),
        table_id=entry.table_id,
        path=entry.path,
        schema=entry.schema,
        partition_id=None if entry.partition is None else entry.partition.partition_id,
        partition=_partition_fields(entry),
        sort=_sort_fields(entry) if settings.flag("sort_on_insert", True) else (),
        compression=_compression(settings),
        compression_level=settings.number("parquet_compression_level"),
        parquet_version="V2" if (settings.text("parquet_version") or "V1").upper() in ("V2", "2") else "V1",
        row_group_size=settings.number("parquet_row_group_size") or DEFAULT_ROW_GROUP_SIZE,
        row_group_bytes=settings.number("parquet_row_group_size_bytes"),
        target_file_size=settings.number("target_file_size") or DEFAULT_TARGET_FILE_SIZE,
        hive_paths=settings.flag("hive_file_pattern", not encrypted),
        encryption_key=base64.b64encode(secrets.token_bytes(16)).decode() if encrypted else None,
        inline_limit=inline_limit(settings, entry, inline_rows, backend_name),
        delete_format="puffin" if settings.flag("write_deletion_vectors", False) else "parquet",
    )


def _compression(settings: Settings) -> Compression:
    text = (settings.text("parquet_compression") or "snappy").lower()
    for known in get_args(Compression):
        if text == known:
            return known  # type: ignore[no-any-return]
    raise InvalidInputError(f"the lake asks for the compression {text!r}, which is not known", hint="see set_option")


def _partition_fields(entry: TableEntry) -> tuple[PartitionField, ...]:
    if entry.partition is None:
        return ()
    columns = {column.id: column for column in entry.schema}
    fields: list[PartitionField] = []
    taken: set[str] = set()
    for index, key in enumerate(entry.partition.keys):
        column = columns[key.column_id]
        transform = key.transform.partition("(")[0]
        folder = column.name if transform == "identity" else transform
        if fold(folder) in taken:
            folder = f"{transform}_{column.name}"
        taken.add(fold(folder))
        fields.append(PartitionField(index, column, key.transform, folder))
    return tuple(fields)


def _sort_fields(entry: TableEntry) -> tuple[SortField, ...]:
    if entry.sort is None:
        return ()
    # What another dialect means by an expression is not for us to say; the order of rows is no promise.
    keys = [key for key in entry.sort.keys if key.dialect == "duckdb"]
    return tuple(SortField(key.expression, key.descending, key.nulls_first, key.dialect) for key in keys)
