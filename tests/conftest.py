"""Fixtures that every part of the project can use."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, settings

from tests.lakes import Place, attached
from tests.servers import Server, find_mariadb, find_postgresql, running_mariadb, running_postgresql

Duck = Callable[..., AbstractContextManager[duckdb.DuckDBPyConnection]]
Reach = Callable[[Place], dict[str, str]]

# Whichever test starts Spark first: its tasks run this Python, with its packages.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
# Likewise: it brings what opens object stores, which `make setup` has fetched, and does not spend its time on making
# code faster that runs once.
JARS = sorted(Path(os.environ.get("QUACKLAKE_JARS", f"{sys.prefix}/jars")).glob("*.jar"))
_JAVA = "--driver-java-options '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC'"
_GIVEN = f"{_JAVA} --jars {','.join(map(str, JARS))}" if JARS else _JAVA
os.environ.setdefault("PYSPARK_SUBMIT_ARGS", f"{_GIVEN} pyspark-shell")
# Two workers on two cores: how long anything takes says nothing here. The same examples every time, so that a change
# is judged by its own tests; `HYPOTHESIS_PROFILE=exploring` looks for new ones.
settings.register_profile("exploring", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("steady", settings.get_profile("exploring"), derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

FILES = ("sqlite", "duckdb")
SERVERS = ("postgresql", "mysql")
WHOLE = "QUACKLAKE_WHOLE" in os.environ
"""Whether long suites run whole, those of a crowd in every kind of database: it takes over an hour."""


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[Server]:
    """One PostgreSQL for the whole run."""
    programs = find_postgresql()
    if programs is None:
        pytest.skip("PostgreSQL is not installed")
    with running_postgresql(programs) as server:
        yield server


@pytest.fixture(scope="session")
def mysql_server() -> Iterator[Server]:
    """One MariaDB for the whole run."""
    programs = find_mariadb()
    if programs is None:
        pytest.skip("MariaDB is not installed")
    with running_mariadb(*programs) as server:
        yield server


@pytest.fixture
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Place]:
    """Makes places for lakes by the name of the database; what is there is empty."""

    def make(name: str) -> Place:
        if name in FILES:
            return Place.in_folder(name, tmp_path)
        server: Server = request.getfixturevalue(f"{name}_server")
        database = server.create_database()
        address = f"{server.kind}:{server.settings(database)}"
        return Place(server.kind, address, server.url(database), f"{tmp_path / 'data'}/")

    return make


@pytest.fixture(params=[*FILES, *(pytest.param(name, marks=pytest.mark.server) for name in SERVERS)])
def backend(request: pytest.FixtureRequest, new_place: Callable[[str], Place]) -> Place:
    """An empty place for a lake in each of the four databases."""
    return new_place(request.param)


@pytest.fixture
def reach() -> Reach:
    """With what `ql.connect` opens a place in another process."""
    return lambda place: {"url": place.url}


@pytest.fixture
def duck() -> Duck:
    """Attaches a place in DuckDB's own extension: `with duck(place) as con`; the lake is `lk` and in use."""
    return attached
