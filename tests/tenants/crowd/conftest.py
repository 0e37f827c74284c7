"""One database for all tests of a module of this folder, in which another catalog is changed all the time."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

import duckdb
import pytest
from _pytest.fixtures import FixtureFunctionDefinition
from _pytest.mark import ParameterSet

import quacklake as ql
from tests.conftest import FILES, SERVERS, WHOLE, Duck, Reach
from tests.lakes import Place, attached, folder_of
from tests.servers import Server

T = TypeVar("T")

ROOT = Path(__file__).parents[3]
MARKS: dict[str, Sequence[pytest.MarkDecorator]] = {
    "sqlite": (),
    "postgresql": (pytest.mark.server, pytest.mark.slow),
    "mysql": (pytest.mark.server, pytest.mark.slow),
}
"""What a test in a crowd is marked with, for every kind of database that a crowd may be in."""
ELSEWHERE = {
    # A shared database is never of an older version.
    "test_a_lake_of_another_version_is_not_written",
    # They change or damage a lake by SQL that names no catalog, or put something else in the place of its file.
    "test_damage_is_found_and_named",
    "test_a_moment_stands_for_the_first_snapshot_after_it_or_the_last_before_it",
    "test_a_row_that_was_deleted_twice_died_the_first_time",
    "test_a_lake_in_the_place_of_another_is_not_taken_for_it",
    "test_a_catalog_that_is_no_database_any_more_is_a_named_error",
    # It takes a file away that has been read here before, when the lake became a catalog.
    "test_a_delete_file_from_before_the_range_is_not_read",
    # Somebody else changes a shared database all the time, here at least.
    "test_a_sqlite_catalog_that_nobody_else_changed_is_not_asked_again",
    # DuckDB and we have the same lake open and write by turns or at once, and it refuses databases that catalogs share.
    "test_we_and_duckdb_append_at_the_same_time",
    "test_what_duckdb_commits_between_two_appends_is_seen",
    "test_files_with_names_of_their_own_are_read_right_and_share_one_mapping",
    "test_what_only_moves_rows_is_no_news",
    "test_snapshots_that_expired_unread_are_missed",
    "test_rows_of_an_expired_snapshot_that_were_moved_since_are_not_lost",
    # They compare with feeds that DuckDB tells of its own snapshots. `test_lakes_of_duckdb_in_a_crowd.py` translates.
    "test_a_table_of_the_same_name_that_was_dropped_has_a_feed_of_its_own",
    "test_a_snapshot_that_was_expired_is_none_to_start_from",
    "test_what_a_transaction_wrote_and_took_back_was_never_there",
}
"""Tests of what a shared database never is."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """A database that many catalogs share."""

    kind: str
    url: str
    data_path: str


class Hammer:
    """The process that changes a catalog of the database that it is told."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.tenants.hammer"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def start(self, url: str) -> None:
        assert self._ask(url) == "ready"

    def stop(self) -> None:
        assert int(self._ask("")) > 0

    def close(self) -> None:
        _, error = self._process.communicate(timeout=60)
        assert self._process.returncode == 0, error[-3000:]

    def _ask(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        if not answer:
            self.close()
        return answer


@pytest.fixture(scope="session")
def hammer() -> Iterator[Hammer]:
    """One for the whole run; it rests between modules."""
    made = Hammer()
    yield made
    made.close()


@pytest.fixture(scope="module", params=[pytest.param(kind, marks=marks) for kind, marks in MARKS.items()])
def crowd(request: pytest.FixtureRequest, hammer: Hammer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crowd]:
    """The database, with a catalog in it that never rests."""
    folder = tmp_path_factory.mktemp("crowd")
    if request.param == "sqlite":
        made = Crowd("sqlite", f"sqlite:///{folder / 'shared.db'}", f"{folder / 'data'}/")
    else:
        server: Server = request.getfixturevalue(f"{request.param}_server")
        made = Crowd(server.kind, server.url(server.create_database()), f"{folder / 'data'}/")
    ql.tenants(made.url, made.data_path).close()
    hammer.start(made.url)
    yield made
    hammer.stop()


def tenant_of(url: object) -> str:
    """What the catalog is called that stands for a lake."""
    return hashlib.sha256(str(url).encode()).hexdigest()[:20]


@pytest.fixture(scope="module", autouse=True)
def inside(crowd: Crowd) -> Iterator[None]:
    """Whatever lake a test opens is a catalog in the crowd; one that DuckDB made becomes one."""
    real = ql.connect

    def connect(url: Any, data_path: Any = None, **settings: Any) -> ql.Session:
        name, lake = tenant_of(url), str(url).split("///")[-1]
        settings_of_lake = {"override_data_path": settings.pop("override_data_path", False)}
        folder = Path(crowd.data_path) / name
        if not folder.exists():
            # Tests that look at files look where the lake has them, or would have them.
            place = Path(data_path or f"{lake}.files")
            if is_lake := Path(lake).is_file():
                with real(url, data_path, engine="local", read_only=True, **settings_of_lake) as session:
                    place = folder_of(session)
            place.mkdir(parents=True, exist_ok=True)
            folder.parent.mkdir(exist_ok=True)
            folder.symlink_to(place)
            if is_lake:
                with ql.tenants(crowd.url) as tenants:
                    tenants.migrate(url, name, data_path=data_path, **settings_of_lake)
        return real(crowd.url, catalog=name, **settings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ql, "connect", connect)
        yield


@pytest.fixture
def duck(crowd: Crowd, tmp_path: Path) -> Duck:
    """DuckDB, which refuses a database that catalogs share, gets a lake that is made of the catalog.

    What it writes there becomes the catalog: another one of the same name, so no session is open meanwhile.
    """
    number = count()

    @contextmanager
    def attach(place: Place, options: str = "") -> Iterator[duckdb.DuckDBPyConnection]:
        name, lake = tenant_of(place.url), replace(place, kind="sqlite")
        if (Path(crowd.data_path) / name).exists():
            folder = tmp_path / f"lake{next(number)}"
            folder.mkdir()
            lake = Place.in_folder("sqlite", folder)
            with ql.tenants(crowd.url) as tenants:
                tenants.export(name, lake.url, lake.data_path)
        with attached(lake, options) as con:
            before = _newest(con)
            yield con
            has_changed = lake.url != place.url and _newest(con) != before
        if has_changed:
            with ql.tenants(crowd.url) as tenants:
                tenants.drop(name)
                tenants.migrate(lake.url, name)

    return attach


def _newest(con: duckdb.DuckDBPyConnection) -> object:
    return con.execute("SELECT max(snapshot_id) FROM ducklake_snapshots('lk')").fetchall()


@pytest.fixture
def reach(crowd: Crowd) -> Reach:
    """Other processes open the catalog that stands for the lake."""
    return lambda place: {"url": crowd.url, "catalog": tenant_of(place.url)}


@pytest.fixture
def new_place(crowd: Crowd, tmp_path: Path) -> Callable[[str], Place]:
    """Places where tests believe their lakes to be, whatever database they ask for."""
    number = count()

    def make(_: str) -> Place:
        name = f"own{next(number)}"
        catalog = tmp_path / f"{name}.db"
        return Place(crowd.kind, f"sqlite:{catalog}", f"sqlite:///{catalog}", f"{tmp_path / name}/")

    return make


@pytest.fixture
def backend(new_place: Callable[[str], Place]) -> Place:
    """Where tests believe their lake to be."""
    return new_place("")


def in_turn(each: Sequence[T], name: Callable[[T], str]) -> list[ParameterSet]:
    """Parameters `crowd` and one of many: the first in SQLite, the second in PostgreSQL, and so on."""
    kinds = list(MARKS)
    return [
        pytest.param(kind, one, id=f"{kind}-{name(one)}", marks=MARKS[kind])
        for kind in kinds
        for index, one in enumerate(each)
        if WHOLE or kinds[index % len(kinds)] == kind
    ]


def only_in(kind: str) -> pytest.MarkDecorator:
    """Tests that take long run in a crowd in one kind of database, unless all are to run whole."""
    kinds = [pytest.param(each, marks=marks) for each, marks in MARKS.items() if WHOLE or each == kind]
    return pytest.mark.parametrize("crowd", kinds, indirect=True, scope="module")


def suite_of(module: Any) -> dict[str, Any]:
    """The tests of another module, with the fixtures that they use."""
    return {
        name: value if isinstance(value, FixtureFunctionDefinition) else _in_one_database(value)
        for name, value in vars(module).items()
        if isinstance(value, FixtureFunctionDefinition) or (name.startswith("test_") and name not in ELSEWHERE)
    }


def _in_one_database(test: FunctionType) -> FunctionType:
    """The test without a choice of databases: each would be the one of the crowd."""
    marks = getattr(test, "pytestmark", [])
    if not any(_chooses(mark) for mark in marks):
        return test
    copied = FunctionType(test.__code__, test.__globals__, test.__name__, test.__defaults__, test.__closure__)
    copied.__annotations__ = test.__annotations__
    one = pytest.mark.parametrize(next(mark for mark in marks if _chooses(mark)).args[0], ["shared"]).mark
    copied.pytestmark = [one if _chooses(mark) else mark for mark in marks]  # type: ignore[attr-defined]
    return copied


def _chooses(mark: pytest.Mark) -> bool:
    if mark.name != "parametrize" or not isinstance(mark.args[0], str):
        return False
    values = [value.values[0] if isinstance(value, ParameterSet) else value for value in mark.args[1]]
    return all(value in (*FILES, *SERVERS) for value in values if isinstance(value, str)) and isinstance(values[0], str)
