"""Changes of rows, computed by DuckDB: append, delete, overwrite, update and merge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quacklake.engine.local.added_files import adopt_files
from quacklake.engine.local.few_rows import MOST, direct_write
from quacklake.engine.local.frames import as_reader, as_table
from quacklake.engine.local.merging import merge
from quacklake.engine.local.workbench import ADDRESSES, ROW_ID, Workbench, count_rows, peel
from quacklake.plan.merge import MergePlan
from quacklake.plan.results import join_results
from quacklake.plan.scan import ScanPlan
from quacklake.plan.write import InlinedInsert, InlinedRowDeletes, RemovedFile, WritePlan, WriteResult, WrittenFile
from quacklake.predicates import Expression
from quacklake.storage.positions import read_positions
from quacklake.storage.stores import Stores


class LocalWriter:
    """Makes changes of one table; what it returns becomes true when it is committed."""

    def __init__(self, plan: WritePlan, stores: Stores) -> None:
        self._bench = Workbench(plan, stores)
        self._stores = stores

    def append(self, data: Any) -> WriteResult:
        """The rows of a frame as new rows."""
        plan, head, rest = self._bench.plan, as_table(data), None
        few = max(plan.inline_limit, MOST)
        with self._bench.explained():
            if head is None or head.num_rows > few:
                # A stream stays in its order, which several threads would not keep.
                head, rest = peel(as_reader(data), few)
            done = direct_write(plan, head, self._stores) if rest is None else None
        if done is not None:
            return done
        with self._bench.cursor() as cursor:
            return self._bench.insert_stream(cursor, head, rest)

    def add_files(self, paths: Sequence[str], *, allow_missing: bool, ignore_extra: bool) -> WriteResult:
        """The rows of files from elsewhere, which become the table's where they are."""
        files = adopt_files(
            self._bench.plan, paths, self._stores, allow_missing=allow_missing, ignore_extra=ignore_extra
        )
        return WriteResult(files=files, rows_inserted=sum(file.record_count for file in files))

    def write_out(self, insert: InlinedInsert) -> tuple[WrittenFile, ...]:
        """Rows that were meant for the catalog, as files after all; those that have ids keep them."""
        with self._bench.cursor() as cursor:
            return self._bench.write_out(cursor, insert)

    def delete(self, scan: ScanPlan) -> WriteResult:
        """Without the rows that the scan finds."""
        with self._bench.cursor(scan) as cursor:
            self._bench.materialise(cursor, "_dead", self._bench.rows(cursor, replace(scan, columns=())), ADDRESSES)
            return self._bench.remove(cursor, "_dead", scan)

    def overwrite(self, scan: ScanPlan, data: Any) -> WriteResult:
        """Without the rows that the scan finds, and with those of a frame."""
        with self._bench.removing_on_failure() as placed:
            gone = self.truncate(scan) if scan.where is None else self.delete(scan)
            placed += gone.paths
            return join_results(gone, self.append(data))

    def update(self, scan: ScanPlan, values: Sequence[tuple[str, Expression]]) -> WriteResult:
        """The rows that the scan finds with other values; they keep their ids."""
        everything = replace(scan, columns=scan.schema.columns)
        with self._bench.cursor(scan) as cursor:
            self._bench.materialise(cursor, "_found", self._bench.rows(cursor, everything), "*")
            new = self._bench.assign(cursor, "_found AS t", dict(values), {})
            self._bench.materialise(cursor, "_changed", f"SELECT {ADDRESSES}, {ROW_ID}, {new} FROM _found AS t", "*")
            with self._bench.removing_on_failure() as placed:
                gone = self._bench.remove(cursor, "_changed", scan)
                placed += gone.paths
                result = join_results(gone, self._bench.reinsert(cursor, "_changed"))
            return replace(result, rows_updated=count_rows(cursor, "_changed"), rows_deleted=0, rows_inserted=0)

    def truncate(self, scan: ScanPlan) -> WriteResult:
        """Without any of the scan's rows; no row is read for that."""
        removed = tuple(
            RemovedFile(file.file_id, file.record_count - len(read_positions(file, scan.snapshot_id, self._stores)))
            for file in scan.files
        )
        inlined = tuple(
            InlinedRowDeletes(rows.schema_version, tuple(np.asarray(rows.data.column("row_id")).tolist()))
            for rows in scan.inlined
            if rows.data.num_rows
        )
        gone = sum(file.live_rows for file in removed) + sum(len(rows.row_ids) for rows in inlined)
        return WriteResult(removed=removed, inlined_rows=inlined, rows_deleted=gone)

    def overwrite_partitions(self, scan: ScanPlan, data: Any) -> WriteResult:
        """Without the rows in the partitions that a frame has rows of, and with those of the frame."""
        everything = replace(scan, columns=tuple(field.column for field in self._bench.plan.partition))
        with self._bench.cursor(scan) as cursor:
            self._bench.take_in(cursor, as_reader(data), "_new")
            keys = self._bench.partition_keys(cursor)
            rows = self._bench.rows(cursor, everything)
            self._bench.materialise(
                cursor,
                "_dead",
                f"SELECT t.* FROM (SELECT *, {keys} FROM ({rows})) AS t "
                f"WHERE EXISTS (SELECT 1 FROM (SELECT DISTINCT {keys} FROM _new) AS n WHERE {self._bench.same_keys()})",
                ADDRESSES,
            )
            with self._bench.removing_on_failure() as placed:
                gone = self._bench.remove(cursor, "_dead", scan)
                placed += gone.paths
                return join_results(gone, self._bench.insert_table(cursor, "_new"))

    def merge(self, scan: ScanPlan, source: Any, plan: MergePlan) -> WriteResult:
        """The table with the source merged into it."""
        return merge(self._bench, scan, source, plan)
