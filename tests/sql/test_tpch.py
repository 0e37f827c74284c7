"""The 22 queries of TPC-H give DuckDB's answers on both engines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import quacklake as ql
from benchmarks.tpch import Query, faults, load, make_data, make_queries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCALE = 0.01


@pytest.fixture(scope="module")
def tpch(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[Query]]:
    """A lake with the eight tables, the smallest of them inlined, and the queries with their answers."""
    folder = tmp_path_factory.mktemp("tpch")
    url = f"sqlite:///{folder}/catalog.db"
    with make_data(SCALE) as data, ql.connect(url, engine="local") as session:
        load(data, session)
        return url, make_queries(data)


def test_the_local_engine_answers_all_of_them_as_duckdb_does(tpch: tuple[str, list[Query]]) -> None:
    url, queries = tpch
    assert len(queries) == 22
    with ql.connect(url, engine="local", read_only=True) as session:
        assert session.table("region").scan().files() == []
        assert [fault for query in queries for fault in faults(session.sql(query.text), query)] == []


@pytest.mark.spark
@pytest.mark.slow
def test_spark_answers_all_of_them_as_duckdb_does(tpch: tuple[str, list[Query]], spark: SparkSession) -> None:
    url, queries = tpch
    with ql.connect(url, engine="spark", spark=spark, read_only=True) as session:
        assert [fault for query in queries for fault in faults(session.sql(query.text), query)] == []
        assert [row for query in queries for row in query.answer] != []
