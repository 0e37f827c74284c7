"""Random changes, in one of many catalogs, while another one is changed all the time."""

from __future__ import annotations

import quacklake as ql
from tests.dml.test_random_writes import Life
from tests.lakes import Place
from tests.tenants.crowd.conftest import Crowd


def test_every_snapshot_shows_what_a_plain_table_held(crowd: Crowd, backend: Place) -> None:
    with ql.connect(backend.url, backend.data_path, engine="local") as session:
        life = Life(session, None, 1, lambda frame: frame)
        for _ in range(60 if crowd.kind == "sqlite" else 30):
            life.step()
        life.compare_past(lambda session, snapshot: session.table("t", at=snapshot).to_arrow())
        assert not session.check()
