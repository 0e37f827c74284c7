"""Lakes that DuckDB made become catalogs beside one that is changed all the time, and read as DuckDB reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

import quacklake as ql
from tests.corpus.conftest import corpus as corpus
from tests.corpus.lakes import lake_names, read_lakes
from tests.differential.comparison import faults
from tests.differential.conftest import lives as lives
from tests.differential.lives.life import Life
from tests.differential.living import Lives
from tests.differential.scenarios import LIVES, slug
from tests.engine.spark.conftest import spark as spark
from tests.lakes import without_repeats
from tests.tenants.crowd.conftest import Crowd, tenant_of
from tests.tenants.crowd.moved import move_answers

REAL = ql.connect
ON_SERVERS = 3
"""On servers, one in three of these."""
SOME = LIVES[::4]
"""One in four, from values to names."""
FEW = lake_names()[::7] or ("none",)
"""One in seven, of every part of DuckDB's own tests."""


def spare(crowd: Crowd, place: int) -> None:
    if crowd.kind != "sqlite" and place % ON_SERVERS:
        pytest.skip("servers have one in three, to save time")


@pytest.mark.parametrize("life", SOME, ids=slug)
def test_a_life_reads_as_duckdb_reads_it(
    crowd: Crowd, lives: Lives, life: Life, request: pytest.FixtureRequest
) -> None:
    spare(crowd, SOME.index(life))
    lived, name = lives.lived(life, "sqlite"), tenant_of(request, "")
    with ql.tenants(crowd.url) as tenants:
        tenants.migrate(lived.place.url, name)
    with (
        REAL(lived.place.url, engine="local", read_only=True) as lake,
        REAL(crowd.url, catalog=name, engine="local", read_only=True) as session,
    ):
        assert faults(session, "local", move_answers(lived.answers, lake, session), only_rows=True) == []
        assert faults(session, "local", move_answers(lived.newest, lake, session)) == []


@pytest.mark.parametrize("folder", FEW)
def test_a_lake_of_the_corpus_reads_as_duckdb_reads_it(
    crowd: Crowd, corpus: Path, folder: str, request: pytest.FixtureRequest
) -> None:
    spare(crowd, FEW.index(folder))
    for lake in read_lakes(corpus / folder):
        name, place = tenant_of(request, lake.url), {"data_path": lake.data_path, "override_data_path": True}
        with ql.tenants(crowd.url) as tenants:
            tenants.migrate(lake.url, name, **place)  # type: ignore[arg-type]
        with (
            REAL(lake.url, engine="local", read_only=True, **place) as alone,  # type: ignore[arg-type]
            REAL(crowd.url, catalog=name, engine="local", read_only=True) as session,
        ):
            assert faults(session, "local", move_answers(lake.answers, alone, session), only_rows=True) == []


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(900)
@pytest.mark.parametrize("life", LIVES[2::20], ids=slug)
def test_a_life_reads_on_spark_as_duckdb_reads_it(
    crowd: Crowd, lives: Lives, life: Life, request: pytest.FixtureRequest
) -> None:
    lived, name = lives.lived(life, "sqlite"), tenant_of(request, "")
    with ql.tenants(crowd.url) as tenants:
        tenants.migrate(lived.place.url, name)
    with (
        REAL(lived.place.url, engine="local", read_only=True) as lake,
        REAL(crowd.url, catalog=name, engine="spark", spark=request.getfixturevalue("spark")) as session,
    ):
        answers = without_repeats(move_answers(lived.answers, lake, session))
        assert faults(session, "spark", answers, only_rows=True) == []
