"""Change feeds on Spark: births and deaths of rows as DataFrames, told apart from updates by a join of their ids.

Files that were written or dropped in the range are read as any others. Of files that lost single rows, tasks read
those rows alone, and the delete files that say which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from quacklake.engine.local.changes import build_deaths
from quacklake.engine.local.duckdb_hand import execute
from quacklake.engine.local.failures import duckdb_errors
from quacklake.engine.local.groups import FileGroup, group_files, wanted_columns
from quacklake.engine.local.query import Query
from quacklake.engine.spark.frames import Frames, free_name
from quacklake.engine.spark.rows import shaped_batches
from quacklake.engine.spark.tasks import of_open_size
from quacklake.engine.spark.types import export_sql, row_schema
from quacklake.engine.spark.where import session_sql
from quacklake.errors import InvalidInputError
from quacklake.names import fold
from quacklake.plan.changes import AFTER, BEFORE, DELETE, FEED, INSERT, ChangePlan, MortalFile, TableChanges
from quacklake.plan.scan import InlinedRows
from quacklake.predicates.spark import quote_name
from quacklake.schema import Column
from quacklake.secrets.keyring import Keyring
from quacklake.storage.positions import settle_births
from quacklake.storage.stores import Stores

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

Work = Callable[[Iterable["pa.RecordBatch"]], Iterable["pa.RecordBatch"]]


class FeedFrames:
    """Builds the DataFrame of one change feed.

    Every part of it has the snapshot and the row id under the names that the plan has for them, then the columns.

    Args:
        spark: The session.
        plan: The feed.
        stores: Where the files are.
    """

    def __init__(self, spark: SparkSession, plan: ChangePlan, stores: Stores) -> None:
        self._spark = spark
        self._plan = plan
        self._stores = stores
        # Where nothing is wanted of the rows but their ids, a column stands for them.
        self._columns = wanted_columns(plan.outline) or plan.schema.columns[:1]
        part = plan.part(self._columns, settle_births(plan.changes.births, stores))
        groups = group_files(part, self._columns, stores)
        # A file that does not name its rows has new ones only: nothing in it can be half of an update.
        self._fresh = [group for group in groups if group.layout.row_id is None]
        self._known = [group for group in groups if group.layout.row_id is not None]

    def read(self) -> DataFrame:
        """The changes, in no order.

        Raises:
            InvalidInputError: When a column of the table is called as one of the feed.
        """
        self._refuse_double_names()
        feed = zip(self._plan.names, FEED, strict=True)
        outputs = [f"{quote_name(name)} AS {column.name}" for name, column in feed]
        outputs += [quote_name(column.name) for column in self._plan.columns]
        return self._limited(self._changes(typed=True).selectExpr(*outputs))

    def count(self) -> int:
        """How many changes there are."""
        return self._limited(self._changes(typed=self._plan.judges_types)).count()

    def _limited(self, frame: DataFrame) -> DataFrame:
        return frame if self._plan.limit is None else frame.limit(self._plan.limit)

    def _changes(self, *, typed: bool) -> DataFrame:
        changes = self._plan.changes
        fresh = self._births(self._fresh, self._columns, ())
        known = self._births(self._known, self._columns, changes.born) if self._known or changes.born else None
        dead = self._deaths(self._columns)
        first = self._plan.schema.columns[:1]
        parts = [self._typed(fresh, INSERT)]
        if known is not None:
            died = self._deaths(first) if typed else None
            parts.append(self._typed(known, INSERT, AFTER, died))
        if dead is not None:
            born = self._births(self._known, first, changes.born) if typed and known is not None else None
            parts.append(self._typed(dead, DELETE, BEFORE, born))
        rows = reduce(lambda one, other: one.union(other), parts)
        return rows if self._plan.where is None else rows.filter(session_sql(self._spark, self._plan.where))

    def _typed(self, rows: DataFrame, alone: str, paired: str = "", others: DataFrame | None = None) -> DataFrame:
        """Rows with their type behind their ids: that of a pair where the other frame has the same ids."""
        snapshot_id, row_id, change_type = (quote_name(name) for name in self._plan.names)
        values = [quote_name(column.name) for column in self._columns]
        if others is None:
            return rows.selectExpr(snapshot_id, row_id, f"'{alone}' AS {change_type}", *values)
        taken = {fold(name) for name in rows.columns}
        keys = [free_name(f"_quacklake_key_{index}", taken) for index in range(2)]
        # Ids come once, but a damaged lake must not make two rows of one.
        known = others.selectExpr(f"{snapshot_id} AS {keys[0]}", f"{row_id} AS {keys[1]}").dropDuplicates()
        same = F.expr(f"{snapshot_id} = {keys[0]} AND {row_id} = {keys[1]}")
        kind = f"CASE WHEN {keys[0]} IS NULL THEN '{alone}' ELSE '{paired}' END AS {change_type}"
        return rows.join(known, same, "left").selectExpr(snapshot_id, row_id, kind, *values)

    def _births(
        self, groups: Sequence[FileGroup], columns: tuple[Column, ...], inlined: tuple[InlinedRows, ...]
    ) -> DataFrame:
        changes = self._plan.changes
        frames = Frames(self._spark, self._plan.part(columns, (), inlined), columns, self._stores)
        row_id, snapshot = frames.hidden
        condition = f"{snapshot} BETWEEN {changes.start} AND {changes.end}"
        if changes.moves:
            condition += f" AND {snapshot} NOT IN ({', '.join(map(str, sorted(changes.moves)))})"
        return self._named(frames.rows(groups).filter(condition), snapshot, row_id, columns)

    def _deaths(self, columns: tuple[Column, ...]) -> DataFrame | None:
        changes = self._plan.changes
        found = []
        if changes.thinned:
            found.append(self._thinned(columns))
        if changes.ended:
            found.append(self._ended(columns))
        if changes.died:
            frames = Frames(self._spark, self._plan.part(columns, (), changes.died), columns, self._stores)
            row_id, snapshot = frames.hidden
            found.append(self._named(frames.rows(()), snapshot, row_id, columns))
        return reduce(lambda one, other: one.union(other), found) if found else None

    def _thinned(self, columns: tuple[Column, ...]) -> DataFrame:
        """The rows that were deleted one by one: each file, with its delete files, is one task's."""
        changes = self._plan.changes
        schema = row_schema(columns, self._plan.names[:2])
        slim = replace(self._plan, where=None, changes=TableChanges(changes.start, changes.end))
        numbers = self._spark.range(0, len(changes.thinned), 1, len(changes.thinned))
        work = _work(slim, changes.thinned, columns, schema, self._stores.secrets)
        return of_open_size(numbers.mapInArrow(work, schema), [each.file for each in changes.thinned])

    def _ended(self, columns: tuple[Column, ...]) -> DataFrame:
        """The rows that were alive in files when these were dropped."""
        ended = self._plan.changes.ended
        part = self._plan.part(columns, tuple(each.file for each in ended))
        frames = Frames(self._spark, part, columns, self._stores, addresses=True)
        file, _, _, row_id, _ = frames.hidden
        rows = frames.rows(group_files(part, columns, self._stores))
        ends = {each.end_snapshot for each in ended}
        if len(ends) == 1:
            return self._named(rows, f"CAST({ends.pop()} AS BIGINT)", row_id, columns)
        taken = {fold(name) for name in rows.columns}
        names = [free_name(f"_quacklake_end_{index}", taken) for index in range(2)]
        pairs = [(each.file.file_id, each.end_snapshot) for each in ended]
        table = self._spark.createDataFrame(pairs, f"{names[0]} BIGINT, {names[1]} BIGINT")
        joined = rows.join(F.broadcast(table), F.expr(f"{quote_name(file)} = {names[0]}"))
        return self._named(joined, names[1], row_id, columns)

    def _named(self, rows: DataFrame, snapshot: str, row_id: str, columns: Sequence[Column]) -> DataFrame:
        names = [quote_name(name) for name in self._plan.names]
        values = [quote_name(column.name) for column in columns]
        return rows.selectExpr(f"{snapshot} AS {names[0]}", f"{row_id} AS {names[1]}", *values)

    def _refuse_double_names(self) -> None:
        own = {column.name for column in FEED}
        taken = [column.name for column in self._plan.columns if fold(column.name) in own]
        if taken:
            raise InvalidInputError(
                f"{self._plan.table} has a column {taken[0]!r}, so that Spark could not tell it from that of the feed",
                hint="leave it out of columns=",
            )


def _work(
    plan: ChangePlan,
    mortals: tuple[MortalFile, ...],
    columns: tuple[Column, ...],
    schema: StructType,
    secrets: Keyring,
) -> Work:
    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from quacklake.storage.stores import Stores

        stores = Stores(secrets)
        try:
            for batch in batches:
                for number in batch.column(0).to_numpy():
                    yield from _dead_rows(plan, mortals[number], columns, schema, stores)
        finally:
            stores.close()

    return read


def _dead_rows(
    plan: ChangePlan, mortal: MortalFile, columns: tuple[Column, ...], schema: StructType, stores: Stores
) -> Iterator[pa.RecordBatch]:
    outline = replace(plan.outline, files=(mortal.file,))
    with duckdb_errors(outline, stores), stores.cursor(mortal.file.path) as cursor:
        query = Query()
        sql = build_deaths(plan, (mortal,), columns, stores, query)
        if sql is None:
            return
        outputs = ["s", "r", *(export_sql(column.type, f"c{index}") for index, column in enumerate(columns))]
        query.sql = f"SELECT {', '.join(f'{each} AS _o{index}' for index, each in enumerate(outputs))} FROM ({sql})"
        yield from shaped_batches(execute(cursor, query), outline.files, schema)
