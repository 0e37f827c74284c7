"""Forget snapshots, and everything that no other snapshot shows.

What is done to the tables of the catalog is what DuckDB does, row by row, with one difference: a file to which
another row leads, because it was added twice or to two tables, is not scheduled for deletion. DuckDB schedules it,
and then deletes what the other row still shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from quacklake.catalog.audit import load_roots
from quacklake.catalog.indexes import ensure_indexes, is_large
from quacklake.catalog.lake import Catalog
from quacklake.catalog.load import load_options, load_snapshot
from quacklake.catalog.shared.expired import note_expired
from quacklake.catalog.shared.layout import only_own
from quacklake.catalog.tables import CatalogTables, of_own_tables
from quacklake.commit.apply.files import relative_to
from quacklake.commit.apply.inlined import positions_table
from quacklake.commit.state import Turn
from quacklake.errors import InvalidInputError, NotFoundError
from quacklake.maintenance.ages import OlderThan, find_limit
from quacklake.maintenance.known import KnownFiles
from quacklake.maintenance.reports import Expired
from quacklake.maintenance.turns import in_turn
from quacklake.storage.paths import join

PAGE = 500

_OF_A_FILE = ("data_file", "file_column_stats", "file_variant_stats", "file_partition_value")
_OF_A_TABLE = (
    "table_stats",
    "table_column_stats",
    "partition_info",
    "partition_column",
    "column",
    "column_tag",
    "sort_info",
    "sort_expression",
    "schema_versions",
    "inlined_data_tables",
    "column_mapping",
    # Last: as long as it is there, the others are known to be of this lake.
    "table",
)
_VERSIONED = ("schema", "view", "tag", "macro")
# Rows that go when the row they belong to has gone: table, the other table, and the id that both have.
_DEPENDENT = (
    ("macro_impl", "macro", "macro_id"),
    ("macro_parameters", "macro", "macro_id"),
    ("name_mapping", "column_mapping", "mapping_id"),
)


def expire_snapshots(
    catalog: Catalog, older_than: OlderThan = None, versions: Sequence[int] | None = None, *, dry_run: bool = False
) -> Expired:
    """Forget snapshots by age or by id. The newest one always stays.

    Args:
        catalog: The lake.
        older_than: How old they must be; without it and without versions, as old as the lake says.
        versions: Their ids. Those that are gone already do not matter.
        dry_run: Only say what would go.

    Raises:
        InvalidInputError: When nobody said which snapshots, or both ways at once.
        NotFoundError: For ids that the lake never had.
    """
    ids = _checked(older_than, versions)

    def choose(connection: sa.Connection, turn: Turn) -> list[int]:
        return list(_choose(connection, catalog, turn, older_than, ids))

    if not in_turn(catalog, choose):
        return Expired(dry_run=dry_run)
    # What takes long, while nobody waits.
    known = KnownFiles(catalog)
    with catalog.backend.read() as connection:
        snapshot = load_snapshot(connection, catalog.tables)
        known.look(connection)
    if is_large(snapshot) and catalog.tables.shared is None:
        ensure_indexes(catalog.backend)

    def work(connection: sa.Connection, turn: Turn) -> tuple[Expired, list[str]]:
        chosen = choose(connection, turn)
        expiry = _Expiry(connection, catalog, known, turn.time)
        expiry.run(chosen)
        return Expired(tuple(chosen), *expiry.counts(), dry_run=dry_run), expiry.inlined

    report, inlined = in_turn(catalog, work, lasts=not dry_run)
    if not dry_run and not catalog.backend.transactional_ddl and inlined:
        # To drop a table ends the transaction here. Nothing leads to these any more.
        in_turn(catalog, lambda connection, _: _drop(connection, catalog.tables, inlined))
    return report


def _checked(older_than: OlderThan, versions: Sequence[int] | None) -> frozenset[int] | None:
    if versions is None:
        return None
    if older_than is not None:
        raise InvalidInputError("snapshots expire by age or by id", hint="give older_than or versions, not both")
    if isinstance(versions, str | bytes) or not hasattr(versions, "__iter__"):
        raise InvalidInputError(f"versions={versions!r} is no list of snapshot ids", hint="give a list such as [3, 4]")
    found = list(versions)
    wrong = [each for each in found if isinstance(each, bool) or not hasattr(each, "__index__")]
    if wrong:
        raise InvalidInputError(f"{wrong[0]!r} is no snapshot id", hint="give a list such as [3, 4]")
    return frozenset(each.__index__() for each in found)


def _choose(
    connection: sa.Connection, catalog: Catalog, turn: Turn, older_than: OlderThan, ids: frozenset[int] | None
) -> Iterator[int]:
    """The ids of the snapshots that are to go, in order."""
    newest = turn.newest.snapshot_id
    limit = None
    if ids is None:
        options = load_options(connection, catalog.tables)
        limit = find_limit(older_than, turn.time, "expire_older_than", options, None)
    elif ids and not 0 <= min(ids) <= max(ids) <= newest:
        unknown = min(ids) if min(ids) < 0 else max(ids)
        raise NotFoundError(f"there is no snapshot {unknown}", hint=f"the newest snapshot is {newest}")
    snapshot = catalog.tables.snapshot.c
    query = sa.select(snapshot.snapshot_id, snapshot.snapshot_time).order_by(snapshot.snapshot_id).limit(10 * PAGE)
    after = -1
    while rows := connection.execute(query.where(snapshot.snapshot_id > after)).all():
        for id_, time in rows:
            # Moments are compared here: not every writer spells them alike where they are text.
            is_chosen = id_ in ids if ids is not None else time is not None and limit is not None and time < limit
            if is_chosen and id_ != newest:
                yield id_
        after = rows[-1][0]


def remove_snapshots(connection: sa.Connection, tables: CatalogTables, ids: Sequence[int]) -> None:
    """Take snapshots away: the one place where that happens."""
    for table in (tables.snapshot, tables.snapshot_changes):
        for chunk in _chunks(ids):
            connection.execute(table.delete().where(table.c.snapshot_id.in_(chunk)))
    if ids:
        note_expired(connection, tables, max(ids))


@dataclass(slots=True)
class _Expiry:
    """One expiry, inside its transaction."""

    connection: sa.Connection
    catalog: Catalog
    known: KnownFiles
    time: datetime
    roots: dict[int, str] = field(default_factory=dict)
    inlined: list[str] = field(default_factory=list)
    """Tables of inlined rows and inlined deletes that nothing needs any more."""
    tables_gone: int = 0
    data_files: int = 0
    delete_files: int = 0
    scheduled: int = 0

    def counts(self) -> tuple[int, int, int, int]:
        """As a report has them."""
        return self.tables_gone, self.data_files, self.delete_files, self.scheduled

    def run(self, ids: Sequence[int]) -> None:
        """Take the snapshots away, and then what only they showed."""
        tables = self.catalog.tables
        self.roots = load_roots(self.connection, tables, self.catalog.data_path)
        owners = [self._load_owners(*each) for each in _DEPENDENT]
        remove_snapshots(self.connection, tables, ids)
        dead = self._find_dead_tables()
        for chunk in _chunks(dead):
            self._forget_data_files(tables.data_file.c.table_id.in_(chunk))
        self._forget_data_files(_gone(tables, tables.data_file))
        for chunk in _chunks(dead):
            self._forget_delete_files(tables.delete_file.c.table_id.in_(chunk))
        self._forget_delete_files(_gone(tables, tables.delete_file))
        for chunk in _chunks(dead):
            self._forget_tables(chunk)
        if self.catalog.backend.transactional_ddl:
            _drop(self.connection, tables, self.inlined)
        for name in _VERSIONED:
            table = _table(tables, name)
            self.connection.execute(table.delete().where(_gone(tables, table)))
        for (name, other_name, key), known in zip(_DEPENDENT, owners, strict=True):
            table, other = _table(tables, name), _table(tables, other_name)
            has_other = sa.exists().where(other.c[key] == table.c[key]).correlate(table)
            if known is None:
                self.connection.execute(table.delete().where(~has_other))
            for chunk in _chunks(known or ()):
                self.connection.execute(table.delete().where(table.c[key].in_(chunk), ~has_other))

    def _load_owners(self, _: str, name: str, key: str) -> list[int] | None:
        """In a shared database, what is ours of what others depend on; None for a lake that is alone: all of it."""
        tables = only_own(self.catalog.tables)
        if tables.shared is None:
            return None
        return sorted(set(self.connection.execute(sa.select(_table(tables, name).c[key])).scalars()))

    def _find_dead_tables(self) -> list[int]:
        """Tables of which no version is left; one that was renamed keeps all of its rows until then."""
        tables = self.catalog.tables
        table, id_ = tables.table, tables.table.c.table_id
        gone = _gone(tables, table)
        ended = sorted(set(self.connection.execute(sa.select(id_).where(gone)).scalars()))
        dead: list[int] = []
        for chunk in _chunks(ended):
            shown = set(self.connection.execute(sa.select(id_).where(id_.in_(chunk), ~gone)).scalars())
            dead.extend(each for each in chunk if each not in shown)
        return dead

    def _forget_data_files(self, which: sa.ColumnElement[bool]) -> None:
        tables = self.catalog.tables
        for rows in self._pages(tables.data_file, tables.data_file.c.data_file_id, which):
            ids = [row.id for row in rows]
            self._forget_delete_files(tables.delete_file.c.data_file_id.in_(ids))
            for name in _OF_A_FILE:
                table = _table(tables, name)
                self.connection.execute(table.delete().where(table.c.data_file_id.in_(ids)))
            self.data_files += len(rows)
            self._schedule(rows)

    def _forget_delete_files(self, which: sa.ColumnElement[bool]) -> None:
        table = self.catalog.tables.delete_file
        for rows in self._pages(table, table.c.delete_file_id, which):
            self.connection.execute(table.delete().where(table.c.delete_file_id.in_([row.id for row in rows])))
            self.delete_files += len(rows)
            self._schedule(rows)

    def _pages(
        self, table: sa.Table, id_: sa.Column[int], which: sa.ColumnElement[bool]
    ) -> Iterator[Sequence[sa.Row[Any]]]:
        own = of_own_tables(self.catalog.tables, table.c.table_id)
        query = sa.select(id_.label("id"), table.c.table_id, table.c.path, table.c.path_is_relative).where(which, *own)
        after = -1
        while rows := self.connection.execute(query.where(id_ > after).order_by(id_).limit(PAGE)).all():
            # Where a file of no table is, nobody can tell: `check` finds such rows.
            if known := [row for row in rows if row.table_id in self.roots]:
                yield known
            after = rows[-1].id

    def _schedule(self, rows: Sequence[sa.Row[Any]]) -> None:
        paths = [join(self.roots[row.table_id], row.path, row.path_is_relative) for row in rows]
        held = self.known.let_go(self.connection, paths, had_rows=True)
        scheduled = [
            # Unlike everything else, these are relative to the lake and not to the table.
            {"data_file_id": row.id, **relative_to(self.catalog.data_path, path), "schedule_start": self.time}
            for row, path in zip(rows, paths, strict=True)
            if path not in held
        ]
        if scheduled:
            self.connection.execute(self.catalog.tables.files_scheduled_for_deletion.insert(), scheduled)
        self.scheduled += len(scheduled)

    def _forget_tables(self, ids: Sequence[int]) -> None:
        tables = self.catalog.tables
        registered = tables.inlined_data_tables.c
        names = self.connection.execute(sa.select(registered.table_name).where(registered.table_id.in_(ids)))
        self.inlined.extend(names.scalars())
        # Nothing registers these, and not every table has one.
        self.inlined.extend(positions_table(id_, tables.sql_schema).name for id_ in ids)
        for name in _OF_A_TABLE:
            table = _table(tables, name)
            self.connection.execute(table.delete().where(table.c.table_id.in_(ids)))
        self.tables_gone += len(ids)


def _gone(tables: CatalogTables, table: sa.Table) -> sa.ColumnElement[bool]:
    """The rows that have ended and that no snapshot shows any more."""
    snapshot_id = tables.snapshot.c.snapshot_id
    shown = sa.exists().where(snapshot_id >= table.c.begin_snapshot, snapshot_id < table.c.end_snapshot)
    return sa.and_(table.c.end_snapshot.is_not(None), ~shown.correlate(table))


def _drop(connection: sa.Connection, tables: CatalogTables, names: Sequence[str]) -> None:
    for name in names:
        table = sa.Table(sa.quoted_name(name, True), sa.MetaData(), schema=tables.sql_schema)
        connection.execute(sa.schema.DropTable(table, if_exists=True))


def _table(tables: CatalogTables, name: str) -> sa.Table:
    found: sa.Table = getattr(tables, name)
    return found


def _chunks(ids: Sequence[int]) -> list[Sequence[int]]:
    return [ids[start : start + PAGE] for start in range(0, len(ids), PAGE)]
