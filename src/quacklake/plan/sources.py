"""Where each column of a table comes from in one file: by mapped name, by field id, or by position.

Both engines read what `resolve` says, so a renamed, added, dropped or nested field means the same in each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from quacklake.names import fold
from quacklake.plan.layout import FileColumn, FileLayout
from quacklake.plan.scan import MappedName, ScanFile
from quacklake.schema import Column
from quacklake.types import children, is_nested

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class FromFile:
    """The value is in the file; cast it to the column's type."""

    column: Column
    source: FileColumn
    children: tuple[Source, ...] = ()
    """For a nested column, one per child of the table's column, in its order."""

    @property
    def is_identity(self) -> bool:
        """Whether names and shape below are the file's own, so that a plain cast is all it takes."""
        below = tuple(child.source for child in self.children if isinstance(child, FromFile) and child.is_identity)
        if len(below) != len(self.children) or below != self.source.children:
            return False
        return self.source.kind != "struct" or all(
            child.column.name == child.source.name for child in self.children if isinstance(child, FromFile)
        )


@dataclass(frozen=True, slots=True)
class Constant:
    """The file has no such column: every row has this value."""

    column: Column
    text: str | None
    """DuckDB's text of the value, or None for NULL."""


Source = FromFile | Constant


def resolve(file: ScanFile, layout: FileLayout, columns: Sequence[Column], schema: Sequence[Column]) -> tuple[Source, ...]:
    """One source per wanted column.

    Args:
        file: The file, with its name mapping if it has one.
        layout: What its footer says.
        columns: The wanted columns of the table.
        schema: All top-level columns of the table, for files whose columns have no ids and count by position.
    """
    if file.mapping is not None:
        return tuple(_by_name(file, column, file.mapping, layout.data_columns) for column in columns)
    found = layout.data_columns
    if any(each.field_id is None for each in found):
        by_position = {column.id: found[index] for index, column in enumerate(schema) if index < len(found)}
        return tuple(_by_id(column, by_position.get(column.id)) for column in columns)
    by_id = {each.field_id: each for each in found}
    return tuple(_by_id(column, by_id.get(column.id)) for column in columns)


def _missing(column: Column) -> Constant:
    return Constant(column, column.initial_default)


def _by_id(column: Column, source: FileColumn | None) -> Source:
    if source is None:
        return _missing(column)
    wanted = children(column.type)
    if not wanted or not source.children:
        return FromFile(column, source)
    if source.kind != "struct":
        # One element, one key, one value: their place says which is which, whoever wrote the file.
        return FromFile(column, source, tuple(map(_by_id, wanted, source.children)))
    if all(each.field_id is None for each in source.children):
        by_name = {fold(each.name): each for each in source.children}
        return FromFile(column, source, tuple(_by_id(each, by_name.get(fold(each.name))) for each in wanted))
    by_id = {each.field_id: each for each in source.children}
    return FromFile(column, source, tuple(_by_id(each, by_id.get(each.id)) for each in wanted))


def _by_name(
    file: ScanFile, column: Column, mapping: Sequence[MappedName], found: Sequence[FileColumn]
) -> Source:
    mapped = next((each for each in mapping if each.column_id == column.id), None)
    if mapped is None:
        return _missing(column)
    if mapped.is_partition:
        return Constant(column, hive_value(file.path, mapped.source_name))
    source = _named(found, mapped.source_name)
    if source is None:
        return _missing(column)
    if not is_nested(column.type) or not source.children:
        return FromFile(column, source)
    wanted = children(column.type)
    if source.kind == "struct":
        return FromFile(column, source, tuple(_by_name(file, each, mapped.children, source.children) for each in wanted))
    # A mapping calls a list's only child `list`; its place says what it is.
    below = {each.column_id: each for each in mapped.children}
    return FromFile(
        column,
        source,
        tuple(
            _below(file, child, below.get(child.id), inner) for child, inner in zip(wanted, source.children, strict=False)
        ),
    )


def _below(file: ScanFile, column: Column, mapped: MappedName | None, source: FileColumn) -> Source:
    if mapped is None or not is_nested(column.type):
        return FromFile(column, source)
    renamed = MappedName(source.name, column.id, children=mapped.children)
    return _by_name(file, column, (renamed,), (source,))


def _named(found: Sequence[FileColumn], name: str) -> FileColumn | None:
    exact = next((each for each in found if each.name == name), None)
    return exact or next((each for each in found if fold(each.name) == fold(name)), None)


def hive_value(path: str, key: str) -> str | None:
    """The value of `key=value` in a path, or None where it stands for NULL or is not there."""
    for part in path.split("/"):
        name, mark, value = part.partition("=")
        if mark and fold(unquote(name)) == fold(key):
            return None if value == HIVE_NULL else unquote(value)
    return None
