"""A cluster reads and changes a lake while its executors have no way to the catalog."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

import quacklake as ql
from tests.lakes import Place, attached
from tests.servers import PASSWORD

pytestmark = [pytest.mark.spark, pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parents[3]
SOURCE = Path(ql.__file__).parent
STATEMENTS = (
    "CALL lk.set_option('data_inlining_row_limit', 0)",
    "CREATE TABLE t (a INTEGER, b INTEGER)",
    "INSERT INTO t SELECT i, 1000 + i FROM range(50) r(i)",
    "INSERT INTO t SELECT i, 1000 + i FROM range(50, 100) r(i)",
    "ALTER TABLE t RENAME COLUMN a TO c",
    "ALTER TABLE t RENAME COLUMN b TO a",
    "ALTER TABLE t RENAME COLUMN c TO b",
    "DELETE FROM t WHERE b IN (1, 60, 97)",
    "ALTER TABLE t ADD COLUMN late VARCHAR DEFAULT 'old'",
    "CREATE TABLE e (i INTEGER, v VARIANT)",
    "INSERT INTO e SELECT i, i::VARIANT FROM range(100) r(i)",
    "CALL lk.set_option('data_inlining_row_limit', 10)",
    "INSERT INTO t VALUES (-5, 5000, 'in')",
)
POISON = {
    # As on a machine where nobody has installed us.
    "quacklake": "raise ModuleNotFoundError(\"No module named 'quacklake'\", name='quacklake')",
    # Whoever wants to talk to a catalog needs one of these.
    "sqlalchemy": "raise ImportError('a task wants the catalog')",
    "psycopg": "raise ImportError('a task wants the catalog')",
}


@pytest.fixture
def lake(new_place: Callable[[str], Place]) -> Place:
    place = new_place("postgresql")
    with attached(place) as connection:
        for statement in STATEMENTS:
            connection.execute(statement).fetchall()
    return place


def drive(settings: dict[str, object], home: Path) -> subprocess.CompletedProcess[str]:
    """Run the driver, which has this checkout and nothing else of this process."""
    kept = {name: os.environ[name] for name in ("PATH", "JAVA_HOME") if name in os.environ}
    paths = [str(SOURCE.parent), str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    return subprocess.run(
        [sys.executable, "-m", "tests.engine.spark.cluster_driver"],
        input=json.dumps(settings),
        env={**kept, "PYTHONPATH": os.pathsep.join(paths), "PYSPARK_PYTHON": sys.executable, "HOME": str(home)},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )


def poisoned(folder: Path) -> Path:
    """Packages that stand before those that are installed, and cannot be imported."""
    folder.mkdir()
    for name, text in POISON.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def test_executors_work_without_the_catalog_and_without_its_password(lake: Place, tmp_path: Path) -> None:
    cluster = pytest.importorskip("tests.engine.spark.cluster", reason="PySpark is not installed")
    archive = shutil.make_archive(str(tmp_path / "quacklake"), "zip", SOURCE.parent, "quacklake")
    address = urlsplit(lake.url)
    settings: dict[str, object] = {
        "url": lake.url,
        "packages": str(poisoned(tmp_path / "packages")),
        "archive": archive,
        "secrets": [PASSWORD, quote(PASSWORD, safe=""), f"127.0.0.1:{address.port}", address.path.lstrip("/")],
    }
    logs = tmp_path / "cluster"
    logs.mkdir()
    with cluster.running_cluster(logs) as running:
        done = drive({**settings, "master": running.url}, tmp_path)
        assert done.returncode == 0, done.stderr[-3000:] + running.said()
    assert of_this(str(logs)) == []
    said = json.loads(done.stdout)
    alive = [b for b in range(100) if b not in (1, 60, 97)]
    assert said.pop("read") == [[-5, 5000, "in"], *([b, 1000 + b, "old"] for b in alive)]
    assert said.pop("sql") == [["old", len([b for b in alive if b >= 40])]]
    refused = said.pop("refused")
    assert "executors" in refused
    assert "addPyFile" in refused
    assert said.pop("closures") >= 4
    assert said == {
        "appended": 40,
        "variants": [98, 99],
        "deleted": 10 + 4,
        "updated": 36,
        "merged": [1, 2],
        "in_sql": 1,
        "executors": 2,
        "leaks": [],
        "sees": ["quacklake.engine.spark", "main.t", "SPARK_HOME=", "a task wants the catalog"],
    }
    rows = {b: 1000 + b for b in alive if b % 10 != 3} | {b: 2 * b for b in range(200, 240) if b % 10 != 3}
    with attached(lake) as connection:
        found = connection.execute("SELECT b, a FROM t").fetchall()
    assert sorted(found) == sorted((rows | {5: 7, 60: 8, 900: 9}).items())


def test_a_cluster_that_was_left_in_the_middle_is_gone(tmp_path: Path) -> None:
    cluster = pytest.importorskip("tests.engine.spark.cluster", reason="PySpark is not installed")
    mark = str(tmp_path)
    seen: list[str] = []

    def leave() -> None:
        with cluster.running_cluster(tmp_path, workers=1):
            seen.extend(of_this(mark))
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        leave()
    assert len(seen) == 2
    assert of_this(mark) == []


def of_this(mark: str) -> list[str]:
    """The processes that were started in a folder."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        # Others come and go, and not all of them may be looked at.
        with suppress(OSError):
            if (place / "cwd").readlink().is_relative_to(mark):
                found.append(place.name)
    return found
