"""Catalogs that share a database know nothing of each other, and never wait for each other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

import quacklake as ql
from quacklake.catalog.shared.expired import note_expired
from quacklake.commit.state import standing_in_line
from tests.lakes import Place


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int32()), "v": [f"v{id_}" for id_ in ids]})


@pytest.fixture
def pair(backend: Place) -> Iterator[tuple[ql.Session, ql.Session]]:
    with (
        ql.connect(backend.url, backend.data_path, catalog="a", engine="local") as a,
        ql.connect(backend.url, catalog="b", engine="local") as b,
    ):
        for session in (a, b):
            session.create_table("t", "id INT, v STRING").append(rows(*range(40)))
        yield a, b


def ids(session: ql.Session, at: int | None = None) -> list[int]:
    return sorted(row["id"] for row in session.table("t", at=at).to_arrow().to_pylist())


def test_each_sees_its_own_tables_rows_snapshots_and_settings(pair: tuple[ql.Session, ql.Session]) -> None:
    a, b = pair
    past: dict[str, dict[int, list[int]]] = {"a": {}, "b": {}}
    for step in range(3):
        for name, session in (("a", a), ("b", b)):
            offset = 1000 if name == "a" else 2000
            session.table("t").append(rows(offset + step))
            past[name][session.current_snapshot] = ids(session)
            session.table("t").append(rows(*range(offset + 100 * step + 100, offset + 100 * step + 130)))
            session.table("t").delete(f"id BETWEEN {offset + 100 * step + 100} AND {offset + 100 * step + 115}")
            session.table("t").delete(f"id BETWEEN {offset + 100 * step + 116} AND {offset + 100 * step + 120}")
            session.table("t").update({"v": "'new'"}, f"id = {step}")
            past[name][session.current_snapshot] = ids(session)
    assert not set(ids(a)) & {id_ for id_ in ids(b) if id_ >= 1000}
    for name, session in (("a", a), ("b", b)):
        assert {at: ids(session, at) for at in past[name]} == past[name]
        assert session.check() == []
    assert not {each.snapshot_id for each in a.snapshots()} & {each.snapshot_id for each in b.snapshots()}
    theirs = b.snapshots()[-1].snapshot_id
    with pytest.raises(ql.NotFoundError, match=f"there is no snapshot {theirs}"):
        a.table("t", at=theirs)
    a.set_option("target_file_size", "1MB")
    a.set_option("parquet_compression", "zstd", table="t")
    assert "target_file_size" in {option.name for option in a.options()}
    assert not {"target_file_size", "parquet_compression"} & {option.name for option in b.options()}


def test_the_change_feed_is_that_of_one_catalog(pair: tuple[ql.Session, ql.Session]) -> None:
    a, b = pair
    first = a.current_snapshot
    for number in range(100, 104):
        a.table("t").append(rows(number))
        b.table("t").append(rows(number + 100))
        a.table("t").delete(f"id = {number}")
    found = a.table("t").changes(first).to_arrow().to_pylist()
    assert sorted((row["id"], row["change_type"]) for row in found if row["id"] >= 100) == [
        (number, kind) for number in range(100, 104) for kind in ("delete", "insert")
    ]


def test_what_another_catalog_does_is_no_conflict(pair: tuple[ql.Session, ql.Session]) -> None:
    a, b = pair
    with a.transaction() as tx:
        tx.table("t").delete("id < 20")
        b.table("t").delete("id >= 20")
        b.table("t").append(rows(7, 8))
        b.table("t").add_column("w", "int")
        b.drop_table("t")
    assert ids(a) == list(range(20, 40))
    assert b.tables() == []
    assert a.check() == b.check() == []


def test_deleting_again_from_a_file_says_the_snapshot_that_it_became(pair: tuple[ql.Session, ql.Session]) -> None:
    a, b = pair
    a.table("t").delete("id < 12")
    before = a.current_snapshot
    with a.transaction() as tx:
        tx.table("t").delete("id BETWEEN 12 AND 24")
        # Ids go to others meanwhile, and one to another commit of the same catalog.
        b.table("t").append(rows(500))
        a.create_table("u", "x INT")
        between = a.current_snapshot
        b.table("t").append(rows(501))
        tx.table("t").delete("id BETWEEN 25 AND 37")
    assert ids(a, before) == ids(a, between) == list(range(12, 40))
    assert ids(a) == [38, 39]
    assert a.check() == []


def test_a_catalog_conflicts_with_itself_as_ever(pair: tuple[ql.Session, ql.Session], backend: Place) -> None:
    a, b = pair
    with ql.connect(backend.url, catalog="a", engine="local") as other:
        tx = a.transaction()
        tx.table("t").delete("id < 20")
        b.table("t").append(rows(7))
        other.table("t").delete("id < 15")
        with pytest.raises(ql.ConflictError):
            tx.commit()
        with a.transaction() as tx:
            tx.table("t").append(rows(100))
            other.table("t").append(rows(101))
    assert ids(a) == [*range(15, 40), 100, 101]


def test_what_happened_in_a_snapshot_that_is_gone_may_be_a_conflict(pair: tuple[ql.Session, ql.Session]) -> None:
    a, b = pair
    tables, backend = a._catalog.tables, a._catalog.backend
    tx = a.transaction()
    tx.table("t").delete("id < 20")
    gone = a.create_table("u", "x INT").history()[-1].snapshot_id
    a.create_table("w", "x INT")
    with backend.write() as connection:
        for table in (tables.snapshot, tables.snapshot_changes):
            assert connection.execute(table.delete().where(table.c.snapshot_id == gone)).rowcount == 1
        note_expired(connection, tables, gone)
    with pytest.raises(ql.ConflictError, match="cannot be judged"):
        tx.commit()
    with b.transaction() as tx:
        tx.table("t").delete("id < 20")
        b.create_table("u", "x INT")


@pytest.mark.parametrize("kind", [pytest.param(name, marks=pytest.mark.server) for name in ("postgresql", "mysql")])
def test_nobody_waits_for_the_turn_of_another_catalog(kind: str, new_place: Callable[[str], Place]) -> None:
    place = new_place(kind)
    done: list[Any] = []
    with (
        ql.connect(place.url, place.data_path, catalog="a", engine="local") as a,
        ql.connect(place.url, catalog="b", engine="local") as b,
    ):
        for session in (a, b):
            session.create_table("t", "id INT, v STRING").append(rows(*range(40)))
        turn = standing_in_line(a._catalog.tables, a._catalog.backend)
        waiting = threading.Thread(target=lambda: done.append(a.table("t").append(rows(100))))
        with a._catalog.backend.write(turn):
            waiting.start()
            # Every kind of commit, while the other holds its turn: small ones, files, deletes, and new tables.
            b.table("t").append(rows(100))
            b.table("t").append(rows(*range(200, 240)))
            b.table("t").delete("id < 15")
            b.table("t").delete("id < 30")
            b.create_table("new", "x INT").append(pa.table({"x": [1]}))
            b.set_option("target_file_size", "1MB")
            ql.connect(place.url, catalog="c", engine="local").close()
            assert waiting.is_alive()
            assert done == []
        waiting.join(60)
        assert len(done) == 1
        assert len(ids(a)) == 41
