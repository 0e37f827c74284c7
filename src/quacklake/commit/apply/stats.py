"""Statistics of whole tables: inserted with the first rows, widened with every later ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from quacklake.catalog.tables import CatalogTables, prepared
from quacklake.commit.apply.attempt import Attempt
from quacklake.commit.changes import AddFiles, AlterColumns, InlineRows, Intent
from quacklake.commit.state import Row
from quacklake.commit.statistics import TableColumnStats, keeps_range, start, widen
from quacklake.commit.verify import conflict
from quacklake.plan.write import ColumnStats
from quacklake.schema import Column, Schema
from quacklake.types import is_nested


@dataclass(frozen=True, slots=True)
class TableStats:
    """One row of `ducklake_table_stats` and the rows of its columns, as they are before the commit."""

    record_count: int
    next_row_id: int
    size: int
    columns: Mapping[int, TableColumnStats]


def read_stats(rows: Sequence[Row]) -> TableStats | None:
    """The statistics of a table that was looked at; none when it never had any rows."""
    if not rows or rows[0].counted_id is None:
        return None
    columns = {
        row.column_id: TableColumnStats(
            row.column_id,
            row.contains_null is not False,
            row.contains_nan,
            row.min_value,
            row.max_value,
            row.extra_stats,
        )
        for row in rows
        if row.column_id is not None
    }
    first = rows[0]
    return TableStats(first.record_count or 0, first.next_row_id or 0, first.file_size_bytes or 0, columns)


def shift_row_ids(intent: Intent, stats: Mapping[int, TableStats]) -> dict[int, int]:
    """By table, how far the row ids moved that the transaction took for its rows.

    Raises:
        ConflictError: When they moved although a file holds them.
    """
    shifts = {}
    for table_id, taken in intent.row_ids.items():
        known = stats.get(table_id)
        shifts[table_id] = (known.next_row_id if known is not None else 0) - taken.first
        if shifts[table_id] and taken.is_pinned:
            raise conflict(
                str(intent.entries[table_id].name),
                "changed rows that it had inserted itself",
                "took the row ids of these rows",
            )
    return shifts


def write_stats(attempt: Attempt, stats: Mapping[int, TableStats]) -> None:
    """Count new rows and widen ranges."""
    for table_id in grown(attempt.intent):
        known = stats.get(table_id)
        if known is None:
            _start(attempt, table_id)
        else:
            _widen(attempt, table_id, known)


def forget_retyped(attempt: Attempt) -> None:
    """Forget the ranges of columns whose type changed so that the text of a value is another one."""
    table = attempt.tables.table_column_stats
    for change in attempt.of(AlterColumns):
        types = {column.id: column.type for column in _leaves(change.before)}
        retyped = [
            column.id
            for column in _leaves(change.after)
            if types.get(column.id, column.type) != column.type and not keeps_range(types[column.id], column.type)
        ]
        if retyped and change.table_id >= 0:
            condition = sa.and_(table.c.table_id == change.table_id, table.c.column_id.in_(retyped))
            attempt.connection.execute(table.delete().where(condition))


def grown(intent: Intent) -> list[int]:
    """The tables that get rows."""
    kinds = (AddFiles, InlineRows)
    return list(dict.fromkeys(change.table_id for change in intent.changes if isinstance(change, kinds)))


def _counts(attempt: Attempt, table_id: int) -> tuple[int, int, list[Sequence[ColumnStats]]]:
    """How many rows and bytes a table gets, and the statistics of each part."""
    rows, size, parts = 0, 0, list[Sequence[ColumnStats]]()
    for change in attempt.of(AddFiles):
        if change.table_id == table_id:
            rows += sum(file.record_count for file in change.files)
            size += sum(file.size for file in change.files)
            parts.extend(file.stats for file in change.files)
    for inlined in attempt.of(InlineRows):
        if inlined.table_id == table_id:
            rows += sum(insert.data.num_rows for insert in inlined.inserts)
            parts.extend(part for insert in inlined.inserts for part in _each_once(insert.stats))
    return rows, size, parts


def _each_once(stats: Sequence[ColumnStats]) -> list[list[ColumnStats]]:
    """Several writes put together have several records of a column: parts with one of each."""
    parts: list[list[ColumnStats]] = []
    seen: Counter[int] = Counter()
    for each in stats:
        if seen[each.column_id] == len(parts):
            parts.append([])
        parts[seen[each.column_id]].append(each)
        seen[each.column_id] += 1
    return parts or [[]]


def _start(attempt: Attempt, table_id: int) -> None:
    rows, size, parts = _counts(attempt, table_id)
    real_id = attempt.ids.object_id(table_id)
    row = {
        "table_id": real_id,
        "record_count": rows,
        "next_row_id": attempt.intent.row_ids[table_id].count,
        "file_size_bytes": size,
    }
    attempt.insert(attempt.tables.table_stats, [row])
    found = (start(parts, column.id, column.type) for column in _leaves(attempt.entry(table_id).schema))
    attempt.insert(attempt.tables.table_column_stats, [_row(real_id, each) for each in found if each is not None])


def _widen(attempt: Attempt, table_id: int, known: TableStats) -> None:
    rows, size, parts = _counts(attempt, table_id)
    columns = attempt.tables.table_column_stats
    row = {
        "new_table_id": table_id,
        "new_record_count": known.record_count + rows,
        "new_next_row_id": known.next_row_id + attempt.intent.row_ids[table_id].count,
        "new_file_size_bytes": known.size + size,
    }
    attempt.run(_update_table(attempt.tables), [row])
    changed, lost = [], []
    for column in _leaves(attempt.entry(table_id).schema):
        # A column that came later has no row and never gets one: older files are not counted in it.
        old = known.columns.get(column.id)
        new = None if old is None else widen(old, parts, column.type)
        if old is not None and new is None:
            lost.append(column.id)
        elif new is not None and new != old:
            changed.append(_row(table_id, new))
    if lost:
        condition = sa.and_(columns.c.table_id == table_id, columns.c.column_id.in_(lost))
        attempt.connection.execute(columns.delete().where(condition))
    if changed:
        attempt.run(_update_columns(attempt.tables), [{f"new_{key}": row[key] for key in row} for row in changed])


@prepared
def _update_table(tables: CatalogTables) -> sa.Update:
    return _update(tables.table_stats, ("table_id",), ("record_count", "next_row_id", "file_size_bytes"))


@prepared
def _update_columns(tables: CatalogTables) -> sa.Update:
    changing = ("contains_null", "contains_nan", "min_value", "max_value", "extra_stats")
    return _update(tables.table_column_stats, ("table_id", "column_id"), changing)


def _update(table: sa.Table, keys: Sequence[str], changing: Sequence[str]) -> sa.Update:
    def given(name: str) -> sa.BindParameter[Any]:
        return sa.bindparam(f"new_{name}", type_=table.c[name].type)

    same = (table.c[name] == given(name) for name in keys)
    return table.update().where(*same).values({name: given(name) for name in changing})


def _leaves(schema: Schema) -> list[Column]:
    return [column for column in schema.walk() if not is_nested(column.type)]


def _row(table_id: int, stats: TableColumnStats) -> dict[str, Any]:
    return {
        "table_id": table_id,
        "column_id": stats.column_id,
        "contains_null": stats.contains_null,
        "contains_nan": stats.contains_nan,
        "min_value": stats.min,
        "max_value": stats.max,
        "extra_stats": stats.extra,
    }
