"""What DuckDB wrote, Spark reads: every table of every life, at every snapshot that looks different."""

from __future__ import annotations

import pytest

import quacklake as ql
from tests.differential.comparison import faults
from tests.differential.lives.life import Life
from tests.differential.living import Lives
from tests.differential.scenarios import LIVES, slug
from tests.lakes import without_repeats

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(900)]


@pytest.mark.parametrize("life", LIVES, ids=slug)
def test_a_lake_in_sqlite_reads_as_duckdb_reads_it(lives: Lives, life: Life) -> None:
    lived = lives.lived(life, "sqlite")
    with ql.connect(lived.place.url, engine="spark", read_only=True) as session:
        assert faults(session, "spark", without_repeats(lived.answers), only_rows=True) == []
        assert faults(session, "spark", lived.newest) == []


@pytest.mark.server
@pytest.mark.parametrize("kind", ["duckdb", "postgres", "mysql"])
@pytest.mark.parametrize("life", [life for life in LIVES if life.first_inserts_only], ids=slug)
def test_a_lake_in_another_database_reads_as_duckdb_reads_it(lives: Lives, life: Life, kind: str) -> None:
    lived = lives.lived(life, kind)
    with ql.connect(lived.place.url, engine="spark", read_only=True) as session:
        assert faults(session, "spark", lived.newest, only_rows=True) == []
