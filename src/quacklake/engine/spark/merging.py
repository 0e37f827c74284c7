"""MERGE on Spark: one join finds for each row what becomes of it, and everything else follows from that.

The outcome of the join is kept before anything is written, so that the source is computed once, and a row of the
table on which several rows of the source act is found in time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from quacklake.engine.spark.assigning import Otherwise, assign, refuse_foreign, same
from quacklake.engine.spark.changing import Bench, put_rows
from quacklake.engine.spark.frames import free_name
from quacklake.engine.spark.incoming import stored_type
from quacklake.engine.spark.literals import Literals
from quacklake.engine.spark.removing import remove_in_tasks
from quacklake.engine.spark.staging import Staged, staged
from quacklake.engine.spark.targets import read_target
from quacklake.engine.spark.where import session_sql
from quacklake.errors import MergeCardinalityError, UnsupportedError
from quacklake.names import fold
from quacklake.plan.merge import SOURCE, TARGET, BoundClause, Kind, MergePlan
from quacklake.plan.results import join_results
from quacklake.plan.scan import ScanPlan
from quacklake.plan.sources import Constant
from quacklake.plan.write import WriteResult
from quacklake.predicates import Expression
from quacklake.predicates.tree import Field, walk
from quacklake.schema import Column
from quacklake.storage.placement import removing_on_failure

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

_ORDER: tuple[Kind, ...] = ("matched", "not_matched_by_source", "not_matched")
_JOINS = {(False, False): "inner", (True, False): "left", (False, True): "right", (True, True): "full"}
"""By whether rows of the table, and rows of the source, count that match nothing."""


def merge(bench: Bench, scan: ScanPlan, source: DataFrame, plan: MergePlan) -> WriteResult:
    """The table with the source merged into it.

    Raises:
        MergeCardinalityError: When several rows of the source act on one row of the table; nothing is written.
        UnsupportedError: When Spark cannot do it as it is meant.
    """
    refuse_foreign(bench.plan)
    merging = _Merge(bench, scan, source, plan)
    with staged(merging.outcome(), bench.plan, bench.stores) as rows:
        merging.check_cardinality(rows)
        return merging.write(rows)


class _Merge:
    def __init__(self, bench: Bench, scan: ScanPlan, source: DataFrame, plan: MergePlan) -> None:
        self._bench = bench
        self._scan = scan
        self._source = source
        self._plan = plan
        self._clauses = [clause for kind in _ORDER for clause in plan.of(kind)]
        self._target = read_target(bench.spark, scan, self._needed(), bench.stores)
        taken = {fold(name) for name in (*scan.schema.names, *source.columns)}
        # The number of the clause that acts on a row; and what is NULL where there is no row of the source.
        self._action, self._present = (free_name(f"_quacklake_{name}", taken) for name in ("action", "present"))

    def outcome(self) -> DataFrame:
        """Every row on which a clause acts: where it is, its id, the clause, and the row as it becomes."""
        from pyspark.sql import functions as F

        left = self._target.frame.alias(TARGET)
        right = self._source.select("*", F.lit(True).alias(self._present)).alias(SOURCE)
        how = _JOINS[bool(self._plan.of("not_matched_by_source")), bool(self._plan.of("not_matched"))]
        pairs = left.join(right, F.expr(self._sql(self._plan.on)), how)
        acting = pairs.withColumn(self._action, F.expr(self._acting())).filter(f"{self._action} IS NOT NULL")
        address = [F.col(f"{TARGET}.{name}") for name in (*self._target.address, self._target.row_id)]
        return acting.select(*address, F.col(self._action), *self._rows(acting))

    def check_cardinality(self, rows: Staged) -> None:
        """Refuse several rows of the source for one row of the table."""
        from pyspark.sql import functions as F

        matched = len(self._plan.of("matched"))
        if not matched:
            return
        pairs = rows.frame.filter(f"{self._action} < {matched}").groupBy(*self._target.address)
        twice = pairs.agg(F.count("*").alias("n"), F.first(self._target.row_id).alias("id")).filter("n > 1")
        count, row_id = twice.agg(F.count("*"), F.min("id")).collect()[0]
        if count:
            raise MergeCardinalityError(
                f"several rows of the source match one row of {self._bench.plan.table} "
                f"({count} rows, row id {row_id} is one)",
                hint="make the source unique by the columns of on=",
            )

    def write(self, rows: Staged) -> WriteResult:
        """Write down what became of the rows."""
        bench = self._bench
        counts = {row[0]: row[1] for row in rows.frame.groupBy(self._action).count().collect()}
        updates, inserts = self._of("update"), self._of("insert")
        changed = sum(counts.get(each, 0) for each in updates)
        new = sum(counts.get(each, 0) for each in inserts)
        with removing_on_failure(bench.stores) as placed:
            leaving = rows.frame.filter(f"{self._target.position} IS NOT NULL").select(*self._target.address)
            gone = remove_in_tasks(leaving, self._scan, bench.plan, bench.stores)
            placed += gone.paths
            back = put_rows(bench, rows, changed, row_id=self._target.row_id, where=(self._action, updates))
            placed += back.paths
            fresh = put_rows(bench, rows, new, where=(self._action, inserts))
        result = join_results(join_results(gone, back), fresh)
        return replace(result, rows_updated=changed, rows_deleted=gone.rows_deleted - changed, rows_inserted=new)

    def _needed(self) -> tuple[Column, ...]:
        """The columns of the table that are looked at; all of them where a row comes back."""
        if any(clause.action == "update" for clause in self._plan.clauses):
            return self._scan.schema.columns
        conditions = [self._plan.on, *(each.where for each in self._plan.clauses if each.where is not None)]
        used = {
            node.path[0].id
            for condition in conditions
            for node in walk(condition.tree)
            if isinstance(node, Field) and node.scope == TARGET
        }
        return tuple(column for column in self._scan.schema if column.id in used)

    def _of(self, action: str) -> list[int]:
        return [number for number, clause in enumerate(self._clauses) if clause.action == action]

    def _sql(self, expression: Expression) -> str:
        return session_sql(self._bench.spark, expression)

    def _acting(self) -> str:
        """SQL of the number of the clause that acts on a row of the join; NULL when none does."""
        in_table = f"{TARGET}.{self._target.position} IS NOT NULL"
        in_source = f"{SOURCE}.{self._present} IS NOT NULL"
        matched, by_source, new = (self._first_of(kind) for kind in _ORDER)
        return (
            f"CASE WHEN {in_table} AND {in_source} THEN {matched} WHEN {in_table} THEN {by_source} "
            f"WHEN {in_source} THEN {new} END"
        )

    def _first_of(self, kind: Kind) -> str:
        cases = "".join(
            f" WHEN {'TRUE' if clause.where is None else self._sql(clause.where)} THEN {number}"
            for number, clause in enumerate(self._clauses)
            if clause.kind == kind
        )
        return f"CASE{cases} END" if cases else "CAST(NULL AS INT)"

    def _rows(self, acting: DataFrame) -> list[SparkColumn]:
        """The columns of the table, as the clause that acts makes them; NULL where it deletes."""
        from pyspark.sql import functions as F

        made = {
            number: assign(self._bench.plan, acting, dict(clause.values), self._otherwise(clause))
            for number, clause in enumerate(self._clauses)
            if clause.action != "delete"
        }
        columns = []
        for index, column in enumerate(self._bench.plan.schema):
            value = F.lit(None).cast(stored_type(column))
            for number, row in made.items():
                value = F.when(F.col(self._action) == number, row[index]).otherwise(value)
            columns.append(value.alias(column.name))
        return columns

    def _otherwise(self, clause: BoundClause) -> Otherwise:
        return same(TARGET) if clause.action == "update" else self._default

    def _default(self, column: Column) -> SparkColumn:
        from pyspark.sql import functions as F

        if column.default is None:
            return F.lit(None).cast(stored_type(column))
        if column.default.is_expression:
            raise UnsupportedError(f"the default of column {column.name!r} is an expression of DuckDB")
        literals = Literals(self._scan, self._bench.stores)
        return F.expr(literals.sql(Constant(column, column.default.text)))
