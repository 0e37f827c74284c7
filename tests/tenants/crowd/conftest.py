"""One database for all tests of this folder, in which another catalog is changed all the time."""

from __future__ import annotations

import hashlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from _pytest.fixtures import FixtureFunctionDefinition

import quacklake as ql
from tests.lakes import Place
from tests.servers import Server

ROOT = Path(__file__).parents[3]
_SERVERS = {"postgres": "postgresql", "mysql": "mysql"}
KINDS = (
    "sqlite",
    *(pytest.param(name, marks=[pytest.mark.server, pytest.mark.slow]) for name in ("postgresql", "mysql")),
)

QUIET = {
    "test_append_takes_every_kind_of_frame",
    "test_a_transaction_over_many_tables_is_one_snapshot_with_its_author_and_message",
    "test_a_transaction_is_one_snapshot_over_many_tables",
    "test_bad_data_is_refused_and_leaves_nothing_behind",
    "test_settings_hold_for_the_lake_a_namespace_or_a_table",
    "test_many_steps_on_one_table_come_down_to_what_they_lead_to",
    "test_a_session_that_only_reads_refuses_to_write",
    "test_a_table_of_the_past_refuses_to_change",
    "test_schema_merge_adds_columns_and_widens_types_in_the_same_commit",
    "test_the_past_and_a_read_only_session_cannot_be_written",
}
"""Tests that name ids. A catalog that is the only one in its database has the same as a lake: there they run."""
ON_DISK = {
    "test_moments_of_snapshots_never_go_back",
    "test_a_delete_file_that_replaces_another_says_the_right_snapshots_after_a_race",
}
"""Tests that open the catalog as a SQLite file, or count on ids without gaps, as only files have them."""
ELSEWHERE = {"test_a_lake_of_another_version_is_not_written"}
"""Tests of what a shared database never is: of an old version."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """A database that many catalogs share."""

    kind: str
    url: str
    data_path: str


@pytest.fixture(scope="module", params=KINDS)
def crowd(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crowd]:
    """The database, with a catalog in it that never rests."""
    folder = tmp_path_factory.mktemp("crowd")
    if request.param == "sqlite":
        made = Crowd("sqlite", f"sqlite:///{folder / 'shared.db'}", f"{folder / 'data'}/")
    else:
        server: Server = request.getfixturevalue(f"{request.param}_server")
        made = Crowd(server.kind, server.url(server.create_database()), f"{folder / 'data'}/")
    ql.tenants(made.url, made.data_path).close()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.tenants.hammer", made.url, "noise"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    yield made
    process.terminate()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err[-3000:]
    assert int(out) > 0


@pytest.fixture(autouse=True)
def inside(crowd: Crowd, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever lake a test opens is a catalog in the crowd, or the only one in a database, where a test needs that."""
    test = request.node.originalname
    if test in ON_DISK and crowd.kind != "sqlite":
        pytest.skip("the test is about catalogs that are files")
    real, databases = ql.connect, dict[str, str]()

    def connect_quietly(url: Any, data_path: Any = None, **settings: Any) -> ql.Session:
        if crowd.kind != "sqlite" and str(url) not in databases:
            server: Server = request.getfixturevalue(f"{_SERVERS[crowd.kind]}_server")
            databases[str(url)] = server.url(server.create_database())
        return real(databases.get(str(url), url), data_path, catalog="only", **settings)

    def connect(url: Any, data_path: Any = None, **settings: Any) -> ql.Session:
        name = hashlib.sha256(f"{request.node.nodeid} {url}".encode()).hexdigest()[:20]
        if data_path is not None and not Path(data_path).exists():
            # Tests that look at files look where the lake would have them.
            place, folder = Path(data_path), Path(crowd.data_path) / name
            folder.mkdir(parents=True)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(folder)
        return real(crowd.url, catalog=name, **settings)

    monkeypatch.setattr(ql, "connect", connect_quietly if test in QUIET | ON_DISK else connect)


@pytest.fixture
def backend(crowd: Crowd, tmp_path: Path) -> Place:
    """Where tests believe their lake to be."""
    return Place(crowd.kind, "", f"sqlite:///{tmp_path}/own.db", f"{tmp_path / 'own_data'}/")


def suite_of(module: Any) -> dict[str, Any]:
    """The tests of another module, with the fixtures that they use. DuckDB refuses databases that catalogs share."""
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, FixtureFunctionDefinition)
        or (name.startswith("test_") and name not in ELSEWHERE and "duck" not in inspect.signature(value).parameters)
    }
