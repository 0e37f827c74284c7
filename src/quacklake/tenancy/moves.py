"""The verbs that bring whole lakes into a shared database, out of it, and from one catalog to another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.open import open_catalog
from quacklake.catalog.shared.names import check_catalog_name
from quacklake.catalog.shared.registry import Tenant, load_tenant
from quacklake.catalog.tables import CatalogTables
from quacklake.secrets.keyring import Keyring

if TYPE_CHECKING:
    from quacklake.tenancy.migrating import Home
    from quacklake.tenancy.reports import Move


class Moves:
    """What `Tenants` can do with whole lakes."""

    _backend: Backend
    _tables: CatalogTables
    _secrets: Keyring
    _url: str
    _metadata_schema: str | None

    def migrate(
        self,
        url: str | Path,
        name: str,
        *,
        dry_run: bool = False,
        owns_files: bool = False,
        data_path: str | Path | None = None,
        override_data_path: bool = False,
        metadata_schema: str | None = None,
    ) -> Move:
        """Make a catalog of a lake that has its database for itself, with all its snapshots.

        The lake stays as it is, and its files stay where they are. Every table is read in both at every snapshot in
        which it changed before the catalog is there.

        Args:
            url: The lake, as `connect` takes it, of any version that is read.
            name: What the catalog is called.
            dry_run: Say what would be copied, and change nothing.
            owns_files: Let the catalog delete files of the lake when it needs them no more. Without it, such files
                are left to the lake. Say it when nobody will use the lake again.
            data_path: Where the files of the lake are.
            override_data_path: Take `data_path` though the lake says otherwise.
            metadata_schema: The SQL schema (PostgreSQL) or database (MySQL) that holds the lake.

        Raises:
            AlreadyExistsError: When the name is taken.
            StorageError: When a file of the lake is missing.
            ConflictError: When somebody writes to the lake meanwhile.
            CatalogError: When the copy is not the same as the lake; it is gone then.
        """
        from quacklake.tenancy.migrating import migrate

        check_catalog_name(name)
        lake = open_catalog(
            str(url),
            data_path=None if data_path is None else str(data_path),
            metadata_schema=metadata_schema,
            create=False,
            override_data_path=override_data_path,
            read_only=True,
        )
        try:
            return migrate(self._home(), lake, name, dry_run=dry_run, owns_files=owns_files)
        finally:
            lake.close()

    def export(
        self,
        name: str,
        url: str | Path,
        data_path: str | Path | None = None,
        *,
        copy_files: bool = True,
        dry_run: bool = False,
        metadata_schema: str | None = None,
    ) -> Move:
        """Make a lake that has its database for itself of a catalog, with all its snapshots; DuckDB opens it.

        The catalog stays as it is. Every table is read in both at every snapshot in which it changed.

        Args:
            name: The catalog.
            url: Where the lake will be, as `connect` takes it. There must be none.
            data_path: Where its files go. Beside the catalog for catalogs that are files; others need it.
            copy_files: Give the lake files of its own. Without it, both show the same files: the catalog will never
                delete them, but whoever cleans up the lake may. Say that when the catalog is dropped next.
            dry_run: Say what would be copied, and change nothing.
            metadata_schema: The SQL schema (PostgreSQL) or database (MySQL) that will hold the lake.

        Raises:
            NotFoundError: When there is no such catalog.
            AlreadyExistsError: When there is a lake already.
            ConflictError: When somebody writes to the catalog meanwhile.
            CatalogError: When the lake is not the same as the catalog; it is gone then.
        """
        from quacklake.tenancy.exporting import Destination, export

        check_catalog_name(name)
        with self._backend.read() as connection:
            tenant = load_tenant(connection, self._tables, name, self._backend.display)
        destination = Destination(str(url), None if data_path is None else str(data_path), metadata_schema)
        return export(self._home(), tenant, destination, dry_run=dry_run, copy_files=copy_files)

    def clone(self, old: str, new: str) -> Tenant:
        """Make a second catalog of one, with all its snapshots up to now. Both show the same files.

        From now on each has a history of its own. A file that both show is deleted by the last that needs it. Files
        that name snapshots inside (merged and flushed ones, and repeated deletes) are written anew.

        Args:
            old: The catalog that is there.
            new: What the new one is called.

        Raises:
            NotFoundError: When there is no such catalog.
            AlreadyExistsError: When the new name is taken.
        """
        from quacklake.tenancy.cloning import clone

        check_catalog_name(old)
        with self._backend.read() as connection:
            tenant = load_tenant(connection, self._tables, old, self._backend.display)
        return clone(self._home(), tenant, new)

    def _home(self) -> Home:
        from quacklake.tenancy.migrating import Home

        return Home(self._backend, self._tables, self._secrets, self._url, self._metadata_schema)
