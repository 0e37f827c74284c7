"""Which batch of a stream a table has got last: a table of our own beside those of the format.

The word of it is in the same commit as the rows. A snapshot could keep it as well, but snapshots expire.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import sqlalchemy as sa

from quacklake.catalog.backends.failures import insist

if TYPE_CHECKING:
    from quacklake.catalog.backends.protocol import Backend
    from quacklake.catalog.lake import Catalog

LONGEST_QUERY_ID = 200
_ATTEMPTS = 5


@lru_cache(maxsize=64)
def build_batches(sql_schema: str | None) -> sa.Table:
    """The table, one row for each stream and the table that it writes to."""
    return sa.Table(
        "quacklake_stream_batch",
        sa.MetaData(schema=sql_schema),
        sa.Column("query_id", sa.String(LONGEST_QUERY_ID), primary_key=True),
        # Where catalogs share a database, with the catalog in front: a copy of a table has the same UUID.
        sa.Column("table_uuid", sa.String(64), primary_key=True),
        sa.Column("batch_id", sa.BigInteger(), nullable=False),
        sa.Column("snapshot_id", sa.BigInteger(), nullable=False),
    )


def batch_key(catalog_id: int | None, table: str) -> str:
    """What stands for a table, by its UUID: in a shared database, that of one catalog."""
    return table if catalog_id is None else f"{catalog_id}/{table}"


def find_batch(connection: sa.Connection, sql_schema: str | None, query_id: str, key: str) -> int | None:
    """The last batch of a stream that a table has got."""
    rows = build_batches(sql_schema).c
    query = sa.select(rows.batch_id).where(rows.query_id == query_id, rows.table_uuid == key)
    found: int | None = connection.execute(query).scalar()
    return found


def load_batch(catalog: Catalog, query_id: str, table: str) -> int | None:
    """The last batch of a stream that a table has got. The table that says so is made when it is not there yet."""
    place = catalog.tables.sql_schema

    def look() -> tuple[bool, int | None]:
        with catalog.backend.read() as connection:
            if not catalog.backend.has_table(connection, build_batches(place).name):
                return False, None
            return True, find_batch(connection, place, query_id, batch_key(catalog.catalog_id, table))

    # MySQL reads no table that was made after it began to read.
    is_there, last = insist(catalog.backend, look)
    if is_there:
        return last
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            with catalog.backend.write() as connection:
                make_batches(connection, place)
            break
        except sa.exc.SQLAlchemyError as error:
            # Two streams that begin at once run into each other here, in PostgreSQL even so.
            if attempt == _ATTEMPTS or catalog.backend.classify(error) == "denied":
                raise catalog.backend.translate(error) from error
    return None


def make_batches(connection: sa.Connection, sql_schema: str | None) -> None:
    """Make the table when it is not there."""
    connection.execute(sa.schema.CreateTable(build_batches(sql_schema), if_not_exists=True))


def forget_batches(connection: sa.Connection, backend: Backend, sql_schema: str | None, catalog_id: int) -> None:
    """Forget what the tables of a catalog of a shared database have got."""
    table = build_batches(sql_schema)
    if backend.has_table(connection, table.name):
        connection.execute(table.delete().where(of_catalog(table, catalog_id)))


def of_catalog(table: sa.Table, catalog_id: int) -> sa.ColumnElement[bool]:
    """What is true of the rows of one catalog of a shared database."""
    return table.c.table_uuid.startswith(batch_key(catalog_id, ""))
