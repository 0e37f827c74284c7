"""Whatever breaks during a commit, all of it is there or nothing, and the caller is told the truth."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import quacklake as ql
from quacklake.catalog.backends.protocol import Failure
from tests.commit.faults import make_faulty
from tests.commit.rows import own_rows
from tests.lakes import Place, snapshot_ids

ROWS = pa.table({"id": pa.array(range(30), pa.int32()), "v": [f"v{id_}" for id_ in range(30)]})
FEW = ROWS.slice(0, 3)


def connect(place: Place) -> ql.Session:
    return ql.connect(place.url, place.data_path, engine="local")


def lake(folder: Path) -> Place:
    place = Place.in_folder("sqlite", folder)
    with connect(place) as session:
        session.create_table("t", "id INT, v STRING").append(ROWS)
        session.table("t").delete("id < 12")
        session.create_table("u", "id INT, v STRING").append(FEW)
    return place


def everything(session: ql.Session) -> None:
    """One transaction with a bit of all that can be committed."""
    with session.transaction(message="all", author="me") as tx:
        tx.create_namespace("n")
        tx.create_table("n.x", "id INT, v STRING", partition_by=["id"], comment="x").append(FEW)
        tx.table("t").append(ROWS)
        tx.table("t").delete("id < 24")
        tx.table("u").append(FEW)
        tx.table("u").delete("id = 1")
        tx.table("u").rename("w")
        tx.create_view("v", "SELECT id FROM t")


def files(place: Place) -> set[Path]:
    return {path for path in Path(place.data_path).rglob("*") if path.is_file()}


def _ids(session: ql.Session, table: str) -> list[int]:
    return [row["id"] for row in session.table(table).to_arrow().to_pylist()]


def state(session: ql.Session) -> dict[str, object]:
    ids = {name: sorted(_ids(session, name)) for name in session.tables()}
    return {"namespaces": session.namespaces(), "views": session.views(), **ids}


AFTER = {
    "namespaces": ["main", "n"],
    "views": ["main.v"],
    "main.t": sorted([*range(24, 30)] * 2),
    "main.w": [0, 0, 2, 2],
    "n.x": [0, 1, 2],
}


def count_statements(folder: Path) -> int:
    place = lake(folder)
    with connect(place) as session:
        faulty = make_faulty(session, "other")
        everything(session)
        return len(faulty.seen)


@pytest.fixture(scope="module")
def statements(tmp_path_factory: pytest.TempPathFactory) -> int:
    return count_statements(tmp_path_factory.mktemp("count"))


@pytest.fixture(scope="module")
def stride() -> int:
    """Every statement fails once."""
    return 1


@pytest.fixture(scope="module")
def midway() -> int:
    """A statement in the middle of an append."""
    return 5


def test_a_commit_has_statements_to_break(statements: int) -> None:
    assert statements > 30


@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_error_at_any_statement_leaves_the_lake_and_its_files_as_they_were(
    moment: str, statements: int, stride: int, tmp_path: Path
) -> None:
    place = lake(tmp_path)
    with connect(place) as onlooker:
        before, present = own_rows(onlooker), files(place)
        assert len(before["ducklake_data_file"]) == 1
        for statement in range(1, statements + 1, stride):
            with connect(place) as session:
                make_faulty(session, "other", statement=statement, moment=moment)
                with pytest.raises(ql.CatalogError):
                    everything(session)
            assert own_rows(onlooker) == before, statement
            assert files(place) == present, statement


@pytest.mark.parametrize("failure", ["unique", "serialization", "deadlock", "locked", "lost"])
def test_an_error_that_passes_is_tried_again_and_nothing_is_done_twice(
    failure: Failure, statements: int, tmp_path: Path
) -> None:
    for statement in (1, 3, statements // 2, statements):
        folder = tmp_path / str(statement)
        folder.mkdir()
        place = lake(folder)
        with connect(place) as session:
            before = snapshot_ids(session)
            make_faulty(session, failure, statement=statement, moment="after", times=2)
            everything(session)
            assert snapshot_ids(session) == [*before, session.current_snapshot]
            assert state(session) == AFTER


def test_a_connection_that_breaks_after_the_commit_is_found_to_have_committed(tmp_path: Path) -> None:
    place = lake(tmp_path)
    with connect(place) as session:
        before = snapshot_ids(session)
        make_faulty(session, "lost").at_commit = "after"
        everything(session)
        assert snapshot_ids(session) == [*before, session.current_snapshot]
        assert state(session) == AFTER


def test_a_connection_that_breaks_before_the_commit_is_found_not_to_have_committed(tmp_path: Path) -> None:
    place = lake(tmp_path)
    with connect(place) as session:
        before = snapshot_ids(session)
        make_faulty(session, "lost").at_commit = "before"
        everything(session)
        assert snapshot_ids(session) == [*before, session.current_snapshot]
        assert state(session) == AFTER


def test_the_same_commit_of_another_writer_is_not_taken_for_ours(tmp_path: Path) -> None:
    place = lake(tmp_path)
    with connect(place) as session, connect(place) as other:
        before = snapshot_ids(session)
        faulty = make_faulty(session, "lost")
        faulty.at_commit = "before"
        # Same rows into the same table, under the very snapshot id that our attempt had.
        faulty.on_failure = lambda: None
        commits = iter([lambda: other.table("u").append(FEW)])
        original = faulty.classify

        def classify(error: BaseException) -> str:
            next(commits, lambda: None)()
            return original(error)

        faulty.classify = classify  # type: ignore[method-assign,assignment]
        session.table("u").append(FEW)
        assert snapshot_ids(session)[:-2] == before
        assert session.table("u").count() == 9


@pytest.mark.parametrize("rows", [ROWS, FEW], ids=["a file", "inlined rows"])
def test_a_commit_that_has_expired_before_anybody_looked_is_not_done_twice(tmp_path: Path, rows: pa.Table) -> None:
    place = lake(tmp_path)
    with connect(place) as session, connect(place) as other:
        faulty = make_faulty(session, "lost")
        faulty.at_commit = "after"

        def forget() -> None:
            other.create_table("later", "id INT")
            other.maintain.expire(timedelta(0))

        faulty.on_failure = forget
        if rows is ROWS:
            session.table("t").append(rows)
        else:
            # Nothing about such rows is one of a kind.
            with pytest.raises(ql.CatalogError, match="nobody can tell how that ended"):
                session.table("t").append(rows)
        assert session.table("t").count() == 18 + len(rows)
        assert session.check() == []


def test_when_nobody_can_tell_the_files_stay_and_the_error_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quacklake.commit.evidence._PATIENCE_SECONDS", 0.2)
    place = lake(tmp_path)
    with connect(place) as session:
        faulty = make_faulty(session, "lost", times=1)
        faulty.at_commit = "after"

        def go_away() -> None:
            # From here on the database is out of reach.
            faulty.left, faulty.statement, faulty.moment = 1000, 1, "before"

        faulty.on_failure = go_away
        with pytest.raises(ql.CatalogError, match="nobody can tell how that ended"):
            session.table("t").append(ROWS)
    with connect(place) as session:
        # It had been committed, so its file must still be there.
        assert session.table("t").count() == 48


def test_an_interrupt_before_the_commit_takes_the_files_away(tmp_path: Path, midway: int) -> None:
    place = lake(tmp_path)
    present = files(place)
    with connect(place) as session:
        faulty = make_faulty(session, "other", statement=midway)

        def interrupt() -> None:
            raise KeyboardInterrupt

        faulty.on_failure = interrupt
        with pytest.raises(KeyboardInterrupt):
            session.table("t").append(ROWS)
    assert files(place) == present
