"""Whether a copy of a lake shows what the lake shows: its history, its entries, and every row at every snapshot."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from quacklake.catalog.lake import Catalog
from quacklake.catalog.moving.ids import Ids, move_changes
from quacklake.catalog.moving.settings import load_settings, load_split_tables
from quacklake.catalog.view import CatalogView, Option, Snapshot
from quacklake.engine.local.engine import LocalEngine
from quacklake.errors import CatalogError, ConflictError
from quacklake.names import TableName
from quacklake.plan.scan import ScanPlan


def refuse_writers(lake: Catalog, copied: Sequence[int]) -> None:
    """Refuse a lake whose snapshots are not those that were copied any more.

    Raises:
        ConflictError: When somebody has committed or expired meanwhile.
    """
    if [each.snapshot_id for each in lake.snapshots()] != list(copied):
        raise _written(lake)


def _written(lake: Catalog) -> ConflictError:
    return ConflictError(
        f"somebody has written to the lake in {lake.backend.display} while it was copied",
        hint="end whoever writes to it, and try again",
    )


def compare_lakes(
    old: Catalog, new: Catalog, ids: Ids, copied: Sequence[int], turns: Mapping[int, set[int]], engine: LocalEngine
) -> int:
    """Compare a copy with its lake, as far as that was copied.

    Args:
        old: The lake.
        new: The copy.
        ids: The ids of the copy.
        copied: The snapshots of the lake that there were.
        turns: By table, the snapshots in which its rows or columns changed.
        engine: What reads rows.

    Returns:
        How often a table was read in both.

    Raises:
        CatalogError: When they differ; the message says where.
        ConflictError: When snapshots have expired meanwhile.
    """
    known = set(copied)
    snapshots = [each for each in old.snapshots() if each.snapshot_id in known]
    if len(snapshots) < len(copied):
        raise _written(old)
    _compare_snapshots(snapshots, new, ids)
    for snapshot in _first_of_each_version(snapshots):
        moved = ids.snapshot[snapshot.snapshot_id]
        if _shape(old.view(snapshot.snapshot_id)) != _shape(new.view(moved)):
            raise _differs(f"what there is at snapshot {snapshot.snapshot_id}")
    return _compare_rows(old, new, ids, list(_moments(old, snapshots, turns)), engine)


def _differs(what: str) -> CatalogError:
    return CatalogError(
        f"the copy is not the same as the lake: {what} differs",
        hint="nothing was changed and the copy is gone; if nobody writes to the lake, this is a mistake of ours",
    )


def _compare_snapshots(old: list[Snapshot], copy: Catalog, ids: Ids) -> None:
    def said(each: Snapshot, snapshot_id: int, changes: str | None) -> tuple[Any, ...]:
        # MySQL keeps no parts of a second.
        moment = each.time.replace(microsecond=0) if copy.backend.name == "mysql" else each.time
        return snapshot_id, moment, each.schema_version, changes, each.author, each.message, each.extra

    before = [said(each, ids.snapshot[each.snapshot_id], move_changes(each.changes, ids.entry)) for each in old]
    if before != [said(each, each.snapshot_id, each.changes) for each in copy.snapshots()]:
        raise _differs("the list of snapshots")


def compare_settings(old: Catalog, new: Catalog, ids: Ids) -> None:
    """Compare the settings of a copy with those of its lake. No snapshot tells when somebody changes one.

    Raises:
        CatalogError: When one differs.
    """
    # What a shared database says for all of its catalogs, they need not have said themselves.
    wanted = {_moved(each, ids) for each in load_settings(old)}
    found = set(load_settings(new))
    wrong = (wanted - found) | {each for each in found - wanted if each.scope is not None}
    if wrong:
        raise _differs(f"the setting {min(each.name for each in wrong)}")


def _moved(option: Option, ids: Ids) -> Option:
    return option if option.scope_id is None else replace(option, scope_id=ids.entry[option.scope_id])


def _first_of_each_version(snapshots: list[Snapshot]) -> Iterator[Snapshot]:
    version = None
    for snapshot in snapshots:
        if snapshot.schema_version != version or snapshot is snapshots[-1]:
            yield snapshot
        version = snapshot.schema_version


def _shape(view: CatalogView) -> Any:
    """What a snapshot shows, without ids and places."""
    tables = [
        (
            str(table.name),
            table.uuid,
            repr(table.schema),
            dict(table.tags),
            None if table.partition is None else table.partition.keys,
            None if table.sort is None else table.sort.keys,
        )
        for table in view.tables
    ]
    views = [
        (str(each.name), each.uuid, each.sql, each.dialect, each.column_aliases, dict(each.tags)) for each in view.views
    ]
    macros = [(each.name, each.kind, each.implementations) for each in view.macros]
    namespaces = [(each.name, each.uuid) for each in view.namespaces]
    return [sorted(each, key=repr) for each in (namespaces, tables, views, macros)]


def _moments(
    old: Catalog, snapshots: list[Snapshot], turns: Mapping[int, set[int]]
) -> Iterator[tuple[int, TableName, int]]:
    """Each table at every snapshot in which it is not as it was before."""
    there = [each.snapshot_id for each in snapshots]
    chosen: dict[int, set[int]] = {}
    for table_id, ids in turns.items():
        for id_ in ids:
            place = bisect_left(there, id_)
            if place < len(there):
                chosen.setdefault(there[place], set()).add(table_id)
    for edge in (there[0], there[-1]):
        chosen.setdefault(edge, set()).update(turns)
    for snapshot_id in sorted(chosen):
        for table in old.view(snapshot_id).tables:
            if table.table_id in chosen[snapshot_id]:
                yield table.table_id, table.name, snapshot_id


def _compare_rows(
    old: Catalog, new: Catalog, ids: Ids, moments: Sequence[tuple[int, TableName, int]], engine: LocalEngine
) -> int:
    from quacklake.engine.local.digest import Digester

    split = load_split_tables(old)
    with Digester() as digest:
        for table_id, name, snapshot_id in moments:
            # Of a file that an old version has merged, scans show one snapshot for all rows.
            is_split = table_id in split
            rename = _any_snapshot if is_split else ids.snapshot.at_least
            before = digest(engine.read(_plan(old, name, snapshot_id)), rename)
            moved = _plan(new, name, ids.snapshot[snapshot_id])
            after = digest(engine.read(moved), _any_snapshot if is_split else None)
            if before != after:
                raise _differs(f"{name} at snapshot {snapshot_id} ({before.rows} rows, and {after.rows} in the copy)")
    return len(moments)


def _any_snapshot(_: int) -> int:
    return 0


def _plan(catalog: Catalog, name: TableName, snapshot_id: int) -> ScanPlan:
    contents = catalog.contents(name, snapshot_id)
    schema = contents.entry.schema
    return ScanPlan(
        table=str(name),
        snapshot_id=contents.snapshot.snapshot_id,
        schema=schema,
        columns=schema.columns,
        files=contents.files,
        inlined=contents.inlined,
        row_ids=True,
    )
