"""Bring a lake that has its database for itself into a shared one, with its whole history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from quacklake.catalog.backends.failures import insist, translated
from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.lake import Catalog
from quacklake.catalog.moving.copying import NewFiles, copy_lake, copy_scheduled, plan_folders
from quacklake.catalog.moving.files import load_data_files, load_delete_files, load_scheduled
from quacklake.catalog.moving.ids import IdMap, Ids
from quacklake.catalog.moving.inlined import find_misfits
from quacklake.catalog.moving.source import Source, collect_ids, load_newest_gone, load_turns
from quacklake.catalog.moving.target import Target
from quacklake.catalog.open import open_tenant
from quacklake.catalog.shared.counters import Kind, take_ids
from quacklake.catalog.shared.holders import OUTSIDE, note_holders
from quacklake.catalog.shared.registry import Tenant, load_data_path
from quacklake.catalog.shared.unfinished import abandon_tenant, begin_tenant, name_tenant, sweep_unfinished
from quacklake.catalog.tables import CatalogTables
from quacklake.engine.local.engine import LocalEngine
from quacklake.errors import StorageError
from quacklake.secrets.keyring import Keyring
from quacklake.storage.paths import absolute, join
from quacklake.storage.placement import remove
from quacklake.tenancy.reports import Move
from quacklake.tenancy.stamped import Stamped, Written, find_stamped, write_stamped
from quacklake.tenancy.verifying import compare_lakes, compare_settings, refuse_writers

Turns = Mapping[int, set[int]]


@dataclass(frozen=True, slots=True)
class Home:
    """A shared database, and how to open it once more."""

    backend: Backend
    tables: CatalogTables
    secrets: Keyring
    url: str
    metadata_schema: str | None = None

    def open(self, tenant: Tenant) -> Catalog:
        """One of its catalogs, on connections of its own."""
        return open_tenant(self.url, self.metadata_schema, tenant)

    def folder(self, tenant: Tenant) -> str:
        """Where the files of a catalog go."""
        with self.backend.read() as connection:
            return join(absolute(load_data_path(connection, self.tables)), tenant.path, tenant.path_is_relative)


def migrate(home: Home, lake: Catalog, name: str, *, dry_run: bool, owns_files: bool) -> Move:
    """Make a catalog of a lake, which stays as it is.

    Args:
        home: The shared database.
        lake: The lake.
        name: What the catalog is called.
        dry_run: Say what would be copied, and change nothing.
        owns_files: Whether the catalog may delete files that the lake has, too.
    """
    engine = LocalEngine(home.secrets)
    try:
        with lake.backend.read() as connection:
            source = Source(lake, connection)
            stamped = find_stamped(source, engine.stores)
            move = describe_move(source, stamped, name)
            if dry_run:
                return add_misfits(move, source, home.backend.name)
            refuse_problems(move)
            sweep_unfinished(home.backend)
            tenant = begin_tenant(home.backend, name)
            written = Written()
            try:
                ids, turns = _copy(home, source, tenant, stamped, written, engine)
                copied = source.snapshot_ids()
            except BaseException:
                _undo(home, tenant, written, engine)
                raise
        try:
            return _complete(home, lake, tenant, move, ids, copied, turns, written, owns_files, engine)
        except BaseException:
            _undo(home, tenant, written, engine)
            raise
    finally:
        engine.close()


def describe_move(source: Source, stamped: Stamped, name: str) -> Move:
    """What would be copied."""
    return Move(
        name=name,
        tables=len(source.table_ids()),
        snapshots=len(source.snapshot_ids()),
        files=stamped.files,
        bytes=stamped.bytes,
        written_files=len(stamped.data) + len(stamped.deletes),
        written_bytes=stamped.written_bytes,
        problems=tuple(stamped.problems),
    )


def add_misfits(move: Move, source: Source, backend_name: str) -> Move:
    """What a dry run says: also of rows that the other database cannot hold, which the copying itself finds out."""
    from quacklake.engine.local.digest import settle_rows

    return replace(move, dry_run=True, problems=(*move.problems, *find_misfits(source, backend_name, settle_rows)))


def refuse_problems(move: Move) -> None:
    """Refuse a lake that cannot be read.

    Raises:
        StorageError: The message says the first of the problems.
    """
    if move.problems:
        more = f" (and {len(move.problems) - 1} more)" if len(move.problems) > 1 else ""
        raise StorageError(f"the lake cannot be moved: {move.problems[0]}{more}", hint="dry_run=True lists them all")


def load_all_turns(source: Source, written: Written) -> Turns:
    """By table, the snapshots in which its rows or columns changed, as the catalog and the files say."""
    turns = {table_id: set(ids) for table_id, ids in load_turns(source).items()}
    for table_id, ids in written.turns.items():
        turns.setdefault(table_id, set()).update(ids)
    return turns


def _copy(
    home: Home, source: Source, tenant: Tenant, stamped: Stamped, written: Written, engine: LocalEngine
) -> tuple[Ids, Turns]:
    from quacklake.engine.local.digest import settle_rows

    old = collect_ids(source)

    def take() -> dict[Kind, Sequence[int]]:
        with home.backend.write() as connection:
            return take_ids(connection, home.backend, home.tables, {kind: len(each) for kind, each in old.items()})

    new = insist(home.backend, take)
    ids = Ids(*(IdMap.pair(old[kind], new[kind]) for kind in ("snapshot", "entry", "file")))
    folders = plan_folders(source, ids, home.folder(tenant))
    write_stamped(stamped, ids.snapshot, folders, engine.stores, written)
    made = NewFiles(written.data, written.deletes)

    def copy() -> None:
        with home.backend.write() as connection:
            target = Target(home.backend, connection, home.tables, home.tables.metadata, tenant.catalog_id)
            copy_lake(source, target, ids, made, settle_rows)

    insist(home.backend, copy)
    return ids, load_all_turns(source, written)


def _complete(
    home: Home,
    lake: Catalog,
    tenant: Tenant,
    move: Move,
    ids: Ids,
    copied: Sequence[int],
    turns: Turns,
    written: Written,
    owns_files: bool,
    engine: LocalEngine,
) -> Move:
    refuse_writers(lake, copied)
    copy = home.open(tenant)
    try:
        compared = compare_lakes(lake, copy, ids, copied, turns, engine)
        compare_settings(lake, copy, ids)
    finally:
        copy.close()
    # The last look: what is committed to the lake from here on comes after the move.
    refuse_writers(lake, copied)
    with lake.backend.read() as reading:
        source = Source(lake, reading)
        gone = load_newest_gone(source)
        expired = None if gone is None else ids.snapshot[gone]
        with translated(home.backend), home.backend.write() as connection:
            target = Target(home.backend, connection, home.tables, home.tables.metadata, tenant.catalog_id)
            copy_scheduled(source, target, ids)
            foreign = chain(foreign_files(source, written), load_scheduled(source))
            holders = [tenant.catalog_id] if owns_files else [tenant.catalog_id, OUTSIDE]
            note_holders(connection, home.tables, foreign, holders)
            name_tenant(connection, home.backend, tenant, ids.snapshot[copied[0]], expired)
    return replace(move, compared=compared)


def foreign_files(source: Source, written: Written) -> Iterator[str]:
    """The files of a lake that its copy shows too."""
    for files in load_data_files(source):
        yield from (file.path for _, file in files if file.file_id not in written.data)
    for deletes in load_delete_files(source):
        yield from (file.path for *_, file in deletes if file.file_id not in written.deletes)


def _undo(home: Home, tenant: Tenant, written: Written, engine: LocalEngine) -> None:
    remove(written.placed, engine.stores)
    abandon_tenant(home.backend, tenant.catalog_id)
