"""Runs a SELECT on Spark, as its user wrote it: only the names of tables are replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from quacklake.engine.spark.failures import query_errors
from quacklake.engine.spark.where import session_sql
from quacklake.plan.changes import ChangePlan
from quacklake.plan.query import Query
from quacklake.plan.scan import ScanPlan

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def run_query(spark: SparkSession, query: Query, read: Callable[[ScanPlan | ChangePlan], DataFrame]) -> DataFrame:
    """The rows of a SELECT, not read before something is done with them.

    Args:
        spark: The session.
        query: The SELECT.
        read: Makes a DataFrame of a plan.

    Raises:
        InvalidInputError: When Spark refuses the text, in Spark's words.
        UnsupportedError: When the session would take a condition for something else than the catalog did.
    """
    frames = {word: _frame(spark, source, read) for word, source in query.sources.items()}
    text = query.text
    if frames:
        # Spark puts the frames where their names stand in braces; braces of the text itself are doubled for that.
        text = text.replace("{", "{{").replace("}", "}}")
        for word in frames:
            text = text.replace(word, f"{{{word}}}")
    arguments: Any = query.arguments
    with query_errors():
        return spark.sql(text, args=arguments or None, **frames)


def _frame(spark: SparkSession, source: Any, read: Callable[[ScanPlan | ChangePlan], DataFrame]) -> DataFrame:
    if isinstance(source, ScanPlan):
        if source.where is not None:
            # Spark must not judge rows otherwise than the catalog has judged files: what it would is refused here.
            session_sql(spark, source.where)
        # It is a part of the statement, which Spark applies, and has done its work: files are left out.
        return read(replace(source, where=None))
    if isinstance(source, ChangePlan):
        return read(source)
    if isinstance(source, Query):
        found = run_query(spark, source, read)
        return found.toDF(*source.columns, *found.columns[len(source.columns) :]) if source.columns else found
    return spark.createDataFrame(source)


def _as_messages(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Each batch as the bytes of a stream of its own, so that values reach the driver as Arrow has them."""
    import pyarrow as pa

    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield pa.RecordBatch.from_pydict({"message": pa.array([sink.getvalue().to_pybytes()], pa.binary())})


class SparkRows:
    """The rows of a SELECT on Spark; every way out runs it."""

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame

    def to_arrow(self) -> pa.Table:
        """All of them."""
        with query_errors():
            return self._frame.toArrow()

    def to_batches(self) -> Iterator[Any]:
        """The schema, then the rows in their order; the driver holds one partition at a time, as bytes."""
        import pyarrow as pa

        with query_errors():
            schema = self._frame.limit(0).toArrow().schema
            yield schema
            # Two columns may have one name, which Arrow's streams take and Python's workers do not.
            apart = self._frame.toDF(*(f"c{number}" for number in range(len(schema))))
            for row in apart.mapInArrow(_as_messages, "message BINARY").toLocalIterator():
                for batch in pa.ipc.open_stream(row.message):
                    yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)

    def to_spark(self) -> DataFrame:
        """As a DataFrame."""
        return self._frame

    def to_frame(self, rename: Callable[[Sequence[str]], Sequence[str]]) -> DataFrame:
        """For a verb of a table, with other names for the columns."""
        return self._frame.toDF(*rename(self._frame.columns))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        with query_errors():
            for row in self._frame.toLocalIterator():
                yield tuple(row)
