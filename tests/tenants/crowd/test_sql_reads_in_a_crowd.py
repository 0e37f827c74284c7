"""Every query of the files of statements, in one of many catalogs, while another one is changed all the time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import quacklake as ql
from tests.lakes import Place
from tests.sql.cases import Case
from tests.sql.test_select import READS, check
from tests.sql.test_select import place as place
from tests.tenants.crowd.conftest import Crowd

REAL = ql.connect
NAMING = ("AS OF", "EXPLAIN")
CASES = [
    case
    for case in READS
    if "local" in case.engines and case.file != "time_travel" and not any(word in case.statement for word in NAMING)
]
"""All but those that name snapshots, which have other ids here."""


@pytest.fixture(scope="module")
def session(crowd: Crowd, place: Place) -> Iterator[ql.Session]:
    """A catalog that the lake of the statements has become."""
    with ql.tenants(crowd.url) as tenants:
        tenants.migrate(place.url, "statements")
    with REAL(crowd.url, catalog="statements", engine="local", read_only=True) as session:
        yield session


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_catalog_gives_what_the_file_says(case: Case, session: ql.Session) -> None:
    check(case, session)
