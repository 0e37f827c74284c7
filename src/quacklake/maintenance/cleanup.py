"""Delete the files that were scheduled for deletion.

A row leaves the schedule when its file is gone, and not before: whatever happens in between, the next cleanup finds it
and goes on. A file that is in use again leaves the schedule and stays; whoever lets go of it last schedules it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from quacklake.catalog.lake import Catalog
from quacklake.catalog.load import load_options
from quacklake.catalog.view import Option
from quacklake.commit.state import Row, Turn
from quacklake.errors import StorageError
from quacklake.maintenance.ages import OlderThan, find_limit
from quacklake.maintenance.known import KnownFiles
from quacklake.maintenance.reports import Removed
from quacklake.maintenance.turns import in_turn
from quacklake.storage.paths import join
from quacklake.storage.placement import delete_files
from quacklake.storage.stores import Stores, is_remote, local_path

DEFAULT_AGE = "2 days"
"""What DuckDB waits when nobody said anything: as long may whoever reads an expired snapshot still read."""
AGE_OPTION = "delete_older_than"
PAGE = 500
"""So many files are deleted in one turn, while commits wait."""

_Place = tuple[int, str]
"""Id and path of a row of the schedule: where the next page goes on."""
_START: _Place = (-2, "")


def clean_up(catalog: Catalog, stores: Stores, older_than: OlderThan = None, *, dry_run: bool = False) -> Removed:
    """Delete files that were scheduled long enough ago.

    Args:
        catalog: The lake.
        stores: Where its files are.
        older_than: How long ago; without it, as long as the lake says.
        dry_run: Only say which.

    Raises:
        InvalidInputError: When the age makes no sense.
    """
    known = KnownFiles(catalog)
    with catalog.backend.read() as connection:
        options = load_options(connection, catalog.tables)
        if _load_page(connection, catalog, _START):
            # The long look, while nobody waits.
            known.look(connection)
    cleaning = _Cleaning(catalog, stores, known, older_than, options)
    report = Removed(dry_run=dry_run)
    after: _Place | None = _START
    while after is not None:
        report, after = in_turn(catalog, partial(cleaning.clean_page, report=report, after=after))
    return report


@dataclass(frozen=True, slots=True)
class _Cleaning:
    """One cleanup, a page of the schedule at a time."""

    catalog: Catalog
    stores: Stores
    known: KnownFiles
    older_than: OlderThan
    options: Sequence[Option]

    def clean_page(
        self, connection: sa.Connection, turn: Turn, *, report: Removed, after: _Place
    ) -> tuple[Removed, _Place | None]:
        """Delete what is old enough of one page; says where the next one starts."""
        rows = _load_page(connection, self.catalog, after)
        limit = find_limit(self.older_than, turn.time, AGE_OPTION, self.options, DEFAULT_AGE)
        # Moments are compared here: not every writer spells them alike where they are text.
        old = [row for row in rows if (row.schedule_start or turn.time) < limit]
        data_path = self.catalog.data_path
        paths = {(row.path, row.path_is_relative): join(data_path, row.path, row.path_is_relative) for row in old}
        held = self.known.find_held(connection, list(paths.values()))
        doomed = list(dict.fromkeys(path for path in paths.values() if path not in held))
        failures: dict[str, str] = {}
        if not report.dry_run:
            _refuse_lost_folder(data_path, doomed)
            failures = delete_files(doomed, self.stores)
            _unschedule(connection, self.catalog, [row for row, path in paths.items() if path not in failures])
            self.known.let_go(connection, [path for path in paths.values() if path not in failures])
        done = report.add(doomed, failures, in_use=len(held))
        # When nothing of a whole page could be deleted, something is broken, and commits need not wait for more of it.
        is_broken = len(doomed) == len(failures) > PAGE // 2
        return done, None if is_broken or len(rows) < PAGE else (rows[-1].id, rows[-1].path)


def _refuse_lost_folder(data_path: str, doomed: Sequence[str]) -> None:
    """A file in a folder that is not mounted, or is looked for in the wrong place, only seems to be gone."""
    is_there = is_remote(data_path) or Path(local_path(data_path)).is_dir()
    if not is_there and any(path.startswith(data_path) for path in doomed):
        raise StorageError(
            f"the folder {data_path} of the lake is not there", hint="is it mounted, and is data_path right?"
        )


def _load_page(connection: sa.Connection, catalog: Catalog, after: _Place) -> Sequence[Row]:
    schedule = catalog.tables.files_scheduled_for_deletion.c
    id_ = sa.func.coalesce(schedule.data_file_id, -1)
    later = sa.or_(id_ > after[0], sa.and_(id_ == after[0], schedule.path > after[1]))
    query: sa.Select[Any] = (
        sa.select(id_.label("id"), schedule.path, schedule.path_is_relative, schedule.schedule_start)
        .where(schedule.path.is_not(None), later)
        .order_by(id_, schedule.path)
        .limit(PAGE)
    )
    return connection.execute(query).all()


def _unschedule(connection: sa.Connection, catalog: Catalog, rows: Sequence[tuple[str, bool | None]]) -> None:
    schedule = catalog.tables.files_scheduled_for_deletion
    for flag in {is_relative for _, is_relative in rows}:
        paths = [path for path, is_relative in rows if is_relative == flag]
        same = schedule.c.path_is_relative.is_(None) if flag is None else schedule.c.path_is_relative == flag
        connection.execute(schedule.delete().where(schedule.c.path.in_(paths), same))
