"""The rows of one table on a DuckDB connection, on their way to becoming a change of the table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import chain

import duckdb
import pyarrow as pa

from quacklake.engine.local.conform import conform, match_columns
from quacklake.engine.local.expressions import literal
from quacklake.engine.local.failures import blamed_file, explain_file
from quacklake.engine.local.groups import group_files, wanted_columns
from quacklake.engine.local.inlining import inlined_insert
from quacklake.engine.local.query import ADDRESS, Query, build_rows
from quacklake.engine.local.removal import remove_rows
from quacklake.engine.local.types import duckdb_type
from quacklake.engine.local.writer import ROW_ID_COLUMN, key_name, transformed, write_files
from quacklake.errors import InvalidInputError, QuacklakeError, StorageError, UnsupportedError
from quacklake.names import fold, quote
from quacklake.plan.results import join_results
from quacklake.plan.scan import ScanPlan
from quacklake.plan.write import InlinedInsert, WritePlan, WriteResult, WrittenFile
from quacklake.predicates import Expression
from quacklake.predicates.kinds import NULL
from quacklake.schema import Column
from quacklake.storage.placement import removing_on_failure
from quacklake.storage.stores import Stores

ROW_ID = "_quacklake_row_id"
ADDRESSES = ", ".join(ADDRESS)
_TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w+)""")


class Workbench:
    """Reads rows to be changed, shapes new ones and writes both down; nothing of it is true until it is committed."""

    def __init__(self, plan: WritePlan, stores: Stores) -> None:
        taken = next((name for name in plan.schema.names if fold(name).startswith("_quacklake_")), None)
        if taken is not None:
            raise UnsupportedError(
                f"{plan.table} has a column {taken!r}, a name that is needed while rows are changed",
                hint=f"table.rename_column({taken!r}, …)",
            )
        self.plan = plan
        self._stores = stores

    def removing_on_failure(self) -> AbstractContextManager[list[str]]:
        """A list for the files that are written: when the rest of a change fails, they are taken away again."""
        return removing_on_failure(self._stores)

    # --- rows that are there -----------------------------------------------------------------------------

    def rows(self, cursor: duckdb.DuckDBPyConnection, scan: ScanPlan) -> str:
        """SQL of the scan's rows with their addresses and row ids; what it refers to is in the connection."""
        columns = wanted_columns(scan)
        query = build_rows(scan, group_files(scan, columns, self._stores), columns)
        return _bind(cursor, query)

    def materialise(self, cursor: duckdb.DuckDBPyConnection, name: str, query: str, columns: str = "*") -> None:
        """Keep the rows of a query in a table of this connection."""
        cursor.execute(f"CREATE TEMP TABLE {name} AS SELECT {columns} FROM ({query})")

    def remove(self, cursor: duckdb.DuckDBPyConnection, table: str, scan: ScanPlan) -> WriteResult:
        """Without the rows whose addresses a table holds."""
        result = remove_rows(cursor, f"SELECT {ADDRESSES} FROM {table}", scan, self.plan, self._stores)
        return replace(result, rows_deleted=count_rows(cursor, table))

    # --- rows that are new -------------------------------------------------------------------------------

    def insert_stream(
        self, cursor: duckdb.DuckDBPyConnection, head: pa.Table, rest: pa.RecordBatchReader | None
    ) -> WriteResult:
        """Incoming rows as new rows: a table, or a stream in bounded memory."""
        query = self._conformed(head.schema if rest is None else rest.schema, "_quacklake_data")
        cursor.register("_quacklake_data", head if rest is None else rest)
        if rest is None and not head.num_rows:
            cursor.execute(f"SELECT * FROM ({query}) LIMIT 0")
            return WriteResult()
        if rest is None and head.num_rows <= self.plan.inline_limit:
            self.materialise(cursor, "_new", query, "*")
            return self.insert_table(cursor, "_new")
        files = write_files(cursor, self.plan, query, self._stores)
        return WriteResult(files=files, rows_inserted=sum(file.record_count for file in files))

    def take_in(self, cursor: duckdb.DuckDBPyConnection, reader: pa.RecordBatchReader, table: str) -> None:
        """Incoming rows in the shape of the table, kept in a table of this connection."""
        cursor.register("_quacklake_data", reader)
        self.materialise(cursor, table, self._conformed(reader.schema, "_quacklake_data"))
        cursor.unregister("_quacklake_data")

    def partition_keys(self, cursor: duckdb.DuckDBPyConnection) -> str:
        """The select list of the values that rows are spread by."""
        return ", ".join(f"{transformed(cursor, field)} AS {key_name(field)}" for field in self.plan.partition)

    def same_keys(self) -> str:
        """The condition that `t` and `n` are of one partition."""
        names = [key_name(field) for field in self.plan.partition]
        return " AND ".join(f"t.{name} IS NOT DISTINCT FROM n.{name}" for name in names)

    def insert_table(self, cursor: duckdb.DuckDBPyConnection, table: str) -> WriteResult:
        """The rows of a table of this connection, in shape already, as new rows."""
        count = self._count_few(cursor, table)
        if count == 0:
            return WriteResult()
        if count is not None:
            insert = inlined_insert(cursor, self.plan.schema, f"SELECT * FROM {table}")
            return WriteResult(inserts=insert, rows_inserted=count)
        files = write_files(cursor, self.plan, f"SELECT * FROM {table}", self._stores)
        return WriteResult(files=files, rows_inserted=sum(file.record_count for file in files))

    def reinsert(self, cursor: duckdb.DuckDBPyConnection, table: str) -> WriteResult:
        """Rows that keep their ids."""
        count = self._count_few(cursor, table)
        if count == 0:
            return WriteResult()
        if count is not None:
            ids = tuple(row[0] for row in cursor.execute(f"SELECT {ROW_ID} FROM {table} ORDER BY {ROW_ID}").fetchall())
            insert = inlined_insert(cursor, self.plan.schema, f"SELECT * FROM {table} ORDER BY {ROW_ID}")
            return WriteResult(inserts=replace(insert, row_ids=ids))
        query = f"SELECT *, {ROW_ID} AS {ROW_ID_COLUMN} FROM {table}"
        return WriteResult(files=write_files(cursor, self.plan, query, self._stores, row_ids=True))

    def _count_few(self, cursor: duckdb.DuckDBPyConnection, table: str) -> int | None:
        """How many rows a table has; None when they are not for the catalog, however many there are."""
        few = self.plan.inline_limit
        if not few:
            return None
        # The table may be a view: to count all its rows would be to compute them twice.
        count = count_rows(cursor, f"(SELECT 1 FROM {table} LIMIT {few + 1})")
        return count if count <= few else None

    def write_out(self, cursor: duckdb.DuckDBPyConnection, insert: InlinedInsert) -> tuple[WrittenFile, ...]:
        """Rows that were meant for the catalog, as files after all; those that have ids keep them."""
        ids = insert.row_ids or (None,) * insert.data.num_rows
        cursor.register("_quacklake_data", insert.data.append_column(ROW_ID, pa.array(ids, pa.int64())))
        shaped = self._conformed(insert.data.schema, "_quacklake_data", also=(ROW_ID,))
        self.materialise(cursor, "_new", f"SELECT * EXCLUDE ({ROW_ID}) FROM ({shaped}) WHERE {ROW_ID} IS NULL")
        self.materialise(cursor, "_changed", f"SELECT * FROM ({shaped}) WHERE {ROW_ID} IS NOT NULL")
        return join_results(self.insert_table(cursor, "_new"), self.reinsert(cursor, "_changed")).files

    def _conformed(self, given: pa.Schema, table: str, also: Sequence[str] = ()) -> str:
        """SQL of incoming data in the shape of the table."""
        columns = self.plan.schema.columns
        found, extra = match_columns(given.names, columns, table=self.plan.table)
        if extra:
            raise InvalidInputError(
                f"{self.plan.table} has no column {extra[0]!r}",
                hint=f"its columns are {', '.join(self.plan.schema.names)}; schema='merge' adds new ones",
            )
        parts = []
        for column in columns:
            name = found.get(column.id)
            value = default_sql(column) if name is None else conform(quote(name), given.field(name).type, column)
            parts.append(f"{self._required(column, value)} AS {quote(column.name)}")
        return f"SELECT {', '.join((*parts, *also))} FROM {table}"

    def _required(self, column: Column, value: str) -> str:
        if column.nullable:
            return value
        text = literal(f"column {column.name!r} of {self.plan.table} may not be NULL")
        return f"CASE WHEN ({value}) IS NULL THEN error({text}) ELSE {value} END"

    def assign(
        self,
        cursor: duckdb.DuckDBPyConnection,
        source: str,
        values: Mapping[str, Expression],
        otherwise: Mapping[str, str],
    ) -> str:
        """The select list of a table row: assigned columns from expressions, the others as they are."""
        parts = []
        for column in self.plan.schema:
            if column.name in values:
                value = _expression(cursor, source, values[column.name], column)
            else:
                value = otherwise.get(column.name, f"t.{quote(column.name)}")
            parts.append(f"{self._required(column, value)} AS {quote(column.name)}")
        return ", ".join(parts)

    @contextmanager
    def cursor(self, scan: ScanPlan | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection of its own for one change; what goes wrong in it becomes our errors."""
        paths = [] if scan is None else [file.path for file in scan.files]
        with self._stores.cursor(*paths) as cursor, self._stores.secrets.hiding(), self.explained(scan):
            yield cursor

    @contextmanager
    def explained(self, scan: ScanPlan | None = None) -> Iterator[None]:
        """Let errors of DuckDB, of Arrow and of the disk out as our own."""
        try:
            yield
        except QuacklakeError:
            raise
        except (duckdb.Error, pa.ArrowException) as error:
            path = None if scan is None else blamed_file(scan, str(error))
            raise (_explain(self.plan, error) if path is None else explain_file(path, str(error))) from error
        except OSError as error:
            raise StorageError(f"cannot write to {self.plan.path}: {error.strerror or error}") from error


def default_sql(column: Column) -> str:
    """What a new row has in a column that nobody gave."""
    if column.default is None:
        return f"CAST(NULL AS {duckdb_type(column.type)})"
    text = column.default.text if column.default.is_expression else literal(column.default.text)
    return f"CAST({text} AS {duckdb_type(column.type)})"


def _bind(cursor: duckdb.DuckDBPyConnection, query: Query) -> str:
    """The query's SQL, its tables in the connection and its parameters as variables of the session."""
    for name, table in query.tables.items():
        cursor.register(f"{name}_arrow", table)
        cursor.execute(f"CREATE TEMP TABLE {name} AS FROM {name}_arrow")
        cursor.unregister(f"{name}_arrow")
    for name, value in query.parameters.items():
        cursor.execute(f"SET VARIABLE _quacklake_{name} = $value", {"value": value})
    # Texts and names come first, for a dollar sign in one of them stands for itself.
    return _TOKEN.sub(
        lambda found: f"getvariable('_quacklake_{found[1]}')" if found[1] in query.parameters else found[0], query.sql
    )


def _expression(cursor: duckdb.DuckDBPyConnection, source: str, expression: Expression, column: Column) -> str:
    if expression.tree.kind == NULL:
        return f"CAST(NULL AS {duckdb_type(column.type)})"
    sql = f"({expression.sql('duckdb')})"
    given = cursor.execute(f"SELECT {sql} AS value FROM {source} LIMIT 0").to_arrow_table().schema.field(0).type
    return conform(sql, given, column, assign=True)


def count_rows(cursor: duckdb.DuckDBPyConnection, table: str) -> int:
    """How many rows a table of the connection has."""
    row = cursor.execute(f"SELECT count(*) FROM {table}").fetchone()
    return 0 if row is None else int(row[0])


def peel(reader: pa.RecordBatchReader, limit: int) -> tuple[pa.Table, pa.RecordBatchReader | None]:
    """The rows as a table when there are at most `limit`, or else the whole stream again."""
    head: list[pa.RecordBatch] = []
    rows = 0
    for batch in reader:
        head.append(batch)
        rows += batch.num_rows
        if rows > limit:
            return pa.table({}), pa.RecordBatchReader.from_batches(reader.schema, chain(head, reader))
    return pa.Table.from_batches(head, reader.schema), None


def _explain(plan: WritePlan, error: Exception) -> QuacklakeError:
    """What DuckDB or Arrow say went wrong, in our words."""
    reason = str(error).split("\n\nLINE ")[0].strip()
    kind, _, text = reason.partition(": ")
    if isinstance(error, duckdb.IOException) or kind == "IO Error":
        return StorageError(f"cannot write to {plan.path}: {text or reason}")
    return InvalidInputError(f"{plan.table}: {text or reason}", hint="nothing was written")
