"""The catalogs that share a database, for whoever looks after them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType

from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.open import open_shared
from quacklake.catalog.shared.bridge import build_bridge
from quacklake.catalog.shared.holders import NOBODY, find_held
from quacklake.catalog.shared.names import check_catalog_name
from quacklake.catalog.shared.registry import (
    Tenant,
    create_tenant,
    list_tenants,
    load_data_path,
    load_tenant,
    rename_tenant,
    write_default,
)
from quacklake.catalog.shared.removal import drop_tenant, forget_left_over, load_left_over
from quacklake.catalog.shared.security import grant, revoke, secure
from quacklake.catalog.shared.sizes import with_sizes
from quacklake.catalog.tables import CatalogTables
from quacklake.errors import InvalidInputError, NotFoundError
from quacklake.secrets.keyring import Keyring
from quacklake.tenancy.moves import Moves

PAGE = 1000
_AT_ONCE = 500


def tenants(
    url: str | Path,
    data_path: str | Path | None = None,
    *,
    metadata_schema: str | None = None,
    create: bool = True,
    storage_options: Mapping[str, object] | None = None,
) -> Tenants:
    """The catalogs that share a database; the tables for them are made when it is empty.

    Args:
        url: The database, as `connect` takes it.
        data_path: Below which each catalog has a folder. Needed once, as for a lake.
        metadata_schema: The SQL schema (PostgreSQL) or database (MySQL) that holds the tables.
        create: Make the tables when there are none.
        storage_options: Credentials and endpoints for object stores, for `cleanup`.
    """
    backend, tables = open_shared(
        str(url),
        data_path=None if data_path is None else str(data_path),
        metadata_schema=metadata_schema,
        create=create,
    )
    return Tenants(backend, tables, Keyring(storage_options), str(url), metadata_schema)


class Tenants(Moves):
    """The catalogs of one database. Use it as a context manager, or close it."""

    def __init__(
        self,
        backend: Backend,
        tables: CatalogTables,
        secrets: Keyring,
        url: str,
        metadata_schema: str | None = None,
    ) -> None:
        self._backend = backend
        self._tables = tables
        self._secrets = secrets
        self._url = url
        self._metadata_schema = metadata_schema

    @property
    def data_path(self) -> str:
        """Below which each catalog has a folder."""
        with self._backend.read() as connection:
            return load_data_path(connection, self._tables)

    def create(self, name: str, *, encrypted: bool = False, if_not_exists: bool = False) -> Tenant:
        """Make a catalog.

        Raises:
            AlreadyExistsError: When the name is taken, or one that differs from it in nothing but case.
            InvalidInputError: When no catalog can have that name.
        """
        return create_tenant(self._backend, name, encrypted=encrypted, if_not_exists=if_not_exists)

    def get(self, name: str, *, sizes: bool = False) -> Tenant:
        """The catalog of that name.

        Raises:
            NotFoundError: When there is none.
        """
        check_catalog_name(name)
        with self._backend.read() as connection:
            found = load_tenant(connection, self._tables, name, self._backend.display)
            return with_sizes(connection, self._tables, self._backend, [found])[0] if sizes else found

    def list(
        self, *, after: str | None = None, limit: int = PAGE, prefix: str | None = None, sizes: bool = False
    ) -> list[Tenant]:
        """A page of catalogs in the order of their names.

        Args:
            after: Those behind this name: the last one of the page before.
            limit: At most so many.
            prefix: Those whose names begin so.
            sizes: Say of each how many rows, files and bytes it has; that takes a look at each of its tables.
        """
        if limit < 1:
            raise InvalidInputError(f"limit={limit}: a page has one entry at least", hint="leave limit out")
        with self._backend.read() as connection:
            found = list_tenants(connection, self._tables, after=after, limit=limit, prefix=prefix)
            return with_sizes(connection, self._tables, self._backend, found) if sizes else found

    def __iter__(self) -> Iterator[Tenant]:
        """All of them, page by page."""
        page = self.list()
        while page:
            yield from page
            page = self.list(after=page[-1].name)

    def rename(self, old: str, new: str) -> Tenant:
        """Give a catalog another name. Its files stay where they are, and sessions that are open stay so.

        Raises:
            NotFoundError: When there is no catalog of the old name.
            AlreadyExistsError: When the new one is taken.
        """
        return rename_tenant(self._backend, old, new)

    def drop(self, name: str, *, if_exists: bool = False) -> None:
        """Forget a catalog with all its tables and snapshots. `cleanup` deletes its files.

        Raises:
            NotFoundError: When there is none.
        """
        try:
            drop_tenant(self._backend, name)
        except NotFoundError:
            if not if_exists:
                raise

    def bridge(self, name: str, *, reader: str | None = None) -> str:
        """Let stock DuckDB read a catalog: make or renew the schema that it attaches as METADATA_SCHEMA.

        Args:
            name: The catalog, in a PostgreSQL database.
            reader: A database role that may read the bridge, and needs no other rights.

        Raises:
            NotFoundError: When there is no such catalog, or no such role.
            UnsupportedError: When the database is no PostgreSQL.
        """
        return build_bridge(self._backend, check_catalog_name(name), reader)

    def secure(self) -> None:
        """Let PostgreSQL itself keep database roles to the catalogs that they are bound to. The owner still sees all.

        Raises:
            UnsupportedError: When the database is no PostgreSQL.
            InvalidInputError: When every role may make tables in the schema of the catalogs.
        """
        secure(self._backend)

    def grant(self, name: str, role: str) -> None:
        """Bind a database role to a catalog of a secured database: it reads and writes that one, and no other.

        Raises:
            NotFoundError: When there is no such catalog, or no such role.
            InvalidInputError: When the database is not secured, or cannot hold the role back.
        """
        grant(self._backend, check_catalog_name(name), role)

    def revoke(self, name: str, role: str) -> None:
        """Let go of a database role: it sees nothing of the catalog any more.

        Raises:
            NotFoundError: When there is no such catalog, or no such role.
        """
        revoke(self._backend, check_catalog_name(name), role)

    def cleanup(self, *, older_than: datetime | None = None, dry_run: bool = False) -> Sequence[str]:
        """Delete the files of catalogs that were dropped; the paths of those that are gone.

        Args:
            older_than: Only of those that were dropped before: somebody may still read.
            dry_run: Say what would go, and delete nothing.
        """
        with self._backend.read() as connection:
            found = [*load_left_over(connection, self._tables, older_than)]
            # What somebody has added since is not for us to delete.
            held = find_held(connection, self._tables, NOBODY, [path for _, path in found])
        kept = [each for each in found if each[1] in held]
        found = [each for each in found if each[1] not in held]
        if dry_run:
            return [path for _, path in found]
        forget_left_over(self._backend, kept)
        from quacklake.storage.placement import remove
        from quacklake.storage.stores import Stores

        stores, removed = Stores(self._secrets), []
        for start in range(0, len(found), _AT_ONCE):
            chunk = found[start : start + _AT_ONCE]
            left = set(remove([path for _, path in chunk], stores))
            gone = [each for each in chunk if each[1] not in left]
            forget_left_over(self._backend, gone)
            removed += [path for _, path in gone]
        return removed

    def set_option(self, name: str, value: str | int | float | bool) -> None:
        """Set something for all catalogs that have no such setting of their own.

        Raises:
            InvalidInputError: When there is no such setting, or it does not take the value.
        """
        from quacklake.ddl.options import stored_value

        write_default(self._backend, name, stored_value(name, value, scoped=False))

    def close(self) -> None:
        """Give back every connection."""
        self._backend.close()

    def __enter__(self) -> Tenants:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<quacklake tenants of {self._backend.display}>"
