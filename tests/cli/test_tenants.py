"""`tenants list`, `create`, `rename` and `drop`, and `--tenant`."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
from typer.testing import CliRunner

import quacklake as ql
from quacklake.cli.app import app


def test_catalogs_are_made_listed_renamed_and_dropped(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/shared.db"

    def run(*words: str, code: int = 0, say: str = "") -> tuple[str, str]:
        found = CliRunner().invoke(app, ["--lake", url, *words], input=say)
        assert found.exit_code == code, found.output
        return found.stdout, found.stderr

    assert "there are no catalogs" in run("tenants", "list", code=1)[1]
    run("tenants", "create", "wb_1")
    run("tenants", "create", "wb_2")
    assert "already" in run("tenants", "create", "wb_2", code=1)[1]
    with ql.connect(url, catalog="wb_1", engine="local") as session:
        session.create_table("t", "a INT").append(pa.table({"a": range(30)}))
    listed = json.loads(run("--json", "tenants", "list", "--sizes")[0])
    assert [(each["name"], each["rows"], each["files"]) for each in listed] == [("wb_1", 30, 1), ("wb_2", 0, 0)]
    assert [line.split()[:2] for line in run("tenants", "list", "--after", "wb_1")[0].splitlines()] == [
        ["name", "catalog_id"],
        ["wb_2", "1"],
    ]
    assert "main.t" in run("--tenant", "wb_1", "tables")[0]
    assert run("--tenant", "wb_2", "tables")[1] == "There are no tables.\n"
    assert "catalog is required" in run("tables", code=1)[1]
    run("tenants", "rename", "wb_1", "wb_3")
    assert "Hint" in run("--tenant", "wb_1", "tables", code=1)[1]
    run("tenants", "drop", "wb_3", code=1, say="n\n")
    run("tenants", "drop", "wb_3", "--yes", "--cleanup")
    assert not list((tmp_path / "shared.db.files").rglob("*.parquet"))
    assert [each["name"] for each in json.loads(run("--json", "tenants", "list")[0])] == ["wb_2"]
    assert "there is no catalog" in run("tenants", "drop", "wb_3", "--yes", code=1)[1]
