"""The rows that a transaction wrote to one table, put together from any number of writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from quacklake.catalog.view import TableEntry
from quacklake.commit.changes import AddDeletes, AddFiles, DataChange, InlineDeletes, InlineRows, RemoveFiles, RowIds
from quacklake.plan.write import (
    InlinedFileDeletes,
    InlinedInsert,
    InlinedRowDeletes,
    RemovedFile,
    WriteResult,
    WrittenDeletes,
    WrittenFile,
)

STAGED_ROWS = -1
"""The schema version under which inlined rows are known that are not committed yet."""
UNTIL_READ = 1 << 62
"""From here on new rows are counted as long as nobody asks for their ids."""


@dataclass(slots=True)
class StagedDeletes:
    """A delete file of the transaction, under the negative id by which the next one refers to it."""

    delete_file_id: int
    deletes: WrittenDeletes


@dataclass(slots=True)
class TableWrites:
    """Everything that the commit will do to the rows of one table."""

    first_row_id: int = UNTIL_READ
    """The id of the first new row: what the catalog said would be next, once the transaction reads its own rows."""
    taken: int = 0
    is_pinned: bool = False
    files: dict[int, tuple[WrittenFile, int]] = field(default_factory=dict)
    """By negative id: the file and its first row id."""
    inserts: list[tuple[InlinedInsert, tuple[int, ...]]] = field(default_factory=list)
    removed: dict[int, RemovedFile] = field(default_factory=dict)
    deletes: dict[int, StagedDeletes] = field(default_factory=dict)
    """By data file."""
    positions: dict[int, list[int]] = field(default_factory=dict)
    """By data file."""
    rows: dict[int, set[int]] = field(default_factory=dict)
    """Row ids by schema version."""
    garbage: list[str] = field(default_factory=list)
    """Files that the transaction wrote and no longer needs."""

    def add(self, result: WriteResult, ids: Iterator[int]) -> None:
        """Put one more write on top.

        Args:
            result: What it did.
            ids: Negative ids that nothing else has.
        """
        self._remove(result.removed)
        for deletes in result.deletes:
            self._delete(deletes, next(ids))
        for each in result.inlined_positions:
            self.positions.setdefault(each.data_file_id, []).extend(each.positions)
        for rows in result.inlined_rows:
            self._delete_rows(rows)
        # Ids inside a file cannot move any more; which of them are ours, only the file knows. None is, unless rows of
        # ours were there to be read.
        if self.taken and self.first_row_id != UNTIL_READ and any(file.has_row_ids for file in result.files):
            self.is_pinned = True
        for file in result.files:
            self.files[next(ids)] = (file, self._take(file.record_count) if file.takes_row_ids else 0)
        if result.inserts is not None and result.inserts.data.num_rows:
            self._insert(result.inserts)

    def _take(self, count: int) -> int:
        self.taken += count
        return self.first_row_id + self.taken - count

    def _remove(self, removed: Sequence[RemovedFile]) -> None:
        for each in removed:
            staged = self.files.pop(each.data_file_id, None)
            if staged is not None:
                if not staged[0].is_adopted:
                    self.garbage.append(staged[0].path)
            else:
                self.removed[each.data_file_id] = each
            earlier = self.deletes.pop(each.data_file_id, None)
            if earlier is not None:
                self.garbage.append(earlier.deletes.path)
            self.positions.pop(each.data_file_id, None)

    def _delete(self, deletes: WrittenDeletes, delete_file_id: int) -> None:
        earlier = self.deletes.get(deletes.data_file_id)
        if earlier is not None:
            # It holds what the earlier one held, so it takes the place of whatever that one replaced.
            deletes = replace(deletes, replaces=earlier.deletes.replaces)
            self.garbage.append(earlier.deletes.path)
        self.deletes[deletes.data_file_id] = StagedDeletes(delete_file_id, deletes)

    def _delete_rows(self, deletes: InlinedRowDeletes) -> None:
        if deletes.schema_version != STAGED_ROWS:
            self.rows.setdefault(deletes.schema_version, set()).update(deletes.row_ids)
            return
        gone = set(deletes.row_ids)
        self.inserts = [
            (kept, ids) for kept, ids in (_without(insert, ids, gone) for insert, ids in self.inserts) if ids
        ]

    def _insert(self, insert: InlinedInsert) -> None:
        count = insert.data.num_rows
        kept = insert.row_ids if insert.row_ids is not None else (None,) * count
        fresh = self._take(sum(each is None for each in kept))
        ids = []
        for each in kept:
            ids.append(fresh if each is None else each)
            fresh += each is None
        self.inserts.append((insert, tuple(ids)))

    def settle_row_ids(self, next_row_id: int) -> None:
        """Give new rows the ids that they would get now, so that they can be read."""
        shift, start = next_row_id - self.first_row_id, self.first_row_id
        self.first_row_id = next_row_id
        self.files = {id_: (file, first + shift) for id_, (file, first) in self.files.items()}
        self.inserts = [
            (insert, tuple(id_ + shift if id_ >= start else id_ for id_ in ids)) for insert, ids in self.inserts
        ]

    @property
    def row_ids(self) -> RowIds:
        """The row ids that were taken."""
        return RowIds(self.first_row_id, self.taken, self.is_pinned)

    @property
    def paths(self) -> list[str]:
        """Every file of the transaction that the commit would make part of the lake."""
        files = [file.path for file, _ in self.files.values() if not file.is_adopted]
        return [*files, *(staged.deletes.path for staged in self.deletes.values())]

    def changes(self, entry: TableEntry) -> Iterator[DataChange]:
        """What the commit is to do."""
        table_id, name = entry.table_id, entry.name
        if self.files:
            files, starts = zip(*self.files.values(), strict=True)
            yield AddFiles(table_id, name, files, tuple(self.files), starts)
        if self.inserts:
            inserts, ids = zip(*self.inserts, strict=True)
            yield InlineRows(table_id, name, inserts, ids)
        if self.removed:
            yield RemoveFiles(table_id, name, tuple(self.removed.values()))
        if self.deletes:
            yield AddDeletes(table_id, name, tuple(staged.deletes for staged in self.deletes.values()))
        if self.rows or self.positions:
            yield InlineDeletes(
                table_id,
                name,
                tuple(InlinedRowDeletes(version, tuple(sorted(ids))) for version, ids in self.rows.items()),
                tuple(InlinedFileDeletes(file, tuple(sorted(set(each)))) for file, each in self.positions.items()),
            )


def _without(insert: InlinedInsert, ids: tuple[int, ...], gone: set[int]) -> tuple[InlinedInsert, tuple[int, ...]]:
    left = tuple(id_ for id_ in ids if id_ not in gone)
    if len(left) == len(ids):
        return insert, ids
    import pyarrow as pa

    kept = insert.data.filter(pa.array([id_ not in gone for id_ in ids], pa.bool_()))
    # Statistics of more rows than there are still hold: they are wider than need be.
    return replace(insert, data=kept, row_ids=None), left
