"""Make a lake in an empty database: the tables of the format and the first snapshot, as DuckDB makes them."""

from __future__ import annotations

from uuid import uuid4

import sqlalchemy as sa

from quacklake import __version__
from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.columns import current_moment
from quacklake.catalog.indexes import ensure_indexes
from quacklake.catalog.tables import CatalogTables, build_tables
from quacklake.catalog.version import CURRENT

DETECTED_BY = "ducklake_metadata"
"""The table whose presence says that there is a lake."""

_UNFINISHED = "ducklake_metadata_in_the_making"
# What DuckDB stores in MySQL has the character set of the database; names and values may need any character.
_MYSQL_OPTIONS = " ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin"


def create_lake(backend: Backend, data_path: str, encrypted: bool) -> None:
    """Make the lake, unless another process has made it meanwhile.

    Args:
        backend: The database, which holds no lake.
        data_path: Where the files go, with a slash at the end.
        encrypted: Whether they will be encrypted.
    """
    tables = build_tables(backend.sql_schema)
    try:
        with backend.write() as connection, backend.exclusive(connection):
            if backend.has_table(connection, DETECTED_BY):
                return
            if backend.transactional_ddl:
                _create(connection, tables, data_path, encrypted)
            else:
                _create_in_steps(connection, backend, tables, data_path, encrypted)
        # Not in the same transaction: a lake without indexes is a lake too.
        ensure_indexes(backend)
    except sa.exc.SQLAlchemyError as error:
        # DuckDB does not know our lock: it may have been quicker.
        with backend.read() as connection:
            if backend.has_table(connection, DETECTED_BY):
                return
        raise backend.translate(error) from error


def create_statement(table: sa.Table, dialect: sa.Dialect, name: str | None = None, *, fresh_only: bool = True) -> str:
    """CREATE TABLE as DuckDB words it: keys stand with their column, and nothing else is constrained."""
    prepare = dialect.identifier_preparer
    columns = []
    for column in table.columns:
        constraint = " PRIMARY KEY" if column.primary_key else "" if column.nullable else " NOT NULL"
        columns.append(f"{prepare.quote(column.name)} {column.type.compile(dialect)}{constraint}")
    place = f"{prepare.quote_schema(table.schema)}." if table.schema else ""
    head = "CREATE TABLE " if fresh_only else "CREATE TABLE IF NOT EXISTS "
    options = _MYSQL_OPTIONS if dialect.name == "mysql" else ""
    return f"{head}{place}{prepare.quote(name or table.name)}({', '.join(columns)}){options}"


def _create(connection: sa.Connection, tables: CatalogTables, data_path: str, encrypted: bool) -> None:
    for table in tables:
        connection.exec_driver_sql(create_statement(table, connection.dialect))
    _fill(connection, tables, tables.metadata, data_path, encrypted)


def _create_in_steps(
    connection: sa.Connection, backend: Backend, tables: CatalogTables, data_path: str, encrypted: bool
) -> None:
    """Where each step is final: the table that tells a lake gets its name last, when all the rest is there."""
    prepare = connection.dialect.identifier_preparer
    place = f"{prepare.quote_schema(backend.sql_schema)}." if backend.sql_schema else ""
    making = tables.metadata.to_metadata(sa.MetaData(), name=_UNFINISHED)
    for table in tables:
        if table is not tables.metadata:
            connection.exec_driver_sql(create_statement(table, connection.dialect, fresh_only=False))
    connection.exec_driver_sql(create_statement(making, connection.dialect, fresh_only=False))
    # Rows of an attempt that did not get to its end.
    for leftover in (making, tables.snapshot, tables.snapshot_changes, tables.schema):
        connection.execute(leftover.delete())
    _fill(connection, tables, making, data_path, encrypted)
    connection.exec_driver_sql(f"RENAME TABLE {place}{_UNFINISHED} TO {place}{DETECTED_BY}")


def _fill(
    connection: sa.Connection, tables: CatalogTables, metadata: sa.Table, data_path: str, encrypted: bool
) -> None:
    connection.execute(
        tables.snapshot.insert().values(
            snapshot_id=0, snapshot_time=current_moment(), schema_version=0, next_catalog_id=1, next_file_id=0
        )
    )
    connection.execute(tables.snapshot_changes.insert().values(snapshot_id=0, changes_made='created_schema:"main"'))
    options = {
        "version": CURRENT,
        "created_by": f"Quacklake {__version__}",
        "data_path": data_path,
        "encrypted": "true" if encrypted else "false",
    }
    for key, value in options.items():
        connection.execute(metadata.insert().values(key=key, value=value))
    connection.execute(
        tables.schema.insert().values(
            schema_id=0,
            schema_uuid=str(uuid4()),
            begin_snapshot=0,
            schema_name="main",
            path="main/",
            path_is_relative=True,
        )
    )
