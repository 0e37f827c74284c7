"""Changes of rows that are there already, computed and written by Spark's tasks.

The driver learns how many rows there are and where files were written; no row of the table passes it, except for the
few that go into the catalog itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from quacklake.engine.local.workbench import ROW_ID, Workbench
from quacklake.engine.spark.assigning import assign, refuse_foreign, same
from quacklake.engine.spark.output import ROW_ID_COLUMN, has_unnamed_parts, transformed, write_frame
from quacklake.engine.spark.removing import remove_in_tasks
from quacklake.engine.spark.staging import Staged, read_back, staged
from quacklake.engine.spark.targets import read_target
from quacklake.engine.spark.task_output import stored_sql, write_in_tasks
from quacklake.names import quote
from quacklake.plan.results import join_results
from quacklake.plan.scan import ScanPlan
from quacklake.plan.write import WritePlan, WriteResult
from quacklake.predicates import Expression
from quacklake.predicates.spark import quote_name
from quacklake.storage.placement import removing_on_failure
from quacklake.storage.stores import Stores

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Bench:
    """What every change of one table needs."""

    plan: WritePlan
    stores: Stores
    spark: SparkSession


def delete(bench: Bench, scan: ScanPlan) -> WriteResult:
    """Without the rows that the scan finds."""
    target = read_target(bench.spark, scan, (), bench.stores)
    return remove_in_tasks(target.frame.select(*target.address), scan, bench.plan, bench.stores)


def update(bench: Bench, scan: ScanPlan, values: Sequence[tuple[str, Expression]]) -> WriteResult:
    """The rows that the scan finds with other values; they keep their ids."""
    refuse_foreign(bench.plan)
    target = read_target(bench.spark, scan, scan.schema.columns, bench.stores)
    new = assign(bench.plan, target.frame, dict(values), same())
    changed = target.frame.select(*target.address, target.row_id, *new)
    with staged(changed, bench.plan, bench.stores) as rows, removing_on_failure(bench.stores) as placed:
        gone = remove_in_tasks(rows.frame.select(*target.address), scan, bench.plan, bench.stores)
        placed += gone.paths
        back = put_rows(bench, rows, gone.rows_deleted, row_id=target.row_id)
    return replace(join_results(gone, back), rows_updated=gone.rows_deleted, rows_deleted=0, rows_inserted=0)


def overwrite_partitions(bench: Bench, scan: ScanPlan, fitted: DataFrame) -> WriteResult:
    """Without the rows in the partitions that a frame has rows of, and with those of the frame.

    Args:
        bench: The table.
        scan: All its rows.
        fitted: The new rows, with the table's columns in order.
    """
    refuse_foreign(bench.plan)
    fields = bench.plan.partition
    target = read_target(bench.spark, scan, tuple(field.column for field in fields), bench.stores)
    names = [f"_quacklake_key_{field.key_index}" for field in fields]
    keys = [transformed(field).alias(name) for field, name in zip(fields, names, strict=True)]
    with staged(fitted, bench.plan, bench.stores) as rows, removing_on_failure(bench.stores) as placed:
        new = rows.frame.select(*keys).distinct().alias("n")
        old = target.frame.select(*target.address, *keys).alias("t")
        dead = old.join(new, _same_keys(names), "left_semi").select(*target.address)
        gone = remove_in_tasks(dead, scan, bench.plan, bench.stores)
        placed += gone.paths
        return join_results(gone, put_rows(bench, rows, rows.frame.count()))


def _same_keys(names: Sequence[str]) -> SparkColumn:
    from pyspark.sql import functions as F

    return F.expr(" AND ".join(f"t.{name} <=> n.{name}" for name in names))


def put_rows(
    bench: Bench, rows: Staged, count: int, *, row_id: str | None = None, where: tuple[str, Sequence[int]] | None = None
) -> WriteResult:
    """Rows of the table's form as new rows, or as rows that keep their ids; few of them into the catalog.

    Args:
        bench: The table.
        rows: Where they are, under the names of the table.
        count: How many.
        row_id: The column that holds their ids.
        where: A column, and the numbers in it that mark the rows that are meant; else all are.
    """
    if not count:
        return WriteResult()
    if count <= bench.plan.inline_limit:
        return _put_few(bench, rows, row_id, where)
    frame = rows.frame
    if where is not None:
        frame = frame.filter(f"{quote_name(where[0])} IN ({', '.join(map(str, where[1]))})")
    names = [column.name for column in bench.plan.schema] + ([] if row_id is None else [row_id])
    outputs = [quote_name(name) for name in names]
    if row_id is not None:
        outputs[-1] += f" AS {ROW_ID_COLUMN}"
    rest = frame.selectExpr(*outputs)
    if row_id is None:
        return WriteResult(files=write_frame(bench.plan, rest, bench.stores), rows_inserted=count)
    if has_unnamed_parts(bench.plan.schema.columns):
        return WriteResult(files=write_in_tasks(bench.plan, rest, bench.stores))
    return WriteResult(files=write_frame(bench.plan, rest, bench.stores, row_ids=True))


def _put_few(bench: Bench, rows: Staged, row_id: str | None, where: tuple[str, Sequence[int]] | None) -> WriteResult:
    local = Workbench(bench.plan, bench.stores)
    ids = "" if row_id is None else f"{quote(row_id)} AS {ROW_ID}, "
    query = f"SELECT {ids}{stored_sql(bench.plan.schema)} FROM _quacklake_staged"
    if where is not None:
        query += f" WHERE {quote(where[0])} IN ({', '.join(map(str, where[1]))})"
    with local.cursor() as cursor:
        cursor.register("_quacklake_staged", read_back(rows.paths, bench.stores))
        local.materialise(cursor, "_rows", query)
        cursor.unregister("_quacklake_staged")
        return local.insert_table(cursor, "_rows") if row_id is None else local.reinsert(cursor, "_rows")
