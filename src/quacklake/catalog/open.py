"""Open the catalog that a URL names, or create it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.create import DETECTED_BY, create_lake
from quacklake.catalog.lake import Catalog
from quacklake.catalog.legacy import old_tables
from quacklake.catalog.load import load_options
from quacklake.catalog.shared.layout import build_shared_tables
from quacklake.catalog.shared.names import check_catalog_name
from quacklake.catalog.shared.ownership import bind_connection
from quacklake.catalog.shared.registry import (
    Tenant,
    create_shared,
    create_tenant,
    find_tenant,
    load_data_path,
    load_tenant,
)
from quacklake.catalog.tables import CatalogTables, build_tables
from quacklake.catalog.url import CatalogUrl, parse_url
from quacklake.catalog.version import OLD, SHARED, check_readable
from quacklake.errors import CatalogError, InvalidInputError, NotInitializedError, ReadOnlyError, VersionError
from quacklake.storage.paths import absolute, as_folder, same_folder

_SCOPES = (None, "schema", "table")


def open_catalog(
    url: str,
    *,
    catalog: str | None = None,
    data_path: str | None = None,
    metadata_schema: str | None = None,
    create: bool = True,
    encrypted: bool = False,
    override_data_path: bool = False,
    migrate: bool = False,
    read_only: bool = False,
) -> Catalog:
    """Open the lake whose catalog is at `url`; with `catalog`, one of those that share the database.

    Raises:
        InvalidInputError: When the URL is wrong, or the data path is not the lake's, or it is missing for a new lake.
        NotInitializedError: When there is no lake and none is to be made.
        VersionError: When the lake is of an unknown version.
        CatalogError: When the database cannot be reached or used.
        AuthError: When it refuses the user.
    """
    if migrate and read_only:
        raise ReadOnlyError("a session that only reads cannot migrate", hint="leave out read_only and at, or migrate")
    if catalog is not None:
        check_catalog_name(catalog)
    address = parse_url(url)
    backend = open_backend(address, metadata_schema, create=create)
    try:
        found = _find(backend, address, catalog)
        if found is None:
            if not create:
                raise NotInitializedError(
                    f"there is no lake in {backend.display}",
                    hint="check the address, or connect with create=True and without read_only and at to make one",
                )
            if catalog is None:
                create_lake(backend, new_data_path(backend, data_path), encrypted)
            else:
                create_shared(backend, new_data_path(backend, data_path))
            found = _find(backend, address, catalog)
        if found is not None and found.tenant is None and (catalog is not None or found.tables.shared is not None):
            _make_tenant(backend, found.tables, catalog, create=create, encrypted=encrypted)
            found = _find(backend, address, catalog)
        if found is not None and migrate and found.options["version"] in OLD:
            from quacklake.catalog.migrations import migrate_lake

            migrate_lake(backend)
            found = _find(backend, address, catalog)
        if found is None:
            raise CatalogError(f"the lake in {backend.display} has gone away", hint="somebody dropped it; try again")
        return _catalog(backend, found, data_path, encrypted, override_data_path)
    except BaseException:
        backend.close()
        raise


def open_shared(
    url: str, *, data_path: str | None = None, metadata_schema: str | None = None, create: bool = True
) -> tuple[Backend, CatalogTables]:
    """The database that catalogs share, and its tables, which are made when it is empty.

    Raises:
        InvalidInputError: When it holds a lake that has it for itself, or keeps its files elsewhere.
        NotInitializedError: When there is nothing and nothing is to be made.
    """
    address = parse_url(url)
    backend = open_backend(address, metadata_schema, create=create)
    try:
        found = _find(backend, address)
        if found is None and create:
            create_shared(backend, new_data_path(backend, data_path))
            found = _find(backend, address)
        if found is None:
            raise NotInitializedError(f"there are no catalogs in {backend.display}", hint="check the address")
        tables = found.tables
        if tables.shared is None:
            raise _not_shared(backend)
        with backend.read() as connection:
            root = load_data_path(connection, tables)
        if data_path is not None and not same_folder(data_path, root):
            raise InvalidInputError(
                f"the catalogs in {backend.display} keep their files in {root!r}, not in {data_path!r}",
                hint="leave out data_path",
            )
        return backend, tables
    except BaseException:
        backend.close()
        raise


def open_tenant(url: str, metadata_schema: str | None, tenant: Tenant) -> Catalog:
    """One of the catalogs that share a database, whether or not it has a name yet."""
    backend = open_backend(parse_url(url), metadata_schema, create=False)
    tables = build_shared_tables(backend.sql_schema)
    try:
        with backend.read() as connection:
            bind_connection(connection, tenant.catalog_id)
            options = {each.name: each.value for each in load_options(connection, tables) if each.scope is None}
        return _catalog(backend, _Found(tables, options, tenant), None, False, False)
    except BaseException:
        backend.close()
        raise


def holds_lake(url: str, metadata_schema: str | None) -> bool:
    """Whether there is a lake at that address, or catalogs that share a database."""
    address = parse_url(url)
    backend = open_backend(address, metadata_schema, create=True)
    try:
        return _find(backend, address) is not None
    finally:
        backend.close()


def _not_shared(backend: Backend) -> InvalidInputError:
    return InvalidInputError(
        f"the lake in {backend.display} has its database for itself, and no catalogs",
        hint="leave catalog out, or bring the lake into a shared database with ql.tenants(shared_url).migrate()",
    )


def open_backend(address: CatalogUrl, metadata_schema: str | None = None, *, create: bool = True) -> Backend:
    """The database of an address; nothing is read or made yet."""
    if address.kind == "postgresql":
        from quacklake.catalog.backends.postgresql import PostgresqlBackend

        return PostgresqlBackend(address, metadata_schema)
    if address.kind == "mysql":
        from quacklake.catalog.backends.mysql import MysqlBackend

        return MysqlBackend(address, metadata_schema)
    path = address.path
    assert path is not None
    if path.is_dir():
        raise CatalogError(f"{path} is a folder", hint="name the catalog's file, such as lake.db inside it")
    if create and not path.absolute().parent.is_dir():
        raise CatalogError(f"the folder {path.absolute().parent} does not exist", hint="create it first")
    if address.kind == "duckdb":
        from quacklake.catalog.backends.duckdb import DuckdbBackend

        return DuckdbBackend(path, metadata_schema)
    if metadata_schema is not None:
        raise InvalidInputError("SQLite has no SQL schemas", hint="leave out metadata_schema")
    from quacklake.catalog.backends.sqlite import SqliteBackend

    return SqliteBackend(path, create=create)


@dataclass(frozen=True, slots=True)
class _Found:
    tables: CatalogTables
    options: Mapping[str, str]
    """Of the lake, or of the catalog."""
    tenant: Tenant | None = None
    """In a shared database: the catalog, if it is there."""
    root: str | None = None
    """In a shared database: below which the folders of the catalogs are."""


def _find(backend: Backend, address: CatalogUrl, catalog: str | None = None) -> _Found | None:
    """What is in a database, or None when there is no lake."""
    if address.path is not None and (not address.path.exists() or address.path.stat().st_size == 0):
        # To open a file that is not there would make it.
        return None
    with backend.read() as connection:
        if not backend.has_table(connection, DETECTED_BY):
            return None
        tables = _tables(backend, connection)
        if tables.shared is not None:
            return _find_tenant(connection, tables, catalog)
        found = load_options(connection, tables)
    for option in found:
        if option.scope not in _SCOPES:
            raise VersionError(
                f"the lake in {backend.display} has the setting {option.name!r} of the unknown scope {option.scope!r}",
                hint="upgrade quacklake",
            )
    options = {option.name: option.value for option in found if option.scope is None}
    for needed in ("version", "data_path"):
        if needed not in options:
            raise _damaged(backend, needed)
    return _Found(tables, options)


def _find_tenant(connection: sa.Connection, tables: CatalogTables, catalog: str | None) -> _Found:
    found = None if catalog is None else find_tenant(connection, tables, catalog)
    if found is None:
        # The settings of other catalogs are nobody's business.
        return _Found(tables, {"version": SHARED})
    root = load_data_path(connection, tables)
    bind_connection(connection, found.catalog_id)
    options = {each.name: each.value for each in load_options(connection, tables) if each.scope is None}
    return _Found(tables, options, found, root)


def _tables(backend: Backend, connection: sa.Connection) -> CatalogTables:
    today = build_tables(backend.sql_schema)
    metadata = today.metadata.c
    # The first row of all: nobody looks at the settings of a hundred thousand catalogs to find it.
    version = connection.execute(sa.select(metadata.value).where(metadata.key == "version").limit(1)).scalar()
    if version is None:
        raise _damaged(backend, "version")
    check_readable(version, backend.display)
    if version == SHARED:
        return build_shared_tables(backend.sql_schema)
    if version in OLD:
        return old_tables(version, backend.columns(connection), backend.sql_schema, connection.dialect)
    return today


def _make_tenant(backend: Backend, tables: CatalogTables, name: str | None, *, create: bool, encrypted: bool) -> None:
    """Make a catalog that is not there, or say why not."""
    if tables.shared is None:
        raise _not_shared(backend)
    if name is None:
        raise InvalidInputError(
            f"catalog is required: many catalogs share {backend.display}",
            hint="ql.tenants(url).list() shows them; connect with catalog=…",
        )
    if not create:
        with backend.read() as connection:
            load_tenant(connection, tables, name, backend.display)
    create_tenant(backend, name, encrypted=encrypted, if_not_exists=True)


def _damaged(backend: Backend, setting: str) -> CatalogError:
    return CatalogError(
        f"the lake in {backend.display} does not say its {setting}",
        hint="the catalog is damaged, or its creation was interrupted; restore it from a backup",
    )


def new_data_path(backend: Backend, given: str | None) -> str:
    """Where the files of a new lake go."""
    path = given or backend.default_data_path()
    if path is None:
        raise InvalidInputError(
            f"there is no lake in {backend.display}, and a new one needs to know where its files go",
            hint="give data_path, a folder or a URL such as s3://bucket/lake/",
        )
    return as_folder(path)


def _catalog(
    backend: Backend, found: _Found, data_path: str | None, encrypted: bool, override_data_path: bool
) -> Catalog:
    options, tenant = found.options, found.tenant
    if "data_path" not in options:
        raise CatalogError(f"the catalog in {backend.display} has gone away", hint="somebody dropped it; try again")
    stored = as_folder(options["data_path"])
    if data_path is not None and tenant is not None and override_data_path and tenant.path_is_relative:
        data_path = as_folder(data_path) + tenant.path
    # What is given is that of the database, below which each catalog has its folder; its own is as good.
    known = [each for each in (stored, found.root) if each is not None]
    if data_path is not None and not override_data_path and not any(same_folder(data_path, each) for each in known):
        raise InvalidInputError(
            f"the lake in {backend.display} keeps its files in {stored!r}, not in {data_path!r}",
            hint="leave out data_path, or say override_data_path=True if the files were moved",
        )
    is_encrypted = options.get("encrypted") == "true"
    if encrypted and not is_encrypted:
        raise InvalidInputError(
            f"the lake in {backend.display} is not encrypted", hint="a lake is made encrypted or stays as it is"
        )
    if tenant is not None:
        backend.bind(tenant.catalog_id)
    return Catalog(
        backend=backend,
        tables=found.tables,
        data_path=absolute(as_folder(data_path) if data_path is not None and override_data_path else stored),
        version=options["version"],
        encrypted=is_encrypted,
        catalog_id=None if tenant is None else tenant.catalog_id,
    )
