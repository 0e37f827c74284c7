"""Where the rows of a copied lake go: a database of its own, or one that catalogs share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.create import create_statement
from quacklake.catalog.inlined_write import (
    SYSTEM_COLUMNS,
    can_inline,
    create_inlined,
    encode_rows,
    inlined_name,
)
from quacklake.catalog.shared.layout import OWNED
from quacklake.catalog.tables import CatalogTables
from quacklake.errors import UnsupportedError
from quacklake.schema import Column

if TYPE_CHECKING:
    import pyarrow as pa

_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Target:
    """The database that a lake is copied to, in a transaction that writes."""

    backend: Backend
    connection: sa.Connection
    tables: CatalogTables
    settings: sa.Table
    """Where settings go; a lake in the making may have them elsewhere."""
    catalog_id: int | None = None
    """The catalog that the rows belong to, in a shared database."""

    def insert(self, name: str, rows: Sequence[dict[str, Any]]) -> None:
        """Put rows into a table of the format."""
        if not rows:
            return
        table = self.settings if name == "metadata" else getattr(self.tables, name)
        owned = {"catalog_id": self.catalog_id} if self.catalog_id is not None and name in OWNED else {}
        if self.backend.name == "mysql":
            rows = [_in_whole_seconds(row) for row in rows]
        self.connection.execute(table.insert(), [{**row, **owned} for row in rows])

    def setting(self, key: str, value: str, scope: str | None, scope_id: int | None) -> dict[str, Any]:
        """The row of a setting; those of the whole lake have a scope of their own in a shared database."""
        if scope is None and self.catalog_id is not None:
            scope, scope_id = "catalog", self.catalog_id
        return {"key": key, "value": value, "scope": scope, "scope_id": scope_id}

    def insert_inlined(
        self, table: str, table_id: int, version: int, columns: Sequence[Column], data: pa.Table, rows: pa.Table
    ) -> None:
        """Make a table of inlined rows and fill it.

        Args:
            table: The user's table, for messages.
            table_id: Its id.
            version: The schema version of the columns.
            columns: The columns.
            data: `row_id`, `begin_snapshot` and `end_snapshot` of each row.
            rows: The values of each row.

        Raises:
            UnsupportedError: When the database cannot hold the rows as they are.
        """
        reason = can_inline(self.backend.name, columns, rows)
        if reason is not None:
            raise UnsupportedError(
                f"inlined rows of {table} cannot be kept in {self.backend.display}: {reason}",
                hint="flush them into files first: CALL ducklake_flush_inlined_data(…)",
            )
        create_inlined(self.connection, self.backend.name, table_id, version, columns, self.tables.sql_schema)
        names = (*SYSTEM_COLUMNS, *(column.name for column in columns))
        stored = sa.table(
            sa.quoted_name(inlined_name(table_id, version), True),
            *(sa.column(sa.quoted_name(name, True)) for name in names),
            schema=self.tables.sql_schema,
        )
        keys = [f"p{index}" for index in range(len(names))]
        statement = sa.insert(stored).values(
            {stored.c[name]: sa.bindparam(key) for name, key in zip(names, keys, strict=True)}
        )
        for start in range(0, rows.num_rows, _AT_ONCE):
            values = encode_rows(self.backend.name, columns, rows.slice(start, _AT_ONCE))
            heads = zip(*(data.column(name).slice(start, _AT_ONCE).to_pylist() for name in SYSTEM_COLUMNS), strict=True)
            parameters = [dict(zip(keys, (*head, *row), strict=True)) for head, row in zip(heads, values, strict=True)]
            self.connection.execute(statement, parameters)

    def insert_deletes(self, table_id: int, rows: Sequence[Mapping[str, int]]) -> None:
        """Make the table that notes deleted rows of files, and fill it."""
        columns = (
            sa.Column(name, sa.BigInteger, autoincrement=False) for name in ("file_id", "row_id", "begin_snapshot")
        )
        name = f"ducklake_inlined_delete_{table_id}"
        table = sa.Table(name, sa.MetaData(), *columns, schema=self.tables.sql_schema)
        self.connection.exec_driver_sql(create_statement(table, self.connection.dialect, fresh_only=False))
        for start in range(0, len(rows), _AT_ONCE):
            self.connection.execute(table.insert(), [dict(row) for row in rows[start : start + _AT_ONCE]])


def _in_whole_seconds(row: dict[str, Any]) -> dict[str, Any]:
    """MySQL has no parts of seconds here, and would round them up."""
    moments = {name: row[name].replace(microsecond=0) for name in ("snapshot_time", "schedule_start") if row.get(name)}
    return {**row, **moments}
