"""What DuckDB, Polars or Arrow say went wrong, in our words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from quacklake.errors import AuthError, InvalidInputError, QuacklakeError, StorageError
from quacklake.plan.scan import ScanPlan
from quacklake.storage.stores import Stores, duckdb_path, is_remote

_FAULTS_OF_A_PREDICATE = (
    "Conversion Error",
    "Binder Error",
    "Out of Range Error",
    "Invalid Input Error",
    "Parser Error",
)

_MISSING = ("No files found", "No such file", "Cannot open file")


@contextmanager
def duckdb_errors(plan: ScanPlan, stores: Stores) -> Iterator[None]:
    """Turn what DuckDB raises while it runs a plan into our errors, naming the file or the predicate at fault."""
    with stores.secrets.hiding(), _explained(plan, stores):
        yield


@contextmanager
def _explained(plan: ScanPlan, stores: Stores) -> Iterator[None]:
    import duckdb
    import pyarrow as pa

    # Objects are read by a file system in Python, whose own errors come through DuckDB as they are.
    is_any_remote = any(is_remote(file.path) for file in plan.files)
    try:
        with stores.errors(plan.table) if is_any_remote else nullcontext():
            yield
    except QuacklakeError:
        raise
    except (duckdb.FatalException, duckdb.InternalException) as error:
        # Nothing more comes out of this connection; the next plan gets a new one.
        stores.close()
        raise explain(plan, str(error)) from error
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise explain(plan, str(error)) from error


def explain(plan: ScanPlan, text: str) -> QuacklakeError:
    """The error for what an engine said about a plan."""
    reason = text.split("\n\nLINE ")[0].strip()
    path = blamed_file(plan, reason)
    if path is not None:
        return explain_file(path, reason)
    if plan.where is not None and reason.startswith(_FAULTS_OF_A_PREDICATE):
        return InvalidInputError(f"the predicate {plan.where.text!r} cannot be run: {reason}")
    return StorageError(f"{plan.table} cannot be read at snapshot {plan.snapshot_id}: {reason}")


def explain_file(path: str, reason: str) -> QuacklakeError:
    """The error for what was said about one file."""
    if "Permission denied" in reason:
        return AuthError(f"no permission to read {path}")
    if any(words in reason for words in _MISSING):
        return StorageError(f"the file {path} is missing", hint="was it removed from outside?")
    if is_remote(path):
        if "PermissionDenied" in reason or "Unauthenticated" in reason:
            return AuthError(
                f"no permission to read {path}", hint="check session.secrets(), storage_options or the environment"
            )
        # What follows is the whole history of the request.
        reason = reason.splitlines()[0]
    return StorageError(f"{path} cannot be read: {reason}")


def blamed_file(plan: ScanPlan, text: str) -> str | None:
    """The file of the plan that a message names."""
    names = ((file.path, _spellings(file.path)) for file in plan.files)
    return next((path for path, spellings in names if any(each in text for each in spellings)), None)


def _spellings(path: str) -> set[str]:
    # A store calls its objects by addresses of its own, which end as ours do.
    return {path, duckdb_path(path), *([path.rpartition("/")[2]] if is_remote(path) else [])}
