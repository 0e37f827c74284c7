"""`maintain expire`, `maintain cleanup` and `maintain orphans`."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import quacklake as ql
from tests.cli.conftest import Run


@pytest.fixture
def own(tmp_path: Path) -> str:
    """A lake of its own, for it is changed: snapshots 0 to 3, one file to go and one orphan."""
    url = f"sqlite:///{tmp_path}/lake.db"
    with ql.connect(url, f"{tmp_path}/data", engine="local") as session:
        session.create_table("gone", "id BIGINT").append(pa.table({"id": range(30)}))
        session.drop_table("gone")
    (tmp_path / "data" / "ducklake-orphan.parquet").write_bytes(b"")
    return url


def test_a_lake_is_maintained(own: str, quacklake: Run, tmp_path: Path) -> None:
    def files() -> int:
        return len(list((tmp_path / "data").rglob("*.parquet")))

    planned = quacklake("maintain", "expire", "--older-than", "0s", "--dry-run", lake=own)
    assert (planned.code, planned.out.split()) == (0, ["snapshot_id", "0", "1", "2"])
    assert planned.err == "Would remove 3 snapshots and 1 table, 1 file to delete later.\n"
    done = quacklake("--json", "maintain", "expire", "--older-than", "0s", lake=own)
    assert json.loads(done.out) == {
        "snapshots": [0, 1, 2],
        "tables": 1,
        "data_files": 1,
        "delete_files": 0,
        "files_scheduled": 1,
        "dry_run": False,
    }
    assert quacklake("maintain", "cleanup", lake=own).err == "Removed 0 files, 0 failed.\n"
    assert quacklake("maintain", "cleanup", "--older-than", "0 days", lake=own).err == "Removed 1 file, 0 failed.\n"
    assert files() == 1
    listed = quacklake("maintain", "orphans", "--older-than", "0h", "--dry-run", lake=own)
    assert listed.out.split() == ["path", f"{tmp_path}/data/ducklake-orphan.parquet"]
    assert json.loads(quacklake("maintain", "orphans", "--older-than", "0h", "--json", lake=own).out)["files"] == 1
    assert files() == 0


def test_snapshots_are_chosen_by_id(own: str, quacklake: Run) -> None:
    done = quacklake("maintain", "expire", "--versions", "0, 1", "--versions", "2", "--json", lake=own)
    assert json.loads(done.out)["snapshots"] == [0, 1, 2]
    wrong = quacklake("maintain", "expire", "--versions", "1,x", lake=own)
    assert (wrong.code, wrong.out) == (2, "")


def test_a_file_that_stays_ends_with_1(own: str, quacklake: Run, tmp_path: Path) -> None:
    quacklake("maintain", "expire", "--older-than", "0s", lake=own)
    (file,) = (tmp_path / "data" / "main").rglob("*.parquet")
    file.unlink()
    file.mkdir()
    failed = quacklake("maintain", "cleanup", "--older-than", "0s", lake=own)
    assert failed.code == 1
    assert failed.err.splitlines()[-1] == "Removed 0 files, 1 failed."
    assert str(file) in failed.err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("maintain", "expire"), "expire_older_than"),
        (("maintain", "cleanup", "--older-than", "soon"), "'soon' is no age"),
        (("--at", "1", "maintain", "cleanup"), "the session reads snapshot 1"),
    ],
)
def test_what_cannot_be_done_is_an_error(own: str, quacklake: Run, args: tuple[str, ...], words: str) -> None:
    found = quacklake(*args, lake=own)
    assert (found.code, found.out) == (1, "")
    assert words in found.err
