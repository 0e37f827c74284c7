"""Where the changes of a table are: the files and inlined rows that a range of snapshots touched."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from quacklake.catalog import queries
from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.files import build_files, few_ids, inlined_deletes, load_delete_files, load_deletions
from quacklake.catalog.inlined import load_inlined
from quacklake.catalog.inlined_columns import Choice
from quacklake.catalog.legacy import split_births
from quacklake.catalog.load import load_snapshot
from quacklake.catalog.queries import TABLE
from quacklake.catalog.shared.expired import load_expired
from quacklake.catalog.tables import SNAPSHOT, START, CatalogTables, optional, prepared
from quacklake.catalog.view import Snapshot, TableEntry
from quacklake.errors import InvalidInputError, NotFoundError
from quacklake.plan.changes import MortalFile, TableChanges
from quacklake.plan.scan import DeleteFile, ScanFile

if TYPE_CHECKING:
    from quacklake.catalog.queries import Query

_FIRST = sa.bindparam("first", type_=sa.BigInteger())
_FILES = sa.bindparam("files", type_=sa.BigInteger(), expanding=True)
_MOVES = ("rewrite_delete", "compacted_table")
"""What snapshots say that wrote rows anew; the second is the word of old versions."""
_QUOTED = re.compile(r'"(?:[^"]|"")*"')


def load_start(connection: sa.Connection, tables: CatalogTables, start: int | datetime, end: Snapshot) -> int:
    """The first snapshot of a range: that of an id, or the first that is not older than a moment.

    Raises:
        NotFoundError: When there is none.
        InvalidInputError: When the range ends before it begins.
    """
    if isinstance(start, datetime):
        first = _since(connection, tables, start)
        if first is None:
            raise NotFoundError(
                f"there is no snapshot since {start.isoformat()}",
                hint=f"the newest snapshot is {load_snapshot(connection, tables).time.isoformat()}",
            )
    else:
        first = load_snapshot(connection, tables, start).snapshot_id
    if first > end.snapshot_id:
        raise InvalidInputError(
            f"the changes start at snapshot {first} and end at {end.snapshot_id}", hint="give the earlier one first"
        )
    return first


def _since(connection: sa.Connection, tables: CatalogTables, moment: datetime) -> int | None:
    if connection.dialect.name != "sqlite":
        return connection.execute(queries.snapshot_since_moment(tables), {"moment": moment}).scalar()
    # Moments are text there, and not every writer spells them alike: compare what they mean.
    wanted = moment.astimezone(UTC)
    times = connection.execute(queries.snapshot_times(tables))
    found = min(((time, id_) for time, id_ in times if time is not None and time >= wanted), default=None)
    return None if found is None else int(found[1])


def load_changes(
    connection: sa.Connection, tables: CatalogTables, backend: Backend, entry: TableEntry, start: int, end: int
) -> TableChanges:
    """The changes of a table in a range of snapshots.

    Args:
        connection: To the catalog database.
        tables: Its tables.
        backend: Its kind.
        entry: The table, as it is at the end.
        start: The first snapshot of the range.
        end: The last one.
    """
    asked = {"table": entry.table_id, "start": start, "snapshot": end}
    moves = _load_moves(connection, tables, entry.table_id, start, end)
    rows = _load_rows(connection, tables, backend, asked)
    files = build_files(connection, tables, entry, rows)
    births = split_births(connection, tables, entry.table_id, start, end, files)
    ends = {row.data_file_id: row.end_snapshot for row in rows if start <= (row.end_snapshot or -1) <= end}
    deletes = load_delete_files(connection, entry, *_delete_history(tables, rows, asked))
    deletions = load_deletions(connection, tables, backend, entry.table_id, end, few_ids(rows))
    deaths = (
        _mortal(file, deletes.get(file.file_id, []), deletions.get(file.file_id, []), ends.get(file.file_id), moves)
        for file in files
    )
    return TableChanges(
        start=start,
        end=end,
        births=tuple(
            _newborn(file, deletes.get(file.file_id, []), deletions.get(file.file_id, []))
            for file in births
            if _has_births(file, start, end, moves)
        ),
        born=load_inlined(connection, tables, backend, entry, end, choice=Choice("born", end, start)),
        deaths=tuple(each for each in deaths if each.file.has_deletes or each.end_snapshot is not None),
        died=load_inlined(connection, tables, backend, entry, end, choice=Choice("died", end, start)),
        moves=moves,
    )


def _has_births(file: ScanFile, start: int, end: int, moves: frozenset[int]) -> bool:
    if file.partial_max is None:
        return start <= file.begin_snapshot <= end and file.begin_snapshot not in moves
    return file.begin_snapshot <= end and file.partial_max >= start


def _newborn(file: ScanFile, deletes: list[DeleteFile], deletions: list[tuple[int, int]]) -> ScanFile:
    """The file as its own snapshot showed it: what a transaction wrote and deleted again was never there."""
    if file.partial_max is not None:
        return file
    begin = file.begin_snapshot
    gone = (position for position, snapshot in deletions if snapshot <= begin)
    return replace(
        file,
        delete_files=tuple(each for each in deletes if each.begin_snapshot <= begin),
        deleted_positions=(*file.deleted_positions, *gone),
    )


def _mortal(
    file: ScanFile,
    deletes: list[DeleteFile],
    deletions: list[tuple[int, int]],
    end: int | None,
    moves: frozenset[int],
) -> MortalFile:
    # Two writers may have deleted from the file and dropped it: what came after the drop deleted nothing.
    known = [(position, snapshot) for position, snapshot in deletions if end is None or snapshot <= end]
    shown = replace(
        file,
        delete_files=tuple(each for each in deletes if end is None or each.begin_snapshot <= end),
        deleted_positions=tuple(position for position, _ in known),
    )
    return MortalFile(shown, tuple(known), None if end in moves else end)


def _load_moves(
    connection: sa.Connection, tables: CatalogTables, table_id: int, start: int, end: int
) -> frozenset[int]:
    """The snapshots that did nothing to the table but write its rows into other files.

    DuckDB gives the rows the snapshot in which they were written anew, so that they look like updates. It changes
    nothing else in such a snapshot.
    """
    rows = connection.execute(_rewrites(tables), {"start": start, "snapshot": end}).all()
    found = {row.snapshot_id for row in rows if _has_rewritten(row.changes_made, table_id)}
    if not found:
        return frozenset()
    asked = {"start": start, "snapshot": end}
    known = sorted(connection.execute(_snapshots_between(tables), asked).scalars())
    expired = load_expired(connection, tables)
    # What was born in a snapshot that was expired since is seen only where it was moved to.
    return frozenset(each for each in found if each == start or _follows(each, known, expired))


def _follows(snapshot_id: int, known: list[int], expired: int | None) -> bool:
    """Whether the snapshot right before this one is still there.

    Args:
        snapshot_id: This one.
        known: Those of the range, in order.
        expired: In a shared database, where ids have gaps, the newest that has gone.
    """
    before = known[: bisect_left(known, snapshot_id)]
    if not before:
        return False
    return before[-1] == snapshot_id - 1 if expired is None else expired < before[-1]


def _has_rewritten(changes: str | None, table_id: int) -> bool:
    # Names of tables may hold anything.
    words = _QUOTED.sub("", changes or "").split(",")
    return any(word.strip() in (f"{each}:{table_id}" for each in _MOVES) for word in words)


@prepared
def _rewrites(tables: CatalogTables) -> Query:
    changes = tables.snapshot_changes.c
    return sa.select(changes.snapshot_id, changes.changes_made).where(
        changes.snapshot_id.between(START, SNAPSHOT),
        sa.or_(*(changes.changes_made.contains(word, autoescape=True) for word in _MOVES)),
    )


@prepared
def _snapshots_between(tables: CatalogTables) -> Query:
    ids = tables.snapshot.c.snapshot_id
    return sa.select(ids).where(ids.between(START, SNAPSHOT))


def _load_rows(
    connection: sa.Connection, tables: CatalogTables, backend: Backend, asked: dict[str, int]
) -> list[sa.Row[Any]]:
    """The data files in which rows were born or died in the range; a few more may be among them."""
    query = _changed_files(tables)
    noted = inlined_deletes(connection, tables, backend, asked["table"])
    files = tables.data_file
    changed = _changed(tables)
    if noted is not None:
        dead = sa.select(noted.c.file_id).where(noted.c.begin_snapshot.between(START, SNAPSHOT))
        changed = sa.or_(changed, files.c.data_file_id.in_(dead))
    if tables.split_files is not None:
        split = tables.split_files
        old = sa.select(split.c.data_file_id).where(split.c.table_id == TABLE, split.c.partial_file_info.is_not(None))
        changed = sa.or_(changed, files.c.data_file_id.in_(old))
    first = connection.execute(_first_file_id(tables), asked).scalar() or 0
    return list(connection.execute(query.where(changed), {**asked, "first": first}))


@prepared
def _changed_files(tables: CatalogTables) -> Query:
    files = tables.data_file
    return (
        sa.select(files, optional(files, "mapping_id"), optional(files, "partial_max"))
        .where(files.c.table_id == TABLE, files.c.begin_snapshot <= SNAPSHOT)
        .order_by(files.c.data_file_id)
    )


def _changed(tables: CatalogTables) -> sa.ColumnElement[bool]:
    files, deletes = tables.data_file.c, tables.delete_file.c
    # A delete file may say of each row when it died, and need not say so in the catalog. But ids of files grow with
    # the snapshots: one that was there before the range holds nothing of it.
    dead = sa.select(deletes.data_file_id).where(
        deletes.table_id == TABLE,
        deletes.begin_snapshot <= SNAPSHOT,
        sa.or_(deletes.begin_snapshot >= START, deletes.delete_file_id >= _FIRST),
    )
    return sa.or_(
        files.begin_snapshot >= START,
        optional(tables.data_file, "partial_max") >= START,
        files.end_snapshot.between(START, SNAPSHOT),
        files.data_file_id.in_(dead),
    )


@prepared
def _first_file_id(tables: CatalogTables) -> Query:
    """The first id that a file can have that was written in the range or after it."""
    snapshot = tables.snapshot.c
    newest = sa.select(snapshot.next_file_id).where(snapshot.snapshot_id < START)
    return newest.order_by(snapshot.snapshot_id.desc()).limit(1)


def _delete_history(
    tables: CatalogTables, rows: list[sa.Row[Any]], asked: dict[str, int]
) -> tuple[Query, dict[str, Any]]:
    """The query for all delete files that the data files ever had, with its parameters."""
    ids = few_ids(rows)
    if ids is None:
        return _all_deletes(tables), asked
    return _all_deletes(tables).where(tables.delete_file.c.data_file_id.in_(_FILES)), {**asked, "files": ids}


@prepared
def _all_deletes(tables: CatalogTables) -> Query:
    deletes = tables.delete_file
    return (
        sa.select(deletes)
        .where(deletes.c.table_id == TABLE, deletes.c.begin_snapshot <= SNAPSHOT)
        .order_by(deletes.c.delete_file_id)
    )
