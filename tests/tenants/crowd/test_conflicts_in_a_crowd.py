"""Rows of the matrix of conflicts, in one of many catalogs, while another one is changed all the time.

Each pair of changes begins from a copy of one lake. Here that is a clone.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

import quacklake as ql
import tests.commit.test_conflict_matrix as suite
from tests.lakes import Place
from tests.tenants.crowd.conftest import Crowd, tenant_of

ROWS = ("delete in a file", "drop namespace")
"""One about files and rows, which conflicts with most, and one about names; each begins from sixty clones."""


def beside() -> list[ParameterSet]:
    """Both in a file, and on each server the first, against one change in three."""
    server = (pytest.mark.server, pytest.mark.slow)
    return [
        *(pytest.param("sqlite", row, marks=pytest.mark.slow, id=f"sqlite-{row}") for row in ROWS),
        pytest.param("postgresql", ROWS[0], marks=server, id=f"postgresql-{ROWS[0]}"),
        pytest.param("mysql", ROWS[0], marks=server, id=f"mysql-{ROWS[0]}"),
    ]


@pytest.fixture(scope="module")
def original(crowd: Crowd, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The catalog from which every pair begins."""
    place = Place.in_folder("sqlite", tmp_path_factory.mktemp("original"))
    with suite.connect(place) as session:
        suite.fill(session)
    return tenant_of(place.url)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("crowd", "row"), beside(), indirect=["crowd"], scope="module")
def test_the_second_writer_comes_after_the_first_or_not_at_all(
    crowd: Crowd, row: str, original: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ql.tenants(crowd.url) as tenants:

        def clone(_: Path, folder: Path) -> Place:
            place = Place.in_folder("sqlite", folder)
            tenants.clone(original, tenant_of(place.url))
            with suite.connect_copy(place) as session:
                assert session.table("t").count() == 102
            return place

        kept = {
            name: change
            for index, (name, change) in enumerate(suite.CHANGES.items())
            if crowd.kind == "sqlite" or index % 3 == 0 or name == row
        }
        monkeypatch.setattr(suite, "CHANGES", kept)
        monkeypatch.setitem(suite.EXPECTED, row, suite.EXPECTED[row] & kept.keys())
        monkeypatch.setattr(suite, "copy", clone)
        suite.test_the_second_writer_comes_after_the_first_or_not_at_all(row, tmp_path, tmp_path)
