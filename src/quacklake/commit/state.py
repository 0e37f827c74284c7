"""What a commit finds when it has its turn: the newest snapshot, the clock, and what others did meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import aggregate_order_by

from quacklake.catalog.backends.protocol import Backend, Question, answer
from quacklake.catalog.columns import Moment
from quacklake.catalog.shared.expired import expired_snapshot
from quacklake.catalog.shared.layout import CATALOG
from quacklake.catalog.tables import CatalogTables, prepared
from quacklake.catalog.version import check_writable
from quacklake.catalog.view import Snapshot
from quacklake.commit.applied import Applied, parse_applied
from quacklake.commit.conflicts import Claim, Happened
from quacklake.errors import CatalogError, NotFoundError

_ASKED_ALONG = ("postgresql",)
"""Where an array tells what happened after the base."""
_CLOCKS = {"postgresql": "clock_timestamp()", "mysql": "UTC_TIMESTAMP()"}


Row = sa.Row[Any]


@dataclass(frozen=True, slots=True)
class Turn:
    """The state on top of which this commit goes."""

    newest: Snapshot
    time: datetime
    """For the new snapshot: the catalog's clock, and never before the snapshot it comes after."""
    table_id: int | None = None
    """The table that was looked at along with it."""
    rows: Sequence[Row] = ()
    """What `look` found."""
    since: Sequence[tuple[int, str | None]] | None = None
    """The snapshots after the base and what they say they did, where that was asked along."""
    expired: int | None = None
    """In a shared database, where ids have gaps: the newest snapshot that has gone."""


def standing_in_line(tables: CatalogTables, backend: Backend) -> sa.Executable | None:
    """The statement that waits until no other commit of ours is under way; a file lets in one writer at a time anyhow.

    The primary key of the snapshots decides who wins, also against DuckDB. The lock is there so that many writers
    stand in line and do not all run into that key. Catalogs that share a database have a line each, and there the
    lock decides.
    """
    return _lock(tables) if backend.name in _CLOCKS else None


def take_turn(
    connection: sa.Connection,
    tables: CatalogTables,
    backend: Backend,
    base: int | None = None,
    table_id: int | None = None,
) -> Turn:
    """Look at the catalog; the statement of `standing_in_line` has been run.

    Args:
        connection: In the transaction of the commit.
        tables: The tables of the catalog.
        backend: What kind of database it is.
        base: The snapshot that a commit builds on.
        table_id: A table to look at in the same query.

    Raises:
        VersionError: When the lake is not of the version that is written here.
    """
    is_server = backend.name in _CLOCKS
    rows = answer(connection, asking(tables, backend, base, table_id))
    row = rows[0] if rows else None
    if row is None:
        if tables.shared is not None:
            raise NotFoundError("the catalog is gone", hint="somebody has dropped it")
        raise CatalogError("the lake has no snapshot", hint="the catalog is damaged; restore it from a backup")
    check_writable(str(row.version), backend.display)
    # A catalog that is a file has the clock of this machine.
    moment = row.clock if is_server else datetime.now(UTC)
    found = Snapshot(row.snapshot_id, row.snapshot_time, row.schema_version, row.next_catalog_id, row.next_file_id)
    since = None
    if backend.name in _ASKED_ALONG and base is not None:
        since = list(zip(row.since_ids or (), row.since_changes or (), strict=True))
    expired = None if tables.shared is None else row.expired
    return Turn(found, max(moment, found.time), table_id, rows, since, expired)


def asking(tables: CatalogTables, backend: Backend, base: int | None = None, table_id: int | None = None) -> Question:
    """The newest snapshot and what a commit must know of one table, once for every column that has statistics."""
    return _newest(tables)[backend.name], {"table": table_id, "base": base}


@prepared
def _version(tables: CatalogTables) -> sa.Select[Any]:
    return sa.select(tables.metadata.c.value).where(tables.metadata.c.key == "version")


@prepared
def _lock(tables: CatalogTables) -> sa.Select[Any]:
    if tables.shared is not None:
        catalog = tables.shared.catalog.c
        return sa.select(catalog.catalog_id).where(catalog.catalog_id == CATALOG).with_for_update()
    return _version(tables).with_for_update()


@prepared
def _newest(tables: CatalogTables) -> dict[str, sa.Select[Any]]:
    """By backend: what `look` asks."""
    asked = sa.bindparam("table", type_=sa.BigInteger())
    # By the names that we know the columns by.
    columns_of_snapshot = (column.label(column.key) for column in tables.snapshot.c)
    newest = sa.select(*columns_of_snapshot).order_by(tables.snapshot.c.snapshot_id.desc()).limit(1).subquery("newest")
    table, columns, registered = tables.table_stats, tables.table_column_stats, tables.inlined_data_tables
    inlined = (
        sa.select(registered.c.table_name, registered.c.schema_version)
        .where(registered.c.table_id == asked)
        .order_by(registered.c.schema_version.desc())
        .limit(1)
        .subquery("inlined")
    )
    versions = tables.schema_versions.c
    layout = sa.select(sa.func.max(versions.schema_version)).where(versions.table_id == asked).scalar_subquery()
    query = sa.select(
        newest,
        _version(tables).limit(1).scalar_subquery().label("version"),
        table.c.table_id.label("counted_id"),
        table.c.record_count,
        table.c.next_row_id,
        table.c.file_size_bytes,
        *(column for column in columns.c if column.name != "table_id"),
        inlined.c.table_name.label("inlined_name"),
        inlined.c.schema_version.label("inlined_version"),
        layout.label("layout"),
    ).select_from(
        newest.outerjoin(table, table.c.table_id == asked)
        .outerjoin(columns, columns.c.table_id == table.c.table_id)
        .outerjoin(inlined, sa.true())
    )
    if tables.shared is not None:
        query = query.add_columns(expired_snapshot(tables).scalar_subquery().label("expired"))
    with_clock = {
        name: query.add_columns(sa.literal_column(clock, Moment()).label("clock")) for name, clock in _CLOCKS.items()
    }
    return {"sqlite": query, "duckdb": query, **with_clock, "postgresql": _with_since(tables, with_clock["postgresql"])}


def _with_since(tables: CatalogTables, query: sa.Select[Any]) -> sa.Select[Any]:
    """The same query, with arrays of what happened after the base."""
    snapshot, changes = tables.snapshot, tables.snapshot_changes
    ids, texts = (
        sa.func.array_agg(aggregate_order_by(column, snapshot.c.snapshot_id))
        for column in (snapshot.c.snapshot_id, changes.c.changes_made)
    )
    since = (
        sa.select(ids.label("since_ids"), texts.label("since_changes"))
        .select_from(snapshot.outerjoin(changes, changes.c.snapshot_id == snapshot.c.snapshot_id))
        .where(snapshot.c.snapshot_id > sa.bindparam("base", type_=sa.BigInteger()))
        .subquery("since")
    )
    return query.add_columns(since.c.since_ids, since.c.since_changes).join_from(
        query.get_final_froms()[0], since, sa.true()
    )


def load_happened(
    connection: sa.Connection, tables: CatalogTables, backend: Backend, base: int, turn: Turn, claims: Sequence[Claim]
) -> list[Happened]:
    """Everything that others committed after the base snapshot, as far as the claims need to know."""
    newest = turn.newest.snapshot_id
    rows = turn.since
    if rows is None:
        query = _changes_between(tables)
        rows = [(row[0], row[1]) for row in connection.execute(query, {"base": base, "newest": newest})]
    happened = [
        Happened(snapshot_id, entry)
        for snapshot_id, changes_made in rows
        for entry in (parse_applied(changes_made) or (Applied("nothing that is written down", is_known=False),))
    ]
    if len(rows) < newest - base if turn.expired is None else turn.expired > base:
        # Expired snapshots take with them what they did.
        happened.append(Happened(newest, Applied("something in a snapshot that has expired", is_known=False)))
    happened.extend(_load_renamed(connection, tables, base, claims, happened))
    return _with_files(connection, tables, backend, base, claims, happened)


@prepared
def _changes_between(tables: CatalogTables) -> sa.Select[Any]:
    snapshot, changes = tables.snapshot, tables.snapshot_changes
    base, newest = (sa.bindparam(name, type_=sa.BigInteger()) for name in ("base", "newest"))
    return (
        sa.select(snapshot.c.snapshot_id, changes.c.changes_made)
        .select_from(snapshot.outerjoin(changes, changes.c.snapshot_id == snapshot.c.snapshot_id))
        .where(snapshot.c.snapshot_id > base, snapshot.c.snapshot_id <= newest)
        .order_by(snapshot.c.snapshot_id)
    )


def _load_renamed(
    connection: sa.Connection, tables: CatalogTables, base: int, claims: Sequence[Claim], happened: Sequence[Happened]
) -> Iterator[Happened]:
    """Tables and views that got another name: `changes_made` calls that a creation and does not say of what."""
    queries = (("renamed_table", _begun_tables, "table"), ("renamed_view", _begun_views, "view"))
    for word, query, kind in queries:
        ids = {claim.id for claim in claims if claim.id is not None and claim.act.endswith(kind)}
        if ids and any(not each.what.is_known or each.what.word == f"created_{kind}" for each in happened):
            for id_, snapshot_id in connection.execute(query(tables), {"ids": sorted(ids), "base": base}):
                yield Happened(snapshot_id, Applied(word, id_))


@prepared
def _begun_tables(tables: CatalogTables) -> sa.Select[Any]:
    return _begun(tables.table, tables.table.c.table_id)


@prepared
def _begun_views(tables: CatalogTables) -> sa.Select[Any]:
    return _begun(tables.view, tables.view.c.view_id)


def _begun(table: sa.Table, key: sa.Column[int]) -> sa.Select[Any]:
    ids = sa.bindparam("ids", expanding=True, type_=sa.BigInteger())
    base = sa.bindparam("base", type_=sa.BigInteger())
    return sa.select(key, table.c.begin_snapshot).where(key.in_(ids), table.c.begin_snapshot > base)


def _with_files(
    connection: sa.Connection,
    tables: CatalogTables,
    backend: Backend,
    base: int,
    claims: Sequence[Claim],
    happened: list[Happened],
) -> list[Happened]:
    done = []
    deleted_from = {each.what.id for each in happened if each.what.word == "deleted_from_table"}
    touched = {
        claim.id: _load_touched(connection, tables, base, sorted(claim.files))
        for claim in claims
        if claim.files and claim.id in deleted_from
    }
    for each in happened:
        files = touched.get(each.what.id, frozenset()) if each.what.word == "deleted_from_table" else frozenset()
        done.append(Happened(each.snapshot_id, each.what, files))
    return done


def _load_touched(connection: sa.Connection, tables: CatalogTables, base: int, files: Sequence[int]) -> frozenset[int]:
    """Which of the files lost rows, or ended, after the base snapshot."""
    data, deletes = tables.data_file, tables.delete_file
    # A delete file that took the place of another begins where that one did; its newest position says when.
    newer = sa.or_(deletes.c.begin_snapshot > base, deletes.c.partial_max > base)
    found: set[int] = set()
    for start in range(0, len(files), 500):
        chunk = list(files[start : start + 500])
        alive = sa.select(data.c.data_file_id).where(data.c.data_file_id.in_(chunk), data.c.end_snapshot.is_(None))
        found.update(set(chunk) - set(connection.execute(alive).scalars()))
        query = sa.select(deletes.c.data_file_id).where(deletes.c.data_file_id.in_(chunk), newer)
        found.update(connection.execute(query).scalars())
    return frozenset(found)
