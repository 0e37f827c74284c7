"""Catalogs in the making: they have ids and a folder already, and nobody sees them before they have a name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from quacklake.catalog.backends.failures import insist, translated
from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.columns import current_moment
from quacklake.catalog.shared.counters import take_ids
from quacklake.catalog.shared.layout import build_shared_tables
from quacklake.catalog.shared.names import check_catalog_name, name_key, path_key
from quacklake.catalog.shared.ownership import bind_connection
from quacklake.catalog.shared.registry import Tenant, find_tenant, free_path, load_tenant, refuse_alike, shared_of
from quacklake.catalog.shared.removal import drop_stored, forget_rows, load_stored
from quacklake.errors import AlreadyExistsError

_PREFIX = "/"
"""No catalog can have a name that begins so."""
_GIVEN_UP = timedelta(days=7)


def begin_tenant(backend: Backend, name: str) -> Tenant:
    """Take an id and a folder for a catalog of that name.

    Raises:
        AlreadyExistsError: When the name is taken.
    """
    check_catalog_name(name)
    tables = build_shared_tables(backend.sql_schema)
    shared = shared_of(tables)

    def begin() -> Tenant:
        with backend.write() as connection:
            _refuse_taken(connection, backend, name)
            catalog_id = take_ids(connection, backend, tables, {"catalog": 1})["catalog"][0]
            path = free_path(connection, shared, name, catalog_id)
            row = {
                "catalog_id": catalog_id,
                "name_key": f"{_PREFIX}{catalog_id}",
                "path": path,
                "path_is_relative": True,
                "path_key": path_key(path),
                "created_at": current_moment(),
            }
            connection.execute(shared.tenant.insert().values(row))
            return Tenant(name, catalog_id, None, path)

    return insist(backend, begin)


def name_tenant(connection: sa.Connection, backend: Backend, tenant: Tenant, first: int, expired: int | None) -> Tenant:
    """Let a catalog be seen, in the transaction that completes it.

    Args:
        connection: In that transaction.
        backend: The database.
        tenant: The catalog.
        first: Its oldest snapshot.
        expired: The newest one that it had and has no more.

    Raises:
        AlreadyExistsError: When somebody has taken the name meanwhile.
    """
    tables = build_shared_tables(backend.sql_schema)
    shared = shared_of(tables)
    _refuse_taken(connection, backend, tenant.name)
    row = {"catalog_id": tenant.catalog_id, "catalog_name": tenant.name, "created_snapshot": first}
    connection.execute(shared.catalog.insert().values(row))
    own = shared.tenant.c.catalog_id == tenant.catalog_id
    seen = {"name_key": name_key(tenant.name), "expired_snapshot": expired, "created_at": current_moment()}
    connection.execute(shared.tenant.update().where(own).values(seen))
    return load_tenant(connection, tables, tenant.name, backend.display)


def _refuse_taken(connection: sa.Connection, backend: Backend, name: str) -> None:
    tables = build_shared_tables(backend.sql_schema)
    if find_tenant(connection, tables, name) is not None:
        raise AlreadyExistsError(f"there is a catalog {name!r} already", hint="choose another name")
    refuse_alike(connection, tables, name)


def abandon_tenant(backend: Backend, catalog_id: int) -> None:
    """Forget a catalog that will never have a name, with all that was copied for it. Files are left to the caller."""
    tables = build_shared_tables(backend.sql_schema)

    def forget() -> list[str]:
        with backend.write() as connection:
            bind_connection(connection, catalog_id)
            stored = load_stored(connection, tables)
            forget_rows(connection, backend, tables, catalog_id)
            return stored

    with translated(backend):
        drop_stored(backend, tables, insist(backend, forget))


def sweep_unfinished(backend: Backend) -> None:
    """Forget catalogs that somebody began to make long ago and did not complete: their process has ended."""
    tenant = shared_of(build_shared_tables(backend.sql_schema)).tenant.c
    with backend.read() as connection:
        query = sa.select(tenant.catalog_id, tenant.created_at).where(tenant.name_key.startswith(_PREFIX))
        found = connection.execute(query).all()
    for catalog_id, began in found:
        if began is not None and began < datetime.now(UTC) - _GIVEN_UP:
            abandon_tenant(backend, catalog_id)
