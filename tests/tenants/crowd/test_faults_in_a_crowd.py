"""Commits that break, in one of many catalogs, while another one is changed all the time."""

from __future__ import annotations

import pytest

import tests.commit.test_faults as suite
from tests.tenants.crowd.conftest import Crowd, suite_of

# Not in MySQL: it commits by itself when a table of inlined rows is made, and takes ids in a transaction of its own, so
# that what fails is another statement than these tests count. `tests/tenants/test_reserved_ids.py` lets those fail.
pytestmark = pytest.mark.parametrize(
    "crowd",
    ["sqlite", pytest.param("postgresql", marks=[pytest.mark.server, pytest.mark.slow])],
    indirect=True,
    scope="module",
)

globals().update(suite_of(suite))


@pytest.fixture(scope="module")
def stride(crowd: Crowd) -> int:
    """One statement in five fails in a file, and one in ten on a server."""
    return 5 if crowd.kind == "sqlite" else 10


@pytest.fixture(scope="module")
def midway(crowd: Crowd) -> int:
    """PostgreSQL gets all of an append at once, after it stood in line."""
    return 5 if crowd.kind == "sqlite" else 1
