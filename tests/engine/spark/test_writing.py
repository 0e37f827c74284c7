"""Rows that Spark holds go into a lake through Spark's own writer, and DuckDB reads them right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

import quacklake as ql
from tests.conftest import Duck
from tests.lakes import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

EVENTS = """
    SELECT id, concat('n', id % 7) AS name, timestamp'2024-01-01 22:30:00 UTC' + make_interval(0, 0, 0, id) AS moment,
           named_struct('a', id, 'tags', array(cast(id AS string), NULL)) AS info, map('k', id / 4) AS facts,
           uuid() AS token, cast(id AS decimal(20,0)) AS big,
           if(id % 5 = 0, NULL, cast(id / 3 AS decimal(9,2))) AS price
    FROM range(60)"""
COLUMNS = """id BIGINT NOT NULL, name STRING, moment TIMESTAMP, info STRUCT<a: BIGINT, tags: ARRAY<STRING>>,
    facts MAP<STRING, DOUBLE>, token UUID, big UBIGINT, price DECIMAL(9,2)"""


@pytest.fixture
def place(new_place: Callable[[str], Place]) -> Place:
    return new_place("sqlite")


@pytest.fixture
def session(place: Place, spark: SparkSession) -> Iterator[ql.Session]:
    with ql.connect(place.url, place.data_path, spark=spark) as session:
        yield session


def test_what_spark_appends_duckdb_and_both_engines_read(
    session: ql.Session, spark: SparkSession, place: Place, duck: Duck
) -> None:
    frame = spark.sql(EVENTS).cache()
    table = session.create_table("events", COLUMNS)
    assert table.append(frame).rows_inserted == 60
    expected = {row.id: row for row in frame.collect()}
    found = {row.id: row for row in session.table("events").to_spark().collect()}
    assert {
        key: (row.name, row.moment, row.info, row.facts, row.token, row.big, row.price) for key, row in found.items()
    } == {
        key: (row.name, row.moment, row.info, row.facts, row.token, row.big, row.price) for key, row in expected.items()
    }
    local = {row["id"]: row for row in session.table("events").to_arrow().to_pylist()}
    assert local[7]["info"] == {"a": 7, "tags": ["7", None]}
    with duck(place) as connection:
        rows = connection.execute("SELECT id, info, facts, token::VARCHAR, big, price FROM lk.events").fetchall()
        assert {row[0]: row[1] for row in rows} == {key: row.info.asDict() for key, row in expected.items()}
        assert {row[0]: row[3] for row in rows} == {key: row.token for key, row in expected.items()}
        assert connection.execute(
            "SELECT min(id), max(moment), min(price), count(price) FROM lk.events"
        ).fetchone() == (
            connection.execute(
                "SELECT min(id), max(moment), min(price), count(price) FROM (SELECT * FROM lk.events)"
            ).fetchone()
        )
        assert connection.execute("SELECT count(*) FROM lk.events WHERE price > 10").fetchone() == (
            sum(row.price is not None and row.price > 10 for row in expected.values()),
        )


def test_the_users_settings_stay_as_they_are(session: ql.Session, spark: SparkSession) -> None:
    before = spark.conf.get("spark.sql.parquet.outputTimestampType")
    session.create_table("t", "at TIMESTAMP").append(
        spark.sql("SELECT timestamp'2024-01-01 00:00:00 UTC' AS at FROM range(20)")
    )
    assert spark.conf.get("spark.sql.parquet.outputTimestampType") == before


def test_partitions_are_folders_and_prune(session: ql.Session, spark: SparkSession, place: Place, duck: Duck) -> None:
    table = session.create_table(
        "t", "id BIGINT, word STRING, day DATE", partition_by=["word", "month(day)", "bucket(3, id)"]
    )
    frame = spark.sql(
        "SELECT id, CASE WHEN id % 3 = 0 THEN NULL WHEN id % 3 = 1 THEN '' ELSE 'a/b' END AS word, "
        "date_add(date'2024-01-20', cast(id AS int)) AS day FROM range(30)"
    )
    assert table.append(frame).rows_inserted == 30
    files = table.scan().files()
    assert any("word=a%2Fb/month=1/bucket=" in file.path for file in files)
    assert any("word=__HIVE_DEFAULT_PARTITION__/" in file.path for file in files)
    for where in ("word = ''", "word IS NULL", "id = 11", "day >= '2024-02-10'"):
        scan = table.scan(where=where)
        assert len(scan.files()) < len(files)
        assert scan.count() == frame.filter(where).count()
        with duck(place) as connection:
            assert connection.execute(f"SELECT count(*) FROM lk.t WHERE {where}").fetchone() == (scan.count(),)


@pytest.mark.parametrize(
    "columns", ["id BIGINT, v STRING", "id BIGINT, v STRUCT<a: STRING>", "id BIGINT, v ARRAY<STRING>"]
)
def test_columns_may_change_after_an_append(
    session: ql.Session, spark: SparkSession, place: Place, duck: Duck, columns: str
) -> None:
    """Files say which column is which; by their position DuckDB would take one for the other."""
    table = session.create_table("t", f"old INT, {columns}")
    empty = spark.createDataFrame(session.table("t").to_spark().toArrow())
    frame = spark.range(30).join(empty.drop("id"), how="left")
    assert table.append(frame.withColumn("old", frame.id.cast("int"))).rows_inserted == 30
    with duck(place) as connection:
        for statement in ("DROP COLUMN old", "RENAME COLUMN id TO number", "ADD COLUMN id BIGINT"):
            connection.execute(f"ALTER TABLE t {statement}").fetchall()
        assert connection.execute("SELECT sum(number), count(id), count(v) FROM t").fetchone() == (435, 0, 0)


@pytest.mark.parametrize("key", ["moment", "hour(moment)"])
def test_partitions_by_moments_are_of_utc(
    session: ql.Session, spark: SparkSession, place: Place, duck: Duck, key: str
) -> None:
    """In the session's zone an hour is there twice in autumn, and one is missing in spring."""
    table = session.create_table("t", "id BIGINT, moment TIMESTAMP", partition_by=[key])
    zone = "spark.sql.session.timeZone"
    before = str(spark.conf.get(zone))
    spark.conf.set(zone, "Europe/Berlin")
    try:
        moments = spark.sql(
            "SELECT id, CAST(concat(d, ' 0', id, ':30:00+00:00') AS TIMESTAMP) AS moment "
            "FROM range(4), (VALUES ('2024-10-27'), ('2024-03-31')) AS days(d)"
        )
        table.append(moments.union(moments))
        table.update({"id": "id + 10"}, "id = 1")
        table.overwrite_partitions(moments.filter("id = 2"))
    finally:
        spark.conf.set(zone, before)
    with duck(place) as connection:
        for day in ("2024-10-27", "2024-03-31"):
            found = [
                connection.execute(f"SELECT count(*) FROM t WHERE moment = '{day} 0{h}:30:00+00'").fetchone()
                for h in range(4)
            ]
            assert found == [(2,), (2,), (1,), (2,)]


def test_few_rows_go_into_the_catalog(session: ql.Session, spark: SparkSession) -> None:
    table = session.create_table("t", "id BIGINT, tags ARRAY<STRING>")
    done = table.append(spark.sql("SELECT 1L AS id, array('a', NULL) AS tags"))
    assert (done.rows_inserted, done.files_added, table.scan().files()) == (1, 0, [])
    assert table.to_spark().collect() == [(1, ["a", None])]


def test_spark_frames_merge_and_overwrite(session: ql.Session, spark: SparkSession) -> None:
    table = session.create_table("t", "id BIGINT, v STRING")
    table.append(spark.range(30).selectExpr("id", "'old' AS v"))
    done = table.merge(spark.range(25, 40).selectExpr("id", "'new' AS v"), on="id")
    assert (done.rows_updated, done.rows_inserted) == (5, 10)
    counts = {row.v: row.n for row in table.to_spark().groupBy("v").agg({"*": "count"}).toDF("v", "n").collect()}
    assert counts == {"old": 25, "new": 15}
    table.overwrite(spark.range(3).selectExpr("id", "'x' AS v"))
    assert sorted(row.id for row in table.to_spark().collect()) == [0, 1, 2]
    table.delete("id = 1")
    table.update({"v": "concat(v, '!')"}, "id = 2")
    assert sorted(map(tuple, table.to_spark().collect())) == [(0, "x"), (2, "x!")]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT 'x' AS id", "'id'"),
        ("SELECT 1L AS id, 2 AS nope", "'nope'"),
        ("SELECT CAST(NULL AS BIGINT) AS id", "may not be NULL"),
        ("SELECT 1L AS id, 'no uuid' AS token", "token"),
    ],
)
def test_bad_frames_are_refused_and_leave_nothing(
    session: ql.Session, spark: SparkSession, query: str, words: str
) -> None:
    from pathlib import Path

    table = session.create_table("t", "id BIGINT NOT NULL, token UUID")
    before = session.current_snapshot
    with pytest.raises(ql.InvalidInputError, match=words):
        table.append(spark.sql(query))
    assert session.current_snapshot == before
    assert not [path for path in Path(session._catalog.data_path).rglob("*") if path.is_file()]
