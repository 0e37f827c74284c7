"""One database for all tests of a module of this folder, in which another catalog is changed all the time."""

from __future__ import annotations

import hashlib
import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from _pytest.fixtures import FixtureFunctionDefinition
from _pytest.mark import ParameterSet

import quacklake as ql
from tests.conftest import FILES, SERVERS, Reach
from tests.lakes import Place
from tests.servers import Server

ROOT = Path(__file__).parents[3]
KINDS = (
    "sqlite",
    *(pytest.param(name, marks=[pytest.mark.server, pytest.mark.slow]) for name in ("postgresql", "mysql")),
)
ELSEWHERE = {
    # A shared database is never of an older version.
    "test_a_lake_of_another_version_is_not_written",
    # They damage a lake by SQL that names no catalog, or put something else in the place of its file.
    "test_damage_is_found_and_named",
    "test_a_lake_in_the_place_of_another_is_not_taken_for_it",
    "test_a_catalog_that_is_no_database_any_more_is_a_named_error",
    # Somebody else changes a shared database all the time, here at least.
    "test_a_sqlite_catalog_that_nobody_else_changed_is_not_asked_again",
    # DuckDB writes to the same lake, and refuses databases that catalogs share.
    "test_we_and_duckdb_append_at_the_same_time",
}
"""Tests of what a shared database never is. Likewise those that get a DuckDB: it refuses such databases."""


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


@pytest.fixture(scope="module", params=KINDS)
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
    """Whatever lake a test opens is a catalog in the crowd."""
    real = ql.connect

    def connect(url: Any, data_path: Any = None, **settings: Any) -> ql.Session:
        name = tenant_of(url)
        folder = Path(crowd.data_path) / name
        if not folder.exists():
            # Tests that look at files look where the lake would have them.
            place = Path(data_path or f"{str(url).split('///')[-1]}.files")
            place.mkdir(parents=True, exist_ok=True)
            folder.parent.mkdir(exist_ok=True)
            folder.symlink_to(place)
        settings.pop("override_data_path", None)
        return real(crowd.url, catalog=name, **settings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ql, "connect", connect)
        yield


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
        return Place(crowd.kind, "", f"sqlite:///{tmp_path}/{name}.db", f"{tmp_path / name}/")

    return make


@pytest.fixture
def backend(new_place: Callable[[str], Place]) -> Place:
    """Where tests believe their lake to be."""
    return new_place("")


def suite_of(module: Any) -> dict[str, Any]:
    """The tests of another module, with the fixtures that they use."""
    return {
        name: value if isinstance(value, FixtureFunctionDefinition) else _in_one_database(value)
        for name, value in vars(module).items()
        if isinstance(value, FixtureFunctionDefinition)
        or (name.startswith("test_") and name not in ELSEWHERE and "duck" not in inspect.signature(value).parameters)
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
