"""What happened to the rows of a table: the record of a change feed that catalogs make and engines run.

A row is born in one snapshot and dies in another, or lives on. Its birth comes out as an `insert`, its death as a
`delete`; where a row of the same id dies and is born in one snapshot, the two are an update. Rows that are merely
moved to another file are neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from quacklake.names import fold
from quacklake.plan.scan import ROW_ID, SNAPSHOT_ID, InlinedRows, ScanFile, ScanPlan
from quacklake.schema import Column, Schema
from quacklake.types import Primitive

if TYPE_CHECKING:
    from quacklake.predicates import Predicate

CHANGE_TYPE = "change_type"
INSERT, DELETE, BEFORE, AFTER = "insert", "delete", "update_preimage", "update_postimage"
"""What stands in the column `change_type`."""

FEED = (
    Column(-1, SNAPSHOT_ID, Primitive("int64")),
    Column(-2, ROW_ID, Primitive("int64")),
    Column(-3, CHANGE_TYPE, Primitive("varchar")),
)
"""The columns that come before the table's. Ids of a table's own columns are never negative."""


@dataclass(frozen=True, slots=True)
class MortalFile:
    """A data file some of whose rows died in the range, or all of them."""

    file: ScanFile
    """With every delete file that it had up to the end of the range, and the positions that the catalog notes."""
    deletions: tuple[tuple[int, int], ...] = ()
    """What the catalog itself notes: positions, and the snapshot in which each died."""
    end_snapshot: int | None = None
    """The snapshot in the range in which all rows died that were still alive."""

    @property
    def plain(self) -> ScanFile:
        """The file with all its rows, the dead ones among them."""
        return replace(self.file, delete_files=(), deleted_positions=())


@dataclass(frozen=True, slots=True)
class TableChanges:
    """Where the changes of a table are in a range of snapshots, both ends of it included."""

    start: int
    end: int
    births: tuple[ScanFile, ...] = ()
    """Files with rows that were born in the range, each with the deletes that its own snapshot showed."""
    born: tuple[InlinedRows, ...] = ()
    """Inlined rows that were born in the range."""
    deaths: tuple[MortalFile, ...] = ()
    died: tuple[InlinedRows, ...] = ()
    """Inlined rows that died in the range; their `begin_snapshot` is the snapshot in which they died."""
    moves: frozenset[int] = frozenset()
    """Snapshots in the range that only moved rows to other files."""

    @property
    def ended(self) -> tuple[MortalFile, ...]:
        """The files all of whose rows are dead."""
        return tuple(each for each in self.deaths if each.end_snapshot is not None)

    @property
    def thinned(self) -> tuple[MortalFile, ...]:
        """The files of which single rows are dead."""
        return tuple(each for each in self.deaths if each.file.has_deletes or each.deletions)

    @property
    def files(self) -> tuple[ScanFile, ...]:
        """Every file that has to be read, each once."""
        found = {file.file_id: file for file in (*self.births, *(each.file for each in self.deaths))}
        return tuple(found.values())


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """The change feed of one table: which rows were born and died, and what comes out of them."""

    table: str
    """For messages and plans."""
    schema: Schema
    """The columns of the table at the end of the range."""
    columns: tuple[Column, ...]
    """What comes out behind the columns of the feed, in order."""
    changes: TableChanges
    where: Predicate | None = None
    limit: int | None = None

    @property
    def names(self) -> tuple[str, str, str]:
        """What the columns of the feed are called while the predicate is judged: nothing in the table is called so."""
        taken = {fold(column.name) for column in self.schema}
        snapshot_id, row_id, change_type = (_free_name(column.name, taken) for column in FEED)
        return snapshot_id, row_id, change_type

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the columns that come out."""
        return (*(column.name for column in FEED), *(column.name for column in self.columns))

    @property
    def judges_types(self) -> bool:
        """Whether the predicate looks at the type of a change."""
        return self.where is not None and self.names[2] in self.where.columns

    @property
    def outline(self) -> ScanPlan:
        """All of it as a plan of the table at the end of the range: what is read, and how rows are picked."""
        changes = self.changes
        return ScanPlan(self.table, changes.end, self.schema, self.columns, changes.files, where=self.where)

    def part(
        self, columns: tuple[Column, ...], files: tuple[ScanFile, ...], inlined: tuple[InlinedRows, ...] = ()
    ) -> ScanPlan:
        """The rows of some files as a plan, with their ids and without a predicate."""
        return ScanPlan(self.table, self.changes.end, self.schema, columns, files, inlined, row_ids=True)


def feed_schema(schema: Schema) -> Schema:
    """What a predicate on a feed can name: its own columns, unless the table has one of that name, and the table's."""
    return Schema((*(column for column in FEED if schema.find(column.name) is None), *schema.columns))


def explain_changes(plan: ChangePlan) -> str:
    """The plan for people: what is read, and where it is."""
    return "\n".join(_lines(plan))


def _lines(plan: ChangePlan) -> Iterator[str]:
    changes = plan.changes
    yield f"changes of {plan.table} from snapshot {changes.start} to {changes.end}"
    yield f"  columns: {', '.join(plan.output_names)}"
    files = changes.files
    yield f"  files: {len(files)}, {sum(file.size or 0 for file in files)} bytes"
    yield f"  files with new rows: {len(changes.births)}"
    yield f"  files with deleted rows: {len(changes.thinned)}, dropped whole: {len(changes.ended)}"
    inlined = [sum(rows.data.num_rows for rows in part) for part in (changes.born, changes.died)]
    if any(inlined):
        yield f"  rows in the catalog itself: {inlined[0]} new, {inlined[1]} deleted"
    if changes.moves:
        listed = ", ".join(map(str, sorted(changes.moves)))
        yield f"  left out, for they only moved rows to other files: snapshots {listed}"
    if plan.where is not None:
        yield f"  where: {plan.where.text}"
    if plan.limit is not None:
        yield f"  limit: {plan.limit}"


def _free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
