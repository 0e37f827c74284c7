"""Spark reads and writes catalogs of a shared database, and joins two of them in one query."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import quacklake as ql
from tests.engine.spark.conftest import spark as spark
from tests.lakes import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]
KINDS = [
    "sqlite",
    *(pytest.param(name, marks=[pytest.mark.server, pytest.mark.slow]) for name in ("postgresql", "mysql")),
]


@pytest.mark.parametrize("kind", KINDS)
def test_spark_reads_appends_merges_and_joins_catalogs(
    kind: str, new_place: Callable[[str], Place], spark: SparkSession
) -> None:
    place = new_place(kind)
    with (
        ql.connect(place.url, place.data_path, catalog="shop", engine="spark", spark=spark, inline_rows=0) as shop,
        ql.connect(place.url, catalog="crm", engine="spark", spark=spark, inline_rows=0) as crm,
        ql.connect(place.url, catalog="shop", engine="local") as local,
    ):
        orders = shop.create_table("orders", "id BIGINT, person BIGINT, amount BIGINT")
        people = crm.create_table("orders", "person BIGINT, name STRING")
        orders.append(spark.range(100).selectExpr("id", "id % 5 AS person", "id * 2 AS amount"))
        people.append(spark.range(5).selectExpr("id AS person", "concat('n', id) AS name"))
        assert local.table("orders").count() == 100
        assert orders.scan(where="person = 3", columns=["id"]).to_spark().count() == 20
        incoming = spark.range(95, 110).selectExpr("id", "id % 5 AS person", "CAST(0 AS BIGINT) AS amount")
        done = orders.merge(incoming, on="id")
        assert (done.rows_updated, done.rows_inserted) == (5, 10)
        orders.delete("id < 10")
        wanted = [(id_, id_ % 5, 0 if id_ >= 95 else id_ * 2) for id_ in range(10, 110)]
        assert sorted(tuple(row.values()) for row in local.table("orders").to_arrow().to_pylist()) == wanted
        assert sorted(tuple(row) for row in orders.to_spark().collect()) == wanted
        assert sorted(tuple(row) for row in people.to_spark().collect()) == [(id_, f"n{id_}") for id_ in range(5)]
        shop.attach(place.url, "crm", catalog="crm")
        joined = shop.sql(
            "SELECT p.name, sum(o.amount) FROM orders o JOIN crm.main.orders p ON o.person = p.person"
            " GROUP BY p.name ORDER BY p.name"
        )
        sums = [(f"n{one}", sum(amount for _, person, amount in wanted if person == one)) for one in range(5)]
        assert [tuple(row) for row in joined] == sums
        plain = orders.to_spark().join(people.to_spark(), "person").groupBy("name").sum("amount").orderBy("name")
        assert [tuple(row) for row in plain.collect()] == sums
        assert shop.check() == crm.check() == []
        assert [each.snapshot_id for each in shop.snapshots()] == [each.snapshot_id for each in local.snapshots()]
        people.append(pa.table({"person": pa.array([9], pa.int64()), "name": ["late"]}))
        assert shop.sql("SELECT count(*) FROM crm.main.orders").to_arrow().to_pylist()[0]["count(1)"] == 6
