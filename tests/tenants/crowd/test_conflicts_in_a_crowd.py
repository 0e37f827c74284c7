"""A row of the matrix of conflicts, in one of many catalogs, while another one is changed all the time.

Each pair of changes begins from a copy of one lake. Here that is a clone: of a catalog that the lake has become.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import quacklake as ql
import tests.commit.test_conflict_matrix as suite
from tests.commit.test_conflict_matrix import template as template
from tests.lakes import Place
from tests.tenants.crowd.conftest import Crowd, tenant_of

ROW = "delete in a file"
"""One row of the matrix, and in a file only: to begin from a clone for each of sixty pairs takes long."""


@pytest.fixture(scope="module")
def original(crowd: Crowd, template: Path) -> Iterator[ql.Tenants]:
    """The lake from which every pair begins, as the catalog `original`."""
    with ql.tenants(crowd.url) as tenants:
        tenants.migrate(Place.in_folder("sqlite", template).url, "original")
        yield tenants


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("crowd", ["sqlite"], indirect=True)
def test_the_second_writer_comes_after_the_first_or_not_at_all(
    original: ql.Tenants,
    template: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def clone(_: Path, folder: Path) -> Place:
        place = Place.in_folder("sqlite", folder)
        original.clone("original", tenant_of(request, place.url))
        with suite.connect_copy(place) as session:
            assert session.table("t").count() == 102
        return place

    monkeypatch.setattr(suite, "copy", clone)
    suite.test_the_second_writer_comes_after_the_first_or_not_at_all(ROW, template, tmp_path)
