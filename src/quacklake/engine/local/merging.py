"""MERGE: pair the rows of the table with those of the source, then let the clauses act."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import duckdb

from quacklake.engine.local.frames import as_reader
from quacklake.engine.local.query import ADDRESS
from quacklake.engine.local.types import duckdb_type
from quacklake.engine.local.workbench import ADDRESSES, ROW_ID, Workbench, count_rows, default_sql
from quacklake.errors import MergeCardinalityError
from quacklake.names import quote
from quacklake.plan.merge import BoundClause, MergePlan
from quacklake.plan.results import join_results
from quacklake.plan.scan import ScanPlan
from quacklake.plan.write import WriteResult


def merge(bench: Workbench, scan: ScanPlan, source: Any, plan: MergePlan) -> WriteResult:
    """The table with the source merged into it.

    Raises:
        MergeCardinalityError: When several rows of the source act on one row of the table; nothing is written.
    """
    everything = replace(scan, columns=scan.schema.columns)
    with bench.cursor(scan) as cursor:
        _load_source(bench, cursor, source)
        rows = bench.rows(cursor, everything)
        _pair(bench, cursor, rows, plan)
        _check_cardinality(bench, cursor)
        changed, dead = _act_on_matches(bench, cursor, rows, plan)
        inserted = _new_rows(bench, cursor, plan)
        result = join_results(bench.remove(cursor, "_gone", scan), bench.reinsert(cursor, "_changed"))
        fresh = bench.insert_table(cursor, inserted) if inserted is not None else WriteResult()
        result = join_results(result, fresh)
        return replace(result, rows_updated=changed, rows_deleted=dead, rows_inserted=fresh.rows_inserted)


def _load_source(bench: Workbench, cursor: duckdb.DuckDBPyConnection, source: Any) -> None:
    cursor.register("_quacklake_source", as_reader(source))
    cursor.execute(
        "CREATE TEMP TABLE _source AS SELECT *, row_number() OVER () AS _quacklake_source_id FROM _quacklake_source"
    )
    cursor.unregister("_quacklake_source")


def _pair(bench: Workbench, cursor: duckdb.DuckDBPyConnection, rows: str, merge: MergePlan) -> None:
    """Every pair of rows that match, with the number of the clause that acts on it."""
    cursor.execute(
        f"CREATE TEMP TABLE _pairs AS SELECT t.*, s._quacklake_source_id, {_acting(merge.of('matched'))} AS _action "
        f"FROM ({rows}) AS t JOIN _source AS s ON {merge.on.sql('duckdb')}"
    )


def _check_cardinality(bench: Workbench, cursor: duckdb.DuckDBPyConnection) -> None:
    row = cursor.execute(
        f"SELECT count(*), any_value({ROW_ID}) FROM (SELECT {ADDRESSES}, any_value({ROW_ID}) AS {ROW_ID} FROM _pairs "
        f"WHERE _action IS NOT NULL GROUP BY ALL HAVING count(*) > 1)"
    ).fetchone()
    if row is not None and row[0]:
        raise MergeCardinalityError(
            f"several rows of the source match one row of {bench.plan.table} ({row[0]} rows, row id {row[1]} is one)",
            hint="make the source unique by the columns of on=",
        )


def _act_on_matches(
    bench: Workbench, cursor: duckdb.DuckDBPyConnection, rows: str, merge: MergePlan
) -> tuple[int, int]:
    """Fill `_gone` with all addresses that lose their row and `_changed` with the rows that come back."""
    joined = "_pairs AS t JOIN _source AS s ON s._quacklake_source_id = t._quacklake_source_id"
    schema = ", ".join(f"{quote(column.name)} {duckdb_type(column.type)}" for column in bench.plan.schema)
    addresses = ", ".join(f"{name} BIGINT" for name in ADDRESS)
    cursor.execute(f"CREATE TEMP TABLE _changed ({ROW_ID} BIGINT, {schema})")
    cursor.execute(f"CREATE TEMP TABLE _gone ({addresses})")
    acts = [(clause, joined, index) for index, clause in enumerate(merge.of("matched"))]
    by_source = merge.of("not_matched_by_source")
    if by_source:
        cursor.execute(
            f"CREATE TEMP TABLE _unmatched AS SELECT t.*, {_acting(by_source)} AS _action FROM ({rows}) AS t "
            f"WHERE NOT EXISTS (SELECT 1 FROM _pairs AS p WHERE p._quacklake_position = t._quacklake_position "
            f"AND p._quacklake_file IS NOT DISTINCT FROM t._quacklake_file "
            f"AND p._quacklake_layout IS NOT DISTINCT FROM t._quacklake_layout)"
        )
        acts += [(clause, "_unmatched AS t", index) for index, clause in enumerate(by_source)]
    for clause, source, index in acts:
        cursor.execute(f"INSERT INTO _gone SELECT {_prefixed(ADDRESS)} FROM {source} WHERE _action = {index}")
        if clause.action == "update":
            new = bench.assign(cursor, source, dict(clause.values), {})
            cursor.execute(f"INSERT INTO _changed SELECT t.{ROW_ID}, {new} FROM {source} WHERE _action = {index}")
    changed = count_rows(cursor, "_changed")
    return changed, count_rows(cursor, "_gone") - changed


def _new_rows(bench: Workbench, cursor: duckdb.DuckDBPyConnection, merge: MergePlan) -> str | None:
    """A table of the rows to insert, if there may be any."""
    clauses = merge.of("not_matched")
    if not clauses:
        return None
    cursor.execute(
        f"CREATE TEMP TABLE _unpaired AS SELECT s.*, {_acting(clauses)} AS _action FROM _source AS s "
        "WHERE _quacklake_source_id NOT IN (SELECT _quacklake_source_id FROM _pairs)"
    )
    selects = []
    for index, clause in enumerate(clauses):
        defaults = {column.name: default_sql(column) for column in bench.plan.schema}
        new = bench.assign(cursor, "_unpaired AS s", dict(clause.values), defaults)
        selects.append(f"SELECT {new} FROM _unpaired AS s WHERE _action = {index}")
    cursor.execute(f"CREATE TEMP TABLE _inserted AS {' UNION ALL '.join(selects)}")
    return "_inserted"


def _acting(clauses: Sequence[BoundClause]) -> str:
    """SQL for the number of the first clause whose condition holds; NULL when none does."""
    if not clauses:
        return "NULL::INTEGER"
    cases = "".join(
        f" WHEN {'true' if clause.where is None else clause.where.sql('duckdb')} THEN {index}"
        for index, clause in enumerate(clauses)
    )
    return f"CASE{cases} END"


def _prefixed(names: Sequence[str]) -> str:
    return ", ".join(f"t.{name}" for name in names)
