"""Where the ids of a shared database come from, so that no two catalogs ever get the same.

PostgreSQL has sequences, which nobody waits for. MySQL has a table of next ids, and who takes some holds it as long
as a transaction of its own takes that does nothing else. Both lose ids that a failed commit has taken. In a file,
where only one writes at a time anyhow, ids are part of the commit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import sqlalchemy as sa

from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.shared.layout import KINDS, SharedTables
from quacklake.catalog.tables import CatalogTables
from quacklake.errors import CatalogError
from quacklake.names import quote

Kind = Literal["catalog", "snapshot", "entry", "file"]
FIRST_ID = 0
"""As in a lake that is alone."""


def is_part_of_commit(backend: Backend) -> bool:
    """Whether ids are given back when the transaction that took them fails."""
    return backend.name in ("sqlite", "duckdb")


def create_counters(connection: sa.Connection, backend: Backend, shared: SharedTables) -> None:
    """Let ids begin; the table for them is there already."""
    if backend.name == "postgresql":
        for kind in KINDS:
            # The driver looks for places of values in the text.
            name = _sequence(backend, kind).replace("%", "%%")
            connection.exec_driver_sql(f"CREATE SEQUENCE {name} MINVALUE {FIRST_ID}")
        return
    connection.execute(shared.counter.insert(), [{"name": kind, "next_id": FIRST_ID} for kind in KINDS])


def take_ids(
    connection: sa.Connection, backend: Backend, tables: CatalogTables, wanted: Mapping[Kind, int]
) -> dict[Kind, Sequence[int]]:
    """So many ids of each kind, in order, that nobody else gets.

    Args:
        connection: In the transaction that will use them.
        backend: Its database.
        tables: Its tables.
        wanted: How many of which.
    """
    if backend.name == "postgresql":
        return _from_sequences(connection, backend, wanted)
    if is_part_of_commit(backend):
        return _from_table(connection, tables, wanted)
    with backend.write() as other:
        return _from_table(other, tables, wanted)


def peek_snapshot_id(connection: sa.Connection, tables: CatalogTables) -> int:
    """The id that the next snapshot of any catalog gets, where ids are part of a commit."""
    counter = _counter(tables)
    return int(connection.execute(sa.select(counter.c.next_id).where(counter.c.name == "snapshot")).scalar_one())


def _counter(tables: CatalogTables) -> sa.Table:
    assert tables.shared is not None
    return tables.shared.counter


def _from_table(
    connection: sa.Connection, tables: CatalogTables, wanted: Mapping[Kind, int]
) -> dict[Kind, Sequence[int]]:
    counter = _counter(tables)
    steps = {kind: count for kind, count in wanted.items() if count}
    if steps:
        step = sa.case(steps, value=counter.c.name)
        connection.execute(
            counter.update().where(counter.c.name.in_(list(steps))).values(next_id=counter.c.next_id + step)
        )
    found = dict(tuple(row) for row in connection.execute(sa.select(counter.c.name, counter.c.next_id)))
    if missing := [kind for kind in KINDS if kind not in found]:
        raise CatalogError(f"nobody counts the ids of {missing[0]}", hint="restore quacklake_counter from a backup")
    return {kind: range(found[kind] - count, found[kind]) for kind, count in wanted.items()}


def _from_sequences(
    connection: sa.Connection, backend: Backend, wanted: Mapping[Kind, int]
) -> dict[Kind, Sequence[int]]:
    kinds = [kind for kind, count in wanted.items() if count]
    none: dict[Kind, Sequence[int]] = dict.fromkeys(wanted, ())
    if not kinds:
        return none
    # One at a time: between two of them, other catalogs may get one.
    parts = (f"ARRAY(SELECT nextval(CAST(:{kind} AS regclass)) FROM generate_series(1, :{kind}s))" for kind in kinds)
    names = {str(kind): _sequence(backend, kind) for kind in kinds}
    counts = {f"{kind}s": wanted[kind] for kind in kinds}
    row = connection.execute(sa.text(f"SELECT {', '.join(parts)}"), {**names, **counts}).one()
    return none | {kind: sorted(ids) for kind, ids in zip(kinds, row, strict=True)}


def _sequence(backend: Backend, kind: str) -> str:
    return f"{quote(backend.sql_schema or 'public')}.quacklake_{kind}_id"
