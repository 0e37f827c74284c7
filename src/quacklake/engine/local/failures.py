"""What DuckDB, Polars or Arrow say went wrong, in our words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from quacklake.errors import InvalidInputError, QuacklakeError, StorageError
from quacklake.plan.scan import ScanPlan

_FAULTS_OF_A_PREDICATE = (
    "Conversion Error",
    "Binder Error",
    "Out of Range Error",
    "Invalid Input Error",
    "Parser Error",
)


@contextmanager
def duckdb_errors(plan: ScanPlan) -> Iterator[None]:
    """Turn what DuckDB raises while it runs a plan into our errors, naming the file or the predicate at fault."""
    import duckdb
    import pyarrow as pa

    try:
        yield
    except QuacklakeError:
        raise
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise explain(plan, str(error)) from error


def explain(plan: ScanPlan, text: str) -> QuacklakeError:
    """The error for what an engine said about a plan."""
    reason = text.split("\n\nLINE ")[0].strip()
    path = blamed_file(plan, reason)
    if path is not None:
        missing = "No files found" in reason or "No such file" in reason or "Cannot open file" in reason
        if missing:
            return StorageError(f"the file {path} is missing", hint="was it removed from outside?")
        return StorageError(f"{path} cannot be read: {reason}")
    if plan.where is not None and reason.startswith(_FAULTS_OF_A_PREDICATE):
        return InvalidInputError(f"the predicate {plan.where.text!r} cannot be run: {reason}")
    return StorageError(f"{plan.table} cannot be read at snapshot {plan.snapshot_id}: {reason}")


def blamed_file(plan: ScanPlan, text: str) -> str | None:
    """The file of the plan that a message names."""
    for file in plan.files:
        if file.path in text:
            return file.path
    return None
