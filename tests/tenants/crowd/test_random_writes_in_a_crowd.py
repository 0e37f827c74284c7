"""Random changes, in one of many catalogs, while another one is changed all the time."""

from __future__ import annotations

import pytest

import quacklake as ql
from tests.dml.test_random_writes import Life
from tests.lakes import Place
from tests.tenants.crowd.conftest import Crowd


@pytest.mark.parametrize("seed", range(2))
def test_every_snapshot_shows_what_a_plain_table_held(crowd: Crowd, backend: Place, seed: int) -> None:
    with ql.connect(backend.url, backend.data_path, engine="local") as session:
        life = Life(session, None, seed, lambda frame: frame)
        for _ in range(40):
            life.step()
        life.compare_past(lambda session, snapshot: session.table("t", at=snapshot).to_arrow())
        assert not session.check()
