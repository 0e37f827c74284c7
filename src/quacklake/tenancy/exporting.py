"""Make of a catalog that shares its database a lake that has one for itself, as DuckDB opens it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from quacklake.catalog.backends.failures import translated
from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.lake import Catalog
from quacklake.catalog.moving.copying import NewFile, NewFiles, copy_lake, plan_folders
from quacklake.catalog.moving.files import load_data_files, load_delete_files
from quacklake.catalog.moving.ids import IdMap, Ids
from quacklake.catalog.moving.lakes import drop_lake, fill_lake
from quacklake.catalog.moving.source import Source, collect_ids
from quacklake.catalog.moving.target import Target
from quacklake.catalog.open import holds_lake, new_data_path, open_backend
from quacklake.catalog.shared.holders import OUTSIDE, note_holders
from quacklake.catalog.shared.registry import Tenant
from quacklake.catalog.tables import build_tables
from quacklake.catalog.url import CatalogUrl, parse_url
from quacklake.catalog.version import CURRENT
from quacklake.engine.local.engine import LocalEngine
from quacklake.errors import AlreadyExistsError
from quacklake.storage.paths import absolute
from quacklake.storage.placement import copy_file, remove
from quacklake.storage.stores import Stores
from quacklake.tenancy.migrating import (
    Home,
    Turns,
    add_misfits,
    describe_move,
    foreign_files,
    load_all_turns,
    refuse_problems,
)
from quacklake.tenancy.reports import Move
from quacklake.tenancy.stamped import Stamped, Written, find_stamped, write_stamped
from quacklake.tenancy.verifying import compare_lakes, compare_settings, refuse_writers


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a lake is to be."""

    url: str
    data_path: str | None
    metadata_schema: str | None


def export(home: Home, tenant: Tenant, destination: Destination, *, dry_run: bool, copy_files: bool) -> Move:
    """Make a lake of a catalog, which stays as it is.

    Args:
        home: The shared database.
        tenant: The catalog.
        destination: Where the lake will be.
        dry_run: Say what would be copied, and change nothing.
        copy_files: Give the lake files of its own.
    """
    if holds_lake(destination.url, destination.metadata_schema):
        raise AlreadyExistsError(
            f"there is a lake in {parse_url(destination.url).display} already", hint="name another database"
        )
    engine, catalog, written = LocalEngine(home.secrets), home.open(tenant), Written()
    try:
        if dry_run:
            with catalog.backend.read() as connection:
                source = Source(catalog, connection)
                move = describe_move(source, find_stamped(source, engine.stores), tenant.name)
                return add_misfits(move, source, parse_url(destination.url).kind)
        with _making(destination) as (backend, data_path):
            with catalog.backend.read() as connection:
                source = Source(catalog, connection)
                stamped = find_stamped(source, engine.stores)
                move = describe_move(source, stamped, tenant.name)
                refuse_problems(move)
                ids, turns = _copy(source, backend, data_path, stamped, written, copy_files, engine)
                shared, copied = list(foreign_files(source, written)), source.snapshot_ids()
            refuse_writers(catalog, copied)
            copy = Catalog(backend, build_tables(backend.sql_schema), absolute(data_path), CURRENT, catalog.encrypted)
            compared = compare_lakes(catalog, copy, ids, copied, turns, engine)
            compare_settings(catalog, copy, ids)
            refuse_writers(catalog, copied)
            # From now on the lake needs these files too, so that the catalog never deletes them.
            with translated(home.backend), home.backend.write() as writing:
                note_holders(writing, home.tables, shared, [OUTSIDE])
        return replace(move, compared=compared)
    except BaseException:
        remove(written.placed, engine.stores)
        raise
    finally:
        catalog.close()
        engine.close()


@contextmanager
def _making(destination: Destination) -> Iterator[tuple[Backend, str]]:
    """A database that becomes that of the lake when the block ends well, and is as it was otherwise.

    A file gets its name at the end. On a server the tables are there before; they are dropped when the rest fails.
    """
    address = parse_url(destination.url)
    named = open_backend(address, destination.metadata_schema)
    data_path = new_data_path(named, destination.data_path)
    if address.path is None:
        try:
            yield named, data_path
        except BaseException:
            drop_lake(named)
            raise
        finally:
            named.close()
        return
    named.close()
    making = address.path.with_name(f".{address.path.name}.{uuid.uuid4().hex}")
    backend = open_backend(replace(address, path=making), destination.metadata_schema)
    try:
        yield backend, data_path
        backend.close()
        _give_name(making, address)
    finally:
        backend.close()
        for leftover in (making, making.with_name(f"{making.name}.wal")):
            leftover.unlink(missing_ok=True)


def _give_name(making: Path, address: CatalogUrl) -> None:
    path = address.path
    assert path is not None
    if path.exists() and path.stat().st_size:
        raise AlreadyExistsError(f"somebody has made {path} meanwhile", hint="name another file")
    making.replace(path)


def _copy(
    source: Source,
    backend: Backend,
    data_path: str,
    stamped: Stamped,
    written: Written,
    copy_files: bool,
    engine: LocalEngine,
) -> tuple[Ids, Turns]:
    from quacklake.engine.local.digest import settle_rows

    old = collect_ids(source)
    ids = Ids(*(IdMap.pair(old[kind], range(len(old[kind]))) for kind in ("snapshot", "entry", "file")))
    folders = plan_folders(source, ids, absolute(data_path))
    write_stamped(stamped, ids.snapshot, folders, engine.stores, written)
    if copy_files:
        _copy_files(source, folders, written, engine.stores)

    def fill(target: Target) -> None:
        copy_lake(source, target, ids, NewFiles(written.data, written.deletes), settle_rows)

    with translated(backend):
        fill_lake(backend, data_path, source.catalog.encrypted, fill)
    return ids, load_all_turns(source, written)


def _copy_files(source: Source, folders: dict[int, str], written: Written, stores: Stores) -> None:
    for files in load_data_files(source):
        for table_id, file in files:
            if file.file_id not in written.data:
                written.data[file.file_id] = _copy_file(file.path, file.file_id, folders[table_id], written, stores)
    for deletes in load_delete_files(source):
        for table_id, _, delete in deletes:
            id_ = delete.file_id
            if id_ is not None and id_ not in written.deletes:
                written.deletes[id_] = _copy_file(delete.path, id_, folders[table_id], written, stores)


def _copy_file(path: str, file_id: int, folder: str, written: Written, stores: Stores) -> NewFile:
    # Files that were added from outside may have values in the names of their folders, and any name.
    parts = path.split("/")
    keys = [part for part in parts[:-1] if "=" in part]
    target = folder + "/".join([*keys, parts[-1]])
    if target in written.names:
        target = folder + "/".join([*keys, f"{file_id}-{parts[-1]}"])
    copy_file(path, target, stores)
    return NewFile(written.take(target, folder), True)
