"""DataFrames for plans: one branch for each group of files that must be read in its own way, put together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from quacklake.engine.local.groups import FileGroup
from quacklake.engine.local.query import ADDRESS
from quacklake.engine.spark.failures import planning_errors
from quacklake.engine.spark.hadoop import Doors
from quacklake.engine.spark.literals import Literals
from quacklake.engine.spark.native import NativeGroups
from quacklake.engine.spark.reading import NativeRead, build_reads
from quacklake.engine.spark.rows import read_rows
from quacklake.engine.spark.tasks import read_in_tasks
from quacklake.engine.spark.types import arrow_schema, row_schema
from quacklake.engine.spark.where import session_sql
from quacklake.names import fold
from quacklake.plan.scan import ROW_ID, SNAPSHOT_ID, ScanFile, ScanPlan
from quacklake.predicates.spark import quote_name
from quacklake.schema import Column
from quacklake.storage.stores import Stores

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MOST_BRANCHES = 48
"""Beyond so many ways to read the files of one table, planning takes longer than DuckDB takes in the tasks."""


class Frames:
    """Builds the DataFrame of one plan.

    Args:
        spark: The session.
        plan: The plan.
        columns: The columns that must be read: what comes out and what the predicate looks at.
        stores: Where the files are.
        addresses: Give each row its place as well, as a change of it needs; with it come row and snapshot ids.
    """

    def __init__(
        self,
        spark: SparkSession,
        plan: ScanPlan,
        columns: Sequence[Column],
        stores: Stores,
        *,
        addresses: bool = False,
    ) -> None:
        self._spark = spark
        self._plan = replace(plan, row_ids=True) if addresses else plan
        self._addresses = addresses
        self._columns = tuple(columns)
        self._stores = stores
        self._doors = Doors(stores.secrets)
        taken = {fold(column.name) for column in (*plan.schema, *columns)}
        ids = (f"_quacklake_{ROW_ID}", f"_quacklake_{SNAPSHOT_ID}") if self._plan.row_ids else ()
        self.hidden = tuple(free_name(name, taken) for name in ((*ADDRESS, *ids) if addresses else ids))
        """What the columns are called that come before the table's: no column of the table has such a name."""
        self._schema = row_schema(self._columns, self.hidden)

    def read(self, groups: Sequence[FileGroup]) -> DataFrame:
        """The rows of the plan."""
        if not self.hidden and self._columns == tuple(self._plan.columns):
            return self._limited(self._rows(groups))
        outputs = [
            f"{quote_name(hidden)} AS {name}" for hidden, name in zip(self.hidden, (ROW_ID, SNAPSHOT_ID), strict=False)
        ]
        outputs += [quote_name(column.name) for column in self._plan.columns]
        return self._limited(self._rows(groups).selectExpr(*outputs))

    def rows(self, groups: Sequence[FileGroup]) -> DataFrame:
        """The rows of the plan with everything that was read of them, the hidden columns first."""
        return self._limited(self._rows(groups))

    def count(self, groups: Sequence[FileGroup]) -> int:
        """How many rows the plan gives."""
        with planning_errors([file.path for file in self._plan.files], self._stores.secrets):
            return self._limited(self._rows(groups)).count()

    def _limited(self, frame: DataFrame) -> DataFrame:
        return frame if self._plan.limit is None else frame.limit(self._plan.limit)

    def _rows(self, groups: Sequence[FileGroup]) -> DataFrame:
        branches = list(self._branches(groups)) or [self._spark.createDataFrame([], self._schema)]
        rows = reduce(lambda one, other: one.union(other), branches)
        if self._plan.where is None:
            return rows
        return rows.filter(session_sql(self._spark, self._plan.where))

    def _branches(self, groups: Sequence[FileGroup]) -> Iterator[DataFrame]:
        literals = Literals(self._plan, self._stores)
        sorted_ = NativeGroups(self._plan, self._columns, literals)
        others: list[ScanFile] = [file for group in groups for file in sorted_.add(group)]
        largest = sorted(sorted_.found, key=lambda native: native.rows, reverse=True)
        for native in largest[:_MOST_BRANCHES]:
            for read in build_reads(
                native, self._plan, self._columns, literals, self._doors, addresses=self._addresses
            ):
                yield self._native(read)
        others += [group.files[index] for native in largest[_MOST_BRANCHES:] for group, index in native.files]
        plain = replace(self._plan, columns=self._columns, files=(), inlined=(), where=None, limit=None)
        if others:
            yield read_in_tasks(
                self._spark, plain, others, self._schema, self._stores.secrets, addresses=self._addresses
            )
        if any(rows.data.num_rows for rows in self._plan.inlined):
            yield self._inlined(replace(plain, inlined=self._plan.inlined))

    def _native(self, read: NativeRead) -> DataFrame:
        reader = self._spark.read.schema(read.schema).options(**self._doors.reading(read.paths))
        with planning_errors(read.paths, self._stores.secrets):
            frame = reader.parquet(*read.paths)
        if read.metadata:
            frame = frame.selectExpr("*", *read.metadata)
        if read.lookup is not None:
            values = self._spark.createDataFrame(read.lookup)
            frame = frame.withColumns({name: values.select(name).scalar() for name in values.columns})
        if read.condition is not None:
            frame = frame.filter(read.condition)
        names = [quote_name(field.name) for field in self._schema.fields]
        has_more = read.metadata or read.lookup is not None
        if read.schema == self._schema and list(read.columns) == names and not has_more:
            # A step costs time to plan, also one that changes nothing.
            return frame
        return frame.selectExpr(*(f"{sql} AS {name}" for sql, name in zip(read.columns, names, strict=True)))

    def _inlined(self, plan: ScanPlan) -> DataFrame:
        import pyarrow as pa

        batches = read_rows(plan, self._schema, self._stores, addresses=self._addresses)
        return self._spark.createDataFrame(pa.Table.from_batches(batches, arrow_schema(self._schema)), self._schema)


def free_name(name: str, taken: set[str]) -> str:
    """The name, made longer until it is none of those that are taken."""
    while name in taken:
        name += "_"
    return name
