"""Columns of a table: added, dropped, renamed, changed, at any depth; partitioning, order and comments of tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import EllipsisType
from typing import TYPE_CHECKING, Any

from quacklake.catalog.view import PartitionSpec, SortSpec, TableEntry
from quacklake.ddl.literals import read_default
from quacklake.ddl.partitions import read_partition_keys, read_sort_keys, rename_sorted, sorted_columns
from quacklake.ddl.schemas import check_column, check_inlined_names, check_name, read_type
from quacklake.errors import InvalidInputError, UnsupportedError
from quacklake.evolution import (
    Path,
    add_field,
    change_field,
    drop_field,
    find_field,
    parse_path,
    refuse_duplicates,
    rename_field,
    retype_field,
)
from quacklake.names import fold, quote
from quacklake.schema import Column, Schema
from quacklake.types import DataType

if TYPE_CHECKING:
    from quacklake.transaction import Transaction


def add_column(
    tx: Transaction,
    entry: TableEntry,
    name: str,
    type_: DataType | str,
    *,
    default: Any,
    comment: str | None,
    if_not_exists: bool,
) -> TableEntry:
    """Add a column, or a field to a struct."""
    path = parse_path(name)
    if if_not_exists and _exists(entry.schema, path):
        return entry
    column = _new_column(path, read_type(type_), default, comment)
    schema, following = add_field(entry.schema, path, column, tx.next_column_id(entry.table_id))
    if tx.inlines(entry):
        check_inlined_names(schema.columns, str(entry.name))
    return _put_schema(tx, entry, schema, following)


def _new_column(path: Path, type_: DataType, default: Any, comment: str | None) -> Column:
    label = ".".join(path)
    given = read_default(default, type_, label)
    if given.default is not None and given.default.is_expression:
        raise UnsupportedError(
            f"column {label!r}: a new column needs a value for the rows that are there, not an expression",
            hint="add it without a default and set one with alter_column",
        )
    if comment is not None and len(path) > 1:
        raise UnsupportedError(f"column {label!r}: only whole columns have comments")
    column = Column(0, path[-1], type_, initial_default=given.initial, default=given.default, comment=comment)
    refuse_duplicates([column], label)
    check_column(column)
    return column


def _exists(schema: Schema, path: Path) -> bool:
    try:
        find_field(schema, path)
    except KeyError:
        return False
    return True


def drop_column(tx: Transaction, entry: TableEntry, name: str, *, if_exists: bool) -> TableEntry:
    """Drop a column, or a field of a struct."""
    path = parse_path(name)
    if if_exists and not _exists(entry.schema, path):
        return entry
    schema = drop_field(entry.schema, path)
    if len(path) == 1:
        column = entry.schema.column(path[0])
        _refuse_key(entry, column)
    return _put_schema(tx, entry, schema)


def _refuse_key(entry: TableEntry, column: Column) -> None:
    if entry.partition is not None and any(key.column_id == column.id for key in entry.partition.keys):
        raise InvalidInputError(
            f"{entry.name} is partitioned by {column.name}", hint="change that first with set_partition_by"
        )
    if entry.sort is not None and fold(column.name) in sorted_columns(entry.sort.keys):
        raise InvalidInputError(f"{entry.name} is sorted by {column.name}", hint="change that first with set_sort_by")


def rename_column(tx: Transaction, entry: TableEntry, name: str, after: str) -> TableEntry:
    """Give a column or a field of a struct another name."""
    path = parse_path(name)
    parts = parse_path(after)
    if len(parts) > 1 and tuple(map(fold, parts[:-1])) != tuple(map(fold, path[:-1])):
        raise UnsupportedError(f"{name} cannot move to {after}: a rename stays where it is")
    check_name(parts[-1], "column")
    old = find_field(entry.schema, path)
    schema = rename_field(entry.schema, path, parts[-1])
    if tx.inlines(entry):
        check_inlined_names(schema.columns, str(entry.name))
    if len(path) == 1 and entry.sort is not None:
        keys = rename_sorted(entry.sort.keys, old.name, parts[-1])
        if keys != entry.sort.keys:
            entry = _put(tx, entry, replace(entry, sort=SortSpec(next(tx._staging.ids), keys)))
    return _put_schema(tx, entry, schema)


def alter_column(
    tx: Transaction,
    entry: TableEntry,
    name: str,
    *,
    type_: DataType | str | None,
    default: Any | EllipsisType,
    nullable: bool | None,
    comment: str | EllipsisType | None,
) -> TableEntry:
    """Change the type, the default, the rule about NULL or the comment of a column."""
    path = parse_path(name)
    find_field(entry.schema, path)
    if len(path) > 1 and (nullable is not None or comment is not ...):
        raise UnsupportedError(f"{name} is inside a column: only whole columns have comments and NOT NULL")
    if type_ is not None:
        schema, following = retype_field(entry.schema, path, read_type(type_), tx.next_column_id(entry.table_id))
        entry = _put_schema(tx, entry, schema, following)
    if default is not ...:
        entry = _set_default(tx, entry, path, default)
    if nullable is not None:
        entry = _set_nullable(tx, entry, path, nullable)
    if comment is not ...:
        schema = change_field(entry.schema, path, lambda column: replace(column, comment=comment))
        entry = _put(tx, entry, replace(entry, schema=schema))
    return entry


def _set_default(tx: Transaction, entry: TableEntry, path: Path, default: Any) -> TableEntry:
    column = find_field(entry.schema, path)
    given = read_default(default, column.type, ".".join(path))
    # What older rows show was settled when the column came.
    schema = change_field(entry.schema, path, lambda each: replace(each, default=given.default))
    return _put(tx, entry, replace(entry, schema=schema))


def _set_nullable(tx: Transaction, entry: TableEntry, path: Path, nullable: bool) -> TableEntry:
    column = entry.schema.column(path[0])
    if column.nullable == nullable:
        return entry
    if not nullable:
        _refuse_nulls(tx, entry, column)
        tx._staging.tightened.add(entry.table_id)
    schema = change_field(entry.schema, path, lambda each: replace(each, nullable=nullable))
    return _put(tx, entry, replace(entry, schema=schema))


def _refuse_nulls(tx: Transaction, entry: TableEntry, column: Column) -> None:
    """Refuse to forbid NULL while there is one: looked up in the rows themselves."""
    if entry.table_id < 0 and entry.table_id not in tx._staging.writes:
        return
    where = f"`{column.name.replace('`', '``')}` IS NULL"
    found = tx.table(str(entry.name)).scan(where=where)
    count = tx._engine("local").count(found.plan())
    if count:
        raise InvalidInputError(
            f"{entry.name}.{column.name} is NULL in {count} rows, so NULL cannot be forbidden",
            hint=f"fill them first: UPDATE … SET {quote(column.name)} = … WHERE {quote(column.name)} IS NULL",
        )


def set_partition_by(tx: Transaction, entry: TableEntry, keys: Sequence[str]) -> TableEntry:
    """Spread new files by other keys, or by none."""
    found = read_partition_keys(keys, entry.schema)
    if found == (entry.partition.keys if entry.partition is not None else ()):
        return entry
    spec = PartitionSpec(next(tx._staging.ids), found) if found else None
    return _put(tx, entry, replace(entry, partition=spec))


def set_sort_by(tx: Transaction, entry: TableEntry, keys: Sequence[str]) -> TableEntry:
    """Order new files by other keys, or by none."""
    found = read_sort_keys(keys, entry.schema)
    if found == (entry.sort.keys if entry.sort is not None else ()):
        return entry
    return _put(tx, entry, replace(entry, sort=SortSpec(next(tx._staging.ids), found) if found else None))


def set_comment(tx: Transaction, entry: TableEntry, text: str | None) -> TableEntry:
    """Set the comment of a table, or take it away."""
    tags = {key: value for key, value in entry.tags.items() if key != "comment"}
    return _put(tx, entry, replace(entry, tags=tags if text is None else {**tags, "comment": text}))


def _put_schema(tx: Transaction, entry: TableEntry, schema: Schema, next_id: int | None = None) -> TableEntry:
    writes = tx._staging.writes.get(entry.table_id)
    if writes is not None and writes.inserts:
        raise UnsupportedError(
            f"{entry.name} has new rows in this transaction that were made for its old columns",
            hint="change the columns first, or in a transaction of its own",
        )
    if next_id is not None:
        tx._staging.next_column_ids[entry.table_id] = next_id
    return _put(tx, entry, replace(entry, schema=schema))


def _put(tx: Transaction, before: TableEntry, after: TableEntry) -> TableEntry:
    tx._staging.put_table(before, after)
    return after
