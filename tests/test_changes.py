"""Change feeds at the front door: what can be asked, and what comes of asking for what is not there."""

from __future__ import annotations

import pickle
import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import quacklake as ql
from tests.conftest import Duck
from tests.differential.feeds import Past, ask, feed_fault, keys
from tests.lakes import Place, snapshot_ids

Change = tuple[Any, ...]


def rows(*ids: int, v: str = "v") -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int32()), "v": [f"{v}{id_}" for id_ in ids]})


def changes(table: ql.Table, *bounds: Any, **scan: Any) -> list[Change]:
    return sorted(tuple(row.values()) for row in table.changes(*bounds, **scan).to_arrow().to_pylist())


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place.in_folder("sqlite", tmp_path)


@pytest.fixture
def session(place: Place) -> Iterator[ql.Session]:
    """A lake in which snapshot 1 makes a table, 2 fills it, 3 updates, 4 deletes and 5 adds rows."""
    with ql.connect(place.url, place.data_path, engine="local", inline_rows=0) as session:
        table = session.create_table("t", "id INT, v STRING")
        table.append(rows(1, 2, 3))
        table.update({"v": "'new'"}, "id = 2")
        table.delete("id = 1")
        table.append(rows(4))
        yield session


def everything(session: ql.Session) -> list[Change]:
    """What the snapshots 2 to 4 changed."""
    at = snapshot_ids(session)
    return [
        (at[2], 0, "insert", 1, "v1"),
        (at[2], 1, "insert", 2, "v2"),
        (at[2], 2, "insert", 3, "v3"),
        (at[3], 1, "update_postimage", 2, "new"),
        (at[3], 1, "update_preimage", 2, "v2"),
        (at[4], 0, "delete", 1, "v1"),
    ]


def test_a_feed_has_the_snapshot_the_row_id_and_the_type_of_each_change_before_the_columns(session: ql.Session) -> None:
    at = snapshot_ids(session)
    feed = session.table("t").changes(at[0])
    arrow = feed.to_arrow()
    assert arrow.schema.names == ["snapshot_id", "rowid", "change_type", "id", "v"]
    assert [str(field.type) for field in arrow.schema] == ["int64", "int64", "string", "int32", "string"]
    found = sorted(tuple(row.values()) for row in arrow.to_pylist())
    assert found[:6] == everything(session)
    assert [row[0:1] + row[2:] for row in found[6:]] == [(at[5], "insert", 4, "v4")]
    assert feed.count() == len(found)
    assert sorted(feed.to_pandas().itertuples(index=False, name=None)) == found
    assert sorted(feed.to_polars().rows()) == found
    assert sum(batch.num_rows for batch in feed.to_batches()) == len(found)


def test_both_ends_of_the_range_are_in_it(session: ql.Session) -> None:
    table, at, expected = session.table("t"), snapshot_ids(session), everything(session)
    assert len(at) == 6
    for start in at:
        for end in (each for each in at[1:5] if each >= start):
            assert changes(table, start, end) == [row for row in expected if start <= row[0] <= end]


def test_without_an_end_the_range_ends_where_the_table_is_read(session: ql.Session) -> None:
    at = snapshot_ids(session)
    assert changes(session.table("t", at=at[3]), at[0]) == everything(session)[:5]
    assert changes(session.table("t", at=at[3]), at[0], at[4]) == everything(session)
    with session.transaction() as tx:
        tx.table("t").append(rows(9))
        assert [row[0] for row in changes(tx.table("t"), at[4])] == at[4:]
        tx.rollback()


def test_a_moment_stands_for_the_first_snapshot_after_it_or_the_last_before_it(place: Place, duck: Duck) -> None:
    with ql.connect(place.url, place.data_path, engine="local", inline_rows=0) as session:
        session.create_table("t", "id INT, v STRING")
        for id_ in range(3):
            session.table("t").append(rows(id_))
    past = datetime(2024, 1, 1, tzinfo=UTC)
    with sqlite3.connect(place.url.removeprefix("sqlite:///")) as database:
        for snapshot in range(5):
            day = (past + timedelta(days=snapshot)).strftime("%Y-%m-%d %H:%M:%S+00")
            database.execute("UPDATE ducklake_snapshot SET snapshot_time = ? WHERE snapshot_id = ?", (day, snapshot))
    with ql.connect(place.url, engine="local") as session, duck(place) as con:
        for start, end in ((-9, 9), (1.5, 3.5), (2, 3), (2, 2), (3.5, 9)):
            first, last = past + timedelta(days=start), past + timedelta(days=end)
            call = f"ducklake_table_changes('lk', 'main', 't', TIMESTAMPTZ '{first}', TIMESTAMPTZ '{last}')"
            assert changes(session.table("t"), first, last) == con.execute(f"FROM {call} ORDER BY ALL").fetchall()
        assert changes(session.table("t"), past + timedelta(days=2.5), 3) == [(3, 1, "insert", 1, "v1")]
        with pytest.raises(ql.NotFoundError, match="no snapshot since 2024-01-06"):
            session.table("t").changes(past + timedelta(days=5)).to_arrow()


def test_columns_predicates_and_limits_are_those_of_what_comes_out(session: ql.Session) -> None:
    table, at = session.table("t"), snapshot_ids(session)
    assert changes(table, at[2], at[4], columns=["v"], where="change_type = 'delete'") == [(at[4], 0, "delete", "v1")]
    assert changes(table, at[0], at[4], columns=[], where=f"id = 2 AND snapshot_id > {at[2]}") == [
        (at[3], 1, "update_postimage"),
        (at[3], 1, "update_preimage"),
    ]
    # The other half of an update is left out, and it is one all the same.
    assert changes(table, at[3], at[3], where="v = 'new'") == [(at[3], 1, "update_postimage", 2, "new")]
    assert table.changes(at[0], where="rowid = 1 OR change_type LIKE 'update%'").count() == 3
    assert table.changes(at[0], limit=4).to_arrow().num_rows == table.changes(at[0], limit=4).count() == 4
    assert table.changes(at[0], where="id = 3", limit=0).count() == 0
    with pytest.raises(ql.NotFoundError, match="nothing"):
        table.changes(at[0], where="nothing = 1").to_arrow()


def test_columns_of_the_table_hide_those_of_the_feed_from_predicates(place: Place) -> None:
    with ql.connect(place.url, place.data_path, engine="local") as session:
        table = session.create_table("t", "rowid INT, Snapshot_ID STRING, change_type INT")
        table.append(pa.table({"rowid": pa.array([7], pa.int32()), "Snapshot_ID": ["s"], "change_type": [1]}))
        first, *_, newest = snapshot_ids(session)
        arrow = table.changes(first, where="rowid = 7 AND snapshot_id = 's' AND change_type = 1").to_arrow()
        assert arrow.schema.names == ["snapshot_id", "rowid", "change_type", "rowid", "Snapshot_ID", "change_type"]
        assert [column.to_pylist() for column in arrow.columns] == [[newest], [0], ["insert"], [7], ["s"], [1]]
        assert table.changes(first, where="rowid = 0").count() == 0


def test_a_table_of_the_same_name_that_was_dropped_has_a_feed_of_its_own(place: Place, duck: Duck) -> None:
    with duck(place) as con:
        for statement in (
            "CREATE TABLE t (i INTEGER)",
            "INSERT INTO t VALUES (1)",
            "DROP TABLE t",
            "CREATE TABLE t (j VARCHAR)",
            "INSERT INTO t VALUES ('x')",
            "CREATE OR REPLACE TABLE t AS SELECT 2.5 AS k",
        ):
            con.execute(statement).fetchall()
        told = [ask(con, "main", "t", start, end) for end in (2, 5, 6) for start in range(end + 1)]
    with ql.connect(place.url, engine="local") as session:
        assert [feed_fault(session, "local", feed) for feed in told] == [None] * len(told)
        assert changes(session.table("t", at=5), 0) == [(5, 0, "insert", "x")]
        with pytest.raises(ql.NotFoundError, match=r"there is no table main\.t at snapshot 3"):
            session.table("t").changes(1, 3).to_arrow()


def test_what_cannot_be_asked_is_refused_by_name(session: ql.Session) -> None:
    table, at = session.table("t"), snapshot_ids(session)
    with pytest.raises(ql.InvalidInputError, match=f"start at snapshot {at[4]} and end at {at[2]}") as turned:
        table.changes(at[4], at[2]).to_arrow()
    assert turned.value.hint == "give the earlier one first"
    for bounds in ((at[5] + 2,), (at[0], at[5] + 94), (at[0] - 1, at[3])):
        with pytest.raises(ql.NotFoundError, match="there is no snapshot") as unknown:
            table.changes(*bounds).to_arrow()
        assert unknown.value.hint == f"the lake has snapshots {at[0]} to {at[5]}"
    with pytest.raises(ql.NotFoundError, match=rf"there is no table main\.t at snapshot {at[0]} "):
        table.changes(at[0], at[0]).to_arrow()
    strange: tuple[Any, ...] = ((None,), ("2024-01-01",), (True,), (at[0], "now"))
    for each in strange:
        with pytest.raises(ql.InvalidInputError, match="neither the id of a snapshot nor a moment"):
            table.changes(*each)
    with pytest.raises(ql.InvalidInputError, match="limit"):
        table.changes(at[0], limit=-1)


def test_a_snapshot_that_was_expired_is_none_to_start_from(place: Place, duck: Duck) -> None:
    with duck(place) as con:
        for statement in (
            "CREATE TABLE t (i INTEGER)",
            *(f"INSERT INTO t VALUES ({i})" for i in range(4)),
            "CALL ducklake_expire_snapshots('lk', versions => [1, 2, 4])",
        ):
            con.execute(statement).fetchall()
        told = [ask(con, "main", "t", start, 5) for start in (0, 3, 5)]
    with ql.connect(place.url, engine="local") as session:
        assert [feed_fault(session, "local", feed) for feed in told] == [None] * 3
        for bounds in ((2,), (3, 4)):
            with pytest.raises(ql.NotFoundError, match=r"there is no snapshot [24]"):
                session.table("t").changes(*bounds).to_arrow()


def test_rows_of_an_expired_snapshot_that_were_moved_since_are_not_lost(place: Place, duck: Duck) -> None:
    with duck(place, "DATA_INLINING_ROW_LIMIT 0") as con:
        for statement in (
            "CREATE TABLE t (i INTEGER)",
            "INSERT INTO t SELECT i FROM range(20) r(i)",
            "DELETE FROM t WHERE i < 15",
            "CALL ducklake_rewrite_data_files('lk', delete_threshold => 0)",
        ):
            con.execute(statement).fetchall()
        with ql.connect(place.url, engine="local") as session:
            assert changes(session.table("t"), 4) == []
            assert session.table("t").changes(1).count() == 35
            assert "only moved rows to other files: snapshots 4" in session.table("t").changes(1).explain()
        con.execute("CALL ducklake_expire_snapshots('lk', versions => [2, 3])").fetchall()
    with ql.connect(place.url, engine="local") as session:
        assert changes(session.table("t"), 1) == [(4, i, "insert", i) for i in range(15, 20)]
        assert changes(session.table("t"), 4) == []


def test_what_a_transaction_wrote_and_took_back_was_never_there(place: Place, duck: Duck) -> None:
    with duck(place, "DATA_INLINING_ROW_LIMIT 0") as con:
        for statement in (
            "CREATE TABLE t (i INTEGER, s VARCHAR)",
            "INSERT INTO t SELECT i, 'a' FROM range(20) r(i)",
            "BEGIN",
            "INSERT INTO t SELECT i, 'b' FROM range(20, 40) r(i)",
            "UPDATE t SET s = 'c' WHERE i IN (3, 4, 21, 22)",
            "UPDATE t SET s = 'd' WHERE i IN (4, 22)",
            "DELETE FROM t WHERE i IN (3, 21, 30)",
            "COMMIT",
            "DELETE FROM t WHERE i IN (4, 5, 23)",
        ):
            con.execute(statement).fetchall()
        past = Past(con)
        truth = [past.changes(1, start, end) for start in range(5) for end in range(max(1, start), 5)]
        ranges = [ask(con, "main", "t", start, end) for start in range(5) for end in range(max(1, start), 5)]
    with ql.connect(place.url, engine="local") as session:
        assert [keys(session, "local", feed) for feed in ranges] == truth
        assert (3, 3, "delete", 3, "a") in changes(session.table("t"), 3)
        assert (3, 4, "update_postimage", 4, "d") in changes(session.table("t"), 3)


def test_a_row_that_was_deleted_twice_died_the_first_time(place: Place, duck: Duck) -> None:
    with duck(place) as con:
        con.execute("CREATE TABLE t (i INTEGER)").fetchall()
        con.execute("INSERT INTO t SELECT i FROM range(100) r(i)").fetchall()
        con.execute("DELETE FROM t WHERE i < 50").fetchall()
        con.execute("DELETE FROM t WHERE i IN (60, 61)").fetchall()
    with sqlite3.connect(place.url.removeprefix("sqlite:///")) as database:
        # Two writers at once can bring this about.
        file, snapshot = database.execute(
            "SELECT file_id, max(begin_snapshot) FROM ducklake_inlined_delete_1"
        ).fetchone()
        database.execute("INSERT INTO ducklake_inlined_delete_1 VALUES (?, 7, ?)", (file, snapshot))
    with ql.connect(place.url, engine="local") as session:
        assert changes(session.table("t"), 4) == [(4, 60, "delete", 60), (4, 61, "delete", 61)]
        assert (3, 7, "delete", 7) in changes(session.table("t"), 3)


def test_a_delete_file_from_before_the_range_is_not_read(place: Place, duck: Duck) -> None:
    with duck(place, "DATA_INLINING_ROW_LIMIT 0") as con:
        for statement in (
            "CREATE TABLE t (i INTEGER)",
            "INSERT INTO t SELECT i FROM range(20) r(i)",
            "DELETE FROM t WHERE i < 5",
            "INSERT INTO t SELECT i FROM range(20, 30) r(i)",
            "DELETE FROM t WHERE i = 25",
        ):
            con.execute(statement).fetchall()
    with ql.connect(place.url, engine="local") as session:
        table, at = session.table("t"), snapshot_ids(session)
        assert len(table.changes(at[4]).files()) == 1
        assert len(table.changes(at[3]).files()) == 2
        plan: Any = table.changes(at[3], at[3]).plan()
        Path(plan.changes.deaths[0].file.delete_files[0].path).unlink()
        assert table.changes(at[4]).count() == 11
        with pytest.raises(ql.StorageError, match="is missing"):
            table.changes(at[3]).to_arrow()


def test_a_plan_pickles_and_says_what_it_reads(session: ql.Session) -> None:
    at = snapshot_ids(session)
    plan: Any = session.table("t").changes(at[0], where="id > 1").plan()
    assert pickle.loads(pickle.dumps(plan)) == plan
    text = session.table("t").changes(at[0], where="id > 1", limit=3).explain().splitlines()
    assert text[:2] == [
        f"changes of main.t from snapshot {at[0]} to {at[5]}",
        "  columns: snapshot_id, rowid, change_type, id, v",
    ]
    assert text[-2:] == ["  where: id > 1", "  limit: 3"]
    assert session.table("t").changes(at[1], at[1]).to_arrow().num_rows == 0


def test_rows_come_in_batches_as_they_are_read(place: Place, duck: Duck) -> None:
    with duck(place) as con:
        con.execute("CREATE TABLE t (i BIGINT)").fetchall()
        con.execute("INSERT INTO t SELECT i FROM range(400000) r(i)").fetchall()
        con.execute("UPDATE t SET i = -i WHERE i % 2 = 0").fetchall()
    with ql.connect(place.url, engine="local") as session:
        sizes = [batch.num_rows for batch in session.table("t").changes(snapshot_ids(session)[0]).to_batches()]
        assert sum(sizes) == 800_000
        assert max(sizes) <= 122_880


@pytest.mark.parametrize("name", ["duckdb", pytest.param("mysql", marks=pytest.mark.server)])
def test_other_databases_tell_the_same_of_what_we_wrote(name: str, new_place: Callable[[str], Place]) -> None:
    place = new_place(name)
    with ql.connect(place.url, place.data_path, engine="local", inline_rows=2) as session:
        table = session.create_table("t", "id INT, v STRING")
        table.append(rows(1, 2, 3))
        table.update({"v": "'new'"}, "id = 2")
        table.delete("id = 1")
        assert changes(table, snapshot_ids(session)[0]) == everything(session)
        first = session.snapshots()[0].time - timedelta(hours=1)
        assert changes(table, first) == everything(session)
        newest = table.overwrite(rows(7, 8, 9)).snapshot_id
        assert [row[2:4] for row in changes(table, newest)] == [
            ("delete", 2),
            ("delete", 3),
            ("insert", 7),
            ("insert", 8),
            ("insert", 9),
        ]
