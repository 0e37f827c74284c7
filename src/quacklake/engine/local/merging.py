"""MERGE: pair the rows of the table with those of the source, then let the clauses act."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from quacklake.engine.local.frames import as_reader, as_table
from quacklake.engine.local.query import ADDRESS
from quacklake.engine.local.types import duckdb_type
from quacklake.engine.local.workbench import ADDRESSES, ROW_ID, Workbench, default_sql
from quacklake.errors import MergeCardinalityError
from quacklake.names import fold, quote
from quacklake.plan.merge import BoundClause, MergePlan
from quacklake.plan.results import join_results
from quacklake.plan.scan import ScanPlan
from quacklake.plan.write import WriteResult
from quacklake.predicates.tree import Field

_SOURCE_COLUMN = re.compile(r'"s"\."((?:[^"]|"")+)"')


def merge(bench: Workbench, scan: ScanPlan, source: Any, plan: MergePlan) -> WriteResult:
    """The table with the source merged into it.

    Raises:
        MergeCardinalityError: When several rows of the source act on one row of the table; nothing is written.
    """
    everything = replace(scan, columns=scan.schema.columns)
    with bench.cursor(scan) as cursor:
        _load_source(cursor, source, plan)
        rows = bench.rows(cursor, everything)
        _pair(bench, cursor, rows, plan)
        _check_cardinality(bench, cursor)
        changed, dead = _act_on_matches(bench, cursor, rows, plan)
        inserted = _new_rows(bench, cursor, plan)
        with bench.removing_on_failure() as placed:
            gone = bench.remove(cursor, "_gone", scan)
            placed += gone.paths
            back = bench.reinsert(cursor, "_changed")
            placed += back.paths
            fresh = bench.insert_table(cursor, inserted) if inserted is not None else WriteResult()
        result = join_results(join_results(gone, back), fresh)
        return replace(result, rows_updated=changed, rows_deleted=dead, rows_inserted=fresh.rows_inserted)


def _load_source(cursor: duckdb.DuckDBPyConnection, source: Any, merge: MergePlan) -> None:
    """Make `_source` of the source, with a number for every row of it, and `_keys` of what decides about matches."""
    rows = as_table(source)
    if rows is not None:
        # DuckDB reads it where it is. But how large it is, it knows only of tables of its own, and it joins by that.
        numbers = pa.array(np.arange(rows.num_rows, dtype=np.int64))
        cursor.register("_source", rows.append_column("_quacklake_source_id", numbers))
        deciding = _deciding(merge)
        names = [quote(name) for name in rows.column_names if fold(name) in deciding]
        cursor.execute(f"CREATE TEMP TABLE _keys AS SELECT {', '.join((*names, '_quacklake_source_id'))} FROM _source")
        return
    given = as_reader(source)
    cursor.register("_quacklake_source", given)
    if any(fold(name) == "rowid" for name in given.schema.names):
        number = "row_number() OVER () AS _quacklake_source_id"
        cursor.execute(f"CREATE TEMP TABLE _source AS SELECT *, {number} FROM _quacklake_source")
    else:
        # DuckDB numbers the rows of its tables by itself.
        cursor.execute("CREATE TEMP TABLE _source_rows AS FROM _quacklake_source")
        cursor.execute("CREATE TEMP VIEW _source AS SELECT *, rowid AS _quacklake_source_id FROM _source_rows")
    cursor.unregister("_quacklake_source")
    cursor.execute("CREATE TEMP VIEW _keys AS FROM _source")


def _deciding(merge: MergePlan) -> set[str]:
    """The columns of the source, folded, on which it depends what becomes of a pair of rows; perhaps some more."""
    conditions = (merge.on, *(clause.where for clause in merge.of("matched")))
    found = (_SOURCE_COLUMN.findall(each.sql("duckdb")) for each in conditions if each is not None)
    return {fold(name.replace('""', '"')) for names in found for name in names}


def _pair(bench: Workbench, cursor: duckdb.DuckDBPyConnection, rows: str, merge: MergePlan) -> None:
    """Every pair of rows that match, with the number of the clause that acts on it."""
    clauses = merge.of("matched")
    is_used = any(_looks_at_table(bench, clause) for clause in clauses)
    kept = "t.*" if is_used else f"{_prefixed(ADDRESS)}, t.{ROW_ID}"
    cursor.execute(
        f"CREATE TEMP TABLE _pairs AS SELECT {kept}, s._quacklake_source_id, {_acting(clauses)} AS _action "
        f"FROM ({rows}) AS t JOIN _keys AS s ON {merge.on.sql('duckdb')}"
    )


def _looks_at_table(bench: Workbench, clause: BoundClause) -> bool:
    """Whether new values depend on old ones."""
    if clause.action != "update":
        return False
    values = dict(clause.values)
    return any(name not in values for name in bench.plan.schema.names) or any(
        '"t".' in each.sql("duckdb") for each in values.values()
    )


def _is_plain(clause: BoundClause, select: str) -> bool:
    """Whether values are columns as they are: to look at them again gives the same, and can raise nothing."""
    return all(isinstance(each.tree, Field) for _, each in clause.values) and not re.search(r"CAST\(|error\(", select)


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
    selects = []
    counts = Counter[str]()
    for clause, source, index in acts:
        addressed = source.partition(" JOIN ")[0]
        cursor.execute(f"INSERT INTO _gone SELECT {_prefixed(ADDRESS)} FROM {addressed} WHERE _action = {index}")
        counts[clause.action] += cursor.fetchall()[0][0]
        if clause.action == "update":
            new = bench.assign(cursor, source, dict(clause.values), {})
            selects.append((clause, f"SELECT t.{ROW_ID}, {new} FROM {source} WHERE _action = {index}"))
    if len(selects) == 1 and _is_plain(*selects[0]):
        cursor.execute(f"CREATE TEMP VIEW _changed AS {selects[0][1]}")
    else:
        cursor.execute(f"CREATE TEMP TABLE _changed ({ROW_ID} BIGINT, {schema})")
        for _, select in selects:
            cursor.execute(f"INSERT INTO _changed {select}")
    return counts["update"], counts["delete"]


def _new_rows(bench: Workbench, cursor: duckdb.DuckDBPyConnection, merge: MergePlan) -> str | None:
    """A table of the rows to insert, if there may be any."""
    clauses = merge.of("not_matched")
    if not clauses:
        return None
    # What is looked at once need not be kept.
    kind = "VIEW" if len(clauses) == 1 else "TABLE"
    cursor.execute(
        f"CREATE TEMP {kind} _unpaired AS SELECT s.*, {_acting(clauses)} AS _action FROM _source AS s "
        "ANTI JOIN _pairs AS p ON p._quacklake_source_id = s._quacklake_source_id"
    )
    selects = []
    for index, clause in enumerate(clauses):
        defaults = {column.name: default_sql(column) for column in bench.plan.schema}
        new = bench.assign(cursor, "_unpaired AS s", dict(clause.values), defaults)
        selects.append(f"SELECT {new} FROM _unpaired AS s WHERE _action = {index}")
    kind = "VIEW" if len(clauses) == 1 and _is_plain(clauses[0], selects[0]) else "TABLE"
    cursor.execute(f"CREATE TEMP {kind} _inserted AS {' UNION ALL '.join(selects)}")
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
