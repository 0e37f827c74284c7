"""Put the results of several writes of one table together."""

from __future__ import annotations

from quacklake.plan.write import InlinedInsert, WriteResult


def join_results(first: WriteResult, second: WriteResult) -> WriteResult:
    """Both changes as one."""
    return WriteResult(
        files=first.files + second.files,
        inserts=_join_inserts(first.inserts, second.inserts),
        removed=first.removed + second.removed,
        deletes=first.deletes + second.deletes,
        inlined_rows=first.inlined_rows + second.inlined_rows,
        inlined_positions=first.inlined_positions + second.inlined_positions,
        rows_inserted=first.rows_inserted + second.rows_inserted,
        rows_updated=first.rows_updated + second.rows_updated,
        rows_deleted=first.rows_deleted + second.rows_deleted,
    )


def _join_inserts(first: InlinedInsert | None, second: InlinedInsert | None) -> InlinedInsert | None:
    if first is None or second is None:
        return first or second
    import pyarrow as pa

    first_ids, second_ids = (
        each.row_ids if each.row_ids is not None else (None,) * each.data.num_rows for each in (first, second)
    )
    return InlinedInsert(
        data=pa.concat_tables([first.data, second.data]),
        row_ids=first_ids + second_ids,
        stats=first.stats + second.stats,
    )
