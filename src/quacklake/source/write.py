"""Batch writes: tasks write files and say which, the driver commits once.

Spark pickles a writer twice: into the function that its tasks run, and then for the commit. Only the second may open
the lake, and Spark does not say which is which but by their order. A test holds it to that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from quacklake.commit.changes import StreamBatch
from quacklake.engine.spark.task_output import append_in_task
from quacklake.errors import InvalidInputError, UnsupportedError
from quacklake.source.commit import Target, commit_once, commit_rows, plan_target, remove_uncommitted
from quacklake.source.options import Options

if TYPE_CHECKING:
    import pyarrow as pa

    from quacklake.plan.write import WriteResult


class Written(WriterCommitMessage):
    """What one task wrote.

    Args:
        result: Its files, or rows for the catalog.
        target: What the task took the table for.
        query_id: The stream that it is a part of.
    """

    def __init__(self, result: WriteResult, target: Target, query_id: str | None = None) -> None:
        self.result = result
        self.target = target
        self.query_id = query_id


class BatchWriter(DataSourceArrowWriter):
    """Writes a DataFrame into a table, as one snapshot.

    Args:
        options: Where it goes, and how the lake is opened. Stays where plans and commits are made.
        schema: The columns of the DataFrame.
        overwrite: Whether all rows that are there go.
    """

    def __init__(self, options: Options, schema: StructType, overwrite: bool) -> None:
        if (options.get("txnAppId") is None) != (options.get("txnVersion") is None):
            raise InvalidInputError("the options txnAppId and txnVersion belong together", hint="give both or neither")
        self._options: Options | None = options
        self._schema = schema
        self._overwrite = overwrite
        self._secrets = options.secrets
        self._target = plan_target(options, schema)
        self._pickled = 0

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:  # type: ignore[override]
        """The rows of one task."""
        return Written(append_in_task(self._target.plan, self._secrets, iterator), self._target)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Make all of it true."""
        options, target, results = self._opening(), self._target, results_of(messages)
        overwrite = self._overwrite
        # What goes is what the DataFrame may rest on: the rows that were there when the write began.
        base = target.snapshot_id if overwrite else None
        name = options.get("txnAppId")
        if name is None:
            with options.open_lake() as session:
                commit_rows(session, options, self._schema, target, results, overwrite=overwrite, base=base)
            return
        batch = StreamBatch(name, target.uuid, options.get("txnVersion"))
        commit_once(options, self._schema, target, results, overwrite=overwrite, base=base, batch=batch)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Take away what tasks wrote, unless it is part of the lake after all."""
        results = [each.result for each in messages if isinstance(each, Written)]
        remove_uncommitted(self._opening(), self._target, results)

    def _opening(self) -> Options:
        if self._options is None:
            raise UnsupportedError("this version of Spark gives the commit what is for tasks", hint="use pyspark 4.1")
        return self._options

    def __getstate__(self) -> dict[str, Any]:
        self._pickled += 1
        state = self.__dict__.copy()
        return {**state, "_options": None} if self._pickled == 1 else state


def results_of(messages: Sequence[WriterCommitMessage | None]) -> list[WriteResult]:
    """What the tasks wrote, all of them.

    Raises:
        UnsupportedError: When one of them said nothing.
    """
    found = [each.result for each in messages if isinstance(each, Written)]
    if len(found) != len(messages):
        raise UnsupportedError("Spark commits without the word of every task", hint="write again; nothing was written")
    return found
