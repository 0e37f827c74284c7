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
    from quacklake.scan import Scan
    from quacklake.session import Session, connect
    from quacklake.table import Table

__version__ = "0.1.0"

# Importing the package loads no driver, no SQL toolkit and no Spark: these names load what they need when used.
_LAZY = {"connect": "quacklake.session", "Session": "quacklake.session", "Table": "quacklake.table", "Scan": "quacklake.scan"}

__all__ = [
    "AlreadyExistsError",
    "AuthError",
    "CatalogError",
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
    "UnsupportedError",
    "VersionError",
    "connect",
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
