"""A stream reads every change once, in order of the snapshots, or says why it cannot.

Here the reader is asked what Spark would ask it; `test_streams.py` has Spark itself do so.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import quacklake as ql
from tests.conftest import Duck
from tests.lakes import Place, snapshot_ids

pytest.importorskip("pyspark.sql", reason="PySpark is not installed")

from quacklake.source.door import QuacklakeSource

if TYPE_CHECKING:
    from quacklake.session import Session
    from quacklake.table import Table

Lake = tuple[dict[str, str], "Session"]
Offset = dict[str, Any]


class Stream:
    """Asks as Spark does: the newest offset, then what is between it and the one before."""

    def __init__(self, url: str, table: str = "t", **options: str | int | bool) -> None:
        given = {"url": url, "path": table, **{name: str(value).lower() for name, value in options.items()}}
        source = QuacklakeSource(given)
        self.reader = source.streamReader(source.schema())
        self.committed: Offset | None = None

    def restart(self, url: str, table: str = "t", **options: str | int | bool) -> Stream:
        """The query in a new process, with the checkpoint of this one."""
        fresh = Stream(url, table, **options)
        fresh.committed = self.committed
        if self.committed is not None:
            # What Spark calls the latest seen offset.
            assert fresh.reader.partitions(self.committed, self.committed) == []
        return fresh

    def batch(self) -> list[dict[str, Any]] | None:
        """The rows of the next batch; None when there is nothing new."""
        end = json.loads(json.dumps(self.reader.latestOffset()))
        if end == self.committed:
            return None
        start = self.reader.initialOffset() if self.committed is None else self.committed
        rows = self.between(start, end)
        self.committed = end
        return rows

    def between(self, start: Offset, end: Offset) -> list[dict[str, Any]]:
        parts = self.reader.partitions(start, end)
        reader = pickle.loads(pickle.dumps(self.reader))
        return [
            row
            for part in parts
            for batch in reader.read(pickle.loads(pickle.dumps(part)))
            for row in batch.to_pylist()
        ]

    def batches(self) -> Iterator[list[dict[str, Any]]]:
        while (found := self.batch()) is not None:
            yield found

    def ids(self) -> list[list[int]]:
        """The ids of every batch there is."""
        return [sorted(row["id"] for row in rows) for rows in self.batches()]


def put(table: Table, *ids: int) -> int:
    """Append rows; some go into the catalog and some into files."""
    table._session.set_option("data_inlining_row_limit", 10 if ids[0] % 2 else 0)
    found = table.append(pa.table({"id": list(ids), "name": [f"n{each}" for each in ids]})).snapshot_id
    assert found is not None
    return found


@pytest.fixture
def table(lake: Lake) -> Table:
    """Five rows in three snapshots, one of them in the catalog."""
    table = lake[1].create_table("t", "id BIGINT, name STRING")
    for ids in ((2, 4), (1,), (6, 8)):
        put(table, *ids)
    return table


def test_it_begins_with_the_content_and_goes_on_with_what_is_new(lake: Lake, table: Table) -> None:
    stream = Stream(**lake[0])
    first = stream.reader.initialOffset()
    assert stream.ids() == [[1, 2, 4, 6, 8]]
    put(table, 10)
    put(table, 11)
    assert stream.ids() == [[10, 11]]
    assert stream.batch() is None
    # The first batch is the same when Spark asks for it again, later and in another process.
    again = Stream(**lake[0])
    assert again.reader.initialOffset() == first
    put(table, 12)
    assert stream.committed is not None
    end = {**stream.committed, "snapshot_id": snapshot_ids(lake[1])[3]}
    assert sorted(row["id"] for row in again.between(first, end)) == [1, 2, 4]


def test_a_batch_has_so_many_snapshots_of_the_table_and_no_more(lake: Lake, table: Table) -> None:
    given, session = lake
    other = session.create_table("other", "id BIGINT, name STRING")
    first = snapshot_ids(session)[1]
    stream = Stream(**given, startingSnapshot=first, maxSnapshotsPerTrigger=1)
    assert stream.ids() == [[], [2, 4], [1], [6, 8]]
    for each in range(20, 24):
        put(table, each)
        put(other, each)
    assert [stream.batch(), stream.batch()] == [[{"id": 20, "name": "n20"}], [{"id": 21, "name": "n21"}]]
    fresh = stream.restart(**given, startingSnapshot=first, maxSnapshotsPerTrigger=1)
    assert fresh.ids() == [[22], [23]]
    # Snapshots of other tables make no batches.
    put(other, 30)
    assert fresh.batch() is None


def test_a_quiet_table_is_passed_by_once_an_hour(lake: Lake, table: Table) -> None:
    given, session = lake
    stream = Stream(**given)
    assert stream.ids() == [[1, 2, 4, 6, 8]]
    other = session.create_table("other", "id BIGINT, name STRING")
    last = put(other, 1)
    assert stream.batch() is None
    snapshots, late = session._catalog.tables.snapshot, datetime(2030, 1, 1, tzinfo=UTC)
    with session._catalog.backend.write() as connection:
        connection.execute(snapshots.update().values(snapshot_time=late).where(snapshots.c.snapshot_id == last))
    assert stream.batch() == []
    assert stream.committed is not None
    assert stream.committed["snapshot_id"] == last


def test_it_begins_where_it_is_told_to(lake: Lake, table: Table) -> None:
    given, session = lake
    second = snapshot_ids(session)[-2]
    assert Stream(**given, startingSnapshot=second).ids() == [[1, 6, 8]]
    latest = Stream(**given, startingSnapshot="latest")
    assert latest.ids() == [[]]
    put(table, 9)
    assert latest.ids() == [[9]]
    with pytest.raises(ql.NotFoundError, match="1000000000"):
        Stream(**given, startingSnapshot=10**9).batch()


def test_deletes_and_updates_are_refused_skipped_ignored_or_shown(lake: Lake, table: Table) -> None:
    given, session = lake
    names = ("skipChangeCommits", "ignoreChanges", "readChanges")
    modes = {"": Stream(**given), **{name: Stream(**given, **{name: "true"}) for name in names}}
    first = {name: stream.batch() for name, stream in modes.items()}
    assert [len(rows or ()) for rows in first.values()] == [5, 5, 5, 5]
    assert {row["change_type"] for row in first["readChanges"] or ()} == {"insert"}
    start = put(table, 10)
    deleted = table.delete("id = 4").snapshot_id
    table.update({"name": "'new'"}, where="id = 2")
    with session.transaction() as tx:
        tx.table("t").append(pa.table({"id": [50], "name": ["with a delete"]}))
        tx.table("t").delete("id = 6")
    put(table, 11)
    session.set_option("data_inlining_row_limit", 10)
    table.delete("id = 11")

    with pytest.raises(ql.UnsupportedError, match=rf"snapshot {deleted} deleted or updated rows of main\.t") as caught:
        modes[""].batch()
    assert "skipChangeCommits=true" in str(caught.value)
    assert modes["skipChangeCommits"].ids() == [[10, 11]]
    ignored = modes["ignoreChanges"].batch() or []
    assert sorted((row["id"], row["name"]) for row in ignored) == [
        (2, "new"), (10, "n10"), (11, "n11"), (50, "with a delete"),
    ]  # fmt: skip
    shown = modes["readChanges"].batch()
    wanted = session.table("t").changes(start).to_arrow().to_pylist()
    assert sorted(map(str, shown or ())) == sorted(map(str, wanted))
    assert {row["change_type"] for row in wanted} == {"insert", "delete", "update_preimage", "update_postimage"}


def test_what_only_moves_rows_is_no_news(lake: Lake, table: Table, tmp_path: Path, duck: Duck) -> None:
    given, session = lake
    stream = Stream(**given)
    assert stream.ids() == [[1, 2, 4, 6, 8]]
    put(table, 13)
    put(table, 14)
    session.close()
    with duck(Place.in_folder("sqlite", tmp_path)) as con:
        con.execute("CALL ducklake_flush_inlined_data('lk')").fetchall()
        con.execute("CALL ducklake_merge_adjacent_files('lk')").fetchall()
    assert stream.ids() == [[13, 14]]


def test_new_columns_end_the_query_and_the_next_one_goes_on(lake: Lake, table: Table) -> None:
    given, _ = lake
    stream = Stream(**given)
    assert stream.ids() == [[1, 2, 4, 6, 8]]
    put(table, 10)
    logged = stream.reader.latestOffset()
    table.add_column("more", "INT", default=7)
    with pytest.raises(ql.InvalidInputError, match="columns of t are id bigint, name string, more int, not id bigint"):
        stream.batch()
    # Spark has written down the batch, and asks the new query for it.
    fresh = stream.restart(**given)
    assert stream.committed is not None
    assert fresh.between(stream.committed, logged) == [{"id": 10, "name": "n10", "more": 7}]
    table.rename("elsewhere")
    moved = stream.restart(**given, table="elsewhere")
    assert moved.between(stream.committed, logged) == [{"id": 10, "name": "n10", "more": 7}]


def test_snapshots_that_expired_unread_are_missed(lake: Lake, table: Table, tmp_path: Path, duck: Duck) -> None:
    given, session = lake
    stream, late = Stream(**given), Stream(**given, startingSnapshot=snapshot_ids(session)[1])
    assert stream.ids() == [[1, 2, 4, 6, 8]]
    gone = put(table, 10)
    put(table, 12)
    session.close()
    with duck(Place.in_folder("sqlite", tmp_path)) as con:
        con.execute(f"CALL ducklake_expire_snapshots('lk', versions => [{gone}])").fetchall()
    for each in (stream, late):
        with pytest.raises(ql.NotFoundError, match=f"snapshot {gone} has expired before the stream of main.t"):
            each.batch()


def test_another_table_of_the_same_name_is_another_table(lake: Lake, table: Table) -> None:
    given, session = lake
    stream = Stream(**given)
    assert stream.ids() == [[1, 2, 4, 6, 8]]
    session.drop_table("t")
    with pytest.raises(ql.NotFoundError, match="no table"):
        stream.batch()
    put(session.create_table("t", "id BIGINT, name STRING"), 1)
    with pytest.raises(ql.NotFoundError, match="another table than the one that the stream has read"):
        stream.restart(**given).batch()


def test_rows_are_chosen_by_where(lake: Lake, table: Table) -> None:
    stream = Stream(**lake[0], where="id > 2 AND name <> 'n8'")
    assert stream.ids() == [[4, 6]]
    put(table, 1, 7)
    assert stream.ids() == [[7]]


def test_what_makes_no_sense_together_is_refused(lake: Lake, table: Table) -> None:
    with pytest.raises(ql.InvalidInputError, match="readChanges, skipChangeCommits, ignoreChanges"):
        Stream(**lake[0], readChanges=True, ignoreChanges=True)
    table.add_column("rowid", "INT")
    with pytest.raises(ql.InvalidInputError, match="has a column 'rowid'"):
        Stream(**lake[0], readChanges=True)
    with pytest.raises(ql.InvalidInputError, match="checkpoint of its own"):
        Stream(**lake[0]).reader.partitions({"index": 3}, {"index": 4})


def test_tasks_get_nothing_that_opens_the_catalog(lake: Lake, table: Table) -> None:
    given, _ = lake
    secret = given["url"].rsplit("/", 1)[-1].encode()
    source = QuacklakeSource({**given, "path": "t"})
    schema = source.schema()
    assert secret in pickle.dumps(source)
    reader = source.streamReader(schema)
    end = reader.latestOffset()
    sent = pickle.dumps((source, reader, reader.partitions(reader.initialOffset(), end)))
    assert secret not in sent
