"""Kinds of object stores, and which of them a URL names."""

from __future__ import annotations

from typing import Literal

from quacklake.errors import InvalidInputError

Kind = Literal["s3", "gcs", "azure"]

KINDS: tuple[Kind, ...] = ("s3", "gcs", "azure")
# What DuckDB, Spark, Azure's tools and others call the same store.
_SCHEMES: dict[str, Kind] = {
    **dict.fromkeys(("s3", "s3a", "s3n"), "s3"),
    **dict.fromkeys(("gs", "gcs"), "gcs"),
    **dict.fromkeys(("az", "azure", "abfs", "abfss"), "azure"),
}


def kind_of(url: str) -> Kind | None:
    """The kind of store that a URL names; None for this disk and for stores that need no secret of ours."""
    scheme, mark, _ = url.partition("://")
    return _SCHEMES.get(scheme.lower()) if mark else None


def bucket_of(url: str) -> str:
    """The bucket or container that a URL names, with the account where the URL has it."""
    return url.partition("://")[2].partition("/")[0]


def container_of(url: str) -> tuple[str, str | None]:
    """The container of Azure that a URL names, and the host of its account where the URL has it."""
    container, mark, host = bucket_of(url).partition("@")
    return container, host if mark else None


def check_kind(kind: str) -> Kind:
    """The kind of that name; `gs` and `abfss` are as good as `gcs` and `azure`.

    Raises:
        InvalidInputError: When there is none.
    """
    found = next((each for each in KINDS if each == kind.lower()), None) or _SCHEMES.get(kind.lower())
    if found is None:
        raise InvalidInputError(f"there is no secret of type {kind!r}", hint=f"choose {', '.join(map(repr, KINDS))}")
    return found


def check_scope(scope: str | None, kind: Kind) -> str | None:
    """The bucket that a scope names, or None for every store of the kind.

    Raises:
        InvalidInputError: When the scope is of another kind, or less than a bucket.
    """
    if scope is None:
        return None
    if kind_of(scope) != kind:
        raise InvalidInputError(f"the scope {scope!r} is no URL of type {kind}", hint=_EXAMPLES[kind])
    bucket, rest = bucket_of(scope), scope.partition("://")[2].partition("/")[2]
    if not bucket or rest.strip("/"):
        # Hadoop and DuckDB's reader know one set of credentials for a bucket.
        raise InvalidInputError(f"the scope {scope!r} is not one whole bucket", hint=_EXAMPLES[kind])
    return bucket


_EXAMPLES: dict[Kind, str] = {
    "s3": "for example s3://bucket",
    "gcs": "for example gs://bucket",
    "azure": "for example az://container or abfss://container@account.dfs.core.windows.net",
}
