"""Whether a Parquet file from elsewhere fits a table, and which of its columns stands for which of the table's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from quacklake.errors import InvalidInputError, StorageError
from quacklake.names import fold
from quacklake.plan.layout import FileColumn, FileLayout
from quacklake.plan.scan import MappedName
from quacklake.plan.sources import hive_value
from quacklake.promotions import can_promote
from quacklake.schema import Column
from quacklake.types import INTEGERS, TIMESTAMPS, DataType, Decimal, ListOf, MapOf, Primitive, children, parse_leaf

_TYPES = {
    "BOOLEAN": "boolean",
    "TINYINT": "int8",
    "SMALLINT": "int16",
    "INTEGER": "int32",
    "BIGINT": "int64",
    "UTINYINT": "uint8",
    "USMALLINT": "uint16",
    "UINTEGER": "uint32",
    "UBIGINT": "uint64",
    "FLOAT": "float32",
    "DOUBLE": "float64",
    "DATE": "date",
    "TIME": "time",
    "TIME WITH TIME ZONE": "timetz",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP_NS": "timestamp_ns",
    "TIMESTAMP WITH TIME ZONE": "timestamptz",
    "INTERVAL": "interval",
    "VARCHAR": "varchar",
    "BLOB": "blob",
    "UUID": "uuid",
    "JSON": "json",
    "VARIANT": "variant",
    "GEOMETRY": "geometry",
}
_KINDS = {ListOf: "list", MapOf: "map"}


@dataclass(frozen=True, slots=True)
class Fit:
    """How the columns of one file serve a table."""

    mapping: tuple[MappedName, ...]
    leaves: tuple[Column | None, ...]
    """The table's column for each leaf of the file, in the file's order; None for one that is left out."""
    retyped: frozenset[int]
    """The columns whose bounds in the footer are not those of the table's type."""
    in_path: tuple[tuple[Column, str | None], ...]
    """Columns whose value is in the file's path, with its text."""


def fit(path: str, layout: FileLayout, columns: Sequence[Column], *, allow_missing: bool, ignore_extra: bool) -> Fit:
    """Match a file with a table, by name.

    Raises:
        InvalidInputError: When a column is missing, is not the table's, or holds what the table's type cannot.
    """
    if layout.row_id is not None or layout.snapshot_id is not None:
        raise InvalidInputError(
            f"{path} holds row ids of the lake that it was written for", hint="append its rows instead of the file"
        )
    matcher = _Matcher(path, allow_missing=allow_missing, ignore_extra=ignore_extra)
    mapping, leaves = matcher.match(columns, layout.columns, "")
    in_path = tuple(matcher.in_path)
    return Fit(
        mapping=(*mapping, *(MappedName(column.name, column.id, is_partition=True) for column, _ in in_path)),
        leaves=tuple(leaves),
        retyped=frozenset(matcher.retyped),
        in_path=in_path,
    )


class _Matcher:
    def __init__(self, path: str, *, allow_missing: bool, ignore_extra: bool) -> None:
        self._path = path
        self._allow_missing = allow_missing
        self._ignore_extra = ignore_extra
        self.in_path: list[tuple[Column, str | None]] = []
        self.retyped: list[int] = []

    def match(
        self, columns: Sequence[Column], found: Sequence[FileColumn], below: str
    ) -> tuple[list[MappedName], list[Column | None]]:
        wanted = {fold(column.name): column for column in columns}
        mapping: list[MappedName] = []
        leaves: list[Column | None] = []
        for each in found:
            column = wanted.pop(fold(each.name), None)
            if column is None:
                leaves.extend(self._extra(each, below))
                continue
            inner, inner_leaves = self._below(column, each, below + column.name)
            mapping.append(MappedName(each.name, column.id, children=tuple(inner)))
            leaves.extend(inner_leaves)
        for column in wanted.values():
            self._missing(column, below)
        return mapping, leaves

    def _below(self, column: Column, found: FileColumn, name: str) -> tuple[list[MappedName], list[Column | None]]:
        kind = _KINDS.get(type(column.type), "struct" if children(column.type) else "leaf")
        if kind != found.kind:
            raise self._refused(name, found.type or found.kind, column)
        if kind == "leaf":
            held = leaf_type(found)
            if held is None or not fits(held, column.type):
                raise self._refused(name, found.type, column)
            if not _keeps_bounds(held, column.type):
                self.retyped.append(column.id)
            return [], [column]
        if kind == "struct":
            return self.match(children(column.type), found.children, f"{name}.")
        mapping, leaves = [], []
        # What a file calls the element of a list does not matter; mappings say `list`.
        names = ("list",) if kind == "list" else ("key", "value")
        for label, inner, theirs in zip(names, children(column.type), found.children, strict=True):
            inside, below = self._below(inner, theirs, f"{name}.{inner.name}")
            mapping.append(MappedName(label, inner.id, children=tuple(inside)))
            leaves.extend(below)
        return mapping, leaves

    def _extra(self, found: FileColumn, below: str) -> Iterator[None]:
        if not self._ignore_extra:
            raise InvalidInputError(
                f"{self._path} has a column {below + found.name!r} that the table lacks",
                hint="ignore_extra_columns=True leaves it out",
            )
        return (None for each in found.walk() if each.kind == "leaf")

    def _missing(self, column: Column, below: str) -> None:
        if not below and not children(column.type):
            try:
                value = hive_value(self._path, column.name, column.type)
            except StorageError:
                pass
            else:
                self.in_path.append((column, value))
                return
        if not self._allow_missing:
            raise InvalidInputError(
                f"{self._path} has no column {below + column.name!r}",
                hint="allow_missing=True takes the column's default for its rows",
            )

    def _refused(self, name: str, held: str, column: Column) -> InvalidInputError:
        return InvalidInputError(
            f"{self._path} holds {held} in {name!r}, the table {column.type}",
            hint="append its rows instead of the file",
        )


def leaf_type(found: FileColumn) -> DataType | None:
    """The type of ours that a leaf of a file holds; None when there is none that holds every value."""
    if found.type.startswith("DECIMAL"):
        return parse_leaf(found.type.lower())
    if found.logical == "Timestamp milliseconds" and found.type == "TIMESTAMP":
        return Primitive("timestamp_ms")
    if found.logical.endswith("nanoseconds") and found.type != "TIMESTAMP_NS":
        # Readers cut what is finer than the type they have for it.
        return None
    name = _TYPES.get(found.type)
    return None if name is None else Primitive(name)


def fits(held: DataType, wanted: DataType) -> bool:
    """Whether every value that a file may hold is one of the table's type, the same for every reader."""
    if held == wanted:
        return True
    if not can_promote(held, wanted):
        return False
    before, after = str(held), str(wanted)
    if before in INTEGERS:
        return after in INTEGERS or isinstance(wanted, Decimal)
    if isinstance(held, Decimal):
        return isinstance(wanted, Decimal)
    return before == "float32" or after in TIMESTAMPS


def _keeps_bounds(held: DataType, wanted: DataType) -> bool:
    """Whether the text of a bound in the file's footer is that of the table's type."""
    return held == wanted or (str(held) in INTEGERS and str(wanted) in INTEGERS)
