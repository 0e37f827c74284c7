"""Two writers of one of many catalogs against a model of plain dicts, while another one is changed all the time."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.commit.test_two_writers import TwoWriters
from tests.tenants.crowd.conftest import Crowd

FEW = settings(max_examples=15, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck))


def test_two_writers_lose_nothing_of_each_other(crowd: Crowd) -> None:
    run_state_machine_as_test(TwoWriters, settings=FEW if crowd.kind == "sqlite" else settings(FEW, max_examples=5))
