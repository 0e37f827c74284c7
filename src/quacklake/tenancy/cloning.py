"""Make a second catalog of one: the same files, and a history of its own from now on."""

from __future__ import annotations

from quacklake.catalog.backends.failures import insist
from quacklake.catalog.lake import Catalog
from quacklake.catalog.moving.copying import NewFiles, plan_folders
from quacklake.catalog.moving.ids import IdMap, Ids
from quacklake.catalog.moving.source import Source, collect_ids, load_newest_gone
from quacklake.catalog.moving.target import Target
from quacklake.catalog.shared.cloning import clone_rows, standing_still
from quacklake.catalog.shared.counters import is_part_of_commit, take_ids
from quacklake.catalog.shared.holders import note_holders
from quacklake.catalog.shared.ownership import bind_connection
from quacklake.catalog.shared.registry import Tenant
from quacklake.catalog.shared.unfinished import abandon_tenant, begin_tenant, name_tenant, sweep_unfinished
from quacklake.engine.local.engine import LocalEngine
from quacklake.storage.placement import remove
from quacklake.tenancy.migrating import Home, describe_move, foreign_files, refuse_problems
from quacklake.tenancy.stamped import Written, find_stamped, write_stamped
from quacklake.tenancy.verifying import compare_lakes


def clone(home: Home, old: Tenant, name: str) -> Tenant:
    """Make a catalog that shows what another one shows, up to now.

    Args:
        home: The shared database.
        old: The catalog that is there.
        name: What the new one is called.
    """
    sweep_unfinished(home.backend)
    new = begin_tenant(home.backend, name)
    engine, catalog, written = LocalEngine(home.secrets), home.open(old), Written()
    try:
        with standing_still(home.backend, home.tables, old.catalog_id):

            def copy_all() -> tuple[Ids, list[int], int | None]:
                remove(written.placed, engine.stores)
                written.forget()
                return _copy(home, catalog, old, new, written, engine)

            ids, copied, expired = insist(home.backend, copy_all)
            copy = home.open(new)
            try:
                # Nothing but the files that were written anew can show other rows.
                compare_lakes(catalog, copy, ids, copied, written.turns, engine)
            finally:
                copy.close()

            def give_name() -> Tenant:
                with home.backend.write() as connection:
                    return name_tenant(connection, home.backend, new, ids.snapshot[copied[0]], expired)

            return insist(home.backend, give_name)
    except BaseException:
        remove(written.placed, engine.stores)
        abandon_tenant(home.backend, new.catalog_id)
        raise
    finally:
        catalog.close()
        engine.close()


def _copy(
    home: Home, catalog: Catalog, old: Tenant, new: Tenant, written: Written, engine: LocalEngine
) -> tuple[Ids, list[int], int | None]:
    from quacklake.engine.local.digest import settle_rows

    root = home.folder(new)
    with home.backend.write() as connection:
        if is_part_of_commit(home.backend):
            # Where the first to change a row wins, whoever copies for long must be the first.
            take_ids(connection, home.backend, home.tables, {"snapshot": 1, "entry": 1, "file": 1})
        bind_connection(connection, old.catalog_id)
        source = Source(catalog, connection, writes=True)
        stamped = find_stamped(source, engine.stores, every=False)
        refuse_problems(describe_move(source, stamped, new.name))
        wanted = collect_ids(source)
        taken = take_ids(connection, home.backend, home.tables, {kind: len(each) for kind, each in wanted.items()})
        ids = Ids(*(IdMap.pair(wanted[kind], taken[kind]) for kind in ("snapshot", "entry", "file")))
        write_stamped(stamped, ids.snapshot, plan_folders(source, ids, root), engine.stores, written)
        target = Target(home.backend, connection, home.tables, home.tables.metadata, new.catalog_id)
        clone_rows(source, target, ids, NewFiles(written.data, written.deletes), settle_rows)
        both = (old.catalog_id, new.catalog_id)
        note_holders(connection, home.tables, list(foreign_files(source, written)), both)
        gone = load_newest_gone(source)
        return ids, source.snapshot_ids(), None if gone is None else ids.snapshot[gone]
