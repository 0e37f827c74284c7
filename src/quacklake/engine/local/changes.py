"""Change feeds with DuckDB: births and deaths of rows, read as a stream and told apart from updates by their ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from quacklake.engine.local.batches import rows_per_batch, shape_batch, split_batch
from quacklake.engine.local.duckdb_hand import BATCH_ROWS, execute
from quacklake.engine.local.failures import duckdb_errors
from quacklake.engine.local.groups import FileGroup, group_files, wanted_columns
from quacklake.engine.local.query import Export, Query, build_rows
from quacklake.engine.local.types import arrow_field, export_sql
from quacklake.names import quote
from quacklake.plan.changes import AFTER, BEFORE, DELETE, FEED, INSERT, ChangePlan, MortalFile
from quacklake.plan.scan import ScanPlan
from quacklake.schema import Column
from quacklake.storage.positions import read_deaths, settle_births
from quacklake.storage.stores import Stores

if TYPE_CHECKING:
    import pyarrow as pa


def read_changes(plan: ChangePlan, stores: Stores) -> pa.RecordBatchReader:
    """The changes, as a stream that holds a few batches at a time; in no order."""
    import pyarrow as pa

    schema = pa.schema([arrow_field(column) for column in (*FEED, *plan.columns)])
    return pa.RecordBatchReader.from_batches(schema, _batches(plan, schema, stores))


def count_changes(plan: ChangePlan, stores: Stores) -> int:
    """How many changes there are."""
    with duckdb_errors(plan.outline, stores), stores.cursor(*_paths(plan)) as cursor:
        row = execute(cursor, _Feed(plan, stores).count()).fetchone()
        return 0 if row is None else int(row[0])


def build_feed(plan: ChangePlan, stores: Stores, export: Export = export_sql) -> Query:
    """The query of a feed.

    Args:
        plan: The feed.
        stores: Where the files are.
        export: Makes of a value of a type what goes out.
    """
    return _Feed(plan, stores).rows(export)


def build_deaths(
    plan: ChangePlan,
    mortals: Sequence[MortalFile],
    columns: tuple[Column, ...],
    stores: Stores,
    query: Query,
) -> str | None:
    """SQL of the rows of files that were deleted one by one in the range: their snapshot, their id, their values.

    Args:
        plan: The feed.
        mortals: The files.
        columns: Which columns, `c0` and so on.
        stores: Where the files are.
        query: What this becomes a part of.
    """
    import numpy as np
    import pyarrow as pa

    start, end = plan.changes.start, plan.changes.end
    touched, parts = [], []
    for mortal in mortals:
        positions, snapshots = read_deaths(mortal, stores)
        here = (start <= snapshots) & (snapshots <= end)
        if here.any():
            file = np.full(int(here.sum()), mortal.file.file_id, np.int64)
            touched.append(mortal.plain)
            parts.append((file, positions[here], snapshots[here]))
    if not touched:
        return None
    names = ("file", "position", "snapshot")
    arrays = {name: pa.array(np.concatenate(each)) for name, each in zip(names, zip(*parts, strict=True), strict=True)}
    dead = query.table(pa.table(arrays))
    part = plan.part(columns, tuple(touched))
    rows = _addressed(part, group_files(part, columns, stores), columns, query)
    # What was born in the same snapshot was never there.
    on = "_d.file = _r.f AND _d.position = _r.p AND _d.snapshot > _r.s"
    return f"SELECT _d.snapshot AS s, _r.r{_values(columns)} FROM {rows} JOIN {dead} AS _d ON {on}"


def _batches(plan: ChangePlan, schema: pa.Schema, stores: Stores) -> Iterator[pa.RecordBatch]:
    with duckdb_errors(plan.outline, stores), stores.cursor(*_paths(plan)) as cursor:
        result = execute(cursor, build_feed(plan, stores))
        for batch in result.to_arrow_reader(rows_per_batch(plan.changes.files, BATCH_ROWS)):
            for part in split_batch(batch):
                if part.num_rows:
                    yield shape_batch(part, schema)


def _paths(plan: ChangePlan) -> list[str]:
    return [file.path for file in plan.changes.files]


def _addressed(
    plan: ScanPlan, groups: Sequence[FileGroup], columns: Sequence[Column], query: Query, alias: str = "_r"
) -> str:
    """The rows of a plan as a table: file, position and layout, row id and snapshot, then the columns."""
    names = ", ".join(("f", "p", "l", "r", "s", *(f"c{index}" for index in range(len(columns)))))
    return f"({build_rows(plan, groups, columns, query).sql}) AS {alias}({names})"


def _values(columns: Sequence[Column], table: str = "_r") -> str:
    return "".join(f", {table}.c{index}" for index in range(len(columns)))


class _Feed:
    """The SQL of one feed.

    Every part of it has the snapshot `s`, the row id `r` and the columns `c0`, `c1` and so on.
    """

    def __init__(self, plan: ChangePlan, stores: Stores) -> None:
        self._plan = plan
        self._stores = stores
        self._query = Query()
        self._columns = wanted_columns(plan.outline)
        part = plan.part(self._columns, settle_births(plan.changes.births, stores))
        groups = group_files(part, self._columns, stores)
        # A file that does not name its rows has new ones only: nothing in it can be half of an update.
        self._fresh = [group for group in groups if group.layout.row_id is None]
        self._known = [group for group in groups if group.layout.row_id is not None]

    def rows(self, export: Export) -> Query:
        """What the feed gives."""
        names = [quote(name) for name in self._plan.names]
        outputs = [*names, *(export(column.type, quote(column.name)) for column in self._plan.columns)]
        # Two outputs may have one name, and the names that count are those of the output's schema.
        self._select(", ".join(f"{sql} AS _o{index}" for index, sql in enumerate(outputs)), typed=True)
        return self._query

    def count(self) -> Query:
        """How many rows the feed gives."""
        if self._plan.where is None:
            self._columns = ()
        self._select("1", typed=self._plan.judges_types)
        self._query.sql = f"SELECT count(*) FROM ({self._query.sql})"
        return self._query

    def _select(self, outputs: str, *, typed: bool) -> None:
        deaths = self._deaths(self._columns)
        pairs = self._pairs() if typed and deaths else None
        fresh = self._births(self._fresh, self._columns, with_inlined=False)
        parts = [self._named(fresh, INSERT, INSERT, None)]
        if self._known or self._plan.changes.born:
            known = self._births(self._known, self._columns, with_inlined=True)
            parts.append(self._named(known, INSERT, AFTER, pairs))
        parts += [self._named(part, DELETE, BEFORE, pairs) for part in deaths]
        where, limit = self._plan.where, self._plan.limit
        sql = f"SELECT {outputs} FROM ({' UNION ALL '.join(parts)}) AS _changes"
        sql += "" if where is None else f" WHERE ({where.sql('duckdb')})"
        sql += "" if limit is None else f" LIMIT {limit}"
        self._query.sql = sql if pairs is None else f"WITH _pairs AS MATERIALIZED ({pairs}) {sql}"

    def _named(self, part: str, alone: str, paired: str, pairs: str | None) -> str:
        """A part under the names that predicates use."""
        snapshot_id, row_id, change_type = (quote(name) for name in self._plan.names)
        kind, join = f"'{alone}'", ""
        if pairs is not None:
            kind = f"CASE WHEN _p.s IS NULL THEN '{alone}' ELSE '{paired}' END"
            join = " LEFT JOIN _pairs AS _p ON _p.s = _x.s AND _p.r = _x.r"
        values = "".join(f", _x.c{index} AS {quote(column.name)}" for index, column in enumerate(self._columns))
        ids = f"_x.s AS {snapshot_id}, _x.r AS {row_id}"
        return f"SELECT {ids}, {kind} AS {change_type}{values} FROM ({part}) AS _x{join}"

    def _pairs(self) -> str | None:
        """SQL of the ids of rows that died and were born in one snapshot, each once: only ids are held in memory."""
        if not self._known and not self._plan.changes.born:
            return None
        births = self._births(self._known, (), with_inlined=True)
        deaths = " UNION ALL ".join(self._deaths(()))
        return f"SELECT DISTINCT _b.s, _b.r FROM ({births}) AS _b SEMI JOIN ({deaths}) AS _d USING (s, r)"

    def _births(self, groups: Sequence[FileGroup], columns: tuple[Column, ...], *, with_inlined: bool) -> str:
        changes = self._plan.changes
        part = self._plan.part(columns, (), changes.born if with_inlined else ())
        rows = _addressed(part, groups, columns, self._query)
        moved = f" AND _r.s NOT IN ({', '.join(map(str, sorted(changes.moves)))})" if changes.moves else ""
        condition = f"_r.s BETWEEN {changes.start} AND {changes.end}{moved}"
        return f"SELECT _r.s, _r.r{_values(columns)} FROM {rows} WHERE {condition}"

    def _deaths(self, columns: tuple[Column, ...]) -> list[str]:
        changes = self._plan.changes
        found = [build_deaths(self._plan, changes.thinned, columns, self._stores, self._query)]
        if changes.ended:
            found.append(self._ended(columns))
        if changes.died:
            rows = _addressed(self._plan.part(columns, (), changes.died), (), columns, self._query)
            found.append(f"SELECT _r.s, _r.r{_values(columns)} FROM {rows}")
        return [part for part in found if part is not None]

    def _ended(self, columns: tuple[Column, ...]) -> str:
        """The rows that were alive in files when these were dropped."""
        import pyarrow as pa

        ended = self._plan.changes.ended
        files = pa.array([each.file.file_id for each in ended], pa.int64())
        ends = pa.array([each.end_snapshot for each in ended], pa.int64())
        table = self._query.table(pa.table({"file": files, "snapshot": ends}))
        part = self._plan.part(columns, tuple(each.file for each in ended))
        rows = _addressed(part, group_files(part, columns, self._stores), columns, self._query)
        return f"SELECT _e.snapshot AS s, _r.r{_values(columns)} FROM {rows} JOIN {table} AS _e ON _e.file = _r.f"
