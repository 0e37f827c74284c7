"""Find out whether a commit whose end nobody saw became part of the lake."""

from __future__ import annotations

import time
from collections.abc import Sequence

import sqlalchemy as sa

from quacklake.catalog.lake import Catalog
from quacklake.catalog.shared.counters import is_part_of_commit
from quacklake.commit.apply.attempt import Attempt
from quacklake.commit.apply.files import relative_to
from quacklake.commit.apply.snapshot import changes_text
from quacklake.commit.changes import AddDeletes, AddFiles, CreateNamespace, CreateTable, CreateView
from quacklake.commit.state import Turn, standing_in_line, take_turn
from quacklake.errors import CatalogError, QuacklakeError

_PATIENCE_SECONDS = 60.0
_MOST_NAMES = 500
"""In one query."""


def is_ours(catalog: Catalog, attempt: Attempt) -> bool:
    """Whether the snapshot of an attempt is there and is the one that the attempt wrote.

    The look waits for its turn first: the database may still be busy with the end of that transaction.

    Raises:
        CatalogError: When the catalog stays out of reach, or when another writer's snapshot cannot be told from ours.
    """
    deadline = time.monotonic() + _PATIENCE_SECONDS
    pause = 0.05
    while True:
        try:
            with catalog.backend.write(standing_in_line(catalog.tables, catalog.backend)) as connection:
                turn = take_turn(connection, catalog.tables, catalog.backend)
                return _compare(connection, catalog, attempt, turn)
        except (sa.exc.SQLAlchemyError, QuacklakeError) as error:
            is_unknown = isinstance(error, _CannotTell)
            if is_unknown or time.monotonic() > deadline:
                raise _unknown(attempt) from error
            time.sleep(pause)
            pause = min(pause * 2, 2.0)


def find_unknown(catalog: Catalog, table_id: int, folder: str, paths: Sequence[str]) -> list[str]:
    """Those of some files that no snapshot of a table has; like all looks here, this one waits for its turn.

    Args:
        catalog: The lake.
        table_id: The table.
        folder: Where its files go.
        paths: The files.

    Raises:
        CatalogError: When the catalog does not answer. Then nobody knows, and nothing may be removed.
    """
    files = catalog.tables.data_file.c
    stored = {relative_to(folder, path)["path"]: path for path in paths}
    names = list(stored)
    try:
        with catalog.backend.write(standing_in_line(catalog.tables, catalog.backend)) as connection:
            for start in range(0, len(names), _MOST_NAMES):
                some = files.path.in_(names[start : start + _MOST_NAMES])
                for name in connection.execute(sa.select(files.path).where(files.table_id == table_id, some)).scalars():
                    stored.pop(name, None)
    except sa.exc.SQLAlchemyError as error:
        raise catalog.backend.translate(error) from error
    return list(stored.values())


class _CannotTell(CatalogError):
    """Nothing in the snapshot is one of a kind."""


def _unknown(attempt: Attempt) -> CatalogError:
    return CatalogError(
        f"the connection broke while snapshot {attempt.snapshot_id} was committed, and nobody can tell how that ended",
        hint=f"look at snapshot {attempt.snapshot_id} in session.snapshots() before you try again",
    )


def _compare(connection: sa.Connection, catalog: Catalog, attempt: Attempt, turn: Turn) -> bool:
    snapshot, changes = catalog.tables.snapshot, catalog.tables.snapshot_changes
    query = (
        sa.select(*(column.label(column.key) for column in snapshot.c), changes)
        .select_from(snapshot.outerjoin(changes, changes.c.snapshot_id == snapshot.c.snapshot_id))
        .where(snapshot.c.snapshot_id == attempt.snapshot_id)
    )
    row = connection.execute(query).first()
    newest, id_ = turn.newest.snapshot_id, attempt.snapshot_id
    # Where ids have gaps, a newer snapshot says nothing of this one.
    if row is None and (newest > id_ if turn.expired is None else turn.expired >= id_):
        # It has expired since, and what it brought may have gone with it.
        if _find_unique(connection, catalog, attempt):
            return True
        raise _CannotTell("the snapshot has expired")
    if row is None:
        return False
    if catalog.tables.shared is not None and not is_part_of_commit(catalog.backend):
        # Nobody else gets an id that was given to this attempt.
        return True
    intent, ids = attempt.intent, attempt.ids
    stored = (row.schema_version, row.next_catalog_id, row.next_file_id, row.changes_made)
    said = (row.author, row.commit_message, row.commit_extra_info)
    if stored != (ids.schema_version, ids.next_catalog_id, ids.next_file_id, changes_text(attempt)):
        return False
    if said != (intent.author, intent.message, intent.extra):
        return False
    unique = _find_unique(connection, catalog, attempt)
    if unique is not None:
        return unique
    if catalog.backend.name == "mysql":
        # Whole seconds do not tell two writers apart.
        raise _CannotTell("two snapshots could be alike")
    # Writers take turns and each reads the clock in its own, to the microsecond.
    return bool(row.snapshot_time == attempt.time)


def _find_unique(connection: sa.Connection, catalog: Catalog, attempt: Attempt) -> bool | None:
    """Whether something of the attempt that nobody else can have written is there; None when it has no such thing."""
    tables, intent = catalog.tables, attempt.intent
    column: sa.ColumnElement[str] | None = None
    value = ""
    for change in intent.changes:
        if isinstance(change, CreateTable):
            column, value = tables.table.c.table_uuid, change.uuid
        elif isinstance(change, CreateNamespace):
            column, value = tables.schema.c.schema_uuid, change.uuid
        elif isinstance(change, CreateView):
            column, value = tables.view.c.view_uuid, change.uuid
        elif isinstance(change, AddFiles):
            column = tables.data_file.c.path
            value = relative_to(attempt.entry(change.table_id).path, change.files[0].path)["path"]
        elif isinstance(change, AddDeletes):
            column = tables.delete_file.c.path
            value = relative_to(attempt.entry(change.table_id).path, change.deletes[0].path)["path"]
        if column is not None:
            return connection.execute(sa.select(sa.literal(1)).where(column == value)).first() is not None
    return None
