"""The SQL that reads a plan with DuckDB: one branch per group of files, one per layout of inlined rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from quacklake.engine.local.expressions import literal, read_sql
from quacklake.engine.local.groups import FileGroup, row_id_starts
from quacklake.engine.local.types import duckdb_type, export_sql
from quacklake.names import fold, quote
from quacklake.plan.scan import InlinedRows, ScanPlan
from quacklake.plan.sources import Constant, FromFile, Source, resolve_inlined
from quacklake.schema import Column
from quacklake.storage.footers import decode_key
from quacklake.storage.stores import duckdb_path
from quacklake.types import DataType

if TYPE_CHECKING:
    import pyarrow as pa

Export = Callable[[DataType, str], str]
"""SQL that makes of a DuckDB value of a type what goes out."""

ADDRESS = ("_quacklake_file", "_quacklake_position", "_quacklake_layout")
"""Where a row is: the id of its data file and the position in it; or no file, its row id, and the schema version of
the inlined table that holds it."""
_NOWHERE = ("NULL", "NULL", "NULL")
_POSITION_BITS = 40
"""A dead row is one number, the file's index above these bits and the position below: joins on one number are fast."""


@dataclass(slots=True)
class Query:
    """SQL with all it refers to."""

    sql: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, pa.Table] = field(default_factory=dict)
    """To be copied into the connection: what DuckDB filters in Arrow's own memory follows Arrow's rules."""

    def parameter(self, value: Any) -> str:
        """Bind a value; gives the SQL that stands for it."""
        name = f"p{len(self.parameters)}"
        self.parameters[name] = value
        return f"${name}"

    def table(self, table: pa.Table) -> str:
        """Bind a table; gives its name."""
        name = f"_quacklake_{len(self.tables)}"
        self.tables[name] = table
        return name


def build_query(
    plan: ScanPlan,
    groups: Sequence[FileGroup],
    columns: Sequence[Column],
    export: Export = export_sql,
    query: Query | None = None,
) -> Query:
    """The query for a plan.

    Args:
        plan: What to read.
        groups: Its files.
        columns: The columns that must be read, for the output and the predicate.
        export: Makes of a value of a type what goes out.
        query: One that refers to other things already; its SQL is replaced.
    """
    query = Query() if query is None else query
    scope = _Scope(plan, columns)
    branches = [_file_branch(query, scope, group) for group in groups]
    branches += [_inlined_branch(query, scope, rows) for rows in plan.inlined if rows.data.num_rows]
    outputs = [quote(name) for name in scope.hidden] if plan.row_ids else []
    outputs += [export(column.type, quote(column.name)) for column in plan.columns]
    # Two outputs may have one name, and the names that count are those of the output's schema.
    named = ", ".join(f"{sql} AS _o{index}" for index, sql in enumerate(outputs)) or "1 AS _o0"
    query.sql = f"SELECT {named} FROM ({' UNION ALL '.join(branches) or _empty_branch(scope)}) AS {scope.alias}"
    query.sql += _conditions(plan)
    return query


def build_rows(
    plan: ScanPlan, groups: Sequence[FileGroup], columns: Sequence[Column], query: Query | None = None
) -> Query:
    """The rows of a plan in DuckDB's types, each with its address, its row id and its snapshot.

    Args:
        plan: What to read.
        groups: Its files.
        columns: The columns that must be read.
        query: What this becomes a part of: all that the rows refer to is bound to it.
    """
    query = query or Query()
    scope = _Scope(replace(plan, row_ids=True), columns, addresses=True)
    branches = [_file_branch(query, scope, group) for group in groups]
    branches += [_inlined_branch(query, scope, rows) for rows in plan.inlined if rows.data.num_rows]
    query.sql = f"SELECT * FROM ({' UNION ALL '.join(branches) or _empty_branch(scope)}) AS {scope.alias}"
    query.sql += _conditions(plan)
    return query


def build_count(plan: ScanPlan, groups: Sequence[FileGroup], columns: Sequence[Column]) -> Query:
    """The query that counts the rows of a plan."""
    query = build_query(plan, groups, columns)
    start = query.sql.index(" FROM ")
    query.sql = f"SELECT count(*) FROM (SELECT 1{query.sql[start:]})"
    return query


class _Scope:
    """Names inside the query that are no column's of the table."""

    def __init__(self, plan: ScanPlan, columns: Sequence[Column], *, addresses: bool = False) -> None:
        self.plan = plan
        self.columns = columns
        self.addresses = addresses
        taken = {fold(column.name) for column in plan.schema.walk()}
        self.hidden = tuple(_free_name(f"_quacklake_{name}", taken) for name in ("row_id", "snapshot_id"))
        self.alias = quote(_free_name("_quacklake_rows", taken))


def _free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _conditions(plan: ScanPlan) -> str:
    where = f" WHERE ({plan.where.sql('duckdb')})" if plan.where is not None else ""
    return where + (f" LIMIT {plan.limit}" if plan.limit is not None else "")


def _select(
    scope: _Scope, row_id: str, snapshot_id: str, values: Sequence[str], address: Sequence[str] = _NOWHERE
) -> str:
    parts = [f"{value} AS {quote(column.name)}" for value, column in zip(values, scope.columns, strict=True)]
    if scope.plan.row_ids:
        parts = [f"{row_id} AS {scope.hidden[0]}", f"{snapshot_id} AS {scope.hidden[1]}", *parts]
    if scope.addresses:
        parts = [f"CAST({part} AS BIGINT) AS {name}" for part, name in zip(address, ADDRESS, strict=True)] + parts
    return "SELECT " + (", ".join(parts) or "1 AS _one")


def _empty_branch(scope: _Scope) -> str:
    nulls = [f"CAST(NULL AS {duckdb_type(column.type)})" for column in scope.columns]
    return _select(scope, "CAST(NULL AS BIGINT)", "CAST(NULL AS BIGINT)", nulls) + " LIMIT 0"


def _file_branch(query: Query, scope: _Scope, group: FileGroup) -> str:
    paths = query.parameter([duckdb_path(file.path) for file in group.files])
    # NaN is the greatest number, and most writers leave it out of their statistics.
    options = "hive_partitioning = false, can_have_nan = true"
    if group.encryption_key is not None:
        key = query.parameter(decode_key(group.files[0].path, group.encryption_key))
        options += f", encryption_config = {{footer_key_value: {key}}}"
    # Columns go by position, so no name in a file can hide the row number that DuckDB offers, or a second name.
    names = ", ".join(f"_c{index}" for index in range(len(group.columns)))
    row_id, snapshot_id = _lineage(query, scope, group)
    values = [_value(query, group, index) for index in range(len(scope.columns))]
    files = [file.file_id for file in group.files]
    address = (_per_file(query, files, "BIGINT"), "_f.file_row_number", "NULL") if scope.addresses else _NOWHERE
    sql = f"{_select(scope, row_id, snapshot_id, values, address)} FROM read_parquet({paths}, {options}) AS _f({names})"
    if group.has_dead:
        key_sql = f"(CAST(_f.file_index AS BIGINT) << {_POSITION_BITS}) | _f.file_row_number"
        sql += f" ANTI JOIN {query.table(_dead_rows(group))} AS _d ON _d.dead = {key_sql}"
    snapshots = group.layout.snapshot_id
    if group.is_partial and snapshots is not None:
        sql += f" WHERE _f._c{group.index_of(snapshots)} <= {scope.plan.snapshot_id}"
    return sql


def _lineage(query: Query, scope: _Scope, group: FileGroup) -> tuple[str, str]:
    if not scope.plan.row_ids:
        return "", ""
    embedded = group.layout
    if embedded.row_id is not None:
        row_id = f"_f._c{group.index_of(embedded.row_id)}"
    else:
        row_id = f"{_per_file(query, row_id_starts(group.files), 'BIGINT')} + _f.file_row_number"
    if embedded.snapshot_id is not None:
        snapshot_id = f"_f._c{group.index_of(embedded.snapshot_id)}"
    else:
        snapshot_id = _per_file(query, [file.begin_snapshot for file in group.files], "BIGINT")
    return row_id, snapshot_id


def _value(query: Query, group: FileGroup, index: int) -> str:
    """One column of the table, from the files of the group."""
    source = group.sources[0][index]
    if isinstance(source, FromFile):
        return read_sql(source, f"_f._c{group.index_of(source.source)}")
    texts = [each[index].text for each in group.sources if isinstance(each[index], Constant)]  # type: ignore[union-attr]
    if len(set(texts)) == 1:
        return read_sql(source, "")
    return f"CAST({_per_file(query, texts, 'VARCHAR')} AS {duckdb_type(source.column.type)})"


def _per_file(query: Query, values: Sequence[object], type_: str) -> str:
    """A value that each file has one of."""
    if len(set(values)) == 1:
        only = values[0]
        return f"CAST({literal(only) if isinstance(only, str) else only} AS {type_})"
    return f"CAST({query.parameter(list(values))} AS {type_}[])[CAST(_f.file_index AS BIGINT) + 1]"


def _dead_rows(group: FileGroup) -> pa.Table:
    import numpy as np
    import pyarrow as pa

    parts = [(np.int64(index) << _POSITION_BITS) | dead for index, dead in enumerate(group.dead)]
    return pa.table({"dead": pa.array(np.concatenate(parts))})


def _inlined_branch(query: Query, scope: _Scope, rows: InlinedRows) -> str:
    name = query.table(rows.data)
    layout = {f"c{column.id}": column for column in rows.columns}
    sources: tuple[Source, ...] = resolve_inlined(rows.columns, scope.columns)
    values = []
    for source in sources:
        if isinstance(source, FromFile):
            held = layout[source.source.name]
            # Text or native, the value first becomes what the column was when it was written.
            values.append(read_sql(source, f"CAST(_i.{quote(source.source.name)} AS {duckdb_type(held.type)})"))
        else:
            values.append(read_sql(source, ""))
    address = ("NULL", "_i.row_id", str(rows.schema_version))
    return f"{_select(scope, '_i.row_id', '_i.begin_snapshot', values, address)} FROM {name} AS _i"
