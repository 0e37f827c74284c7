"""What a statement gave: rows, in whatever form they are asked for, or what a commit did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from quacklake.commit.outcome import Commit
from quacklake.errors import InvalidInputError
from quacklake.plan.scan import ScanPlan

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from pyspark.sql import DataFrame


class Rows(Protocol):
    """The rows of a SELECT. Every way out may run it again."""

    def to_arrow(self) -> pa.Table:
        """All of them."""
        ...

    def to_spark(self) -> DataFrame:
        """As a DataFrame."""
        ...

    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...


class Result:
    """What `sql` gives.

    Args:
        rows: The rows; a statement that changes something gives none.
        commit: What it did, for a statement that changes something.
        plans: Tells what a query reads.
    """

    def __init__(
        self, rows: Rows, commit: Commit | None = None, plans: Callable[[], Sequence[ScanPlan]] = tuple
    ) -> None:
        self._rows = rows
        self._plans = plans
        self.commit = commit

    def explain(self) -> str:
        """What is read of each table, and why the rest is not."""
        from quacklake.plan.explain import explain

        return "\n".join(map(explain, self._plans()))

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        return self._rows.to_arrow()

    @property
    def has_rows(self) -> bool:
        """Whether the statement gives rows, be they none."""
        return not isinstance(self._rows, NoRows)

    def to_batches(self) -> Iterator[Any]:
        """The schema of the rows, then the rows as Arrow batches, as they come.

        The local engine holds a few batches at a time, Spark one partition.
        """
        stream = getattr(self._rows, "to_batches", None)
        if stream is not None:
            yield from stream()
            return
        few = self.to_arrow()
        yield few.schema
        yield from few.to_batches()

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas frame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """The rows as a Polars frame."""
        import polars as pl

        frame = pl.from_arrow(self.to_arrow())
        assert isinstance(frame, pl.DataFrame)
        return frame

    def to_spark(self) -> DataFrame:
        """The rows as a Spark DataFrame."""
        return self._rows.to_spark()

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Row by row, each a tuple."""
        return iter(self._rows)


class NoRows:
    """What a statement gives that changes something."""

    def to_arrow(self) -> pa.Table:
        """Nothing."""
        raise InvalidInputError("the statement gives no rows", hint="look at result.commit")

    def to_spark(self) -> DataFrame:
        """Nothing."""
        raise InvalidInputError("the statement gives no rows", hint="look at result.commit")

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(())
