"""Where each column of a table comes from in one file: by mapped name, by field id, or by position.

Both engines read what `resolve` says, so a renamed, added, dropped or nested field means the same in each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from quacklake.errors import StorageError
from quacklake.names import fold
from quacklake.plan.layout import FileColumn, FileLayout
from quacklake.plan.scan import MappedName, ScanFile
from quacklake.schema import Column
from quacklake.types import DataType, ListOf, MapOf, Primitive, Struct, children

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
_TEXTS = (Primitive("varchar"), Primitive("json"))


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


def resolve(
    file: ScanFile, layout: FileLayout, columns: Sequence[Column], schema: Sequence[Column]
) -> tuple[Source, ...]:
    """One source per wanted column.

    Args:
        file: The file, with its name mapping if it has one.
        layout: What its footer says.
        columns: The wanted columns of the table.
        schema: All top-level columns of the table, for files whose columns have no ids and count by position.

    Raises:
        StorageError: When a mapping says that a value is in the path of the file and it is not.
    """
    if file.mapping is not None:
        return tuple(_by_mapping(file, column, file.mapping, layout.data_columns) for column in columns)
    found = layout.data_columns
    if any(each.field_id is None for each in found):
        by_position = {column.id: source for column, source in zip(schema, found, strict=False)}
        return tuple(_by_name(column, by_position.get(column.id)) for column in columns)
    by_id = {each.field_id: each for each in found}
    return tuple(_by_id(column, by_id.get(column.id)) for column in columns)


def resolve_inlined(layout: Sequence[Column], columns: Sequence[Column]) -> tuple[Source, ...]:
    """One source per wanted column for rows that the catalog holds.

    Args:
        layout: The columns that the rows were written under; each is found as `c<id>`.
        columns: The wanted columns of the table.
    """
    by_id = {column.id: _as_source(column, f"c{column.id}") for column in layout}
    return tuple(_by_id(column, by_id.get(column.id)) for column in columns)


def _as_source(column: Column, name: str) -> FileColumn:
    below = tuple(_as_source(child, child.name) for child in children(column.type))
    match column.type:
        case Struct():
            return FileColumn(name, column.id, "struct", children=below)
        case ListOf():
            return FileColumn(name, column.id, "list", children=below)
        case MapOf():
            return FileColumn(name, column.id, "map", children=below)
        case leaf:
            return FileColumn(name, column.id, "leaf", type=str(leaf))


def _missing(column: Column) -> Constant:
    return Constant(column, column.initial_default)


def _by_id(column: Column, source: FileColumn | None) -> Source:
    if source is None:
        return _missing(column)
    wanted = children(column.type)
    if not wanted or not source.children:
        return FromFile(column, source)
    if source.kind != "struct":
        # One element, or a key and a value: their place says which is which, whoever wrote the file.
        return FromFile(column, source, tuple(map(_by_id, wanted, source.children)))
    if all(each.field_id is None for each in source.children):
        return _by_name(column, source)
    by_id = {each.field_id: each for each in source.children}
    return FromFile(column, source, tuple(_by_id(each, by_id.get(each.id)) for each in wanted))


def _by_name(column: Column, source: FileColumn | None) -> Source:
    if source is None:
        return _missing(column)
    wanted = children(column.type)
    if not wanted or not source.children:
        return FromFile(column, source)
    if source.kind != "struct":
        return FromFile(column, source, tuple(map(_by_name, wanted, source.children)))
    return FromFile(column, source, tuple(_by_name(each, _named(source.children, each.name)) for each in wanted))


def _by_mapping(file: ScanFile, column: Column, mapping: Sequence[MappedName], found: Sequence[FileColumn]) -> Source:
    mapped = next((each for each in mapping if each.column_id == column.id), None)
    if mapped is None:
        return _missing(column)
    if mapped.is_partition:
        return Constant(column, hive_value(file.path, mapped.source_name, column.type))
    source = _named(found, mapped.source_name)
    if source is None:
        return _missing(column)
    return _below_mapping(file, column, mapped, source)


def _below_mapping(file: ScanFile, column: Column, mapped: MappedName | None, source: FileColumn) -> Source:
    wanted = children(column.type)
    if not wanted or not source.children:
        return FromFile(column, source)
    if mapped is None or not mapped.children:
        return _by_name(column, source)
    if source.kind == "struct":
        below = tuple(_by_mapping(file, each, mapped.children, source.children) for each in wanted)
        return FromFile(column, source, below)
    # A mapping has a name of its own for the element of a list (`list`, `element`, `array`); its place says what it is.
    by_id = {each.column_id: each for each in mapped.children}
    pairs = zip(wanted, source.children, strict=False)
    inside = tuple(_below_mapping(file, each, by_id.get(each.id), inner) for each, inner in pairs)
    return FromFile(column, source, inside)


def _named(found: Sequence[FileColumn], name: str) -> FileColumn | None:
    exact = next((each for each in found if each.name == name), None)
    return exact or next((each for each in found if fold(each.name) == fold(name)), None)


def hive_value(path: str, key: str, type_: DataType) -> str | None:
    """The value of `key=value` in the folders of a path as text, or None where it stands for NULL.

    NULL is what DuckDB takes for it: the word of Hive, `NULL` in any case, and nothing at all unless it is text.

    Raises:
        StorageError: When the path has no such key.
    """
    for part in path.split("/")[:-1]:
        name, mark, value = part.partition("=")
        if mark and "=" not in value and fold(name) == fold(key):
            is_null = value == HIVE_NULL or value.lower() == "null" or (not value and type_ not in _TEXTS)
            return None if is_null else unquote(value)
    raise StorageError(f"the value of {key!r} should be in the path of {path} and is not")
