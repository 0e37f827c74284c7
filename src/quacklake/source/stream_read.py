"""Stream reads: the change feed of a table, some snapshots at a time.

An offset is the id of a snapshot. Spark asks for the newest offset without saying where the query stands, so the
reader keeps what it handed out last; after a restart Spark tells it, by asking for the parts of an empty range.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from quacklake.catalog.view import Snapshot, TableEntry
from quacklake.commit.applied import parse_applied
from quacklake.errors import InvalidInputError, NotFoundError, UnsupportedError
from quacklake.names import TableName, fold
from quacklake.plan.changes import ChangePlan
from quacklake.predicates import Predicate, parse_predicate
from quacklake.source.offsets import Offset, read_offset
from quacklake.source.parts import Part, split_births, split_scan
from quacklake.source.read import check_schema, read_part

if TYPE_CHECKING:
    import pyarrow as pa

    from quacklake.session import Session
    from quacklake.source.options import Options

_INSERTS = frozenset(("inserted_into_table", "inlined_insert"))
_DELETES = frozenset(("deleted_from_table", "inlined_delete"))
_IDLE = timedelta(hours=1)
"""A table that nobody writes to is passed by that often: else snapshots of others expire that the stream never saw."""
_MOST_PARTS = 32


class StreamReader(DataSourceStreamReader):
    """Reads a table as a stream.

    Args:
        options: What is read, and how the lake is opened. Stays where plans are made.
        schema: What Spark expects.
    """

    def __init__(self, options: Options, schema: StructType) -> None:
        if sum(bool(options.get(name)) for name in ("readChanges", "skipChangeCommits", "ignoreChanges")) > 1:
            raise InvalidInputError(
                "a stream shows deletes and updates, skips them or ignores them",
                hint="give one of readChanges, skipChangeCommits, ignoreChanges",
            )
        self._options = options
        self._schema = schema
        self._secrets = options.secrets
        self._handed: Offset | None = None

    def initialOffset(self) -> dict[str, Any]:
        """Where a query begins that has no checkpoint: the same whenever it is asked."""
        return self._first().as_dict()

    def latestOffset(self) -> dict[str, Any]:
        """How far the next batch goes."""
        with self._options.open_lake() as session:
            last = self._first() if self._handed is None else self._handed
            self._handed = self._next(session, last)
        return self._handed.as_dict()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """What each task reads of a batch."""
        first, last = read_offset(start), read_offset(end)
        if self._handed is None or (self._handed.snapshot_id or -1) < (last.snapshot_id or -1):
            self._handed = last
        if first == last or last.snapshot_id is None or first.start == "latest":
            return []
        with self._options.open_lake() as session:
            entry = self._entry(session)
            return _Batch(session, self._options, entry, first, last).parts()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        return read_part(partition, self._schema, self._secrets)

    def _first(self) -> Offset:
        start = self._options.get("startingSnapshot")
        if start is None:
            return Offset(start="content")
        return Offset(start="latest") if start == "latest" else Offset(start - 1)

    def _next(self, session: Session, last: Offset) -> Offset:
        entry = self._entry(session)
        if last.snapshot_id is None:
            return Offset(session.current_snapshot, table_uuid(entry))
        since = session._catalog.snapshots(after=last.snapshot_id)
        if not since:
            if self._handed is None:
                session._catalog.snapshot(last.snapshot_id + 1)  # there is no such thing to start with, and it says so
            return last
        touched = [each.snapshot_id for each in since if _words(each, entry)]
        most = self._options.get("maxSnapshotsPerTrigger")
        if most is not None and len(touched) > most:
            return Offset(touched[most - 1], table_uuid(entry))
        if touched or self._handed is None or since[-1].time - since[0].time > _IDLE:
            return Offset(since[-1].snapshot_id, table_uuid(entry))
        return last

    def _entry(self, session: Session) -> TableEntry:
        """The table as it is now. Its columns decide what comes out, also for rows that are older than they."""
        entry = session.table(self._options.table)._entry
        check_schema(self._options, self._schema, entry.schema)
        return entry

    def __getstate__(self) -> dict[str, Any]:
        # Only tasks get a reader.
        return {"_schema": self._schema, "_secrets": self._secrets}


@dataclass(frozen=True, slots=True)
class _Batch:
    """What happened between two offsets."""

    session: Session
    options: Options
    entry: TableEntry
    first: Offset
    last: Offset

    def parts(self) -> list[Part]:
        """The plans of its tasks."""
        if self.last.table not in (None, table_uuid(self.entry)):
            raise self._replaced()
        if self.first.snapshot_id is None:
            return self._content()
        if self.first.table not in (None, table_uuid(self.entry)):
            raise self._replaced()
        snapshots = self._snapshots()
        if self.options.get("readChanges"):
            return self._changes(snapshots)
        changed = [each.snapshot_id for each in snapshots if _words(each, self.entry) - _INSERTS]
        if changed and not self.options.get("skipChangeCommits") and not self.options.get("ignoreChanges"):
            raise UnsupportedError(
                f"snapshot {changed[0]} deleted or updated rows of {self.entry.name}, which a stream of new rows "
                "cannot show",
                hint="readChanges=true shows every change, skipChangeCommits=true leaves such snapshots out, "
                "ignoreChanges=true shows the new rows of them alone",
            )
        plan = self._feed(snapshots[0].snapshot_id, self.end)
        if self.options.get("skipChangeCommits"):
            plan = _without(plan, frozenset(changed))
        return split_births(plan)

    @property
    def end(self) -> int:
        """The last snapshot."""
        assert self.last.snapshot_id is not None
        return self.last.snapshot_id

    def _content(self) -> list[Part]:
        """All that the table holds, to begin with."""
        name = self._name_then()
        scan = self.session.table(name, at=self.end).scan(row_ids=bool(self.options.get("readChanges")))
        plan = scan.plan()
        # Columns that came since are there already, with their defaults.
        plan = replace(plan, schema=self.entry.schema, columns=self.entry.schema.columns, where=self._where())
        return split_scan(plan)

    def _changes(self, snapshots: Sequence[Snapshot]) -> list[Part]:
        """Every change. The halves of an update are in one snapshot, so each part has whole ones."""
        ids = [each.snapshot_id for each in snapshots]
        touched = [each.snapshot_id for each in snapshots if _words(each, self.entry)]
        step = -(-len(touched) // _MOST_PARTS) or 1
        ends = touched[step - 1 : -1 : step]
        # Where catalogs share a database, the next snapshot is seldom the next number.
        following = dict(pairwise(ids))
        starts = [ids[0], *(following[end] for end in ends)]
        plans = (self._feed(start, end) for start, end in zip(starts, (*ends, self.end), strict=True))
        return [Part(plan) for plan in plans]

    def _feed(self, start: int, end: int) -> ChangePlan:
        found = self.session._catalog.changes(TableName.parse(self._name_then(end)), start, end)
        schema = self.entry.schema
        return ChangePlan(str(self.entry.name), schema, schema.columns, found.changes, self._where())

    def _where(self) -> Predicate | None:
        where = self.options.get("where")
        if where is None:
            return None
        found = parse_predicate(where, self.entry.schema)
        found.sql("duckdb")
        return found

    def _name_then(self, snapshot_id: int | None = None) -> str:
        """What the table was called, which is what it is called now unless somebody renamed it."""
        at = self.end if snapshot_id is None else snapshot_id
        then = self.session._catalog.view(at, only=self.entry.name)
        if all(each.table_id != self.entry.table_id for each in then.tables):
            then = self.session._catalog.view(at)
        same = [each for each in then.tables if each.table_id == self.entry.table_id]
        return str(same[0].name) if same else str(self.entry.name)

    def _snapshots(self) -> list[Snapshot]:
        """The snapshots of the batch, all of them."""
        assert self.first.snapshot_id is not None
        found = [
            each for each in self.session._catalog.snapshots(self.first.snapshot_id) if each.snapshot_id <= self.end
        ]
        missing = self.session._catalog.find_expired(self.first.snapshot_id, self.end)
        if missing is not None:
            raise NotFoundError(
                f"snapshot {missing} has expired before the stream of {self.entry.name} came to it",
                hint="begin anew with another checkpoint, and let snapshots live longer than the stream may rest",
            )
        return found

    def _replaced(self) -> NotFoundError:
        return NotFoundError(
            f"{self.entry.name} is another table than the one that the stream has read so far",
            hint="begin anew with another checkpoint",
        )


def table_uuid(entry: TableEntry) -> str:
    """What stays the same whatever a table is called."""
    return entry.uuid or str(entry.table_id)


def _words(snapshot: Snapshot, entry: TableEntry) -> frozenset[str]:
    """What a snapshot did to the rows of a table, in its own words; those that nobody knows may mean anything."""
    found = set()
    name = (fold(entry.name.namespace), fold(entry.name.table))
    for each in parse_applied(snapshot.changes):
        if not each.is_known or (each.id == entry.table_id and each.word in _INSERTS | _DELETES):
            found.add(each.word)
        elif each.word == "created_table" and (fold(each.namespace or ""), fold(each.name or "")) == name:
            found.add("inserted_into_table")
    return frozenset(found)


def _without(plan: ChangePlan, snapshots: frozenset[int]) -> ChangePlan:
    """The feed without what some snapshots did, as if they had moved rows to other files and nothing else."""
    changes = plan.changes
    births = tuple(
        file for file in changes.births if file.partial_max is not None or file.begin_snapshot not in snapshots
    )
    return replace(plan, changes=replace(changes, births=births, moves=changes.moves | snapshots))
