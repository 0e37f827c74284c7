"""Eight catalogs of one database, each with four writers that are killed at any moment."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import quacklake as ql
from tests.commit.test_chaos import ROOT, Told, agree
from tests.lakes import Place

SECONDS = 8
CATALOGS = [f"c{index}" for index in range(8)]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "kind",
    ["sqlite", pytest.param("postgresql", marks=pytest.mark.server), pytest.param("mysql", marks=pytest.mark.server)],
)
def test_writers_of_eight_catalogs_some_of_them_killed_leave_what_they_were_told(
    kind: str, new_place: Callable[[str], Place], tmp_path: Path
) -> None:
    place = new_place(kind)
    for name in CATALOGS:
        (tmp_path / "logs" / name).mkdir(parents=True)
        with ql.connect(place.url, place.data_path, catalog=name, engine="local") as session:
            session.create_table("a", "operation BIGINT, value BIGINT")
            session.create_table("b", "operation BIGINT, value BIGINT")
    raging = subprocess.run(
        [sys.executable, "-m", "tests.commit.chaos", place.url, str(tmp_path / "logs"), "7", str(SECONDS), *CATALOGS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert raging.returncode == 0, raging.stderr[-4000:]
    assert int(raging.stdout) > 5
    done = []
    for name in CATALOGS:
        told = Told(tmp_path / "logs" / name)
        done.append(len(told.done))
        with ql.connect(place.url, catalog=name, engine="local", create=False) as session:
            agree(session, told)
    assert min(done) > 0
    assert sum(done) > 40
