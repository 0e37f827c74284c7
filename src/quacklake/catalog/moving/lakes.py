"""Make a lake out of rows that are there already, and unmake it."""

from __future__ import annotations

from collections.abc import Callable

import sqlalchemy as sa

from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.create import create_tables, insert_settings
from quacklake.catalog.moving.target import Target
from quacklake.catalog.tables import build_tables
from quacklake.catalog.version import CURRENT
from quacklake.errors import AlreadyExistsError


def fill_lake(backend: Backend, data_path: str, encrypted: bool, fill: Callable[[Target], None]) -> None:
    """Make the tables of a lake and fill them, all at once.

    Args:
        backend: The database, which holds no lake.
        data_path: Where new files go.
        encrypted: Whether they will be encrypted.
        fill: Puts the rows into the tables.

    Raises:
        AlreadyExistsError: When somebody else has made a lake meanwhile.
    """
    tables = build_tables(backend.sql_schema)
    done = False

    def work(connection: sa.Connection, metadata: sa.Table) -> None:
        nonlocal done
        target = Target(backend, connection, tables, metadata)
        insert_settings(connection, metadata, CURRENT, data_path)
        fill(target)
        said = connection.execute(sa.select(metadata.c.value).where(metadata.c.key == "encrypted")).first()
        if said is None:
            connection.execute(metadata.insert().values(key="encrypted", value="true" if encrypted else "false"))
        done = True

    create_tables(backend, tables, [table for table in tables if table is not tables.metadata], work)
    if not done:
        raise AlreadyExistsError(f"there is a lake in {backend.display} already", hint="name another database")


def drop_lake(backend: Backend) -> None:
    """Drop every table of a lake, those of inlined rows too."""
    with backend.write() as connection:
        prepare = connection.dialect.identifier_preparer
        place = f"{prepare.quote_schema(backend.sql_schema)}." if backend.sql_schema else ""
        for name in backend.columns(connection):
            text = f"DROP TABLE IF EXISTS {place}{prepare.quote(name)}"
            connection.exec_driver_sql(text, execution_options={"no_parameters": True})
