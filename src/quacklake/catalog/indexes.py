"""Indexes of our own on the catalog tables, so that a plan and a commit look at few rows of many.

The format has none. They are harmless to DuckDB, which reads and writes the tables all the same; catalogs in DuckDB
files get none, for there they would slow down what DuckDB itself writes. No index is on text of any length where a
database would refuse a long one.
"""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa

from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.backends.sqlite import SqliteBackend
from quacklake.catalog.bounds import FORM, KEY, WIDTH
from quacklake.catalog.view import Snapshot
from quacklake.errors import QuacklakeError

MANY = 2_000
"""A lake that has had so many files, tables or snapshots is worth its indexes whoever made it."""

_OURS = "quacklake_"
"""How the names of tables begin that the format does not know."""

# Table, without its prefix -> what its rows are looked up by.
_EVERYWHERE: Mapping[str, tuple[str, ...]] = {
    "table": ("table_id",),
    "view": ("view_id",),
    "column": ("table_id",),
    "column_tag": ("table_id",),
    "tag": ("object_id",),
    "partition_info": ("table_id",),
    "partition_column": ("table_id",),
    "sort_info": ("table_id",),
    "sort_expression": ("table_id",),
    "table_stats": ("table_id",),
    "table_column_stats": ("table_id",),
    "data_file": ("table_id, data_file_id",),
    "delete_file": ("table_id", "data_file_id"),
    "file_column_stats": ("table_id, column_id, data_file_id, contains_nan", "data_file_id"),
    "file_partition_value": ("data_file_id",),
    "inlined_data_tables": ("table_id",),
    "schema_versions": ("table_id",),
    "column_mapping": ("table_id",),
    "name_mapping": ("mapping_id",),
}
# The same where many catalogs share the tables: each finds its own rows, however many others there are.
_OF_CATALOG: Mapping[str, tuple[str, ...]] = {
    "metadata": ("scope_id",),
    "snapshot": ("catalog_id, snapshot_id",),
    "snapshot_changes": ("catalog_id, snapshot_id",),
    "schema": ("catalog_id, schema_id",),
    "table": ("catalog_id, table_id",),
    "view": ("catalog_id, view_id",),
    "macro": ("catalog_id, macro_id", "macro_id"),
    "macro_impl": ("macro_id",),
    "macro_parameters": ("macro_id",),
    "table_stats": ("catalog_id, table_id",),
    "partition_info": ("catalog_id, table_id",),
    "schema_versions": ("catalog_id, table_id",),
    "files_scheduled_for_deletion": ("catalog_id",),
    "file_variant_stats": ("data_file_id",),
    "quacklake_file_holder": ("path_key",),
    "quacklake_moved_id": ("old_id, kind, catalog_id",),
}
_BY_NAME = {
    "quacklake_table_name": ("table", "lower(table_name)"),
    "quacklake_view_name": ("view", "lower(view_name)"),
}
BOUNDS: Mapping[str, str] = {
    "quacklake_bounds_1": f"table_id, column_id, {FORM}, {KEY['min_value']}",
    "quacklake_widths_1": f"table_id, column_id, {FORM}, {WIDTH}",
    "quacklake_texts_1": "table_id, column_id, min_value, max_value",
}
"""Those on the bounds of columns, in SQLite: a file is found by a value without a look at the others."""

_KNOWN = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'index' AND name LIKE 'quacklake%'",
    "postgresql": "SELECT indexname FROM pg_catalog.pg_indexes"
    " WHERE schemaname = :place AND indexname LIKE 'quacklake%'",
    "mysql": "SELECT DISTINCT index_name FROM information_schema.statistics"
    " WHERE table_schema = COALESCE(:place, DATABASE()) AND index_name LIKE 'quacklake%'",
}
# Nobody waits for indexes: who would have to does without.
_IMPATIENCE = {
    "sqlite": (),
    "postgresql": ("SET LOCAL lock_timeout = '200ms'",),
    "mysql": ("SET SESSION lock_wait_timeout = 1",),
}
_PATIENCE = {"mysql": "SET SESSION lock_wait_timeout = DEFAULT"}


def is_large(snapshot: Snapshot) -> bool:
    """Whether there may be enough files, tables or columns for indexes to matter."""
    return max(snapshot.next_file_id, snapshot.next_catalog_id, snapshot.snapshot_id) >= MANY


def ensure_indexes(backend: Backend, *, shared: bool = False) -> None:
    """Make the indexes that are missing. Whoever may not make them does without: they change no answer.

    Args:
        backend: The database.
        shared: Whether many catalogs share it.
    """
    if backend.name not in _KNOWN:
        return
    try:
        with backend.read() as connection:
            known = _load_known(connection, backend)
        wanted = wanted_indexes(backend.name, shared=shared)
        if missing := {name: wanted[name] for name in wanted if name not in known}:
            # SQLite waits before a transaction begins, the servers when a statement does.
            opened = backend.hurry() if isinstance(backend, SqliteBackend) else backend.write()
            with opened as connection:
                _create(connection, backend, missing)
    except (sa.exc.SQLAlchemyError, QuacklakeError):
        # Another process makes them at this moment, or writes, or the database forbids it.
        return


def wanted_indexes(backend_name: str, *, shared: bool = False) -> dict[str, tuple[str, str]]:
    """By name, the table without its prefix, and how it is indexed."""
    wanted = {
        f"quacklake_{table.removeprefix(_OURS)}_{columns.split(', ')[0]}": (table, f"({columns})")
        for table, lists in {**_EVERYWHERE, **(_OF_CATALOG if shared else {})}.items()
        for columns in lists
    }
    if backend_name == "sqlite" and shared:
        # Many catalogs have a table of the same name, and PostgreSQL indexes no long names together with a catalog.
        wanted |= {name: (table, f"(catalog_id, {key})") for name, (table, key) in _BY_NAME.items()}
    elif backend_name != "mysql" and not shared:
        # MariaDB has no index on an expression.
        kind = "USING hash " if backend_name == "postgresql" else ""
        wanted |= {name: (table, f"{kind}({key})") for name, (table, key) in _BY_NAME.items()}
    if backend_name == "sqlite":
        wanted |= {name: ("file_column_stats", f"({columns})") for name, columns in BOUNDS.items()}
    return wanted


def index_statement(name: str, wanted: tuple[str, str], sql_schema: str | None, dialect: sa.Dialect) -> str:
    """CREATE INDEX for one of the wanted indexes."""
    table, how = wanted
    place = f"{dialect.identifier_preparer.quote_schema(sql_schema)}." if sql_schema else ""
    prefix = "" if table.startswith(_OURS) else "ducklake_"
    return f"CREATE INDEX {name} ON {place}{prefix}{table} {how}"


def _load_known(connection: sa.Connection, backend: Backend) -> set[str]:
    asked = {} if backend.name == "sqlite" else {"place": backend.sql_schema}
    return set(connection.execute(sa.text(_KNOWN[backend.name]), asked).scalars())


def _create(connection: sa.Connection, backend: Backend, missing: Mapping[str, tuple[str, str]]) -> None:
    for statement in _IMPATIENCE[backend.name]:
        connection.exec_driver_sql(statement)
    try:
        for name, wanted in missing.items():
            connection.exec_driver_sql(index_statement(name, wanted, backend.sql_schema, connection.dialect))
    finally:
        if backend.name in _PATIENCE and not connection.invalidated:
            connection.exec_driver_sql(_PATIENCE[backend.name])
