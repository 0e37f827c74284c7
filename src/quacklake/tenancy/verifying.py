"""Whether a copy of a lake shows what the lake shows: its history, its entries, and every row at every snapshot."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Any

from quacklake.catalog.lake import Catalog
from quacklake.catalog.moving.ids import Ids
from quacklake.catalog.view import CatalogView, Snapshot
from quacklake.engine.local.engine import LocalEngine
from quacklake.errors import CatalogError
from quacklake.names import TableName
from quacklake.plan.scan import ScanPlan


def compare_lakes(old: Catalog, new: Catalog, ids: Ids, turns: Mapping[int, set[int]], engine: LocalEngine) -> int:
    """Compare a copy with its lake.

    Args:
        old: The lake.
        new: The copy.
        ids: The ids of the copy.
        turns: By table, the snapshots in which its rows or columns changed.
        engine: What reads rows.

    Returns:
        How often a table was read in both.

    Raises:
        CatalogError: When they differ; the message says where.
    """
    snapshots = old.snapshots()
    _compare_snapshots(snapshots, new.snapshots(), ids)
    for snapshot in _first_of_each_version(snapshots):
        moved = ids.snapshot[snapshot.snapshot_id]
        if _shape(old.view(snapshot.snapshot_id)) != _shape(new.view(moved)):
            raise _differs(f"what there is at snapshot {snapshot.snapshot_id}")
    count = 0
    for name, snapshot_id in _moments(old, snapshots, turns):
        _compare_rows(old, new, name, snapshot_id, ids, engine)
        count += 1
    return count


def _differs(what: str) -> CatalogError:
    return CatalogError(
        f"the copy is not the same as the lake: {what} differs",
        hint="nothing was changed and the copy is gone; if nobody writes to the lake, this is a mistake of ours",
    )


def _compare_snapshots(old: list[Snapshot], new: list[Snapshot], ids: Ids) -> None:
    def said(each: Snapshot, snapshot_id: int) -> tuple[Any, ...]:
        # Not all databases keep parts of a second.
        moment = each.time.replace(microsecond=0)
        return snapshot_id, moment, each.schema_version, each.author, each.message, each.extra

    before = [said(each, ids.snapshot[each.snapshot_id]) for each in old]
    if before != [said(each, each.snapshot_id) for each in new]:
        raise _differs("the list of snapshots")


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


def _moments(old: Catalog, snapshots: list[Snapshot], turns: Mapping[int, set[int]]) -> Iterator[tuple[TableName, int]]:
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
                yield table.name, snapshot_id


def _compare_rows(old: Catalog, new: Catalog, name: TableName, snapshot_id: int, ids: Ids, engine: LocalEngine) -> None:
    from quacklake.engine.local.digest import digest_rows

    # Of a file that an old version has merged, its catalog alone knows the snapshots of the rows, and scans show one.
    apart = old.tables.split_files is None
    before = digest_rows(engine.read(_plan(old, name, snapshot_id)), ids.snapshot.at_least if apart else _any_snapshot)
    after = digest_rows(engine.read(_plan(new, name, ids.snapshot[snapshot_id])), None if apart else _any_snapshot)
    if before != after:
        raise _differs(f"{name} at snapshot {snapshot_id} ({before.rows} rows, and {after.rows} in the copy)")


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
