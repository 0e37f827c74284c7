"""What DuckDB wrote, the local engine reads: every table of every life, at every snapshot."""

from __future__ import annotations

import pytest

import quacklake as ql
from tests.differential.comparison import faults
from tests.differential.lives.life import Life
from tests.differential.living import Lives
from tests.differential.scenarios import LIVES, slug


@pytest.mark.parametrize("life", LIVES, ids=slug)
def test_a_lake_in_sqlite_reads_as_duckdb_reads_it(lives: Lives, life: Life) -> None:
    lived = lives.lived(life, "sqlite")
    with ql.connect(lived.place.url, engine="local", read_only=True) as session:
        assert faults(session, "local", lived.answers, only_rows=True) == []
        assert faults(session, "local", lived.turns) == []
