"""The batch of a stream that a commit is: done once, and never again."""

from __future__ import annotations

from quacklake.catalog.shared.ownership import OPTION
from quacklake.catalog.stream_batches import batch_key, build_batches, find_batch
from quacklake.commit.apply.attempt import Attempt


class BatchDone(Exception):
    """The lake has the batch already; not an error, and nothing that users see."""


def note_batch(attempt: Attempt) -> None:
    """Note that the table has got the batch, unless it has.

    Raises:
        BatchDone: When it has got this batch or a later one.
    """
    batch = attempt.intent.batch
    if batch is None:
        return
    place = attempt.tables.sql_schema
    key = batch_key(attempt.connection.get_execution_options().get(OPTION), batch.table)
    last = find_batch(attempt.connection, place, batch.query_id, key)
    if last is not None and last >= batch.batch_id:
        raise BatchDone(batch)
    table = build_batches(place)
    values = {"batch_id": batch.batch_id, "snapshot_id": attempt.snapshot_id}
    if last is None:
        row = {"query_id": batch.query_id, "table_uuid": key, **values}
        attempt.connection.execute(table.insert().values(row))
        return
    same = (table.c.query_id == batch.query_id, table.c.table_uuid == key)
    attempt.connection.execute(table.update().where(*same).values(values))
