"""Transactions: what they see, what others see, and how they end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

import quacklake as ql
from tests.lakes import Place, snapshot_ids


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int32()), "v": [f"v{id_}" for id_ in ids]})


def ids(table: ql.Table) -> list[int]:
    return sorted(row["id"] for row in table.to_arrow().to_pylist())


def files(place: Place) -> set[Path]:
    return {path for path in Path(place.data_path).rglob("*") if path.is_file()}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place.in_folder("sqlite", tmp_path)


@pytest.fixture
def session(place: Place) -> Iterator[ql.Session]:
    with ql.connect(place.url, place.data_path, engine="local") as session:
        session.create_table("t", "id INT, v STRING").append(rows(*range(30)))
        session.create_table("u", "id INT, v STRING").append(rows(1, 2))
        yield session


def test_a_transaction_over_many_tables_is_one_snapshot_with_its_author_and_message(session: ql.Session) -> None:
    before = snapshot_ids(session)
    with session.transaction(message="nightly", author="etl", extra='{"run": 7}') as tx:
        tx.table("t").append(rows(100))
        tx.table("u").delete("id = 1")
        tx.create_table("w", "id INT, v STRING").append(rows(*range(20)))
    *older, newest = session.snapshots()
    assert [each.snapshot_id for each in older] == before
    assert tx.done == ql.Commit(newest.snapshot_id, rows_inserted=21, rows_deleted=1, files_added=1)
    assert (newest.author, newest.message, newest.extra) == ("etl", "nightly", '{"run": 7}')
    t, u, w = (session.table(name)._entry.table_id for name in "tuw")
    assert t < u < w
    assert newest.changes == (f'created_table:"main"."w",inserted_into_table:{w},inlined_insert:{t},inlined_delete:{u}')
    assert ids(session.table("u")) == [2]


def test_a_transaction_sees_its_own_changes_and_nobody_else_does(session: ql.Session, place: Place) -> None:
    with ql.connect(place.url, engine="local") as other, session.transaction() as tx:
        table = tx.table("t")
        table.append(rows(100, 101))
        table.append(rows(*range(200, 230)))
        assert table.count() == 62
        table.delete("id < 10")
        table.delete("id BETWEEN 10 AND 25")
        table.update({"v": "'new'"}, "id IN (26, 100, 200)")
        assert ids(table) == [*range(26, 30), 100, 101, *range(200, 230)]
        changed = table.scan(where="v = 'new'").to_arrow()
        assert sorted(row["id"] for row in changed.to_pylist()) == [26, 100, 200]
        assert ids(other.table("t")) == list(range(30))
        assert ids(session.table("t")) == list(range(30))
    assert ids(session.table("t")) == [*range(26, 30), 100, 101, *range(200, 230)]


def test_a_transaction_keeps_seeing_its_snapshot_while_others_commit(session: ql.Session) -> None:
    with session.transaction() as tx:
        session.table("t").append(rows(500))
        session.create_table("later", "id INT")
        assert ids(tx.table("t")) == list(range(30))
        assert "main.later" not in tx.tables()
        tx.table("t").append(rows(600))
        assert ids(tx.table("t")) == [*range(30), 600]
    assert ids(session.table("t")) == [*range(30), 500, 600]


def test_a_transaction_sees_what_it_did_to_the_catalog(session: ql.Session) -> None:
    with session.transaction() as tx:
        tx.create_namespace("n")
        made = tx.create_table("n.made", "a INT, s STRUCT<x: INT>", comment="hi")
        made.add_column("s.y", "string", default="q")
        made.rename("other")
        assert tx.tables("n") == ["n.other"]
        assert tx.namespaces() == ["main", "n"]
        assert [str(column.type) for column in tx.table("n.other").schema] == ["int32", "struct<x: int32, y: varchar>"]
        tx.table("t").rename_column("v", "w")
        tx.table("t").add_column("z", "int", default=7)
        assert tx.table("t").scan(where="w = 'v3' AND z = 7").to_arrow().to_pylist() == [{"id": 3, "w": "v3", "z": 7}]
        tx.create_view("v", "SELECT id FROM t")
        assert tx.views() == ["main.v"]
        tx.drop_table("u")
        with pytest.raises(ql.NotFoundError):
            tx.table("u")
        assert session.tables() == ["main.t", "main.u"]
    assert session.tables() == ["main.t", "n.other"]
    assert session.table("n.other").comment == "hi"
    assert session.table("t").schema.names == ("id", "w", "z")


def test_many_steps_on_one_table_come_down_to_what_they_lead_to(session: ql.Session) -> None:
    with session.transaction() as tx:
        table = tx.table("t")
        table.add_column("a", "int")
        table.add_column("b", "int")
        table.drop_column("a")
        table.rename_column("b", "c")
        table.alter_column("c", "bigint")
        table.rename_column("v", "w")
        table.set_partition_by(["id"])
        table.set_partition_by([])
        table.rename("x")
        table.rename("y")
        table.set_comment("one")
        table.set_comment("two")
    table = session.table("y")
    assert session.snapshots()[-1].changes == f'created_table:"main"."y",altered_table:{table._entry.table_id}'
    assert [(column.id, column.name, str(column.type)) for column in table.schema] == [
        (1, "id", "int32"),
        (2, "w", "varchar"),
        (4, "c", "int64"),
    ]
    assert (table.comment, table.partition_by) == ("two", [])
    assert ids(table) == list(range(30))


def test_making_and_dropping_a_table_leaves_nothing_behind(session: ql.Session, place: Place) -> None:
    before, present = session.current_snapshot, files(place)
    with session.transaction() as tx:
        tx.create_table("x", "id INT, v STRING").append(rows(*range(50)))
        tx.drop_table("x")
        tx.create_namespace("n")
        tx.drop_namespace("n")
    assert tx.done.snapshot_id is None
    assert session.current_snapshot == before
    assert files(place) == present


def test_a_name_can_be_dropped_and_taken_again_at_once(session: ql.Session) -> None:
    with session.transaction() as tx:
        tx.drop_table("t")
        tx.create_table("t", "a INT")
        tx.table("u").rename("old")
        tx.create_table("u", "b INT")
    assert session.table("t").schema.names == ("a",)
    assert session.table("u").schema.names == ("b",)
    assert ids(session.table("old")) == [1, 2]


def test_an_error_rolls_everything_back_and_takes_the_files_away(session: ql.Session, place: Place) -> None:
    before, present = session.current_snapshot, files(place)

    def fail() -> None:
        with session.transaction() as tx:
            tx.table("t").append(rows(*range(100, 150)))
            tx.table("t").delete("id < 20")
            tx.table("t").delete("id BETWEEN 20 AND 28")
            tx.create_table("x", "id INT, v STRING").append(rows(*range(50)))
            assert files(place) != present
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert session.current_snapshot == before
    assert files(place) == present
    assert ids(session.table("t")) == list(range(30))


def test_a_conflict_takes_the_files_away(session: ql.Session, place: Place) -> None:
    tx = session.transaction()
    tx.table("t").append(rows(*range(100, 150)))
    session.table("t").add_column("z", "int")
    present = files(place)
    with pytest.raises(ql.ConflictError) as raised:
        tx.commit()
    (conflict,) = raised.value.conflicts
    assert conflict.subject == "main.t"
    assert (conflict.theirs, conflict.snapshot_id) == ("altered it", session.current_snapshot)
    assert len(files(place)) == len(present) - 1


def test_files_that_a_transaction_no_longer_needs_go_when_it_commits(session: ql.Session, place: Place) -> None:
    with session.transaction() as tx:
        tx.table("t").append(rows(*range(100, 150)))
        tx.table("t").delete("id >= 100")
    assert len(files(place)) == 1
    assert ids(session.table("t")) == list(range(30))


def test_nothing_to_do_makes_no_snapshot(session: ql.Session) -> None:
    before = session.current_snapshot
    with session.transaction(message="idle"):
        pass
    assert session.table("t").delete("id = 999").snapshot_id is None
    assert session.table("t").append(rows()).snapshot_id is None
    assert session.table("t").set_partition_by([]).snapshot_id is None
    session.create_table("t", "other INT", if_not_exists=True)
    assert session.current_snapshot == before


def test_a_transaction_can_be_ended_by_hand(session: ql.Session) -> None:
    tx = session.transaction()
    tx.table("t").append(rows(100))
    assert tx.commit().snapshot_id == session.current_snapshot
    with pytest.raises(ql.InvalidInputError, match="over"):
        tx.table("t")
    other = session.transaction()
    other.table("t").append(rows(101))
    other.rollback()
    with pytest.raises(ql.InvalidInputError, match="over"):
        other.commit()
    assert ids(session.table("t")) == [*range(30), 100]


def test_rows_that_were_inserted_and_changed_in_one_transaction_keep_their_ids(session: ql.Session) -> None:
    with session.transaction() as tx:
        tx.table("t").append(rows(*range(100, 130)))
        tx.table("t").update({"v": "'new'"}, "id >= 100")
    found = session.table("t").scan(where="id >= 100", row_ids=True).to_arrow().to_pylist()
    assert sorted((row["id"], row["rowid"]) for row in found) == [(id_, id_ - 70) for id_ in range(100, 130)]


def test_row_ids_that_others_took_meanwhile_are_not_given_twice(session: ql.Session) -> None:
    with session.transaction() as tx:
        tx.table("t").append(rows(100, 101))
        session.table("t").append(rows(200, 201, 202))
    found = session.table("t").scan(row_ids=True).to_arrow().to_pylist()
    assert len({row["rowid"] for row in found}) == 35


def test_ids_inside_a_file_that_others_took_meanwhile_are_a_conflict(session: ql.Session) -> None:
    tx = session.transaction()
    tx.table("u").append(rows(*range(100, 130)))
    tx.table("u").update({"v": "'new'"}, "id >= 100")
    session.table("u").append(rows(300))
    with pytest.raises(ql.ConflictError):
        tx.commit()


def test_a_delete_file_that_replaces_another_says_the_right_snapshots_after_a_race(session: ql.Session) -> None:
    table = session.table("t")
    table.append(rows(*range(100, 200)))
    table.delete("id BETWEEN 100 AND 120")
    before = snapshot_ids(session)
    with session.transaction() as tx:
        tx.table("t").delete("id BETWEEN 130 AND 150")
        session.table("u").append(rows(7))
        session.table("u").append(rows(8))
    after = snapshot_ids(session)
    assert after[:-3] == before
    for at, count in zip(after[-5:], (130, 109, 109, 109, 88), strict=True):
        assert session.table("t", at=at).count() == count, at


def test_columns_do_not_change_under_new_inlined_rows(session: ql.Session) -> None:
    tx = session.transaction()
    tx.table("t").append(rows(100))
    with pytest.raises(ql.UnsupportedError):
        tx.table("t").add_column("z", "int")
    tx.rollback()


def test_a_session_that_only_reads_refuses_to_write(session: ql.Session, place: Place) -> None:
    with ql.connect(place.url, engine="local", read_only=True) as reader:
        writes: list[Callable[[], object]] = [
            lambda: reader.transaction(),
            lambda: reader.create_table("x", "a INT"),
            lambda: reader.table("t").append(rows(1)),
            lambda: reader.table("t").add_column("z", "int"),
            lambda: reader.set_option("parquet_compression", "zstd"),
        ]
        for write in writes:
            with pytest.raises(ql.ReadOnlyError):
                write()
    with ql.connect(place.url, engine="local", at=snapshot_ids(session)[2]) as past:
        with pytest.raises(ql.ReadOnlyError):
            past.create_namespace("n")
        with pytest.raises(ql.ReadOnlyError):
            past.table("t").delete("id = 1")


def test_a_table_of_the_past_refuses_to_change(session: ql.Session) -> None:
    past = session.table("t", at=snapshot_ids(session)[2])
    writes: list[Callable[[], object]] = [
        lambda: past.append(rows(1)),
        lambda: past.delete("id = 1"),
        lambda: past.add_column("z", "int"),
        lambda: past.rename("x"),
    ]
    for write in writes:
        with pytest.raises(ql.ReadOnlyError):
            write()


def test_a_lake_of_another_version_is_not_written(session: ql.Session, place: Place) -> None:
    import sqlite3

    with sqlite3.connect(place.url.removeprefix("sqlite:///")) as connection:
        connection.execute("UPDATE ducklake_metadata SET value = '0.4' WHERE key = 'version'")
    connection.close()
    # Also when the lake was opened before: a commit looks again.
    with pytest.raises(ql.VersionError, match=r"0\.4"):
        session.table("t").append(rows(1))
    with ql.connect(place.url, engine="local") as late:
        with pytest.raises(ql.VersionError) as raised:
            late.transaction()
        assert "migrate=True" in str(raised.value)


def test_a_lake_can_demand_a_message(session: ql.Session) -> None:
    session.set_option("require_commit_message", True)
    with pytest.raises(ql.InvalidInputError, match="message"):
        session.table("t").append(rows(1))
    with session.transaction(message="because") as tx:
        tx.table("t").append(rows(1))
    assert session.snapshots()[-1].message == "because"


def test_moments_of_snapshots_never_go_back(session: ql.Session) -> None:
    late = datetime(2999, 1, 1, tzinfo=UTC)
    table = session._catalog.tables.snapshot
    with session._catalog.backend.write() as connection:
        connection.execute(
            table.update().values(snapshot_time=late).where(table.c.snapshot_id == session.current_snapshot)
        )
    session.table("t").append(rows(1))
    moments = [snapshot.time for snapshot in session.snapshots()]
    assert moments[-2] == late
    assert moments[-1] >= moments[-2]


def test_files_of_a_partitioning_that_never_was_have_none(session: ql.Session) -> None:
    with session.transaction() as tx:
        made = tx.create_table("p", "id INT, v STRING", partition_by=["id"])
        made.append(rows(*range(12)))
        made.set_partition_by(["v"])
        made.append(rows(*range(20, 32)))
    found = session.table("p").scan().files()
    assert [file.partition_id is None for file in found] == [True] * 12 + [False] * 12
    assert session.table("p").partition_by == ["v"]
    assert ids(session.table("p")) == [*range(12), *range(20, 32)]
