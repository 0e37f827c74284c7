"""A table of the lake, as users hold it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from quacklake.catalog.load import At
from quacklake.catalog.view import TableEntry
from quacklake.ddl.verbs import TableVerbs
from quacklake.dml.verbs import DataVerbs
from quacklake.names import TableName
from quacklake.scan import ChangeScan, Scan
from quacklake.schema import Schema

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from quacklake.session import Session
    from quacklake.transaction import Transaction


class Table(TableVerbs, DataVerbs):
    """One table, at the snapshot it was asked for; without one, always the newest."""

    def __init__(self, session: Session | Transaction, name: TableName, at: At, entry: TableEntry) -> None:
        self._session = session
        self._at = at
        self._entry = entry
        self.name = str(name)

    @property
    def schema(self) -> Schema:
        """The columns."""
        return self._entry.schema

    @property
    def comment(self) -> str | None:
        """The comment, when there is one."""
        return self._entry.comment

    @property
    def partition_by(self) -> list[str]:
        """The partition keys, as they are written in `set_partition_by`."""
        spec = self._entry.partition
        names = {column.id: column.name for column in self._entry.schema}
        return [] if spec is None else [_partition_text(key.transform, names[key.column_id]) for key in spec.keys]

    @property
    def sort_by(self) -> list[str]:
        """The sort keys, as they are written in `set_sort_by`."""
        spec = self._entry.sort
        return [] if spec is None else [f"{key.expression} {'desc' if key.descending else 'asc'}" for key in spec.keys]

    @property
    def format(self) -> str:
        """The table format."""
        return "ducklake"

    def scan(
        self,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        limit: int | None = None,
        *,
        at: At = None,
        row_ids: bool = False,
    ) -> Scan:
        """A query of this table, run when its rows are asked for.

        Args:
            columns: Which columns, in which order; all of them without it.
            where: A SQL predicate in the Spark dialect.
            limit: At most so many rows.
            at: A snapshot id or moment; the table's own without it.
            row_ids: Put `rowid` and `snapshot_id` before the columns.
        """
        moment = self._at if at is None else at
        return Scan(self._session, TableName.parse(self.name), columns, where, limit, moment, row_ids)

    def changes(
        self,
        start: int | datetime,
        end: At = None,
        *,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        limit: int | None = None,
    ) -> Scan:
        """What happened to the rows, from one snapshot to another, both included.

        Each row that comes out has the `snapshot_id` that changed it, its `rowid`, a `change_type` (`insert`, `delete`,
        `update_preimage` or `update_postimage`) and the columns that the table has at the end. They come in no order.

        Args:
            start: The first snapshot; for a moment, the first that is not older.
            end: The last one; for a moment, the last that is not younger. The table's own without it.
            columns: Which columns of the table, in which order; all of them without it.
            where: A SQL predicate in the Spark dialect, on the columns of the table and on those that come before them.
            limit: At most so many rows.
        """
        last = self._at if end is None else end
        return ChangeScan(self._session, TableName.parse(self.name), start, last, columns, where, limit)

    def to_arrow(self, columns: Sequence[str] | None = None, where: str | None = None) -> pa.Table:
        """The rows as an Arrow table."""
        return self.scan(columns, where).to_arrow()

    def to_batches(self, columns: Sequence[str] | None = None, where: str | None = None) -> Iterator[pa.RecordBatch]:
        """The rows as a stream of Arrow batches."""
        return self.scan(columns, where).to_batches()

    def to_pandas(self, columns: Sequence[str] | None = None, where: str | None = None) -> pd.DataFrame:
        """The rows as a pandas frame."""
        return self.scan(columns, where).to_pandas()

    def to_polars(self, columns: Sequence[str] | None = None, where: str | None = None) -> pl.DataFrame:
        """The rows as a Polars frame."""
        return self.scan(columns, where).to_polars()

    def to_spark(self, columns: Sequence[str] | None = None, where: str | None = None) -> DataFrame:
        """The rows as a Spark DataFrame."""
        return self.scan(columns, where).to_spark()

    def count(self) -> int:
        """How many rows there are."""
        return self.scan().count()

    def history(self) -> list[Any]:
        """The snapshots that changed this table, oldest first."""
        from quacklake.history import touching

        return touching(self._session.snapshots(), self._entry)

    def __repr__(self) -> str:
        return f"<table {self.name} of {len(self.schema)} columns>"


def _partition_text(transform: str, column: str) -> str:
    if transform == "identity":
        return column
    if transform.startswith("bucket("):
        return f"bucket({transform[7:-1]}, {column})"
    return f"{transform}({column})"
