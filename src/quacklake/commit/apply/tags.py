"""Comments, which the format keeps as tags. No other tag is ever written: DuckDB refuses those of columns."""

from __future__ import annotations

import sqlalchemy as sa

from quacklake.commit.apply.attempt import Attempt
from quacklake.commit.changes import CreateTable, SetColumnComment, SetComment

KEY = "comment"


def set_comments(attempt: Attempt) -> None:
    """End the comments of tables and views and let the new ones begin; one that is taken away begins as NULL."""
    tag = attempt.tables.tag
    rows = []
    for change in attempt.of(SetComment):
        object_id = attempt.ids.object_id(change.object_id)
        if change.object_id >= 0:
            attempt.end(tag, tag.c.object_id == object_id, tag.c.key == KEY)
        rows.append({"object_id": object_id, "begin_snapshot": attempt.snapshot_id, "key": KEY, "value": change.text})
    attempt.insert(tag, rows)


def set_column_comments(attempt: Attempt) -> None:
    """The same for columns."""
    tag = attempt.tables.column_tag
    rows = []
    for change in attempt.of(SetColumnComment):
        if change.table_id >= 0:
            attempt.end(
                tag,
                sa.and_(tag.c.table_id == change.table_id, tag.c.column_id == change.column_id, tag.c.key == KEY),
            )
        rows.append(_row(attempt, change.table_id, change.column_id, change.text))
    for created in attempt.of(CreateTable):
        commented = ((column.id, column.comment) for column in created.schema if column.comment is not None)
        rows.extend(_row(attempt, created.table_id, id_, text) for id_, text in commented)
    attempt.insert(tag, rows)


def _row(attempt: Attempt, table_id: int, column_id: int, text: str | None) -> dict[str, object]:
    return {
        "table_id": attempt.ids.object_id(table_id),
        "column_id": column_id,
        "begin_snapshot": attempt.snapshot_id,
        "key": KEY,
        "value": text,
    }
