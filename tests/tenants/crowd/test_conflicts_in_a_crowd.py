"""The matrix of conflicts, in one of many catalogs, while another one is changed all the time.

Each pair of changes begins from a copy of one lake. Here that is a clone.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import quacklake as ql
import tests.commit.test_conflict_matrix as suite
from tests.commit.test_conflict_matrix import plain as plain
from tests.commit.test_conflict_matrix import template as template
from tests.conftest import WHOLE
from tests.lakes import Place
from tests.tenants.crowd.conftest import Crowd, in_turn, tenant_of

ROWS = list(suite.CHANGES)[:: 1 if WHOLE else 3]
"""Of the changes that come second; against all the others, each from a clone of its own."""


@pytest.fixture(scope="module")
def original(crowd: Crowd, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The catalog from which every pair begins."""
    place = Place.in_folder("sqlite", tmp_path_factory.mktemp("original"))
    with suite.connect(place) as session:
        suite.fill(session)
    return tenant_of(place.url)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("crowd", "second"), in_turn(ROWS, str), indirect=["crowd"], scope="module")
def test_the_second_writer_comes_after_the_first_or_not_at_all(
    crowd: Crowd, second: str, original: str, tmp_path: Path, plain: suite.Plain
) -> None:
    with ql.tenants(crowd.url) as tenants:

        def begin(first: str) -> Place:
            place = Place.in_folder("sqlite", tmp_path / first)
            tenants.clone(original, tenant_of(place.url))
            return place

        assert suite.conflicts(second, plain, begin) == suite.EXPECTED[second]
