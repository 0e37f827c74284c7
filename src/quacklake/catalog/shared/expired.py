"""How far back the snapshots of a catalog have gone.

Ids of a lake that is alone have no gaps until snapshots expire. In a shared database they always have, so whoever
needs to know whether something happened between two snapshots that is gone by now asks here.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from quacklake.catalog.shared.layout import CATALOG
from quacklake.catalog.tables import CatalogTables, prepared

NONE = -1
"""When no snapshot has gone."""


@prepared
def expired_snapshot(tables: CatalogTables) -> sa.Select[Any]:
    """The newest snapshot of a catalog that has gone."""
    assert tables.shared is not None
    tenant = tables.shared.tenant
    return sa.select(sa.func.coalesce(tenant.c.expired_snapshot, NONE)).where(tenant.c.catalog_id == CATALOG)


def load_expired(connection: sa.Connection, tables: CatalogTables) -> int | None:
    """The newest snapshot that has gone; None for a lake that is alone, where gaps tell."""
    if tables.shared is None:
        return None
    found = connection.execute(expired_snapshot(tables)).scalar()
    return NONE if found is None else int(found)


def note_expired(connection: sa.Connection, tables: CatalogTables, snapshot_id: int) -> None:
    """Whoever takes away snapshots says so, in the same transaction, with the newest of them."""
    if tables.shared is None:
        return
    tenant = tables.shared.tenant
    older = sa.or_(tenant.c.expired_snapshot.is_(None), tenant.c.expired_snapshot < snapshot_id)
    own = tenant.update().where(tenant.c.catalog_id == CATALOG, older)
    connection.execute(own.values(expired_snapshot=snapshot_id))
