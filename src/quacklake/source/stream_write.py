"""Stream writes: every batch becomes one snapshot, once, whatever breaks in between.

A query keeps its id in its checkpoint, and numbers its batches there. Tasks find the id among the properties of their
job; the lake notes id and number in the commit that brings the rows. When Spark asks for a batch that is noted, for it
did not live to see the end of the commit, nothing is left to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from quacklake.commit.changes import StreamBatch
from quacklake.engine.spark.task_output import append_in_task
from quacklake.errors import UnsupportedError
from quacklake.source.commit import commit_once, plan_target, remove_uncommitted
from quacklake.source.options import Options
from quacklake.source.write import Written, results_of

if TYPE_CHECKING:
    import pyarrow as pa

_QUERY_ID = "sql.streaming.queryId"
"""Under which Spark tells tasks the id of their query: the one in its checkpoint, not that of the run."""


class StreamWriter(DataSourceStreamArrowWriter):
    """Writes the batches of a stream into a table.

    Args:
        options: Where they go, and how the lake is opened. Stays where plans and commits are made.
        schema: The columns of the stream.
        overwrite: Whether each batch takes the place of all rows (`outputMode("complete")`).
    """

    def __init__(self, options: Options, schema: StructType, overwrite: bool) -> None:
        self._options = options
        self._schema = schema
        self._overwrite = overwrite
        self._secrets = options.secrets
        self._target = plan_target(options, schema)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:  # type: ignore[override]
        """The rows of one task."""
        context = TaskContext.get()
        query_id = None if context is None else context.getLocalProperty(_QUERY_ID)
        if not query_id:
            raise UnsupportedError(
                "Spark does not say which query this is, so that a batch could come twice", hint="use pyspark 4.1"
            )
        return Written(append_in_task(self._target.plan, self._secrets, iterator), self._target, query_id)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Make all of it true, unless it is already."""
        results = results_of(messages)
        written = next((each for each in messages if isinstance(each, Written)), None)
        if written is None or written.query_id is None:
            return
        batch = StreamBatch(written.query_id, written.target.uuid, batchId)
        commit_once(self._options, self._schema, written.target, results, overwrite=self._overwrite, batch=batch)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Take away what tasks wrote, unless it is part of the lake after all."""
        written = [each for each in messages if isinstance(each, Written)]
        if written:
            remove_uncommitted(self._options, written[0].target, [each.result for each in written])

    def __getstate__(self) -> dict[str, Any]:
        # Only tasks get this; for the commit Spark makes another.
        return {"_target": self._target, "_secrets": self._secrets}
