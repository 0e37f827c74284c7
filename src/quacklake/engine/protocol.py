"""What an engine is: something that runs plans. It knows nothing of SQL catalogs."""

from __future__ import annotations

from typing import Any, Protocol

from quacklake.plan.scan import ScanPlan


class Engine(Protocol):
    """Moves the bytes."""

    name: str

    def read(self, plan: ScanPlan) -> Any:
        """The rows: a `pyarrow.RecordBatchReader` of the local engine, a DataFrame of Spark."""
        ...

    def count(self, plan: ScanPlan) -> int:
        """How many rows `read` would give."""
        ...

    def close(self) -> None:
        """Let go of what the engine holds; a Spark session of the user's stays as it is."""
        ...
