"""Let stock DuckDB read a catalog of a shared database: views with the names and columns that it knows.

PostgreSQL has schemas for that. DuckDB cannot write through them, and no trigger could help it: it takes the ids of a
commit from the newest snapshot that it sees, where other catalogs have used them long since. So all that would change
something is refused.
"""

from __future__ import annotations

import sqlalchemy as sa

from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.shared.conditions import SCHEDULED, columns_of, condition, literal, settings_condition
from quacklake.catalog.shared.followers import (
    REFUSAL,
    ROLES,
    act_as_owner,
    bridge_mark,
    bridge_prefix,
    install_followers,
    run,
    show,
)
from quacklake.catalog.shared.layout import build_shared_tables
from quacklake.catalog.shared.registry import load_tenant, shared_of
from quacklake.catalog.tables import LAYOUT
from quacklake.catalog.version import CURRENT
from quacklake.errors import AlreadyExistsError, NotFoundError, UnsupportedError
from quacklake.names import quote

_COMMENT = sa.text(
    "SELECT obj_description(oid, 'pg_namespace') FROM pg_catalog.pg_namespace WHERE nspname = :name LIMIT 1"
)
_INLINED = (
    "SELECT x.table_id, x.name FROM"
    " (SELECT r.table_id, r.table_name AS name FROM {place}.ducklake_inlined_data_tables r UNION ALL"
    " SELECT DISTINCT t.table_id, 'ducklake_inlined_delete_' || t.table_id FROM {place}.ducklake_table t) x"
    " WHERE x.{own}"
)
_HAS_ROLE = sa.text("SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = :name")


def build_bridge(backend: Backend, name: str, reader: str | None = None) -> str:
    """Make the bridge of a catalog, or renew it.

    Args:
        backend: The database.
        name: The catalog.
        reader: A database role that may read the bridge, and needs no other rights.

    Returns:
        The schema that DuckDB is given as METADATA_SCHEMA. It stays the same when the catalog gets another name.

    Raises:
        UnsupportedError: When the database is no PostgreSQL.
        NotFoundError: When there is no such catalog, or no such role.
        AlreadyExistsError: When a schema of that name is there that is no bridge.
    """
    place = require_postgresql(backend, "a bridge for DuckDB")
    tables = build_shared_tables(backend.sql_schema)
    catalog = shared_of(tables).catalog.c
    try:
        with backend.write() as connection, backend.exclusive(connection):
            catalog_id = load_tenant(connection, tables, name, backend.display).catalog_id
            if reader is not None:
                require_role(connection, reader)
            act_as_owner(connection, place)
            install_followers(connection, place)
            # No commit is under way then, which could bring a table that is missed here.
            own = sa.select(catalog.catalog_id).where(catalog.catalog_id == catalog_id)
            if connection.execute(own.with_for_update()).first() is None:
                raise NotFoundError(f"the catalog {name!r} is gone", hint="somebody has dropped it")
            return _build(connection, place, catalog_id, reader)
    except sa.exc.SQLAlchemyError as error:
        raise backend.translate(error) from error


def require_postgresql(backend: Backend, what: str) -> str:
    """The SQL schema of the tables.

    Raises:
        UnsupportedError: When the database is another one.
    """
    if backend.name != "postgresql" or backend.sql_schema is None:
        raise UnsupportedError(
            f"{what} needs PostgreSQL, and {backend.display} is none",
            hint="share a PostgreSQL database, or give the lake a database of its own with ql.tenants(url).export()",
        )
    return backend.sql_schema


def require_role(connection: sa.Connection, name: str) -> None:
    """Refuse roles that are not there.

    Raises:
        NotFoundError: When there is none of that name.
    """
    if connection.execute(_HAS_ROLE, {"name": name}).first() is None:
        raise NotFoundError(f"there is no database role {name!r}", hint=f"CREATE ROLE {quote(name)} LOGIN …")


def _build(connection: sa.Connection, place: str, catalog_id: int, reader: str | None) -> str:
    name, mark = f"{bridge_prefix(place)}{catalog_id}", f"{bridge_mark(place)}{catalog_id}"
    bridge = quote(name)
    if not _has_bridge(connection, name, mark):
        run(connection, f"CREATE SCHEMA {bridge}", f"COMMENT ON SCHEMA {bridge} IS {literal(mark)}")
    statements = [f"GRANT CREATE ON SCHEMA {bridge} TO CURRENT_USER", *_functions(bridge)]
    for table in LAYOUT:
        statements += show(bridge, f"ducklake_{table}", _query(table, bridge, place, catalog_id))
    # Not even its owner makes tables there, so that DuckDB cannot.
    run(connection, *statements, f"REVOKE CREATE ON SCHEMA {bridge} FROM CURRENT_USER")
    follow_all(connection, place, catalog_id)
    for each in _readers(connection, place, catalog_id, reader):
        let_read(connection, bridge, each)
    return name


def follow_all(connection: sa.Connection, place: str, catalog_id: int) -> None:
    """Show the tables for inlined rows and deletes that are there to all who may see them."""
    own = f"table_id IN (SELECT o.table_id FROM {quote(place)}.ducklake_table o WHERE o.catalog_id = {catalog_id})"
    inlined = _INLINED.format(place=quote(place), own=own)
    run(connection, f"SELECT {quote(place)}.quacklake_follow(f.table_id, f.name) FROM ({inlined}) f")


def bridge_of(connection: sa.Connection, place: str, catalog_id: int) -> str | None:
    """The bridge of a catalog, quoted, if it has one."""
    name = f"{bridge_prefix(place)}{catalog_id}"
    found = connection.execute(_COMMENT, {"name": name}).scalar()
    return quote(name) if found == f"{bridge_mark(place)}{catalog_id}" else None


def _has_bridge(connection: sa.Connection, name: str, mark: str) -> bool:
    found = connection.execute(_COMMENT, {"name": name}).first()
    if found is not None and found[0] != mark:
        raise AlreadyExistsError(
            f"there is a schema {name!r} already, which is no bridge of this catalog",
            hint="give that schema another name",
        )
    return found is not None


def _readers(connection: sa.Connection, place: str, catalog_id: int, reader: str | None) -> list[str]:
    """The one that was named, and those that are bound to the catalog."""
    known = connection.exec_driver_sql("SELECT to_regclass(%(name)s)", {"name": f"{quote(place)}.{ROLES}"}).scalar()
    bound: list[str] = []
    if known is not None:
        query = f"SELECT role_name FROM {quote(place)}.{ROLES} WHERE catalog_id = {catalog_id}"
        bound = [*connection.exec_driver_sql(query, execution_options={"no_parameters": True}).scalars()]
    return [*dict.fromkeys([*([] if reader is None else [reader]), *bound])]


def let_read(connection: sa.Connection, bridge: str, role: str) -> None:
    """Let a role read a bridge, and what comes later."""
    run(
        connection,
        f"GRANT USAGE ON SCHEMA {bridge} TO {quote(role)}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {bridge} TO {quote(role)}",
        f"ALTER DEFAULT PRIVILEGES IN SCHEMA {bridge} GRANT SELECT ON TABLES TO {quote(role)}",
    )


def stop_reading(connection: sa.Connection, bridge: str, role: str) -> None:
    """The opposite."""
    run(
        connection,
        f"ALTER DEFAULT PRIVILEGES IN SCHEMA {bridge} REVOKE ALL ON TABLES FROM {quote(role)}",
        f"REVOKE ALL ON ALL TABLES IN SCHEMA {bridge} FROM {quote(role)}",
        f"REVOKE ALL ON SCHEMA {bridge} FROM {quote(role)}",
    )


def _functions(bridge: str) -> list[str]:
    raised = f"RAISE EXCEPTION USING MESSAGE = {literal(REFUSAL)}, ERRCODE = 'read_only_sql_transaction'"
    body = f"LANGUAGE plpgsql AS $body$BEGIN {raised}; END$body$"
    found = "data_file_id bigint, path varchar, path_is_relative boolean, schedule_start timestamptz"
    return [
        f"CREATE OR REPLACE FUNCTION {bridge}.quacklake_refuse() RETURNS trigger {body}",
        f"CREATE OR REPLACE FUNCTION {bridge}.quacklake_scheduled() RETURNS TABLE({found}) {body}",
    ]


def _query(table: str, bridge: str, place: str, catalog_id: int) -> str:
    """What a lake of its own would have in a table."""
    mine = f"catalog_id = {catalog_id}"
    if table == "metadata":
        return _settings(place, catalog_id)
    if table == SCHEDULED:
        # DuckDB asks for it only when it is about to delete files, which it does before it tells the catalog.
        return f"SELECT * FROM {bridge}.quacklake_scheduled()"
    renamed = {"next_catalog_id": "next_entry_id AS next_catalog_id"}
    columns = ", ".join(renamed.get(column, quote(column)) for column in columns_of(table))
    return f"SELECT {columns} FROM {quote(place)}.ducklake_{table} WHERE {condition(table, place, mine)}"


def _settings(place: str, catalog_id: int) -> str:
    """As statements of ours see them, too, but of the version that DuckDB knows."""
    metadata, tenant = f"{quote(place)}.ducklake_metadata", f"{quote(place)}.quacklake_tenant"
    nothing, whole = "NULL::varchar AS scope, NULL::bigint AS scope_id", "m.scope IS NULL AND m.scope_id IS NULL"
    own = settings_condition(place, f"catalog_id = {catalog_id}")
    encrypted = f"key = 'encrypted' AND scope = 'catalog' AND scope_id = {catalog_id}"
    return " UNION ALL ".join(
        (
            f"SELECT 'version'::varchar AS key, '{CURRENT}'::varchar AS value, {nothing}",
            f"SELECT m.key, m.value, {nothing} FROM {metadata} m WHERE {whole} AND m.key = 'created_by'",
            f"SELECT m.key, (CASE WHEN t.path_is_relative THEN m.value || t.path ELSE t.path END)::varchar, {nothing}"
            f" FROM {metadata} m, {tenant} t WHERE {whole} AND m.key = 'data_path' AND t.catalog_id = {catalog_id}",
            f"SELECT 'encrypted'::varchar, 'false'::varchar, {nothing}"
            f" WHERE NOT EXISTS (SELECT 1 FROM {metadata} WHERE {encrypted})",
            f"SELECT m.key, m.value, NULLIF(m.scope, 'catalog')::varchar,"
            f" CASE WHEN m.scope <> 'catalog' THEN m.scope_id END FROM {metadata} m WHERE {own}",
        )
    )


def drop_bridge(connection: sa.Connection, backend: Backend, catalog_id: int) -> None:
    """Take away the bridge of a catalog, if it has one."""
    if backend.name == "postgresql" and backend.sql_schema is not None:
        bridge = bridge_of(connection, backend.sql_schema, catalog_id)
        if bridge is not None:
            run(connection, f"DROP SCHEMA {bridge} CASCADE")
