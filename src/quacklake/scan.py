"""A query of one table, run when its rows are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from quacklake.catalog.load import At
from quacklake.errors import InvalidInputError
from quacklake.names import TableName
from quacklake.plan.changes import ChangePlan
from quacklake.plan.scan import PruneReport, ScanFile, ScanPlan

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from quacklake.session import Session
    from quacklake.transaction import Transaction


class Scan:
    """Columns and rows of a table at a snapshot. Every way out plans anew."""

    def __init__(
        self,
        session: Session | Transaction,
        name: TableName,
        columns: Sequence[str] | None,
        where: str | None,
        limit: int | None,
        at: At,
        row_ids: bool,
    ) -> None:
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
            raise InvalidInputError(f"limit={limit!r} is not a number of rows", hint="give 0 or more")
        if isinstance(columns, str):
            raise InvalidInputError(f"columns={columns!r} is one text", hint=f"give a list: [{columns!r}]")
        self._session = session
        self._name = name
        self._columns = columns
        self._where = where
        self._limit = limit
        self._at = at
        self._row_ids = row_ids

    def plan(self, *, count: bool = False) -> ScanPlan:
        """What an engine would run: which files, which columns, which deletes.

        Args:
            count: Say in the report how many files there are in all, which takes a look at each of them.
        """
        contents = self._session._catalog.contents(self._name, self._at, self._where, count=count)
        schema = contents.entry.schema
        chosen = schema.columns if self._columns is None else tuple(schema.column(name) for name in self._columns)
        demand = contents.demand
        return ScanPlan(
            table=str(contents.entry.name),
            snapshot_id=contents.snapshot.snapshot_id,
            schema=schema,
            columns=chosen,
            files=contents.files,
            inlined=contents.inlined,
            where=contents.where,
            limit=self._limit,
            row_ids=self._row_ids,
            report=PruneReport(
                files_total=contents.files_total,
                files_kept=len(contents.files),
                conditions=() if demand is None else tuple(leaf.text for leaf in demand.leaves()),
                ignored=() if demand is None else demand.ignored,
            ),
        )

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        reader: pa.RecordBatchReader = self._session._engine("local").read(self.plan())
        return reader.read_all()

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows as a stream of Arrow batches, in bounded memory."""
        yield from self._session._engine("local").read(self.plan())

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas frame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """The rows as a Polars frame."""
        import polars as pl

        reader = self._session._engine("local").read(self.plan(), views=True)
        # In as many parts as they come in: to put them together would copy them all.
        frame = pl.from_arrow(reader.read_all(), rechunk=False)
        assert isinstance(frame, pl.DataFrame)
        return frame

    def to_spark(self) -> DataFrame:
        """The rows as a Spark DataFrame."""
        frame: DataFrame = self._session._engine("spark").read(self.plan())
        return frame

    def count(self) -> int:
        """How many rows there are, on the session's engine."""
        found: int = self._session._engine().count(self.plan())
        return found

    def files(self) -> list[ScanFile]:
        """The data files that the scan would read."""
        return list(self.plan().files)

    def explain(self) -> str:
        """The plan in words: how many files are read and why the others are not."""
        from quacklake.plan.explain import explain

        return explain(self.plan(count=True))


class ChangeScan(Scan):
    """What happened to the rows of a table from one snapshot to another, both included. Every way out plans anew."""

    def __init__(
        self,
        session: Session | Transaction,
        name: TableName,
        start: int | datetime,
        end: At,
        columns: Sequence[str] | None,
        where: str | None,
        limit: int | None,
    ) -> None:
        super().__init__(session, name, columns, where, limit, end, row_ids=True)
        for bound in (start,) if end is None else (start, end):
            if isinstance(bound, bool) or not isinstance(bound, int | datetime):
                raise InvalidInputError(
                    f"{bound!r} is neither the id of a snapshot nor a moment", hint="give an int or a datetime"
                )
        self._start = start

    def plan(self, *, count: bool = False) -> ChangePlan:  # type: ignore[override]
        """What an engine would run: the files and inlined rows in which rows were born or died."""
        found = self._session._catalog.changes(self._name, self._start, self._at, self._where)
        schema = found.entry.schema
        chosen = schema.columns if self._columns is None else tuple(schema.column(name) for name in self._columns)
        return ChangePlan(str(found.entry.name), schema, chosen, found.changes, found.where, self._limit)

    def files(self) -> list[ScanFile]:
        """The data files that have to be read, each once."""
        return list(self.plan().changes.files)

    def explain(self) -> str:
        """The plan in words: which files are read, and which snapshots are left out."""
        from quacklake.plan.changes import explain_changes

        return explain_changes(self.plan())
