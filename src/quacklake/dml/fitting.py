"""Let a table grow so that incoming data fits: new columns, wider types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from quacklake.catalog.view import TableEntry
from quacklake.ddl.columns import add_column, alter_column
from quacklake.names import fold, quote
from quacklake.promotions import can_promote
from quacklake.schema import Column, Schema
from quacklake.types import DataType, Primitive, Struct, children

if TYPE_CHECKING:
    from quacklake.transaction import Transaction


def grow_to_fit(tx: Transaction, entry: TableEntry, incoming: Schema) -> TableEntry:
    """The table with every column and field that the data has, wide enough for it, in the same transaction."""
    for path, type_ in _additions(entry.schema.columns, incoming.columns, ()):
        entry = add_column(tx, entry, _dotted(path), type_, default=None, comment=None, if_not_exists=True)
    for path, type_ in _promotions(entry.schema.columns, incoming.columns, ()):
        entry = alter_column(tx, entry, _dotted(path), type_=type_, default=..., nullable=None, comment=...)
    return entry


Path = tuple[str, ...]


def _additions(columns: Sequence[Column], given: Sequence[Column], path: Path) -> Iterator[tuple[Path, DataType]]:
    """Columns that the data has and the table lacks, outer ones first."""
    known = {fold(column.name): column for column in columns}
    for each in given:
        column = known.get(fold(each.name))
        if column is None:
            yield (*path, each.name), each.type
        elif type(column.type) is type(each.type):
            below = (*path, column.name)
            if isinstance(column.type, Struct):
                yield from _additions(children(column.type), children(each.type), below)
            else:
                for inner, theirs in zip(children(column.type), children(each.type), strict=True):
                    if isinstance(inner.type, Struct) and isinstance(theirs.type, Struct):
                        yield from _additions(children(inner.type), children(theirs.type), (*below, inner.name))


def _promotions(columns: Sequence[Column], given: Sequence[Column], path: Path) -> Iterator[tuple[Path, DataType]]:
    """Leaves of the table that the data is too wide for, where the type can grow."""
    known = {fold(column.name): column for column in columns}
    for each in given:
        column = known.get(fold(each.name))
        if column is None:
            continue
        if isinstance(column.type, Struct) and isinstance(each.type, Struct):
            yield from _promotions(children(column.type), children(each.type), (*path, column.name))
        elif not children(column.type) and column.type != each.type and _grows(column.type, each.type):
            yield (*path, column.name), each.type


def _grows(ours: DataType, theirs: DataType) -> bool:
    # Text takes anything by no promotion, and JSON is text of another kind: neither is what widening means.
    return can_promote(ours, theirs) and theirs != Primitive("json")


def _dotted(path: Path) -> str:
    return ".".join(quote(part) for part in path)
