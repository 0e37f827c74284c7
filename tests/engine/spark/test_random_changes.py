"""Random changes by Spark and by a DuckDB that stays attached, each compared with a plain table that gets the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

import quacklake as ql
from tests.conftest import Duck
from tests.dml.test_random_feeds import Restless, check_feeds
from tests.dml.test_random_writes import Life
from tests.lakes import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("name", "seed"), [("sqlite", 100), pytest.param("postgresql", 101, marks=pytest.mark.server)])
def test_spark_and_duckdb_always_see_what_both_wrote(
    name: str, seed: int, new_place: Callable[[str], Place], duck: Duck, spark: SparkSession
) -> None:
    place = new_place(name)
    with ql.connect(place.url, place.data_path, engine="spark", spark=spark) as session, duck(place) as live:
        life = Life(session, live, seed, spark.createDataFrame)
        for _ in range(20):
            life.step()
        life.compare_past(lambda session, snapshot: session.table("t", at=snapshot).to_spark().toArrow())
        assert not session.check()


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_feed_on_spark_tells_what_both_writers_did(
    new_place: Callable[[str], Place], duck: Duck, spark: SparkSession
) -> None:
    place = new_place("sqlite")
    with ql.connect(place.url, place.data_path, engine="spark", spark=spark) as session, duck(place) as live:
        life = Restless(session, live, 7, spark.createDataFrame)
        for _ in range(16):
            life.step()
        check_feeds(life, "spark", 6)
