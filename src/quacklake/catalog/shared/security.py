"""Bind database roles to catalogs of a shared PostgreSQL, so that the database itself keeps them apart."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.shared.bridge import (
    bridge_of,
    follow_all,
    let_read,
    require_postgresql,
    require_role,
    stop_reading,
)
from quacklake.catalog.shared.followers import ROLES, act_as_owner, install_followers, run, wait_for_commits
from quacklake.catalog.shared.layout import build_shared_tables
from quacklake.catalog.shared.policies import OWNERS, STORE, claim_known, enable, guard, make_tables, rights
from quacklake.catalog.shared.registry import load_tenant
from quacklake.catalog.tables import CatalogTables
from quacklake.errors import InvalidInputError
from quacklake.names import quote

_WHAT = "to bind roles to catalogs"
_MAY_ANYONE_CREATE = sa.text("SELECT has_schema_privilege('public', :place, 'CREATE')")
_HAS = sa.text("SELECT to_regclass(:name) IS NOT NULL")
_TOO_STRONG = sa.text(
    "SELECT r.rolsuper OR r.rolbypassrls OR pg_has_role(r.oid, c.relowner, 'MEMBER') OR"
    " has_schema_privilege(r.oid, n.oid, 'CREATE')"
    " FROM pg_catalog.pg_roles r, pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
    " WHERE r.rolname = :role AND n.nspname = :place AND c.relname = 'ducklake_catalog'"
)
_MUST_ASK = sa.text("SELECT NOT has_schema_privilege(:place, 'CREATE') AND to_regprocedure(:store) IS NOT NULL")


def secure(backend: Backend) -> None:
    """Let the database keep roles to the catalogs that they are bound to; the owner of the tables sees all as ever.

    Raises:
        UnsupportedError: When the database is no PostgreSQL.
        InvalidInputError: When anybody may make tables beside those of the catalogs.
    """
    place = require_postgresql(backend, _WHAT)
    try:
        with backend.write() as connection, backend.exclusive(connection):
            if connection.execute(_MAY_ANYONE_CREATE, {"place": place}).scalar():
                raise InvalidInputError(
                    f"every role may make tables in the schema {place!r}, also one that another catalog will need",
                    hint=f"REVOKE CREATE ON SCHEMA {quote(place)} FROM PUBLIC",
                )
            act_as_owner(connection, place)
            # So that no id is missed, and nobody waits for us while we wait for him.
            wait_for_commits(connection, place)
            run(connection, *make_tables(quote(place)))
            install_followers(connection, place)
            run(connection, *guard(place), *claim_known(quote(place)), *enable(place))
    except sa.exc.SQLAlchemyError as error:
        raise backend.translate(error) from error


def grant(backend: Backend, name: str, role: str) -> None:
    """Bind a role to a catalog: it may read and write that one.

    Raises:
        NotFoundError: When there is no such catalog, or no such role.
        InvalidInputError: When the database is not secured, or cannot hold the role back.
    """
    place = require_postgresql(backend, _WHAT)
    tables = build_shared_tables(backend.sql_schema)
    try:
        with backend.write() as connection:
            catalog_id = _prepare(connection, backend, tables, place, name, role)
            if connection.execute(_TOO_STRONG, {"role": role, "place": place}).scalar():
                raise InvalidInputError(
                    f"no policy holds back the role {role!r}: it is a superuser, bypasses row level security, has the"
                    " rights of the owner of the tables or may make tables beside them",
                    hint="bind a role that has no rights yet",
                )
            row = {"role": role, "id": catalog_id}
            noted = sa.text(f"INSERT INTO {_escaped(place)}.{ROLES} VALUES (:role, :id) ON CONFLICT DO NOTHING")
            connection.execute(noted, row)
            run(connection, *(f"GRANT {what} ON {thing} TO {quote(role)}" for what, thing in rights(place)))
            follow_all(connection, place, catalog_id)
            if (bridge := bridge_of(connection, place, catalog_id)) is not None:
                let_read(connection, bridge, role)
    except sa.exc.SQLAlchemyError as error:
        raise backend.translate(error) from error


def revoke(backend: Backend, name: str, role: str) -> None:
    """Let go of a role: it sees nothing of the catalog any more.

    Raises:
        NotFoundError: When there is no such catalog, or no such role.
    """
    place = require_postgresql(backend, _WHAT)
    tables = build_shared_tables(backend.sql_schema)
    try:
        with backend.write() as connection:
            catalog_id = _prepare(connection, backend, tables, place, name, role)
            row = {"role": role, "id": catalog_id}
            gone = sa.text(f"DELETE FROM {_escaped(place)}.{ROLES} WHERE role_name = :role AND catalog_id = :id")
            connection.execute(gone, row)
            _take_back(connection, place, catalog_id, role)
    except sa.exc.SQLAlchemyError as error:
        raise backend.translate(error) from error


def _take_back(connection: sa.Connection, place: str, catalog_id: int, role: str) -> None:
    stored = connection.execute(
        sa.text(
            "SELECT c.relname FROM pg_catalog.pg_class c WHERE c.relnamespace = CAST(:place AS regnamespace)"
            " AND c.relkind = 'r' AND c.relname ~ '^ducklake_inlined_(data|delete)_[0-9]+(_[0-9]+)?$'"
            f" AND CAST(substring(c.relname FROM '[0-9]+') AS BIGINT) IN"
            f" (SELECT t.table_id FROM {_escaped(place)}.ducklake_table t WHERE t.catalog_id = :id)"
        ),
        {"place": quote(place), "id": catalog_id},
    ).scalars()
    run(connection, *(f"REVOKE ALL ON TABLE {quote(place)}.{quote(each)} FROM {quote(role)}" for each in stored))
    if (bridge := bridge_of(connection, place, catalog_id)) is not None:
        stop_reading(connection, bridge, role)
    others = sa.text(f"SELECT 1 FROM {_escaped(place)}.{ROLES} WHERE role_name = :role")
    if connection.execute(others, {"role": role}).first() is None:
        things = dict.fromkeys(thing for _, thing in rights(place))
        run(connection, *(f"REVOKE ALL ON {thing} FROM {quote(role)}" for thing in things))


def _prepare(
    connection: sa.Connection, backend: Backend, tables: CatalogTables, place: str, name: str, role: str
) -> int:
    catalog_id = load_tenant(connection, tables, name, backend.display).catalog_id
    require_role(connection, role)
    if not is_secured(connection, place):
        raise InvalidInputError(
            f"{backend.display} is not secured: a role with rights on its tables would see all catalogs",
            hint="call secure() first",
        )
    act_as_owner(connection, place)
    return catalog_id


def is_secured(connection: sa.Connection, place: str) -> bool:
    """Whether roles can be bound to catalogs."""
    return bool(connection.execute(_HAS, {"name": f"{quote(place)}.{ROLES}"}).scalar())


def forget_roles(connection: sa.Connection, backend: Backend, catalog_id: int) -> None:
    """No role is bound to the catalog any more."""
    if backend.name == "postgresql" and backend.sql_schema is not None and is_secured(connection, backend.sql_schema):
        for table in (ROLES, OWNERS):
            gone = sa.text(f"DELETE FROM {_escaped(backend.sql_schema)}.{table} WHERE catalog_id = :id")
            connection.execute(gone, {"id": catalog_id})


def must_ask(connection: sa.Connection, tables: CatalogTables) -> bool:
    """Whether the current role makes no tables for inlined rows itself, but may ask the database for them."""
    if tables.shared is None or connection.dialect.name != "postgresql" or tables.sql_schema is None:
        return False
    asked = {"place": tables.sql_schema, "store": f"{quote(tables.sql_schema)}.{STORE}"}
    return bool(connection.execute(_MUST_ASK, asked).scalar())


def ask_for_table(
    connection: sa.Connection,
    tables: CatalogTables,
    table_id: int,
    version: int | None,
    columns: Sequence[tuple[str, str]] = (),
) -> None:
    """Let the database make a table for inlined rows of a layout; without a version, one for deletes.

    Args:
        connection: In the transaction of the commit.
        tables: The tables of the catalog.
        table_id: The table that it is for.
        version: The schema version of the layout.
        columns: Names and types of the columns of the layout.
    """
    assert tables.sql_schema is not None
    names, types = [name for name, _ in columns], [type_ for _, type_ in columns]
    asked = sa.text(f"SELECT {_escaped(tables.sql_schema)}.quacklake_store(:id, :version, :names, :types)").bindparams(
        sa.bindparam("version", type_=sa.BigInteger()),
        sa.bindparam("names", type_=sa.ARRAY(sa.Text())),
        sa.bindparam("types", type_=sa.ARRAY(sa.Text())),
    )
    connection.execute(asked, {"id": table_id, "version": version, "names": names, "types": types})


def _escaped(place: str) -> str:
    """A schema in a text that has places for values."""
    return quote(place).replace(":", "\\:").replace("%", "%%")
