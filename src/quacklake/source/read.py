"""Batch reads: the planner asks the catalog, tasks read files and never hear of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from quacklake.engine.spark.rows import read_plan
from quacklake.engine.spark.types import feed_schema, row_schema
from quacklake.errors import InvalidInputError, UnsupportedError
from quacklake.names import fold
from quacklake.plan.changes import FEED
from quacklake.plan.scan import ROW_ID, SNAPSHOT_ID, ScanPlan
from quacklake.source.parts import Part, split_scan

if TYPE_CHECKING:
    import pyarrow as pa

    from quacklake.schema import Schema
    from quacklake.secrets.keyring import Keyring
    from quacklake.source.options import Options


def load_schema(options: Options) -> tuple[int, StructType]:
    """The snapshot that is read, and the columns that come out, in Spark's types.

    Raises:
        NotFoundError: When there is no such table or snapshot.
    """
    with options.open_lake() as session:
        snapshot_id = session._catalog.snapshot(options.get("at")).snapshot_id
        return snapshot_id, output_schema(options, session.table(options.table, at=snapshot_id).schema)


def output_schema(options: Options, schema: Schema) -> StructType:
    """The columns that come out of a table.

    Raises:
        InvalidInputError: When a column of the table is called as one that was asked for besides.
    """
    hidden: tuple[str, ...] = ()
    if options.get("rowIds"):
        hidden = (ROW_ID, SNAPSHOT_ID)
    elif options.get("readChanges"):
        hidden = tuple(column.name for column in FEED)
    taken = next((name for name in schema.names if fold(name) in hidden), None)
    if taken is not None:
        raise InvalidInputError(
            f"{options.table} has a column {taken!r}, so that Spark could not tell it from the {taken.lower()} of rows",
            hint=f"table.rename_column({taken!r}, …)",
        )
    return feed_schema(schema.columns) if options.get("readChanges") else row_schema(schema.columns, hidden)


def check_schema(options: Options, given: StructType, schema: Schema) -> None:
    """Refuse other columns than those of the table.

    Raises:
        InvalidInputError: When they were given by `.schema(…)`, or the table has changed since.
    """
    expected = output_schema(options, schema)
    if [(each.name, each.dataType) for each in given] != [(each.name, each.dataType) for each in expected]:
        raise InvalidInputError(
            f"the columns of {options.table} are {_listed(expected)}, not {_listed(given)}",
            hint="load the table again, without .schema(…); a stream goes on where it was",
        )


def _listed(schema: StructType) -> str:
    return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in schema)


def read_part(partition: InputPartition, schema: StructType, secrets: Keyring) -> Iterator[pa.RecordBatch]:
    """The rows of one task.

    Raises:
        InvalidInputError: When Spark hands over something else than it was given.
    """
    if not isinstance(partition, Part):
        raise InvalidInputError(f"a task was given {partition!r} to read")
    yield from read_plan(partition.plan, schema, secrets)


class BatchReader(DataSourceReader):
    """Reads a table at one snapshot.

    It takes no filters (`pushFilters`) from Spark: Spark 4.1 keeps one plan for a DataFrame, that of the last filters
    it offered, and runs every other query on it as well. Rows would be missing, and nobody would hear of it.

    Args:
        options: What is read, and how the lake is opened. Stays where plans are made.
        schema: What Spark expects.
        pinned: The snapshot, when it is known already.
    """

    def __init__(self, options: Options, schema: StructType, pinned: int | None) -> None:
        self._options = options
        self._schema = schema
        self._secrets = options.secrets
        self._at = options.get("at") if pinned is None else pinned

    def partitions(self) -> Sequence[InputPartition]:
        """What each task reads."""
        try:
            plan = self._plan()
        except UnsupportedError as error:
            # Spark takes a NotImplementedError for a reader without parts, and would read nothing.
            raise InvalidInputError(error.message, hint=error.hint) from error
        return split_scan(plan) or [Part(plan)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        return read_part(partition, self._schema, self._secrets)

    def _plan(self) -> ScanPlan:
        options = self._options
        with options.open_lake() as session:
            table = session.table(options.table, at=self._at)
            check_schema(options, self._schema, table.schema)
            plan = table.scan(where=options.get("where"), row_ids=bool(options.get("rowIds"))).plan()
        if plan.where is not None:
            # Tasks run it in DuckDB: what that cannot say is refused here.
            plan.where.sql("duckdb")
        return plan

    def __getstate__(self) -> dict[str, Any]:
        # Only tasks get a reader.
        return {"_schema": self._schema, "_secrets": self._secrets}
