"""Rows that go: whole files, delete files, and what the catalog notes itself."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from quacklake.commit.apply.attempt import Attempt
from quacklake.commit.apply.files import relative_to
from quacklake.commit.changes import AddDeletes, RemoveFiles
from quacklake.commit.verify import expect_rows
from quacklake.errors import CatalogError
from quacklake.plan.write import WrittenDeletes
from quacklake.storage.paths import join


def remove_files(attempt: Attempt) -> None:
    """End data files whose every row is gone."""
    table = attempt.tables.data_file
    for change in attempt.of(RemoveFiles):
        ids = [file.data_file_id for file in change.files]
        for chunk in _chunks(ids):
            expect_rows(attempt.end(table, table.c.data_file_id.in_(chunk)), len(chunk), str(change.name), "delete")


def add_deletes(attempt: Attempt) -> None:
    """Forget delete files that are replaced, and register the new ones."""
    rows = []
    for change in attempt.of(AddDeletes):
        _refuse_gone_files(attempt, change)
        for deletes in change.deletes:
            if deletes.replaces is not None:
                _forget(attempt, change, deletes)
            rows.append(_row(attempt, change, deletes))
    attempt.insert(attempt.tables.delete_file, rows)


def _refuse_gone_files(attempt: Attempt, change: AddDeletes) -> None:
    files, deletes = attempt.tables.data_file, attempt.tables.delete_file
    ids = [each.data_file_id for each in change.deletes if each.data_file_id >= 0]
    for chunk in _chunks(ids):
        alive = sa.select(sa.func.count()).where(files.c.data_file_id.in_(chunk), files.c.end_snapshot.is_(None))
        expect_rows(attempt.connection.execute(alive).scalar_one(), len(chunk), str(change.name), "delete")
        query = sa.select(deletes.c.data_file_id, deletes.c.delete_file_id).where(
            deletes.c.data_file_id.in_(chunk), deletes.c.end_snapshot.is_(None)
        )
        found = {row.data_file_id: row.delete_file_id for row in attempt.connection.execute(query)}
        wanted = {each.data_file_id: each.replaces for each in change.deletes if each.replaces is not None}
        same = sum(found.get(id_) == wanted.get(id_) for id_ in chunk)
        expect_rows(same, len(chunk), str(change.name), "delete")


def _forget(attempt: Attempt, change: AddDeletes, deletes: WrittenDeletes) -> None:
    table = attempt.tables.delete_file
    chosen = table.c.delete_file_id == deletes.replaces
    old = attempt.connection.execute(sa.select(table).where(chosen)).one()
    attempt.connection.execute(table.delete().where(chosen))
    full = join(attempt.entry(change.table_id).path, old.path, old.path_is_relative)
    row = {
        "data_file_id": old.delete_file_id,
        # Unlike everything else, these are relative to the lake and not to the table.
        **relative_to(attempt.data_path, full),
        "schedule_start": attempt.time,
    }
    attempt.insert(attempt.tables.files_scheduled_for_deletion, [row])


def _row(attempt: Attempt, change: AddDeletes, deletes: WrittenDeletes) -> dict[str, Any]:
    if deletes.stamp not in (None, attempt.snapshot_id) or (deletes.replaces is not None and deletes.stamp is None):
        raise CatalogError(f"the delete file {deletes.path} was made for snapshot {deletes.stamp}")
    begin = attempt.snapshot_id
    if deletes.stamp is not None and deletes.begin_snapshot is not None:
        begin = deletes.begin_snapshot
    return {
        "delete_file_id": attempt.ids.delete_files[change.table_id, deletes.data_file_id],
        "table_id": attempt.ids.object_id(change.table_id),
        "begin_snapshot": begin,
        "data_file_id": attempt.ids.file_id(deletes.data_file_id),
        **relative_to(attempt.entry(change.table_id).path, deletes.path),
        "format": deletes.format,
        "delete_count": deletes.count,
        "file_size_bytes": deletes.size,
        "footer_size": deletes.footer_size,
        "encryption_key": deletes.encryption_key,
        "partial_max": attempt.snapshot_id if begin < attempt.snapshot_id else None,
    }


def _chunks(ids: list[int], size: int = 500) -> list[list[int]]:
    return [ids[start : start + size] for start in range(0, len(ids), size)]
