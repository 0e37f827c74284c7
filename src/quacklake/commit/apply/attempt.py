"""One attempt to commit: the open transaction, and what was found out and allocated in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeVar

import sqlalchemy as sa

from quacklake.catalog.backends.protocol import Backend, Bundle
from quacklake.catalog.tables import CatalogTables
from quacklake.catalog.view import TableEntry
from quacklake.commit.changes import Intent
from quacklake.commit.ids import Allocation

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class Attempt:
    """Everything that the statements of a commit need."""

    connection: sa.Connection
    tables: CatalogTables
    backend: Backend
    intent: Intent
    ids: Allocation
    time: datetime
    data_path: str
    is_next: bool = False
    """Whether nobody committed between the base and this."""
    bundle: Bundle | None = None
    """Where statements go that need not be run at once."""

    @property
    def snapshot_id(self) -> int:
        """The id of the new snapshot."""
        return self.ids.snapshot_id

    def of(self, kind: type[C]) -> list[C]:
        """The changes of one kind."""
        return self.intent.of(kind)

    def entry(self, table_id: int) -> TableEntry:
        """A table that the transaction touches, as it will be; by the id that the transaction knows."""
        return self.intent.entries[table_id]

    def insert(self, table: sa.Table, rows: Iterable[Mapping[str, Any]]) -> None:
        """Put rows into a table of the catalog, each with a value for every column that has none of its own."""
        given = list(rows)
        if given:
            keys = [column.key for column in table.columns if column.default is None]
            self.run(_insert(table), [{key: row.get(key) for key in keys} for row in given])

    def run(self, statement: sa.Insert | sa.Update, rows: Sequence[Mapping[str, Any]]) -> None:
        """Run a statement for each of some rows. It must be the same object each time, as it is compiled once."""
        if self.bundle is None:
            self.connection.execute(statement, rows)
        else:
            self.bundle.add(statement, rows)

    def end(self, table: sa.Table, *conditions: sa.ColumnElement[bool]) -> int:
        """Let rows that are still there end with this snapshot; how many there were."""
        statement = table.update().where(table.c.end_snapshot.is_(None), *conditions)
        return self.connection.execute(statement.values(end_snapshot=self.snapshot_id)).rowcount


@lru_cache(maxsize=1024)
def _insert(table: sa.Table) -> sa.Insert:
    """To build a statement takes longer than to run it."""
    return table.insert()
