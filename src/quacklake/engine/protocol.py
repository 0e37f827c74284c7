"""What an engine is: something that runs plans. It knows nothing of SQL catalogs."""

from __future__ import annotations

from typing import Any, Literal, Protocol

from quacklake.plan.changes import ChangePlan
from quacklake.plan.query import Query
from quacklake.plan.scan import ScanPlan

Dialect = Literal["spark", "duckdb"]


class Engine(Protocol):
    """Moves the bytes."""

    name: str
    dialect: Dialect
    """The SQL that it speaks."""

    def read(self, plan: ScanPlan | ChangePlan) -> Any:
        """The rows: a `pyarrow.RecordBatchReader` of the local engine, a DataFrame of Spark."""
        ...

    def query(self, query: Query) -> Any:
        """The rows of a SELECT: something with `to_arrow`, `to_spark` and an iterator of tuples."""
        ...

    def count(self, plan: ScanPlan | ChangePlan) -> int:
        """How many rows `read` would give."""
        ...

    def close(self) -> None:
        """Let go of what the engine holds; a Spark session of the user's stays as it is."""
        ...
