"""The catalog of one lake: its database, where its data is, and what it shows at a snapshot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar

import sqlalchemy as sa

from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.candidates import Settled
from quacklake.catalog.changes import load_changes, load_start
from quacklake.catalog.files import count_files, load_files
from quacklake.catalog.indexes import is_large
from quacklake.catalog.inlined import load_inlined
from quacklake.catalog.legacy import cut_split_files
from quacklake.catalog.load import (
    At,
    is_still,
    load_entry,
    load_options,
    load_snapshot,
    load_snapshots,
    load_view,
    recall,
)
from quacklake.catalog.prune import kept_files
from quacklake.catalog.shared.expired import load_expired
from quacklake.catalog.tables import CatalogTables
from quacklake.catalog.version import check_writable
from quacklake.catalog.view import CatalogView, Option, Snapshot, TableEntry
from quacklake.errors import CatalogError
from quacklake.names import TableName, fold
from quacklake.plan.changes import TableChanges, feed_schema
from quacklake.plan.prune import Demand, demand
from quacklake.plan.scan import InlinedRows, ScanFile
from quacklake.predicates import Predicate, parse_predicate

T = TypeVar("T")

REMEMBERED = 512
"""How many tables under a version of the schema an open catalog remembers."""

_WORTH_A_RETRY = ("serialization", "deadlock", "missing_table", "lost")
_ATTEMPTS = 4


@dataclass(frozen=True, slots=True)
class TableContents:
    """All that one scan needs of the catalog, read in one state of the database."""

    snapshot: Snapshot
    entry: TableEntry
    files: tuple[ScanFile, ...]
    files_total: int
    """How many files there are, those left out among them; as many as `files` unless they were counted."""
    inlined: tuple[InlinedRows, ...]
    where: Predicate | None = None
    demand: Demand | None = None
    """What the predicate asked of files in the catalog query."""


@dataclass(frozen=True, slots=True)
class FeedContents:
    """All that a change feed needs of the catalog, read in one state of the database."""

    entry: TableEntry
    """The table, as it is at the end."""
    changes: TableChanges
    where: Predicate | None = None


@dataclass(frozen=True, slots=True)
class _Seen:
    """A table as it stood when the catalog was looked at last."""

    view: CatalogView
    pulse: object | None
    """What the database had then; as long as it has the same, nothing has changed."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """An open catalog.

    Every call shows the newest state: the database is asked for it, unless it says by its pulse that nobody has
    changed anything. What is remembered besides is how a table looked under a version of the schema, for every change
    of it makes a new version; its files change without one, and so do settings.
    """

    backend: Backend
    tables: CatalogTables
    data_path: str
    """Where the lake's files are: absolute or a URL, with a slash at the end."""
    version: str
    encrypted: bool = False
    catalog_id: int | None = None
    """Which one it is of those that share the database; None for a lake that has it for itself."""
    _known: dict[tuple[int, str, str], CatalogView] = field(default_factory=dict, repr=False, compare=False)
    _newest: dict[tuple[str, str], _Seen] = field(default_factory=dict, repr=False, compare=False)
    _settled: Settled = field(default_factory=dict, repr=False, compare=False)

    def snapshot(self, at: At = None) -> Snapshot:
        """The snapshot of that id or moment; the newest without one."""
        return self._read(lambda connection: load_snapshot(connection, self.tables, at))

    def snapshots(self, after: int | None = None) -> list[Snapshot]:
        """Every snapshot, oldest first; or those after one."""
        return self._read(lambda connection: load_snapshots(connection, self.tables, after))

    def find_expired(self, after: int, until: int) -> int | None:
        """A snapshot between two, the second included, that was there and has gone; None when none has."""

        def find(connection: sa.Connection) -> int | None:
            newest_gone = load_expired(connection, self.tables)
            if newest_gone is not None:
                return newest_gone if newest_gone > after else None
            known = {each.snapshot_id for each in load_snapshots(connection, self.tables, after)}
            return next((id_ for id_ in range(after + 1, until + 1) if id_ not in known), None)

        return self._read(find)

    def options(self) -> tuple[Option, ...]:
        """Every setting of the lake."""
        return self._read(lambda connection: load_options(connection, self.tables))

    def view(self, at: At = None, *, only: TableName | None = None) -> CatalogView:
        """The lake at a snapshot; with `only`, nothing but that table or view.

        When there is nothing of that name, the view has everything, so that an error can say what there is.
        """

        def load(connection: sa.Connection) -> CatalogView:
            view = self._view(connection, at, only)
            return replace(view, options=load_options(connection, self.tables))

        if at is not None or only is None:
            return self._read(load)
        key = (fold(only.namespace), fold(only.table))
        found = self._recalled(key) or _Seen(self._read(load), None)
        if len(self._newest) >= REMEMBERED:
            self._newest.clear()
        if len(found.view.tables) == 1:
            self._newest[key] = found
        return found.view

    def follow(self, base: int, snapshot: Snapshot, pulse: object) -> None:
        """Take note of a commit of our own on top of a snapshot, which changed nothing but rows.

        Args:
            base: The snapshot on top of which it went.
            snapshot: The one that it made.
            pulse: What the database had as it committed.
        """
        for key, seen in list(self._newest.items()):
            if seen.view.snapshot.snapshot_id == base:
                self._newest[key] = _Seen(replace(seen.view, snapshot=snapshot), pulse)

    def lookup(self, name: TableName, at: At = None) -> CatalogView:
        """All namespaces, and the table or view of that name, if there is one: nothing else, whatever there is."""

        def load(connection: sa.Connection) -> CatalogView:
            snapshot = load_snapshot(connection, self.tables, at)
            view = load_entry(connection, self.tables, snapshot, self.data_path, name)
            return replace(view, options=load_options(connection, self.tables))

        return self._read(load)

    def contents(
        self, name: TableName, at: At = None, where: str | Predicate | None = None, *, count: bool = False
    ) -> TableContents:
        """A table with its files and inlined rows at a snapshot; files that cannot match are left out.

        All of it comes from one state of the database: a flush between two queries would lose rows.

        Args:
            name: The table.
            at: The snapshot.
            where: A predicate, or the text of one.
            count: Say how many files there are in all; that takes a look at every one of them.
        """
        return self._read(lambda connection: self._contents(connection, name, at, where, count))

    def changes(self, name: TableName, start: int | datetime, end: At = None, where: str | None = None) -> FeedContents:
        """Where the changes of a table are, from one snapshot to another, both included.

        Args:
            name: The table, as it is called at the end.
            start: The first snapshot; for a moment, the first that is not older.
            end: The last one; for a moment, the last that is not younger; without it, the newest.
            where: The text of a predicate on the changes.
        """

        def load(connection: sa.Connection) -> FeedContents:
            view = self._view(connection, end, name)
            first = load_start(connection, self.tables, start, view.snapshot)
            entry = view.table(name)
            predicate = None if where is None else parse_predicate(where, feed_schema(entry.schema))
            last = view.snapshot.snapshot_id
            found = load_changes(connection, self.tables, self.backend, entry, first, last)
            return FeedContents(entry, found, predicate)

        return self._read(load)

    def check_writable(self) -> None:
        """Refuse to write to a lake of another version than the current one.

        Raises:
            VersionError: The hint says what to do about it.
        """
        check_writable(self.version, self.backend.display)

    def close(self) -> None:
        """Give back every connection."""
        self.backend.close()

    def _contents(
        self, connection: sa.Connection, name: TableName, at: At, where: str | Predicate | None, count: bool
    ) -> TableContents:
        view = self._view(connection, at, name)
        entry = view.table(name)
        snapshot_id = view.snapshot.snapshot_id
        predicate = parse_predicate(where, entry.schema) if isinstance(where, str) else where
        asked = None if predicate is None else demand(predicate)
        condition = None
        if asked is not None and asked.test is not None:
            settled = self._settled if is_large(view.snapshot) else None
            condition = kept_files(connection, self.tables, entry, asked.test, settled)
        files = load_files(connection, self.tables, self.backend, entry, snapshot_id, condition)
        files = cut_split_files(connection, self.tables, entry.table_id, snapshot_id, files)
        total = len(files)
        if count and condition is not None:
            total = count_files(connection, self.tables, entry.table_id, snapshot_id)
        return TableContents(
            snapshot=view.snapshot,
            entry=entry,
            files=files,
            files_total=total,
            inlined=load_inlined(connection, self.tables, self.backend, entry, snapshot_id),
            where=predicate,
            demand=asked,
        )

    def _view(self, connection: sa.Connection, at: At, only: TableName | None) -> CatalogView:
        """The view without settings."""
        snapshot = load_snapshot(connection, self.tables, at)
        if only is None:
            return load_view(connection, self.tables, snapshot, self.data_path)
        key = (snapshot.schema_version, fold(only.namespace), fold(only.table))
        known = self._known.get(key)
        if known is not None and (known.snapshot == snapshot or is_still(connection, self.tables, known, snapshot)):
            known = replace(known, snapshot=snapshot)
        else:
            known = load_entry(connection, self.tables, snapshot, self.data_path, only)
            if not known.tables and not known.views:
                return load_view(connection, self.tables, snapshot, self.data_path)
            if len(self._known) >= REMEMBERED:
                self._known.clear()
        self._known[key] = known
        return known

    def _recalled(self, key: tuple[str, str]) -> _Seen | None:
        """What is known of a table, when only its rows have changed since: most writes find it so."""
        known = self._newest.get(key)
        if known is None:
            return None
        try:
            with self.backend.glance() as connection:
                pulse = self.backend.pulse(connection)
                if pulse is not None and pulse == known.pulse:
                    return known
                view = recall(connection, self.tables, known.view)
                return None if view is None else _Seen(view, pulse)
        except CatalogError:
            # Whatever it is, the long way finds out and says it.
            return None

    def _read(self, work: Callable[[sa.Connection], T]) -> T:
        """Run a read, and once more when the tables changed under it.

        PostgreSQL and MySQL keep rows still for a reader, but not tables: one that is dropped or made meanwhile
        (those of inlined rows are) ends the read with an error.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                with self.backend.read() as connection:
                    return work(connection)
            except CatalogError as error:
                cause = error.__cause__
                passing = cause is not None and self.backend.classify(cause) in _WORTH_A_RETRY
                if attempt == _ATTEMPTS or not passing:
                    raise
        raise AssertionError("every attempt returns or raises")
