"""The commit loop: look, judge, write, and try again when somebody else was quicker.

Every attempt starts from what is really there: it waits for its turn, reads the newest snapshot, judges what
happened since the base against the conflict rules, takes its ids and writes everything in one transaction. What
a database error means is told by its code. When the connection breaks while the database commits, nobody knows
how that ended, so the loop looks: never does it guess, and never is a file deleted that may be part of the lake.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import sqlalchemy as sa

from quacklake.catalog.backends.protocol import Backend, Failure, Question
from quacklake.catalog.lake import Catalog
from quacklake.commit.apply.attempt import Attempt
from quacklake.commit.apply.order import apply_all, is_blind
from quacklake.commit.apply.snapshot import snapshot_of
from quacklake.commit.apply.stats import grown
from quacklake.commit.apply.tables_first import Made, begin_again, make_tables, missing_tables
from quacklake.commit.changes import AddDeletes, Intent
from quacklake.commit.claims import claims_of
from quacklake.commit.conflicts import find_conflicts
from quacklake.commit.evidence import is_ours
from quacklake.commit.prepare import Prepared, prepare
from quacklake.commit.state import Turn, asking, load_happened, standing_in_line, take_turn
from quacklake.commit.supply import Supply
from quacklake.commit.verify import conflict_error
from quacklake.errors import CatalogError
from quacklake.plan.write import WrittenDeletes

Restamp = Callable[[int, WrittenDeletes, int], WrittenDeletes]
"""Write a delete file anew for another snapshot: (table id, delete file, snapshot id)."""

ATTEMPTS = 60
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, GROWTH = 0.005, 0.5, 1.5
_RETRIED: frozenset[Failure] = frozenset(("unique", "serialization", "deadlock", "locked", "lost", "missing_table"))
# So many times a delete file is written anew outside of the transaction, where nobody waits for it.
_RESTAMPS_OUTSIDE = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """A commit that is done."""

    snapshot_id: int
    attempts: int


class _Stale(Exception):
    """Delete files were made for another snapshot than the one whose turn it is."""

    def __init__(self, snapshot_id: int) -> None:
        super().__init__(snapshot_id)
        self.snapshot_id = snapshot_id


class Committer:
    """Commits one intent.

    Args:
        catalog: The lake.
        intent: What to do.
        restamp: Writes a delete file anew when the snapshot gets another id than expected.
        reserved: In a shared database, the id that the snapshot gets unless others of the catalog commit before.
    """

    def __init__(
        self, catalog: Catalog, intent: Intent, restamp: Restamp | None = None, reserved: int | None = None
    ) -> None:
        self._catalog = catalog
        self._supply = None if catalog.tables.shared is None else Supply(catalog, reserved)
        self._intent = intent
        self._restamp = restamp
        self._restamped = 0
        self._sealed: Attempt | None = None
        self.state: Literal["open", "committed", "unknown"] = "open"
        """Whether the files of the intent are part of the lake; unknown means that nobody could find out."""

    def commit(self) -> Outcome:
        """Run the loop.

        Raises:
            ConflictError: When others did what this intent cannot be placed after. Never tried again.
            CatalogError: When the database fails, or when it could not be found out whether it committed.
        """
        pause = FIRST_PAUSE_SECONDS
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return Outcome(self._try(), attempt)
            except _Stale as stale:
                self._restamp_all(stale.snapshot_id)
            except sa.exc.SQLAlchemyError as error:
                failure = self._catalog.backend.classify(error)
                if self._sealed is not None and failure == "lost" and self._look():
                    return Outcome(self._sealed.snapshot_id, attempt)
                if failure not in _RETRIED or attempt == ATTEMPTS:
                    raise self._catalog.backend.translate(error) from error
                # Whoever retries at the same time as others runs into them again.
                time.sleep(pause * random.uniform(0.5, 1.0))
                pause = min(pause * GROWTH, LONGEST_PAUSE_SECONDS)
        raise AssertionError("the last attempt returns or raises")

    def _try(self) -> int:
        catalog = self._catalog
        self._sealed = None
        try:
            waiting, question = standing_in_line(catalog.tables, catalog.backend), self._question()
            with catalog.backend.write(waiting, question) as connection:
                attempt = self._write(connection, catalog.backend)
                self._sealed = attempt
                pulse = catalog.backend.pulse(connection) if attempt.is_next and is_blind(attempt) else None
        except sa.exc.SQLAlchemyError:
            raise
        except BaseException:
            if self._sealed is not None:
                # Interrupted while the database commits.
                self.state = "unknown"
            raise
        self.state = "committed"
        if pulse is not None:
            catalog.follow(self._intent.base, snapshot_of(attempt), pulse)
        return attempt.snapshot_id

    def _question(self) -> Question:
        return asking(self._catalog.tables, self._catalog.backend, self._intent.base, self._known())

    def _known(self) -> int | None:
        """A table of which everything is asked along with the newest snapshot."""
        return next((id_ for id_ in grown(self._intent) if id_ >= 0), None)

    def _write(self, connection: sa.Connection, backend: Backend) -> Attempt:
        attempt, prepared = self._prepare(connection)
        if not backend.transactional_ddl and missing_tables(attempt):
            # Making a table ends the transaction here, so tables come first and all is looked at again. Whoever
            # waits for that right must not keep others from their turn.
            connection.exec_driver_sql("ROLLBACK")
            made: set[Made] = set()
            with backend.exclusive(connection):
                attempt, prepared = self._prepare_again(connection)
                while missing := missing_tables(attempt, made):
                    make_tables(attempt, missing)
                    made.update(missing)
                    attempt, prepared = self._prepare_again(connection)
        if is_blind(attempt):
            # Others wait meanwhile, and nothing can come out of these statements but an error.
            with backend.together(connection) as bundle:
                apply_all(replace(attempt, bundle=bundle), prepared)
                # The end of the transaction may be sent along: from here on it may be part of the lake.
                self._sealed = attempt
        else:
            apply_all(attempt, prepared)
        return attempt

    def _prepare_again(self, connection: sa.Connection) -> tuple[Attempt, Prepared]:
        begin_again(connection)
        waiting = standing_in_line(self._catalog.tables, self._catalog.backend)
        if waiting is not None:
            connection.execute(waiting)
        return self._prepare(connection)

    def _prepare(self, connection: sa.Connection) -> tuple[Attempt, Prepared]:
        catalog = self._catalog
        turn = take_turn(connection, catalog.tables, catalog.backend, self._intent.base, self._known())
        self._judge(connection, turn)
        self._refuse_stale(connection, turn.newest.snapshot_id)
        prepared = prepare(connection, catalog.tables, catalog.backend, self._intent, turn, self._supply)
        attempt = Attempt(
            connection=connection,
            tables=catalog.tables,
            backend=catalog.backend,
            intent=prepared.intent,
            ids=prepared.ids,
            time=turn.time,
            data_path=catalog.data_path,
            is_next=turn.newest.snapshot_id == self._intent.base,
        )
        return attempt, prepared

    def _judge(self, connection: sa.Connection, turn: Turn) -> None:
        base, newest = self._intent.base, turn.newest.snapshot_id
        if newest < base:
            raise CatalogError(
                f"the transaction began at snapshot {base}, but the newest one is {newest}",
                hint="the catalog was set back; begin again",
            )
        if newest == base:
            return
        claims = claims_of(self._intent)
        catalog = self._catalog
        happened = load_happened(connection, catalog.tables, catalog.backend, base, turn, claims)
        conflicts = find_conflicts(claims, happened)
        if conflicts:
            raise conflict_error(conflicts)

    def _refuse_stale(self, connection: sa.Connection, newest: int) -> None:
        """Refuse delete files that say another snapshot than the one that this becomes."""
        stamps = {each.stamp for change in self._intent.of(AddDeletes) for each in change.deletes} - {None}
        if not stamps:
            return
        snapshot_id = newest + 1 if self._supply is None else self._supply.expect(connection, newest)
        if stamps == {snapshot_id}:
            return
        if self._restamped < _RESTAMPS_OUTSIDE:
            raise _Stale(snapshot_id)
        self._restamp_all(snapshot_id)

    def _restamp_all(self, snapshot_id: int) -> None:
        """Write delete files anew that say the wrong snapshot for their new positions."""
        if self._restamp is None:
            raise CatalogError("delete files were made for a snapshot that another writer took")
        self._restamped += 1
        changes = []
        for change in self._intent.changes:
            if isinstance(change, AddDeletes):
                change = replace(
                    change, deletes=tuple(self._fresh(change, each, snapshot_id) for each in change.deletes)
                )
            changes.append(change)
        self._intent = replace(self._intent, changes=tuple(changes))

    def _fresh(self, change: AddDeletes, deletes: WrittenDeletes, snapshot_id: int) -> WrittenDeletes:
        assert self._restamp is not None
        if deletes.stamp in (None, snapshot_id):
            return deletes
        return self._restamp(change.table_id, deletes, snapshot_id)

    def _look(self) -> bool:
        """Whether the attempt whose end nobody saw is part of the lake."""
        attempt = self._sealed
        assert attempt is not None
        self.state = "unknown"
        found = is_ours(self._catalog, attempt)
        self.state = "committed" if found else "open"
        return found
