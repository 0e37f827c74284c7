"""Make a lake in an empty database: the tables of the format and the first snapshot, as DuckDB makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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


Fill = Callable[[sa.Connection, sa.Table], None]
"""Put the first rows into new tables; settings go into the table that is given."""


def create_lake(backend: Backend, data_path: str, encrypted: bool) -> None:
    """Make the lake, unless another process has made it meanwhile.

    Args:
        backend: The database, which holds no lake.
        data_path: Where the files go, with a slash at the end.
        encrypted: Whether they will be encrypted.
    """
    tables = build_tables(backend.sql_schema)
    filled = (tables.snapshot, tables.snapshot_changes, tables.schema)
    create_tables(
        backend, tables, filled, lambda connection, metadata: _fill(connection, tables, metadata, data_path, encrypted)
    )


def create_tables(backend: Backend, tables: CatalogTables, filled: Sequence[sa.Table], fill: Fill) -> None:
    """Make the tables with their first rows, unless another process has made them meanwhile.

    Args:
        backend: The database, which holds none.
        tables: What to make.
        filled: The tables, besides that of settings, that get rows.
        fill: Puts the rows into them.
    """
    try:
        with backend.write() as connection, backend.exclusive(connection):
            if backend.has_table(connection, DETECTED_BY):
                return
            if backend.transactional_ddl:
                for table in all_tables(tables):
                    connection.exec_driver_sql(create_statement(table, connection.dialect))
                fill(connection, tables.metadata)
            else:
                _create_in_steps(connection, backend, tables, filled, fill)
        # Not in the same transaction: a lake without indexes is a lake too.
        ensure_indexes(backend, shared=tables.shared is not None)
    except sa.exc.SQLAlchemyError as error:
        # DuckDB does not know our lock: it may have been quicker.
        with backend.read() as connection:
            if backend.has_table(connection, DETECTED_BY):
                return
        raise backend.translate(error) from error


def all_tables(tables: CatalogTables) -> Iterator[sa.Table]:
    """Those of the format, and those that a shared database has besides."""
    yield from tables
    if tables.shared is not None:
        shared = tables.shared
        yield from (shared.catalog, shared.tenant, shared.counter, shared.holder, shared.moved)


def create_statement(table: sa.Table, dialect: sa.Dialect, name: str | None = None, *, fresh_only: bool = True) -> str:
    """CREATE TABLE as DuckDB words it: keys stand with their column, and nothing else is constrained."""
    prepare = dialect.identifier_preparer
    columns = []
    for column in table.columns:
        constraint = " PRIMARY KEY" if column.primary_key else "" if column.nullable else " NOT NULL"
        constraint += " UNIQUE" if column.unique else ""
        columns.append(f"{prepare.quote(column.name)} {column.type.compile(dialect)}{constraint}")
    place = f"{prepare.quote_schema(table.schema)}." if table.schema else ""
    head = "CREATE TABLE " if fresh_only else "CREATE TABLE IF NOT EXISTS "
    options = _MYSQL_OPTIONS if dialect.name == "mysql" else ""
    return f"{head}{place}{prepare.quote(name or table.name)}({', '.join(columns)}){options}"


def _create_in_steps(
    connection: sa.Connection, backend: Backend, tables: CatalogTables, filled: Sequence[sa.Table], fill: Fill
) -> None:
    """Where each step is final: the table that tells a lake gets its name last, when all the rest is there."""
    prepare = connection.dialect.identifier_preparer
    place = f"{prepare.quote_schema(backend.sql_schema)}." if backend.sql_schema else ""
    making = tables.metadata.to_metadata(sa.MetaData(), name=_UNFINISHED)
    for table in all_tables(tables):
        if table is not tables.metadata:
            connection.exec_driver_sql(create_statement(table, connection.dialect, fresh_only=False))
    connection.exec_driver_sql(create_statement(making, connection.dialect, fresh_only=False))
    # Rows of an attempt that did not get to its end.
    for leftover in (making, *filled):
        connection.execute(leftover.delete())
    fill(connection, making)
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
    insert_settings(connection, metadata, CURRENT, data_path)
    connection.execute(metadata.insert().values(key="encrypted", value="true" if encrypted else "false"))
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


def insert_settings(connection: sa.Connection, metadata: sa.Table, version: str, data_path: str) -> None:
    """What every database says of itself."""
    settings = {"version": version, "created_by": f"Quacklake {__version__}", "data_path": data_path}
    for key, value in settings.items():
        connection.execute(metadata.insert().values(key=key, value=value))
