"""Random changes by Spark and by a DuckDB that stays attached, each compared with a plain table that gets the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

import quacklake as ql
from tests.conftest import Duck
from tests.dml.test_random_writes import SEEDS, Life
from tests.lakes import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(100, 100 + max(1, len(SEEDS) // 2)))
def test_spark_and_duckdb_always_see_what_both_wrote(
    seed: int, new_place: Callable[[str], Place], duck: Duck, spark: SparkSession
) -> None:
    place = new_place("sqlite")
    with ql.connect(place.url, place.data_path, engine="spark", spark=spark) as session, duck(place) as live:
        life = Life(session, live, seed, spark.createDataFrame)
        for _ in range(10):
            life.step()
