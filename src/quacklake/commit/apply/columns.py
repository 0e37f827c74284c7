"""The columns of tables: rows that begin and rows that end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from quacklake.commit.apply.attempt import Attempt
from quacklake.commit.changes import AlterColumns
from quacklake.commit.verify import expect_rows
from quacklake.schema import Column, Schema
from quacklake.types import ListOf, MapOf, Struct, children, is_nested

Placed = tuple[Column, int | None]
"""A column and the id of its parent."""


def alter_columns(attempt: Attempt) -> None:
    """End the rows of columns that go or change, and let the new ones begin."""
    table = attempt.tables.column
    for change in attempt.of(AlterColumns):
        if change.table_id < 0:
            continue
        before, after = _by_id(change.before), _by_id(change.after)
        ended = [id_ for id_, placed in before.items() if not _is_same(placed, after.get(id_))]
        if ended:
            count = attempt.end(table, table.c.table_id == change.table_id, table.c.column_id.in_(ended))
            expect_rows(count, len(ended), str(change.name), "alter table")
        attempt.insert(table, list(_new_rows(change, before, after, attempt.snapshot_id)))


def _new_rows(
    change: AlterColumns, before: dict[int, Placed], after: dict[int, Placed], snapshot_id: int
) -> Iterator[dict[str, Any]]:
    for top in change.after:
        if top.id not in before:
            yield from column_rows(top, change.table_id, snapshot_id)
    fresh = {column.id for top in change.after if top.id not in before for column in top.walk()}
    for id_, (column, parent) in after.items():
        if id_ in fresh or _is_same((column, parent), before.get(id_)):
            continue
        # What DuckDB writes for fields inside a column; it means nothing below the top level.
        kind = "literal" if parent is None or id_ not in before else ""
        yield _row(column, change.table_id, snapshot_id, parent, nulls_allowed=parent is None, kind=kind)


def changes_layout(change: AlterColumns) -> bool:
    """Whether rows look different: new defaults and rules about NULL leave them as they are."""
    return layout_of(change.before) != layout_of(change.after)


def layout_of(schema: Schema) -> list[tuple[int, str, str]]:
    """What the rows of a table look like, at every depth."""
    return [(column.id, column.name, type_word(column)) for column in schema.walk()]


def column_rows(column: Column, table_id: int, snapshot_id: int) -> Iterator[dict[str, Any]]:
    """The rows of a column of a new table and of everything below it, parents first."""
    for each, parent in _placed(column, None):
        kind = "" if is_nested(each.type) else "literal"
        yield _row(each, table_id, snapshot_id, parent, nulls_allowed=True, kind=kind)


def _row(
    column: Column, table_id: int, snapshot_id: int, parent: int | None, *, nulls_allowed: bool, kind: str
) -> dict[str, Any]:
    default = column.default
    return {
        "column_id": column.id,
        "begin_snapshot": snapshot_id,
        "table_id": table_id,
        "column_order": column.id,
        "column_name": column.name,
        "column_type": type_word(column),
        "initial_default": column.initial_default,
        # DuckDB's way to say that there is none.
        "default_value": "NULL" if default is None else default.text,
        "nulls_allowed": nulls_allowed and column.nullable,
        "parent_column": parent,
        "default_value_type": kind if default is None else "expression" if default.is_expression else "literal",
        "default_value_dialect": "duckdb" if default is None else default.dialect,
    }


def type_word(column: Column) -> str:
    """The type as its row has it: parts of a nested type have rows of their own."""
    match column.type:
        case Struct():
            return "struct"
        case ListOf():
            return "list"
        case MapOf():
            return "map"
        case leaf:
            return str(leaf)


def _by_id(schema: Schema) -> dict[int, Placed]:
    return {column.id: (column, parent) for top in schema for column, parent in _placed(top, None)}


def _placed(column: Column, parent: int | None) -> Iterator[Placed]:
    yield column, parent
    for child in children(column.type):
        yield from _placed(child, column.id)


def _is_same(mine: Placed, other: Placed | None) -> bool:
    return other is not None and _row_values(*mine) == _row_values(*other)


def _row_values(column: Column, parent: int | None) -> tuple[object, ...]:
    values = (column.name, type_word(column), column.initial_default, column.default, parent)
    return (*values, column.nullable) if parent is None else values
