"""Lives are lived once per run and kind of catalog."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.differential.living import Lives
from tests.lakes import Place
from tests.servers import Server


@pytest.fixture(scope="session")
def lives(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Lives:
    """Lakes that have lived a life; database servers are started when the first life needs them."""

    def place(kind: str, folder: Path) -> Place:
        if kind in ("sqlite", "duckdb"):
            return Place.in_folder(kind, folder)
        server: Server = request.getfixturevalue("postgresql_server" if kind == "postgres" else "mysql_server")
        database = server.create_database()
        if kind == "mysql":
            # DuckDB leaves the character set of its tables to the database.
            server.run(f"ALTER DATABASE {database} CHARACTER SET utf8mb4")
        return Place(kind, f"{kind}:{server.settings(database)}", server.url(database), f"{folder / 'data'}/")

    own = tmp_path_factory.getbasetemp()
    # A worker has its folder in that of the run.
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "lives"
    shared.mkdir(exist_ok=True)
    return Lives(tmp_path_factory.mktemp("lives"), shared, place)
