"""Look a whole lake over: the catalog, and whether every file that it names is there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from quacklake.catalog.audit import Finding, KnownFile, find_faults, load_known_files
from quacklake.errors import StorageError

if TYPE_CHECKING:
    from quacklake.catalog.lake import Catalog
    from quacklake.storage.stores import Stores

_AT_ONCE = 16
"""How many files are asked for at the same time; on an object store, that is all about waiting."""


def check_lake(catalog: Catalog, stores: Stores) -> list[Finding]:
    """What is wrong with a lake; nothing when all is well."""
    with catalog.backend.read() as connection:
        found = list(find_faults(connection, catalog.tables, catalog.backend))
        files = list(load_known_files(connection, catalog.tables, catalog.data_path))
    return found + list(_check_files(files, stores))


def _check_files(files: Iterable[KnownFile], stores: Stores) -> Iterator[Finding]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for finding in pool.map(lambda file: _check_file(file, stores), files):
            if finding is not None:
                yield finding


def _check_file(file: KnownFile, stores: Stores) -> Finding | None:
    try:
        size = stores.size(file.path)
    except StorageError as error:
        return Finding("file", file.path, error.message)
    if file.size is not None and size != file.size:
        return Finding("file", file.path, f"it has {size} bytes, the catalog says {file.size}")
    return None
