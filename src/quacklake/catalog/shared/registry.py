"""The catalogs of a shared database: found, made, listed, given another name."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

import sqlalchemy as sa

from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.columns import current_moment
from quacklake.catalog.create import create_tables, insert_settings
from quacklake.catalog.shared.counters import create_counters, take_ids
from quacklake.catalog.shared.layout import SharedTables, build_shared_tables
from quacklake.catalog.shared.names import check_catalog_name, name_key, path_key
from quacklake.catalog.tables import CatalogTables, build_tables, prepared
from quacklake.catalog.version import SHARED
from quacklake.errors import AlreadyExistsError, CatalogError, NotFoundError

_ATTEMPTS = 5
_NAME = sa.bindparam("name", type_=sa.String())


@dataclass(frozen=True, slots=True)
class Tenant:
    """One of the catalogs that share a database."""

    name: str
    catalog_id: int
    created: datetime | None
    path: str
    """Its folder, below that of the database unless it stands for itself."""
    path_is_relative: bool = True
    rows: int | None = None
    """How many there are in all of its tables, when that was asked for; likewise files and bytes."""
    files: int | None = None
    bytes: int | None = None


def create_shared(backend: Backend, data_path: str) -> None:
    """Make the tables that catalogs share in an empty database, unless another process has made them meanwhile.

    Args:
        backend: The database.
        data_path: Below which the folders of the catalogs are, with a slash at the end.
    """
    tables = build_shared_tables(backend.sql_schema)
    shared = shared_of(tables)

    def fill(connection: sa.Connection, metadata: sa.Table) -> None:
        insert_settings(connection, metadata, SHARED, data_path)
        create_counters(connection, backend, shared)

    create_tables(backend, tables, (shared.counter,), fill)


def shared_of(tables: CatalogTables) -> SharedTables:
    """What the tables of a shared database have besides."""
    assert tables.shared is not None, "the database is shared"
    return tables.shared


def load_data_path(connection: sa.Connection, tables: CatalogTables) -> str:
    """Below which the folders of the catalogs are."""
    settings = build_tables(tables.sql_schema).metadata.c
    query = sa.select(settings.value).where(settings.key == "data_path", settings.scope_id.is_(None))
    return str(connection.execute(query).scalar_one())


def write_default(backend: Backend, name: str, value: str) -> None:
    """Store a setting that holds for all catalogs that have none of their own."""
    settings = build_tables(backend.sql_schema).metadata
    same = sa.and_(settings.c.key == name, settings.c.scope.is_(None), settings.c.scope_id.is_(None))
    try:
        with backend.write() as connection, backend.exclusive(connection):
            if not connection.execute(settings.update().where(same).values(value=value)).rowcount:
                connection.execute(settings.insert(), {"key": name, "value": value})
    except sa.exc.SQLAlchemyError as error:
        raise backend.translate(error) from error


def find_tenant(connection: sa.Connection, tables: CatalogTables, name: str) -> Tenant | None:
    """The catalog of that name, exactly as it is written."""
    row = connection.execute(_named(tables), {"name": name}).first()
    # MySQL takes no notice of spaces at the end.
    return None if row is None or row[0] != name else Tenant(*row)


def load_tenant(connection: sa.Connection, tables: CatalogTables, name: str, display: str) -> Tenant:
    """The catalog of that name.

    Raises:
        NotFoundError: When there is none; the hint names one that is spelt almost so.
    """
    found = find_tenant(connection, tables, name)
    if found is None:
        alike = _alike(connection, tables, name)
        hint = (
            f"there is {alike!r}" if alike else "ql.tenants(url).list() shows those there are, and .create() makes one"
        )
        raise NotFoundError(f"there is no catalog {name!r} in {display}", hint=hint)
    return found


def list_tenants(
    connection: sa.Connection, tables: CatalogTables, *, after: str | None, limit: int, prefix: str | None
) -> list[Tenant]:
    """A page of catalogs, in the order of their names.

    Args:
        connection: To the database.
        tables: Its tables.
        after: Those that come after this name.
        limit: At most so many.
        prefix: Those whose names begin so.
    """
    name = shared_of(tables).catalog.c.catalog_name
    query = all_tenants(tables).order_by(name).limit(limit)
    if after is not None:
        query = query.where(name > after)
    if prefix:
        query = query.where(name >= prefix)
        if (end := _behind(prefix)) is not None:
            query = query.where(name < end)
    return [Tenant(*row) for row in connection.execute(query)]


def _behind(prefix: str) -> str | None:
    """The first text after all that begin so; None when there is none."""
    for length in range(len(prefix), 0, -1):
        code = ord(prefix[length - 1]) + 1
        # Between these two, there are no characters.
        code = 0xE000 if 0xD800 <= code < 0xE000 else code
        if code <= 0x10FFFF:
            return prefix[: length - 1] + chr(code)
    return None


def rename_tenant(backend: Backend, old: str, new: str) -> Tenant:
    """Give a catalog another name. Its files stay where they are.

    Raises:
        NotFoundError: When there is no catalog of the old name.
        AlreadyExistsError: When the new one is taken.
    """
    check_catalog_name(new)
    tables = build_shared_tables(backend.sql_schema)
    shared = shared_of(tables)
    try:
        with backend.write() as connection:
            found = load_tenant(connection, tables, old, backend.display)
            if name_key(old) != name_key(new):
                refuse_alike(connection, tables, new)
            own = {"key": found.catalog_id}
            for table, row in ((shared.catalog, {"catalog_name": new}), (shared.tenant, {"name_key": name_key(new)})):
                same = table.c.catalog_id == sa.bindparam("key", type_=sa.BigInteger())
                connection.execute(table.update().where(same).values(row), own)
            return load_tenant(connection, tables, new, backend.display)
    except sa.exc.SQLAlchemyError as error:
        if backend.classify(error) == "unique":
            raise AlreadyExistsError(f"there is a catalog {new!r} already", hint="choose another name") from error
        raise backend.translate(error) from error


@prepared
def all_tenants(tables: CatalogTables) -> sa.Select[Any]:
    """Every catalog; the columns are those of `Tenant`."""
    catalog, tenant = shared_of(tables).catalog, shared_of(tables).tenant
    return sa.select(
        catalog.c.catalog_name, catalog.c.catalog_id, tenant.c.created_at, tenant.c.path, tenant.c.path_is_relative
    ).select_from(catalog.join(tenant, tenant.c.catalog_id == catalog.c.catalog_id))


@prepared
def _named(tables: CatalogTables) -> sa.Select[Any]:
    return all_tenants(tables).where(shared_of(tables).catalog.c.catalog_name == _NAME)


def _alike(connection: sa.Connection, tables: CatalogTables, name: str) -> str | None:
    query = all_tenants(tables).where(shared_of(tables).tenant.c.name_key == name_key(name))
    row = connection.execute(query).first()
    return None if row is None else str(row[0])


def create_tenant(backend: Backend, name: str, *, encrypted: bool = False, if_not_exists: bool = False) -> Tenant:
    """Make a catalog with its first snapshot.

    Args:
        backend: The database.
        name: What it is called.
        encrypted: Whether its files will be encrypted.
        if_not_exists: Take the one that is there instead of refusing.

    Raises:
        AlreadyExistsError: When the name is taken, or one that differs in nothing but case.
    """
    check_catalog_name(name)
    tables = build_shared_tables(backend.sql_schema)
    for _ in range(_ATTEMPTS):
        try:
            with backend.write() as connection:
                found = find_tenant(connection, tables, name)
                if found is None:
                    refuse_alike(connection, tables, name)
                    return _insert(connection, backend, tables, name, encrypted)
        except sa.exc.SQLAlchemyError as error:
            # Somebody else makes it at this moment, or takes the folder.
            if backend.classify(error) not in ("unique", "serialization", "deadlock", "locked"):
                raise backend.translate(error) from error
            continue
        if not if_not_exists:
            raise AlreadyExistsError(f"there is a catalog {name!r} already", hint="choose another name")
        return found
    raise CatalogError(f"the catalog {name!r} could not be made: others were quicker each time", hint="try again")


def refuse_alike(connection: sa.Connection, tables: CatalogTables, name: str) -> None:
    """Refuse a name that differs from a known one in nothing but case or form."""
    alike = _alike(connection, tables, name)
    if alike is not None:
        raise AlreadyExistsError(
            f"there is a catalog {alike!r}, which {name!r} differs from in nothing but case or form",
            hint="choose another name",
        )


def _insert(connection: sa.Connection, backend: Backend, tables: CatalogTables, name: str, encrypted: bool) -> Tenant:
    shared = shared_of(tables)
    ids = take_ids(connection, backend, tables, {"catalog": 1, "snapshot": 1, "entry": 1})
    catalog_id, snapshot_id, schema_id = ids["catalog"][0], ids["snapshot"][0], ids["entry"][0]
    moment, own = current_moment(), {"catalog_id": catalog_id}
    path = free_path(connection, shared, name, catalog_id)
    for table, row in (
        (shared.catalog, {"catalog_name": name, "created_snapshot": snapshot_id}),
        (
            shared.tenant,
            {
                "name_key": name_key(name),
                "path": path,
                "path_is_relative": True,
                "path_key": path_key(path),
                "created_at": moment,
            },
        ),
        (
            tables.snapshot,
            {
                "snapshot_id": snapshot_id,
                "snapshot_time": moment,
                "schema_version": 0,
                "next_catalog_id": schema_id + 1,
                "next_file_id": 0,
            },
        ),
        (tables.snapshot_changes, {"snapshot_id": snapshot_id, "changes_made": 'created_schema:"main"'}),
        (
            tables.schema,
            {
                "schema_id": schema_id,
                "schema_uuid": str(uuid4()),
                "begin_snapshot": snapshot_id,
                "schema_name": "main",
                "path": "main/",
                "path_is_relative": True,
            },
        ),
    ):
        connection.execute(table.insert().values({**own, **row}))
    if encrypted:
        row = {"key": "encrypted", "value": "true", "scope": "catalog", "scope_id": catalog_id}
        connection.execute(tables.metadata.insert().values(row))
    return load_tenant(connection, tables, name, backend.display)


def free_path(connection: sa.Connection, shared: SharedTables, name: str, catalog_id: int) -> str:
    """The folder of its name, unless a catalog that has another name by now has it."""
    path = f"{name}/"
    taken = sa.select(shared.tenant.c.catalog_id).where(shared.tenant.c.path_key == path_key(path))
    return path if connection.execute(taken).first() is None else f"{name}-{catalog_id}/"
