"""Take a catalog out of a shared database: its rows at once, its files when somebody cleans up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, TypeVar

import sqlalchemy as sa

from quacklake.catalog.audit import load_known_files
from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.columns import current_moment
from quacklake.catalog.shared.bridge import drop_bridge
from quacklake.catalog.shared.holders import let_go
from quacklake.catalog.shared.layout import OWNED, build_shared_tables, unbound
from quacklake.catalog.shared.ownership import bind_connection
from quacklake.catalog.shared.registry import Tenant, load_data_path, load_tenant, shared_of
from quacklake.catalog.shared.security import forget_roles
from quacklake.catalog.stream_batches import forget_batches
from quacklake.catalog.tables import LAYOUT, CatalogTables
from quacklake.storage.paths import absolute, join

T = TypeVar("T")
_AT_ONCE = 1000
_SCHEDULED = "files_scheduled_for_deletion"


def drop_tenant(backend: Backend, name: str) -> Tenant:
    """Forget a catalog with all that it holds, and schedule its files for deletion.

    Raises:
        NotFoundError: When there is none of that name.
    """
    tables = build_shared_tables(backend.sql_schema)
    catalog = shared_of(tables).catalog
    try:
        with backend.write() as connection:
            found = load_tenant(connection, tables, name, backend.display)
            # Whoever writes to it is let through first.
            line = sa.select(catalog.c.catalog_id).where(catalog.c.catalog_id == found.catalog_id)
            if backend.name in ("postgresql", "mysql"):
                connection.execute(line.with_for_update())
            root = join(absolute(load_data_path(connection, tables)), found.path, found.path_is_relative)
            bind_connection(connection, found.catalog_id)
            stored = load_stored(connection, tables)
            drop_bridge(connection, backend, found.catalog_id)
            _schedule(connection, tables, root, found.catalog_id)
            forget_rows(connection, backend, tables, found.catalog_id)
            forget_roles(connection, backend, found.catalog_id)
        drop_stored(backend, tables, stored)
    except sa.exc.SQLAlchemyError as error:
        raise backend.translate(error) from error
    return found


def load_stored(connection: sa.Connection, tables: CatalogTables) -> list[str]:
    """The tables that hold its inlined rows and deletes."""
    registered = tables.inlined_data_tables.c
    own = sa.select(tables.table.c.table_id)
    names = connection.execute(sa.select(registered.table_name).where(registered.table_id.in_(own))).scalars().all()
    ids = connection.execute(sa.select(tables.table.c.table_id).distinct()).scalars().all()
    return [*names, *(f"ducklake_inlined_delete_{table_id}" for table_id in ids)]


def _schedule(connection: sa.Connection, tables: CatalogTables, root: str, catalog_id: int) -> None:
    scheduled = tables.files_scheduled_for_deletion
    query = sa.select(scheduled.c.path, scheduled.c.path_is_relative)
    paths = [join(root, path, is_relative) for path, is_relative in connection.execute(query).all()]
    paths += [file.path for file in load_known_files(connection, tables, root)]
    connection.execute(scheduled.delete())
    held = let_go(connection, tables, catalog_id, dict.fromkeys(paths))
    for chunk in _chunks([path for path in dict.fromkeys(paths) if path not in held], _AT_ONCE):
        # Nobody will know any more what they were relative to.
        rows = [{"data_file_id": None, "path": path, "path_is_relative": False} for path in chunk]
        connection.execute(scheduled.insert().values(schedule_start=current_moment()), rows)


def forget_rows(connection: sa.Connection, backend: Backend, tables: CatalogTables, catalog_id: int) -> None:
    """Delete every row of a catalog but those of files that wait for their deletion; the connection is bound to it."""
    forget_batches(connection, backend, tables.sql_schema, catalog_id)
    own, macros = sa.select(tables.table.c.table_id), sa.select(tables.macro.c.macro_id)
    mapping = tables.column_mapping.c
    mappings = sa.select(mapping.mapping_id).where(mapping.table_id.in_(own))
    objects = sa.union_all(own, sa.select(tables.view.c.view_id))
    for table, column, ids in (
        (tables.name_mapping, "mapping_id", mappings),
        (tables.macro_impl, "macro_id", macros),
        (tables.macro_parameters, "macro_id", macros),
        (tables.tag, "object_id", objects),
    ):
        connection.execute(table.delete().where(table.c[column].in_(ids)))
    for name in LAYOUT:
        hanging: sa.Table = getattr(tables, name)
        if name not in OWNED and "table_id" in hanging.c:
            connection.execute(hanging.delete().where(hanging.c.table_id.in_(own)))
    settings = tables.metadata
    for scope, ids in (("schema", sa.select(tables.schema.c.schema_id)), ("table", own)):
        connection.execute(settings.delete().where(settings.c.scope == scope, settings.c.scope_id.in_(ids)))
    connection.execute(settings.delete().where(settings.c.scope == "catalog", settings.c.scope_id == catalog_id))
    for name in OWNED:
        if name != _SCHEDULED:
            connection.execute(getattr(tables, name).delete())
    shared = shared_of(tables)
    for table in (shared.tenant, shared.catalog, shared.holder, shared.moved):
        connection.execute(table.delete().where(table.c.catalog_id == catalog_id))


def drop_stored(backend: Backend, tables: CatalogTables, stored: Sequence[str]) -> None:
    """Drop tables of inlined rows and deletes."""
    # Each of these is final where a table is not part of a transaction; their names never come again.
    for names in _chunks(stored, 100):
        with backend.write() as connection:
            _drop(connection, tables, names)


def _drop(connection: sa.Connection, tables: CatalogTables, names: Iterable[str]) -> None:
    for name in names:
        table = sa.Table(name, sa.MetaData(schema=tables.sql_schema))
        connection.execute(sa.schema.DropTable(table, if_exists=True))


def _chunks(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (values[start : start + size] for start in range(0, len(values), size))


def load_left_over(
    connection: sa.Connection, tables: CatalogTables, older_than: datetime | None
) -> Iterator[tuple[int, str]]:
    """The files of catalogs that are gone: whose they were, and their paths."""
    scheduled, known = unbound(tables.files_scheduled_for_deletion), unbound(shared_of(tables).catalog)
    query = (
        sa.select(scheduled.c.catalog_id, scheduled.c.path, scheduled.c.schedule_start)
        .select_from(scheduled.outerjoin(known, known.c.catalog_id == scheduled.c.catalog_id))
        .where(known.c.catalog_id.is_(None))
    )
    for catalog_id, path, moment in connection.execute(query):
        if older_than is None or moment is None or moment <= older_than:
            yield catalog_id, path


def forget_left_over(backend: Backend, found: Sequence[tuple[int, str]]) -> None:
    """Those files are gone now."""
    tables = build_shared_tables(backend.sql_schema)
    scheduled = unbound(tables.files_scheduled_for_deletion)
    gone = sa.delete(scheduled).where(
        scheduled.c.catalog_id == sa.bindparam("owner", type_=sa.BigInteger()),
        scheduled.c.path == sa.bindparam("gone", type_=scheduled.c.path.type),
    )
    rows: list[dict[str, Any]] = [{"owner": catalog_id, "gone": path} for catalog_id, path in found]
    if not rows:
        return
    try:
        with backend.write() as connection:
            connection.execute(gone, rows)
    except sa.exc.SQLAlchemyError as error:
        raise backend.translate(error) from error
