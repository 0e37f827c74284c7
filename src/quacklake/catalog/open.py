"""Open the catalog that a URL names, or create it."""

from __future__ import annotations

from pathlib import Path

from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.lake import Catalog
from quacklake.catalog.load import load_options
from quacklake.catalog.tables import build_tables
from quacklake.errors import NotInitializedError
from quacklake.storage.paths import as_folder


def open_catalog(
    url: str,
    *,
    data_path: str | None = None,
    metadata_schema: str | None = None,
    create: bool = True,
    encrypted: bool = False,
    override_data_path: bool = False,
    migrate: bool = False,
    read_only: bool = False,
) -> Catalog:
    """Open the lake whose catalog is at `url`."""
    from quacklake.catalog.backends.sqlite import SqliteBackend

    backend: Backend = SqliteBackend(Path(url.removeprefix("sqlite:///")), create=create)
    tables = build_tables(backend.sql_schema)
    with backend.read() as connection:
        if not backend.has_table(connection, "ducklake_metadata"):
            raise NotInitializedError(f"there is no lake in {backend.display}")
        options = {each.name: each.value for each in load_options(connection, tables) if each.scope is None}
    stored = options["data_path"]
    return Catalog(
        backend=backend,
        tables=tables,
        data_path=as_folder(data_path) if data_path and override_data_path else stored,
        version=options["version"],
        encrypted=options.get("encrypted") == "true",
    )
