"""Change feeds: what DuckDB's own function says, and what its time travel says happened from snapshot to snapshot.

The second is the judge where the two contradict each other: a row that a snapshot shows and the next one does not
show was deleted, whatever a function makes of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import duckdb

import quacklake as ql
from quacklake.session import Session
from tests.conftest import WHOLE
from tests.lakes import LAKE, Row, as_text, difference, quoted

if TYPE_CHECKING:
    import pyarrow as pa

Key = tuple[int, int, str]
"""Snapshot, row id and type of a change."""

FEW = 6
"""About how many ranges of a table are looked at, of either kind, when not every one is."""
NEAR = 3
"""How many of the ranges that end with a snapshot are the shortest there are."""
META = f"__ducklake_metadata_{LAKE}"


@dataclass(frozen=True, slots=True)
class Feed:
    """What DuckDB says of the changes of one table in one range of snapshots."""

    namespace: str
    table: str
    start: int
    end: int
    types: tuple[str, ...] = ()
    rows: Counter[Row] = field(default_factory=Counter)
    error: str | None = None

    @property
    def name(self) -> str:
        """The table's name, quoted."""
        return f"{quoted(self.namespace)}.{quoted(self.table)}"

    def __str__(self) -> str:
        return f"{self.name} from {self.start} to {self.end}"


class Past:
    """What happened to the rows of every table, seen by looking at every snapshot."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con
        self.snapshots = [
            row[0] for row in con.execute(f"SELECT snapshot_id FROM ducklake_snapshots('{LAKE}')").fetchall()
        ]
        self.snapshots.sort()
        self._rows: dict[tuple[int, int], dict[int, int]] = {}
        self._values: dict[tuple[int, int], dict[int, Row]] = {}
        self._names = {
            (snapshot, table_id): (namespace, table)
            for snapshot, table_id, namespace, table in con.execute(
                f"""SELECT n.snapshot_id, t.table_id, s.schema_name, t.table_name
                FROM {META}.ducklake_snapshot n, {META}.ducklake_schema s, {META}.ducklake_table t
                WHERE t.schema_id = s.schema_id
                  AND n.snapshot_id >= t.begin_snapshot AND (t.end_snapshot IS NULL OR n.snapshot_id < t.end_snapshot)
                ORDER BY ALL"""
            ).fetchall()
        }
        self.moves = {
            (snapshot, int(word.rpartition(":")[2]))
            for snapshot, text in con.execute(
                f"SELECT snapshot_id, changes_made FROM {META}.ducklake_snapshot_changes"
            ).fetchall()
            for word in (text or "").split(",")
            if word.startswith("rewrite_delete:")
        }

    @property
    def tables(self) -> list[tuple[int, int, str, str]]:
        """Every table at every snapshot that shows it: snapshot, id, namespace and name."""
        return [(snapshot, table_id, *names) for (snapshot, table_id), names in self._names.items()]

    def changes(self, table_id: int, start: int, end: int) -> Counter[Key]:
        """What happened to the rows of a table in a range without expired snapshots."""
        found: Counter[Key] = Counter()
        before = max((each for each in self.snapshots if each < start), default=-1)
        wanted = [before, *(each for each in self.snapshots if start <= each <= end)]
        for old, new in pairwise(wanted):
            if (new, table_id) not in self.moves:
                found.update(step(new, self._at(table_id, old), self._at(table_id, new)))
        return found

    def values(self, table_id: int, snapshot: int, columns: Iterable[str]) -> dict[int, Row]:
        """The rows by their ids, with the values of columns as text."""
        key = (snapshot, table_id)
        if key not in self._names:
            return {}
        if key not in self._values:
            casts = ", ".join(f"CAST({quoted(column)} AS VARCHAR)" for column in columns)
            found = self._con.execute(f"SELECT rowid, {casts} FROM {self._source(key)}").fetchall()
            self._values[key] = {row_id: tuple(values) for row_id, *values in found}
        return self._values[key]

    def _source(self, key: tuple[int, int]) -> str:
        namespace, table = self._names[key]
        return f"{LAKE}.{quoted(namespace)}.{quoted(table)} AT (VERSION => {key[0]})"

    def _at(self, table_id: int, snapshot: int) -> dict[int, int]:
        """The ids of the rows, and the snapshot that wrote each."""
        key = (snapshot, table_id)
        if key not in self._names:
            return {}
        if key not in self._rows:
            self._rows[key] = dict(self._con.execute(f"SELECT rowid, snapshot_id FROM {self._source(key)}").fetchall())
        return self._rows[key]


@dataclass(frozen=True, slots=True)
class Told:
    """What is known of the changes of a lake."""

    feeds: tuple[tuple[Feed, int], ...]
    """Each with the id of its table."""
    truths: Mapping[str, Counter[Key]]
    """What the snapshots show, by the feed."""
    moves: frozenset[tuple[int, int]]
    """Snapshots that only moved rows of a table, with its id."""

    @property
    def longest(self) -> Told:
        """Of every table the longest range."""
        by_length = sorted(self.feeds, key=lambda each: each[0].end - each[0].start)
        found = {id_: (feed, id_) for feed, id_ in by_length}
        return replace(self, feeds=tuple(found.values()))


def tell(con: duckdb.DuckDBPyConnection, *, every: bool, is_whole: bool) -> Told:
    """What DuckDB and its snapshots say.

    Args:
        con: A connection from `attached`.
        every: Of ranges that begin and end with every snapshot.
        is_whole: Whether no snapshot is gone. What happened in one that is gone is seen in later ones.
    """
    past = Past(con)
    found = tuple(feeds(con, past, every=every))
    truths = {str(feed): past.changes(id_, feed.start, feed.end) for feed, id_ in found} if is_whole else {}
    return Told(found, truths, frozenset(past.moves))


def step(snapshot: int, before: Mapping[int, int], after: Mapping[int, int]) -> Iterator[Key]:
    """What happened in a snapshot, from the rows before it and in it: their ids, and the snapshots that wrote them."""
    for row_id in before.keys() | after.keys():
        if row_id not in before:
            yield snapshot, row_id, "insert"
        elif row_id not in after:
            yield snapshot, row_id, "delete"
        elif before[row_id] != after[row_id]:
            yield snapshot, row_id, "update_preimage"
            yield snapshot, row_id, "update_postimage"


def feeds(con: duckdb.DuckDBPyConnection, past: Past, *, every: bool) -> Iterator[tuple[Feed, int]]:
    """What DuckDB says of every table, with its id.

    Args:
        con: A connection from `attached`.
        past: The tables and snapshots.
        every: For every snapshot, ranges that begin and that end with it; else for some that begin at the beginning or
            end at the end. In a run of the whole, for every range there is.
    """
    lives: dict[int, list[int]] = {}
    for snapshot, table_id, _, _ in past.tables:
        lives.setdefault(table_id, []).append(snapshot)
    for end, table_id, namespace, table in past.tables:
        starts = [each for each in past.snapshots if each <= end]
        if not every:
            starts = _some(starts) if end == lives[table_id][-1] else starts[:1]
            starts = starts if end in _some(lives[table_id]) else []
        elif not WHOLE and end != lives[table_id][-1]:
            starts = sorted({starts[0], *starts[-NEAR:]})
        for start in starts:
            yield ask(con, namespace, table, start, end), table_id
    con.execute("DROP TABLE IF EXISTS memory.feed").fetchall()


def _some(snapshots: list[int]) -> list[int]:
    """A handful of them, the first and the last always."""
    step = max(1, len(snapshots) // FEW)
    return sorted({*snapshots[::step], snapshots[-1]})


def ask(con: duckdb.DuckDBPyConnection, namespace: str, table: str, start: int, end: int) -> Feed:
    """What DuckDB says of one range."""
    names = ", ".join("'" + each.replace("'", "''") + "'" for each in (LAKE, namespace, table))
    try:
        con.execute(f"CREATE OR REPLACE TABLE memory.feed AS FROM ducklake_table_changes({names}, {start}, {end})")
    except duckdb.Error as error:
        return Feed(namespace, table, start, end, error=str(error))
    described = con.execute("DESCRIBE memory.feed").fetchall()
    casts = ", ".join(f"CAST({quoted(row[0])} AS VARCHAR)" for row in described)
    rows = Counter(con.execute(f"SELECT {casts} FROM memory.feed").fetchall())
    return Feed(namespace, table, start, end, tuple(row[1] for row in described), rows)


def without(feed: Feed, moved: Iterable[int]) -> Feed:
    """The feed without snapshots that only moved rows, which DuckDB takes for updates."""
    gone = {str(each) for each in moved}
    kept = Counter({row: count for row, count in feed.rows.items() if row[0] not in gone})
    return Feed(feed.namespace, feed.table, feed.start, feed.end, feed.types, kept, feed.error)


def read_feed(session: Session, engine: str, feed: Feed, **scan: Any) -> pa.Table:
    """The same range as quacklake reads it."""
    found = session.table(feed.name, at=feed.end).changes(feed.start, feed.end, **scan)
    return found.to_arrow() if engine == "local" else found.to_spark().toArrow()


def feed_fault(session: Session, engine: str, feed: Feed) -> str | None:
    """What differs from DuckDB, in words; None when all is well."""
    try:
        arrow = read_feed(session, engine, feed)
        if arrow.column_names[:3] != ["snapshot_id", "rowid", "change_type"]:
            return f"{feed}: the columns are {arrow.column_names}"
        fault = difference(as_text(arrow, feed.types), feed.rows)
        count = session.table(feed.name, at=feed.end).changes(feed.start).count() if engine == "local" else None
        if fault is None and count not in (None, arrow.num_rows):
            fault = f"count() is {count}, not {arrow.num_rows}"
    except ql.QuacklakeError as error:
        fault = f"{type(error).__name__}: {error}"
    return None if fault is None else f"{feed}: {fault}"


def keys(session: Session, engine: str, feed: Feed) -> Counter[Key]:
    """What quacklake says happened in the same range, without values."""
    arrow = read_feed(session, engine, feed, columns=[])
    return Counter(tuple(row.values()) for row in arrow.to_pylist())


def key_of(row: Row) -> Key:
    """What a row of a feed says happened, without values."""
    return int(row[0] or 0), int(row[1] or 0), str(row[2])


def keys_of(rows: Counter[Row]) -> Counter[Key]:
    """What a feed says happened, without values."""
    found: Counter[Key] = Counter()
    for row, count in rows.items():
        found[key_of(row)] += count
    return found
