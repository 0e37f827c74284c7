"""An open catalog remembers how tables look, and never shows one as it no longer is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
import sqlalchemy as sa

import quacklake as ql
from quacklake.catalog.url import parse_url
from tests.conftest import Duck
from tests.lakes import Place


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int32()), "v": pa.array([f"v{id_}" for id_ in ids])})


@pytest.fixture
def session(backend: Place) -> Iterator[ql.Session]:
    with ql.connect(backend.url, backend.data_path, engine="local") as session:
        session.create_table("t", "id INT, v STRING")
        session.create_table("other", "id INT, v STRING")
        yield session


@contextmanager
def another(backend: Place) -> Iterator[ql.Session]:
    with ql.connect(backend.url, engine="local") as session:
        yield session


def test_every_look_after_a_commit_of_ours_shows_it(session: ql.Session) -> None:
    for number in range(4):
        commit = session.table("t").append(rows(number))
        assert commit.snapshot_id == session.current_snapshot
        assert session.table("t").count() == number + 1
        assert session.table("other").count() == 0
    session.table("other").append(rows(1, 2))
    assert (session.table("t").count(), session.table("other").count()) == (4, 2)
    assert session.check() == []


@pytest.mark.parametrize("settled", [False, True], ids=["at once", "after a look"])
def test_what_another_session_commits_between_two_appends_is_seen(
    session: ql.Session, backend: Place, settled: bool
) -> None:
    with another(backend) as second:
        session.table("t").append(rows(1))
        if settled:
            assert session.table("t").count() == 1
        second.table("t").append(rows(2))
        session.table("t").append(rows(3))
        second.table("t").add_column("w", "int", default=7)
        session.table("t").append(rows(4).append_column("w", pa.array([4], pa.int32())))
        second.set_option("target_file_size", "123MB")
        assert {option.name: option.value for option in session.options()}["target_file_size"] == "123000000"
        session.table("t").append(rows(5))
        second.table("t").rename("u")
        with pytest.raises(ql.NotFoundError):
            session.table("t")
        found = session.table("u").to_arrow().sort_by("id").to_pydict()
    assert (found["id"], found["w"]) == ([1, 2, 3, 4, 5], [7, 7, 7, 4, 7])


def test_a_table_that_another_session_put_in_the_place_of_one_is_seen(session: ql.Session, backend: Place) -> None:
    with another(backend) as second:
        session.table("t").append(rows(1))
        second.drop_table("t")
        second.create_table("t", "id INT, v STRING")
        assert session.table("t").count() == 0
        session.table("t").append(rows(9))
        assert second.table("t").to_arrow()["id"].to_pylist() == [9]


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.server)])
def test_what_duckdb_commits_between_two_appends_is_seen(
    kind: str, new_place: Callable[[str], Place], duck: Duck
) -> None:
    place = new_place(kind)
    with ql.connect(place.url, place.data_path, engine="local") as session, duck(place) as con:
        session.create_table("t", "id INT, v STRING").append(rows(1))
        con.execute("INSERT INTO t VALUES (2, 'duck')")
        session.table("t").append(rows(3))
        con.execute("ALTER TABLE t ADD COLUMN w INTEGER")
        session.table("t").append(rows(4).append_column("w", pa.array([4], pa.int32())))
        con.execute("DELETE FROM t WHERE id = 1")
        assert session.table("t").to_arrow().sort_by("id")["id"].to_pylist() == [2, 3, 4]
        assert con.execute("SELECT id, w FROM t ORDER BY id").fetchall() == [(2, None), (3, None), (4, 4)]


def test_a_write_that_is_given_up_leaves_no_trace_in_what_is_remembered(session: ql.Session) -> None:
    session.table("t").append(rows(1))
    tx = session.transaction().__enter__()
    tx.table("t").append(rows(2))
    tx.rollback()
    assert session.table("t").count() == 1
    session.table("t").append(rows(3))
    assert session.table("t").to_arrow().sort_by("id")["id"].to_pylist() == [1, 3]


def test_a_sqlite_catalog_that_nobody_else_changed_is_not_asked_again(tmp_path: object) -> None:
    seen: list[str] = []
    with ql.connect(f"sqlite:///{tmp_path}/lake.db", engine="local") as session:
        session.create_table("t", "id INT, v STRING")
        for number in range(3):
            session.table("t").append(rows(number))

        def note(*arguments: object) -> None:
            seen.append(str(arguments[2]))

        sa.event.listen(sa.Engine, "before_cursor_execute", note)
        try:
            table = session.table("t")
            assert seen == []
            table.append(rows(9))
        finally:
            sa.event.remove(sa.Engine, "before_cursor_execute", note)
        assert seen[0].startswith("BEGIN")


def test_changes_of_others_show_at_once(backend: Place, duck: Duck) -> None:
    with (
        ql.connect(backend.url, backend.data_path, engine="local") as mine,
        ql.connect(backend.url, engine="local") as other,
    ):
        mine.create_table("t", "a INT")
        assert mine.table("t").schema.names == ("a",)
        other.table("t").append([{"a": 1}])
        assert mine.table("t").count() == 1
        other.table("t").add_column("b", "INT")
        assert mine.table("t").schema.names == ("a", "b")
        other.table("t").set_comment("words")
        assert mine.table("t").comment == "words"
        first = mine.current_snapshot
        other.table("t").drop_column("a")
        other.table("t").append([{"b": 2}])
        assert mine.table("t").schema.names == ("b",)
        assert mine.table("t", at=first).schema.names == ("a", "b")
        other.drop_table("t")
        other.create_table("t", "c INT")
        assert mine.table("t").schema.names == ("c",)


def test_a_lake_in_the_place_of_another_is_not_taken_for_it(new_place: Callable[[str], Place]) -> None:
    place = new_place("sqlite")
    path = parse_url(place.url).path
    assert path is not None
    kept = Path(f"{path}.kept")
    with ql.connect(place.url, place.data_path, engine="local") as session:
        session.create_table("t", "a INT")
    path.rename(kept)
    with ql.connect(place.url, place.data_path, engine="local") as session:
        session.create_table("t", "b INT")
        session.table("t").append([{"b": 1}])
        assert session.table("t").schema.names == ("b",)
        # Into the same file, for an open connection holds on to that.
        path.write_bytes(kept.read_bytes())
        assert session.table("t").schema.names == ("a",)


def test_a_catalog_that_is_no_database_any_more_is_a_named_error(new_place: Callable[[str], Place]) -> None:
    place = new_place("sqlite")
    path = parse_url(place.url).path
    assert path is not None
    with ql.connect(place.url, place.data_path, engine="local") as session:
        session.create_table("t", "a INT").append([{"a": 1}])
        path.write_bytes(b"no database at all" * 1000)
        with pytest.raises(ql.CatalogError, match="is not a SQLite database"):
            session.table("t")
