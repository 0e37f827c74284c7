"""What the changes of a transaction claim, in the terms in which conflicts are judged."""

from __future__ import annotations

from collections.abc import Iterator

from quacklake.commit.applied import subject_id
from quacklake.commit.changes import (
    AddDeletes,
    AddFiles,
    AlterColumns,
    Change,
    CreateNamespace,
    CreateTable,
    CreateView,
    DropNamespace,
    DropTable,
    DropView,
    InlineDeletes,
    InlineRows,
    Intent,
    RemoveFiles,
    RenameTable,
    RenameView,
    SetColumnComment,
    SetComment,
    SetPartition,
    SetSort,
)
from quacklake.commit.conflicts import Act, Claim
from quacklake.names import TableName


def claims_of(intent: Intent) -> tuple[Claim, ...]:
    """The claims of every change; what the transaction made itself claims nothing but its name."""
    return tuple(dict.fromkeys(claim for change in intent.changes for claim in _claims(change, intent)))


def _claims(change: Change, intent: Intent) -> Iterator[Claim]:
    if isinstance(change, CreateNamespace):
        yield Claim("create namespace", change.name, namespace=change.name)
    elif isinstance(change, DropNamespace):
        inside = frozenset(change.table_ids)
        yield Claim("drop namespace", change.name, change.namespace_id, change.name, inside=inside)
    elif isinstance(change, CreateTable | CreateView):
        yield _named(change.name, change.namespace_id)
    elif isinstance(change, RenameTable | RenameView):
        act: Act = "rename table" if isinstance(change, RenameTable) else "rename view"
        yield Claim(act, str(change.before), subject_id(change))
        # The namespace stays the same, so that dropping it drops the table too, which the claim above covers.
        yield _named(change.after, -1)
    elif subject_id(change) >= 0:
        yield from _on_existing(change, intent)


def _named(name: TableName, namespace_id: int) -> Claim:
    return Claim("create table or view", str(name), namespace_id, name.namespace, name.table)


def _on_existing(change: Change, intent: Intent) -> Iterator[Claim]:
    id_ = subject_id(change)
    if isinstance(change, DropTable):
        yield Claim("drop table", str(change.name), id_)
    elif isinstance(change, DropView):
        yield Claim("drop view", str(change.name), id_)
    elif isinstance(change, AlterColumns | SetPartition | SetSort | SetColumnComment | SetComment):
        is_view = isinstance(change, SetComment) and change.kind == "view"
        yield Claim("alter view" if is_view else "alter table", str(change.name), id_)
        if isinstance(change, AlterColumns) and change.tightened:
            yield Claim("forbid NULL", str(change.name), id_)
    elif isinstance(change, AddFiles | InlineRows):
        yield Claim(_inserting(id_, intent), str(change.name), id_)
    elif isinstance(change, RemoveFiles):
        yield Claim("delete in files", str(change.name), id_, files=_old(each.data_file_id for each in change.files))
    elif isinstance(change, AddDeletes):
        touched = _old(each.data_file_id for each in change.deletes)
        if touched:
            yield Claim("delete in files", str(change.name), id_, files=touched)
    elif isinstance(change, InlineDeletes):
        touched = _old(each.data_file_id for each in change.positions)
        yield Claim("delete in catalog", str(change.name), id_, files=touched)


def _inserting(table_id: int, intent: Intent) -> Act:
    if table_id in intent.examined:
        return "insert by condition"
    return "append" if table_id in intent.blind else "insert"


def _old(ids: Iterator[int]) -> frozenset[int]:
    # Files that the transaction wrote itself are nobody else's.
    return frozenset(each for each in ids if each >= 0)
