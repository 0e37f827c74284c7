"""Commits that break, in one of many catalogs, while another one is changed all the time."""

from __future__ import annotations

import pytest

import tests.commit.test_faults as suite
from tests.tenants.crowd.conftest import Crowd, suite_of

globals().update(suite_of(suite))


@pytest.fixture(scope="module")
def stride(crowd: Crowd) -> int:
    """One statement in five fails in a file, and one in ten on a server."""
    return 5 if crowd.kind == "sqlite" else 10
