"""A lakehouse for Spark and Python: DuckLake tables, shared with DuckDB.

import quacklake as ql

with ql.connect("sqlite:///lake.db") as session:
    session.table("events").to_pandas(where="country = 'DE'")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quacklake.errors import (
    AlreadyExistsError,
    AuthError,
    CatalogError,
    Conflict,
    ConflictError,
    DestructiveOperationError,
    InvalidInputError,
    MergeCardinalityError,
    MissingExtraError,
    NotFoundError,
    NotInitializedError,
    QuacklakeError,
    ReadOnlyError,
    StorageError,
    UnsupportedError,
    VersionError,
)

if TYPE_CHECKING:
    from quacklake.commit.outcome import Commit
    from quacklake.plan.merge import when_matched, when_not_matched, when_not_matched_by_source
    from quacklake.scan import Scan
    from quacklake.session import Session, connect
    from quacklake.source.register import register
    from quacklake.table import Table
    from quacklake.tenancy.tenants import Tenants, tenants
    from quacklake.transaction import Transaction

__version__ = "0.1.0"

# Importing the package loads no driver, no SQL toolkit and no Spark: these names load what they need when used.
_LAZY = {
    "Commit": "quacklake.commit.outcome",
    "Scan": "quacklake.scan",
    "Session": "quacklake.session",
    "Table": "quacklake.table",
    "Tenants": "quacklake.tenancy.tenants",
    "Transaction": "quacklake.transaction",
    "connect": "quacklake.session",
    "register": "quacklake.source.register",
    "tenants": "quacklake.tenancy.tenants",
    "when_matched": "quacklake.plan.merge",
    "when_not_matched": "quacklake.plan.merge",
    "when_not_matched_by_source": "quacklake.plan.merge",
}

__all__ = [
    "AlreadyExistsError",
    "AuthError",
    "CatalogError",
    "Commit",
    "Conflict",
    "ConflictError",
    "DestructiveOperationError",
    "InvalidInputError",
    "MergeCardinalityError",
    "MissingExtraError",
    "NotFoundError",
    "NotInitializedError",
    "QuacklakeError",
    "ReadOnlyError",
    "Scan",
    "Session",
    "StorageError",
    "Table",
    "Tenants",
    "Transaction",
    "UnsupportedError",
    "VersionError",
    "connect",
    "register",
    "tenants",
    "when_matched",
    "when_not_matched",
    "when_not_matched_by_source",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'quacklake' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
