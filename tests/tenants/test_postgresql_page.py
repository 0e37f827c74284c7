"""What docs/tenants_postgresql.md shows works as it stands there, and so do the commands for it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import quacklake as ql
from quacklake.cli.app import app
from tests.lakes import Place
from tests.servers import PASSWORD, Server
from tests.tenants.test_bridge import fill

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "tenants_postgresql.md").read_text()
EXAMPLE = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[0]
QUERIES = dict(re.findall(r"^```sql\n-- (\w+):[^\n]*\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))

pytestmark = pytest.mark.server


@pytest.fixture
def place(new_place: Callable[[str], Place]) -> Place:
    return new_place("postgresql")


def test_the_example_runs(
    place: Place, postgresql_server: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import duckdb

    from tests.lakes import duck

    database = place.url.rpartition("/")[2]
    with ql.tenants(place.url, place.data_path), ql.connect(place.url, catalog="wb_abc", engine="local") as session:
        session.create_table("events", "i INT").append(pa.table({"i": pa.array(range(3), pa.int32())}))
        session.table("events").append(pa.table({"i": pa.array(range(30), pa.int32())}))
    program = EXAMPLE.replace("postgresql://owner@host/shared", place.url)
    for role in ("analyst", "wb_abc_user"):
        name = f"{role}_{database}"
        postgresql_server.run(f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'")
        program = program.replace(f'"{role}"', f'"{name}"')
        program = program.replace(f"postgresql://{role}@host/shared", postgresql_server.url(database, name))
        program = program.replace(f"dbname=shared host=host user={role}", postgresql_server.settings(database, name))
    assert "@host" not in program
    with duck("ducklake", "postgres") as con:
        monkeypatch.setattr(duckdb, "sql", con.sql)
        exec(compile(program, "tenants_postgresql.md", "exec"), {})
    assert capsys.readouterr().out.split("\n")[:2] == ["[(33,)]", "33"]


def test_plain_sql_says_what_the_session_says(place: Place) -> None:
    with ql.tenants(place.url, place.data_path) as tenants:
        for name, shift in (("other", 5000), ("a", 0)):
            with ql.connect(place.url, catalog=name, engine="local", inline_rows=0) as session:
                fill(session, shift)
        schema = tenants.bridge("a")
        sizes = tenants.get("a", sizes=True)
    assert sorted(QUERIES) == ["columns", "files", "history", "tables"]
    with (
        ql.connect(place.url, catalog="a", engine="local") as session,
        psycopg.connect(place.url, options=f"-c search_path={schema}") as raw,
    ):
        found: dict[str, list[Any]] = {name: raw.execute(query.encode()).fetchall() for name, query in QUERIES.items()}
        tables = {str(name): session.table(str(name)) for name in session.tables()}
        told = {f"{row[0]}.{row[1]}": row[2:] for row in found["tables"]}
        assert {name: row[0] for name, row in told.items()} == {name: each.count() for name, each in tables.items()}
        assert (sum(row[0] for row in told.values()), sum(row[2] for row in told.values())) == (sizes.rows, sizes.bytes)
        assert sorted((f"{row[0]}.{row[1]}", row[2]) for row in found["columns"]) == sorted(
            (name, column.name) for name, each in tables.items() for column in each.schema
        )
        assert [row[2] for row in found["files"]] == sorted(
            file.path for each in tables.values() for file in each.scan().plan().files
        )
        assert [row[:2] for row in found["history"]] == [
            (each.snapshot_id, each.time) for each in sorted(session.snapshots(), key=lambda each: -each.snapshot_id)
        ]


def test_commands_build_a_bridge_and_bind_roles(place: Place, postgresql_server: Server) -> None:
    def run(*words: str, code: int = 0) -> str:
        found = CliRunner().invoke(app, ["--lake", place.url, "tenants", *words])
        assert found.exit_code == code, found.output
        return found.stdout if code == 0 else found.stderr

    role = f"user_{place.url.rpartition('/')[2]}"
    postgresql_server.run(f"CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}'")
    with ql.tenants(place.url, place.data_path) as tenants:
        tenants.create("a")
    assert run("bridge", "a") == "quacklake_bridge_0\n"
    assert json.loads(run("bridge", "a", "--json", "--reader", role)) == {"name": "a", "schema": "quacklake_bridge_0"}
    assert "there is no catalog" in run("bridge", "b", code=1)
    assert "not secured" in run("grant", "a", "--role", role, code=1)
    run("secure")
    run("grant", "a", "--role", role)
    with psycopg.connect(place.url) as raw:
        assert raw.execute("SELECT * FROM quacklake_role").fetchall() == [(role, 0)]
    run("revoke", "a", "--role", role)
    with psycopg.connect(place.url) as raw:
        assert raw.execute("SELECT * FROM quacklake_role").fetchall() == []
