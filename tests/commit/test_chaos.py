"""Writers that are killed at any moment: what was acknowledged is there, what was refused is not, and all agrees."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import quacklake as ql
from tests.conftest import Duck
from tests.lakes import Place

ROOT = Path(__file__).parents[2]
SECONDS = 20


class Told:
    """What the writers began and what they were told, put together."""

    def __init__(self, folder: Path) -> None:
        self.done: set[int] = set()
        self.refused: set[int] = set()
        self.unknown: set[int] = set()
        """Begun by a writer that was killed before it knew."""
        self.gone: set[int] = set()
        self.perhaps_gone: dict[int, int] = {}
        """What may have been taken away -> the operation that tells whether it was."""
        for log in folder.glob("*.log"):
            self._read([line.split() for line in log.read_text().splitlines()])

    def _read(self, lines: list[list[str]]) -> None:
        answers = {int(operation): word for word, operation, _ in lines if word != "begin"}
        for word, text, taken in lines:
            if word != "begin":
                continue
            operation, gone = int(text), int(taken)
            answer = answers.get(operation)
            {"done": self.done, "conflict": self.refused, None: self.unknown}[answer].add(operation)
            if gone >= 0 and answer == "done":
                self.gone.add(gone)
            if gone >= 0 and answer is None:
                self.perhaps_gone[gone] = operation


def agree(session: ql.Session, told: Told) -> dict[int, int]:
    """That the lake holds what its writers were told; by operation, how many rows it has."""
    rows = Counter(row["operation"] for row in session.table("a").to_arrow().to_pylist())
    sizes = {row["operation"]: row["value"] for row in session.table("b").to_arrow().to_pylist()}
    assert session.table("b").count() == len(sizes)
    ids = [row["rowid"] for row in session.table("a").scan(row_ids=True).to_arrow().to_pylist()]
    assert len(set(ids)) == len(ids)
    assert [str(finding) for finding in session.check()] == []
    assert dict(rows) == sizes  # both tables, or neither
    there = set(sizes)
    assert told.done - told.gone - set(told.perhaps_gone) <= there
    assert all((gone in there) != (operation in there) for gone, operation in told.perhaps_gone.items())
    assert not there & told.refused
    assert not there & told.gone
    assert there <= told.done | told.unknown
    return sizes


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "kind",
    [
        "sqlite",
        pytest.param("postgresql", marks=pytest.mark.server),
        pytest.param("mysql", marks=pytest.mark.server),
    ],
)
def test_sixteen_writers_some_of_them_killed_leave_what_they_were_told(
    kind: str, new_place: Callable[[str], Place], tmp_path: Path, duck: Duck
) -> None:
    place = new_place(kind)
    with ql.connect(place.url, place.data_path, engine="local") as session:
        session.create_table("a", "operation BIGINT, value BIGINT")
        session.create_table("b", "operation BIGINT, value BIGINT")
    logs = tmp_path / "logs"
    logs.mkdir()
    raging = subprocess.run(
        [sys.executable, "-m", "tests.commit.chaos", place.url, str(logs), "7", str(SECONDS)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert raging.returncode == 0, raging.stderr[-4000:]
    assert int(raging.stdout) > 10
    told = Told(logs)
    assert len(told.done) > 16
    with ql.connect(place.url, engine="local") as session:
        sizes = agree(session, told)
    with duck(place) as connection:
        found = connection.execute("SELECT operation, count(*) FROM a GROUP BY 1").fetchall()
    assert dict(found) == sizes
