"""What happens beside the driver when tasks write: the look at the table before, and the commit after."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

from quacklake.catalog.inlined_write import can_inline
from quacklake.catalog.stream_batches import load_batch
from quacklake.catalog.view import TableEntry
from quacklake.commit.apply.batches import BatchDone
from quacklake.commit.changes import StreamBatch
from quacklake.commit.evidence import find_unknown
from quacklake.commit.outcome import Commit
from quacklake.ddl.frames import read_spark
from quacklake.dml.fitting import grow_to_fit
from quacklake.errors import ConflictError
from quacklake.plan.results import join_results
from quacklake.plan.scan import ScanPlan
from quacklake.plan.write import WritePlan, WriteResult
from quacklake.schema import Schema
from quacklake.source.options import Options
from quacklake.storage.placement import remove
from quacklake.storage.stores import Stores
from quacklake.transaction import Transaction

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from quacklake.session import Session


@dataclass(frozen=True, slots=True)
class Target:
    """The table that tasks write for. Nothing in it can reach a catalog."""

    plan: WritePlan
    uuid: str
    """Of the table, whatever its name."""
    snapshot_id: int
    """The snapshot at which the table was looked at."""


def plan_target(options: Options, schema: StructType) -> Target:
    """Look at the table, and refuse a DataFrame that does not fit.

    Raises:
        NotFoundError: When there is no such table.
        InvalidInputError: When a column does not fit, in the words of `table.append`.
    """
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema

    from quacklake.engine.spark.task_output import read_texts

    incoming = Schema(read_spark(schema))
    with options.open_lake() as session:
        tx = session.transaction()
        entry = _entry(tx, options, incoming)
        plan = tx.write_plan(entry)
        nothing = pa.RecordBatch.from_pylist([], schema=to_arrow_schema(schema))
        session._engine("local").writer(plan).append(read_texts(entry.schema, nothing))
        tx.rollback()
        return Target(plan, _uuid(entry), tx.current_snapshot)


def commit_once(
    options: Options,
    schema: StructType,
    target: Target,
    results: Sequence[WriteResult],
    *,
    overwrite: bool,
    batch: StreamBatch,
    base: int | None = None,
) -> None:
    """Make what tasks wrote one snapshot, unless the lake has the batch already; then it goes away again."""
    with options.open_lake() as session:
        last = load_batch(session._catalog, batch.query_id, batch.table)
        if last is None or last < batch.batch_id:
            try:
                commit_rows(session, options, schema, target, results, overwrite=overwrite, base=base, batch=batch)
                return
            except BatchDone:
                pass
    remove_uncommitted(options, target, results)


def commit_rows(
    session: Session,
    options: Options,
    schema: StructType,
    target: Target,
    results: Sequence[WriteResult],
    *,
    overwrite: bool,
    base: int | None = None,
    batch: StreamBatch | None = None,
) -> Commit:
    """Make what tasks wrote one snapshot.

    Args:
        session: The lake.
        options: Which table, and what to say of the commit.
        schema: The columns of the data.
        target: What the tasks took the table for.
        results: What they wrote.
        overwrite: Whether the rows go that are there.
        base: The snapshot on which the data rests: what others did since must not matter to it.
        batch: Which batch of a stream it is.

    Raises:
        ConflictError: When the table is another than it was.
    """
    extra = None if batch is None else json.dumps({"query": batch.query_id, "batch": batch.batch_id})
    message, author = options.get("commitMessage"), options.get("commitAuthor")
    seen = None if base is None else session._catalog.snapshot(base)
    with Transaction(
        session, message=message, author=author, extra=extra, is_single=True, base=seen, batch=batch
    ) as tx:
        entry = _entry(tx, options, Schema(read_spark(schema)))
        plan = tx.write_plan(entry)
        _refuse_other(entry, plan, target)
        gone = WriteResult()
        if overwrite:
            contents = tx.examine(entry)
            scan = ScanPlan(
                table=str(entry.name),
                snapshot_id=contents.snapshot.snapshot_id,
                schema=entry.schema,
                columns=(),
                files=contents.files,
                inlined=contents.inlined,
            )
            gone = session._engine("local").writer(plan).truncate(scan)
        new = _placed(session, plan, entry, tx.backend_name, reduce(join_results, results, WriteResult()))
        tx.stage(entry, join_results(gone, new))
    return tx.done


def remove_uncommitted(options: Options, target: Target, results: Sequence[WriteResult]) -> None:
    """Take files away that no snapshot has: a commit that seemed to fail may have gone through."""
    paths = [path for result in results for path in result.paths]
    if not paths:
        return
    with options.open_lake() as session:
        unknown = find_unknown(session._catalog, target.plan.table_id, target.plan.path, paths)
    remove(unknown, Stores(options.secrets))


def _entry(tx: Transaction, options: Options, incoming: Schema) -> TableEntry:
    entry = tx.table(options.table)._entry
    return grow_to_fit(tx, entry, incoming) if options.merges_schema else entry


def _uuid(entry: TableEntry) -> str:
    return entry.uuid or str(entry.table_id)


def _refuse_other(entry: TableEntry, plan: WritePlan, target: Target) -> None:
    was = target.plan
    if _uuid(entry) != target.uuid:
        raise ConflictError(f"{entry.name} was replaced by another table while rows were written", hint="write again")
    if _without_comments(plan.schema) != _without_comments(was.schema) or plan.partition_id != was.partition_id:
        raise ConflictError(
            f"the columns or partitions of {entry.name} changed while rows were written",
            hint="write again; a stream has to be started again",
        )


def _without_comments(schema: Schema) -> list[object]:
    return [replace(column, comment=None) for column in schema]


def _placed(
    session: Session, plan: WritePlan, entry: TableEntry, backend_name: str, result: WriteResult
) -> WriteResult:
    """What was written, with rows in files that are too many for the catalog or would not come back as they are."""
    insert = result.inserts
    if insert is None:
        return result
    if (
        insert.data.num_rows <= plan.inline_limit
        and can_inline(backend_name, entry.schema.columns, insert.data) is None
    ):
        return result
    writer = session._engine("local").writer(replace(plan, inline_limit=0))
    return replace(result, inserts=None, files=(*result.files, *writer.write_out(insert)))
