"""Lakes that DuckDB made become catalogs beside one that is changed all the time, and read as DuckDB reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest
from _pytest.mark import ParameterSet

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

T = TypeVar("T")

REAL = ql.connect
SOME = LIVES[::4]
"""One in four, from values to names."""
FEW = lake_names()[::7] or ("none",)
"""One in seven, of every part of DuckDB's own tests."""


def beside(each: Sequence[T], name: Callable[[T], str]) -> list[ParameterSet]:
    """Every one in a crowd in SQLite, and one in three of them on each server."""
    marks = (pytest.mark.server, pytest.mark.slow)
    found = [pytest.param("sqlite", one, id=f"sqlite-{name(one)}") for one in each]
    for kind in ("postgresql", "mysql"):
        found += [pytest.param(kind, one, id=f"{kind}-{name(one)}", marks=marks) for one in each[::3]]
    return found


@pytest.mark.parametrize(("crowd", "life"), beside(SOME, slug), indirect=["crowd"], scope="module")
def test_a_life_reads_as_duckdb_reads_it(
    crowd: Crowd, lives: Lives, life: Life, request: pytest.FixtureRequest
) -> None:
    lived, name = lives.lived(life, "sqlite"), tenant_of(request.node.nodeid)
    with ql.tenants(crowd.url) as tenants:
        tenants.migrate(lived.place.url, name)
    with (
        REAL(lived.place.url, engine="local", read_only=True) as lake,
        REAL(crowd.url, catalog=name, engine="local", read_only=True) as session,
    ):
        assert faults(session, "local", move_answers(lived.answers, lake, session), only_rows=True) == []
        assert faults(session, "local", move_answers(lived.newest, lake, session)) == []


@pytest.mark.parametrize(("crowd", "folder"), beside(FEW, str), indirect=["crowd"], scope="module")
def test_a_lake_of_the_corpus_reads_as_duckdb_reads_it(
    crowd: Crowd, corpus: Path, folder: str, request: pytest.FixtureRequest
) -> None:
    for lake in read_lakes(corpus / folder):
        name, place = tenant_of(lake.url), {"data_path": lake.data_path, "override_data_path": True}
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
    lived, name = lives.lived(life, "sqlite"), tenant_of(request.node.nodeid)
    with ql.tenants(crowd.url) as tenants:
        tenants.migrate(lived.place.url, name)
    with (
        REAL(lived.place.url, engine="local", read_only=True) as lake,
        REAL(crowd.url, catalog=name, engine="spark", spark=request.getfixturevalue("spark")) as session,
    ):
        answers = without_repeats(move_answers(lived.answers, lake, session))
        assert faults(session, "spark", answers, only_rows=True) == []
