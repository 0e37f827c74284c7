"""Lakes that DuckDB made become catalogs beside one that is changed all the time, and read as DuckDB reads them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import quacklake as ql
from tests.conftest import WHOLE
from tests.corpus.conftest import corpus as corpus
from tests.corpus.lakes import lake_names, read_lakes
from tests.differential.comparison import faults
from tests.differential.conftest import lives as lives
from tests.differential.lives.life import Life
from tests.differential.living import Lives
from tests.differential.scenarios import LIVES, slug
from tests.differential.test_feeds import HIDDEN, faults_of, feeds_of
from tests.engine.spark.conftest import spark as spark
from tests.lakes import without_repeats
from tests.tenants.crowd.conftest import Crowd, in_turn, tenant_of
from tests.tenants.crowd.moved import Moved

REAL = ql.connect
TOO_LONG = "data_inlining__long_column_name_inlining"
"""A lake with rows in the catalog that have a column with a longer name than servers allow."""


@contextmanager
def moved(crowd: Crowd, url: str, **place: Any) -> Iterator[tuple[Moved, dict[str, Any]]]:
    """A lake as a catalog: its words, and how to open it."""
    name = tenant_of(url)
    with ql.tenants(crowd.url) as tenants:
        tenants.migrate(url, name, **place)
        with (
            REAL(url, engine="local", read_only=True, **place) as lake,
            REAL(crowd.url, catalog=name, engine="local", read_only=True) as catalog,
        ):
            words = Moved.between(lake, catalog)
        yield words, {"url": crowd.url, "catalog": name, "read_only": True}
        tenants.drop(name)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("crowd", "life"), in_turn(LIVES, slug), indirect=["crowd"], scope="module")
def test_a_life_reads_as_duckdb_reads_it_with_all_that_changed(crowd: Crowd, lives: Lives, life: Life) -> None:
    lived = lives.lived(life, "sqlite")
    with moved(crowd, lived.place.url) as (words, opened), REAL(**opened, engine="local") as session:
        assert faults(session, "local", words.answers(lived.answers), only_rows=True) == []
        assert faults(session, "local", words.answers(lived.newest)) == []
        if life.name != HIDDEN:
            told = feeds_of(lives, life, every=False)
            assert faults_of(session, life, words.told(told if WHOLE else told.longest)) == []


@pytest.mark.parametrize(("crowd", "name"), in_turn(lake_names() or ["none"], str), indirect=["crowd"], scope="module")
def test_a_lake_of_the_corpus_reads_as_duckdb_reads_it(crowd: Crowd, corpus: Path, name: str) -> None:
    for lake in read_lakes(corpus / name):
        if name == TOO_LONG and crowd.kind != "sqlite":
            with (
                ql.tenants(crowd.url) as tenants,
                pytest.raises(ql.UnsupportedError, match=r"main\.\w+ cannot be kept"),
            ):
                tenants.migrate(lake.url, tenant_of(lake.url))
            continue
        place = {"data_path": lake.data_path, "override_data_path": True}
        with moved(crowd, lake.url, **place) as (words, opened), REAL(**opened, engine="local") as session:
            assert faults(session, "local", words.answers(lake.answers), only_rows=True) == []


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("crowd", "life"), in_turn(LIVES if WHOLE else LIVES[2::20], slug), indirect=["crowd"], scope="module"
)
def test_a_life_reads_on_spark_as_duckdb_reads_it(
    crowd: Crowd, lives: Lives, life: Life, request: pytest.FixtureRequest
) -> None:
    lived, opened_on = lives.lived(life, "sqlite"), request.getfixturevalue("spark")
    with (
        moved(crowd, lived.place.url) as (words, opened),
        REAL(**opened, engine="spark", spark=opened_on) as session,
    ):
        assert faults(session, "spark", without_repeats(words.answers(lived.answers)), only_rows=True) == []
