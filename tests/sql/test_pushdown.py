"""Files are left out by the conditions of a query, and never a row with them."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pytest

import quacklake as ql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

A = [(number, number % 7 if number % 5 else None, f"n{number % 4}") for number in range(60)]
B = [(number * 2, number % 3, None if number % 6 == 0 else number) for number in range(40)]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ql.Session]:
    folder: Path = tmp_path_factory.mktemp("pushdown")
    with ql.connect(f"sqlite:///{folder}/catalog.db", engine="local", inline_rows=0) as session:
        a = session.create_table("a", "id BIGINT, k BIGINT, name STRING")
        b = session.create_table("b", "bid BIGINT, k BIGINT, x BIGINT")
        for start in range(0, 60, 10):
            ids, ks, names = zip(*A[start : start + 10], strict=True)
            a.append(pa.table({"id": pa.array(ids), "k": pa.array(ks, pa.int64()), "name": pa.array(names)}))
        for start in range(0, 40, 10):
            ids, ks, xs = zip(*B[start : start + 10], strict=True)
            b.append(pa.table({"bid": pa.array(ids), "k": pa.array(ks), "x": pa.array(xs, pa.int64())}))
        yield session


@pytest.fixture(scope="module")
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE a(id BIGINT, k BIGINT, name VARCHAR)")
        connection.execute("CREATE TABLE b(bid BIGINT, k BIGINT, x BIGINT)")
        connection.executemany("INSERT INTO a VALUES (?, ?, ?)", A)
        connection.executemany("INSERT INTO b VALUES (?, ?, ?)", B)
        yield connection


def kept(session: ql.Session, text: str, params: object = None) -> list[int]:
    """How many files of each table are read."""
    found = session.sql(text, params).explain()  # type: ignore[arg-type]
    return [int(each) for each in re.findall(r"files: (\d+) of", found)]


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("SELECT * FROM a", [6]),
        ("SELECT * FROM a WHERE id = 12", [1]),
        ("SELECT * FROM a x WHERE x.id BETWEEN 15 AND 25 AND name = 'n1'", [2]),
        ("SELECT * FROM a WHERE id = 1 OR id = 55", [2]),
        ("SELECT * FROM a WHERE NOT (id < 50)", [1]),
        ("SELECT * FROM a JOIN b ON a.id = b.bid WHERE id > 49 AND bid < 20 AND x IS NOT NULL", [1, 1]),
        ("SELECT * FROM a JOIN b ON a.id = b.bid AND a.id > 49 AND b.bid < 20", [1, 1]),
        ("SELECT * FROM a LEFT JOIN b ON id = bid AND bid < 20 WHERE id < 10 AND b.bid IS NULL", [1, 1]),
        ("SELECT * FROM a RIGHT JOIN b ON id = bid WHERE id = 5", [6, 4]),
        ("SELECT * FROM a FULL JOIN b ON id = bid AND id = 5 WHERE id = 5 AND bid = 4", [6, 4]),
        ("SELECT * FROM a LEFT ANTI JOIN b ON id = bid AND bid < 20 WHERE id < 10", [1, 1]),
        ("SELECT * FROM a WHERE id IN (SELECT bid FROM b WHERE bid < 20)", [6, 1]),
        ("SELECT * FROM (SELECT * FROM a WHERE id < 10) WHERE id > 40", [1]),
        ("WITH c AS (SELECT * FROM a WHERE id < 10) SELECT * FROM c WHERE id = 50", [1]),
        ("SELECT * FROM a WHERE id + 1 = 12", [6]),
        ("SELECT * FROM a, b WHERE k = 1", None),
        ("SELECT * FROM a JOIN b USING (k) WHERE k = 1 AND id = 5", [6, 4]),
        ("SELECT id FROM a WHERE id < 10 UNION ALL SELECT bid FROM b WHERE bid > 70", [1, 1]),
        ("SELECT * FROM a TABLESAMPLE (3 ROWS) WHERE id > 50", [6]),
    ],
)
def test_so_many_files_are_read(session: ql.Session, text: str, files: list[int] | None) -> None:
    if files is None:
        with pytest.raises(ql.InvalidInputError, match="mbiguous"):
            list(session.sql(text))
        return
    assert kept(session, text) == files


def test_parameters_leave_out_files_as_well(session: ql.Session) -> None:
    assert kept(session, "SELECT * FROM a WHERE id = :n", {"n": 12}) == [1]


CONDITIONS = [
    "{a}id < {n}",
    "{a}id >= {n} AND {a}k = 3",
    "{b}bid > {n}",
    "{b}bid BETWEEN {n} AND 40",
    "{b}x IS NULL",
    "{b}x IS NOT NULL",
    "{a}k IS NULL OR {a}id > {n}",
    "NOT ({b}bid <= {n})",
    "{a}name IN ('n1', 'n3')",
    "{a}id = {b}x",
    "{a}id < {n} OR {b}bid > {n}",
    "{b}x <> {n}",
    "coalesce({b}x, -1) = -1",
]
JOINS = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN"]


def random_query(chance: random.Random) -> str:
    def conditions(least: int) -> str:
        drawn = chance.sample(CONDITIONS, chance.randint(least, 3))
        texts = [f"({each.format(a='p.', b='q.', n=chance.randint(-5, 85))})" for each in drawn]
        return " AND ".join(texts)

    join = chance.choice(JOINS)
    # DuckDB wants an equality where both sides may be filled up.
    on = "" if join == "CROSS JOIN" else " ON p.id = q.bid"
    more = conditions(0) if on and join != "FULL JOIN" else ""
    where = conditions(0)
    sources = {"p": "a", "q": "b"}
    if chance.random() < 0.3:
        sources["p"] = f"(SELECT * FROM a WHERE id > {chance.randint(0, 30)})"
    text = f"SELECT p.id, q.bid, q.x FROM {sources['p']} AS p {join} {sources['q']} AS q{on}"
    text += f" AND {more}" if more else ""
    return text + (f" WHERE {where}" if where else "")


@pytest.mark.parametrize("seed", range(6))
def test_no_row_is_lost_by_any_join_and_condition(
    session: ql.Session, plain: duckdb.DuckDBPyConnection, seed: int
) -> None:
    chance = random.Random(seed)
    left_out = 0
    for _ in range(40):
        text = random_query(chance)
        assert Counter(session.sql(text)) == Counter(plain.execute(text).fetchall()), text
        left_out += sum(kept(session, text)) < 10
    assert left_out > 10


@pytest.mark.spark
def test_a_moment_without_a_zone_leaves_out_no_file_on_spark(tmp_path: Path, spark: SparkSession) -> None:
    url = f"sqlite:///{tmp_path}/catalog.db"
    noon = datetime(2024, 1, 1, 12, tzinfo=UTC)
    with ql.connect(url, engine="spark", spark=spark, inline_rows=0) as session:
        table = session.create_table("t", "id INT, ts TIMESTAMP")
        for hour in range(0, 24, 6):
            table.append(pa.table({"id": pa.array([hour], pa.int32()), "ts": [noon.replace(hour=hour)]}))
        query = "SELECT id FROM t WHERE ts >= :moment"
        assert kept(session, query, {"moment": noon}) == [2]
        assert kept(session, query, {"moment": noon.replace(tzinfo=None)}) == [4]
        table.to_spark().createOrReplaceTempView("quacklake_plain")
        elsewhere = spark.conf.get("spark.sql.session.timeZone")
        spark.conf.set("spark.sql.session.timeZone", "America/New_York")
        try:
            for moment in (noon, noon.replace(tzinfo=None)):
                plain = spark.sql("SELECT id FROM quacklake_plain WHERE ts >= :moment", args={"moment": moment})
                assert sorted(session.sql(query, {"moment": moment})) == sorted(map(tuple, plain.collect()))
        finally:
            spark.conf.set("spark.sql.session.timeZone", str(elsewhere))
            spark.catalog.dropTempView("quacklake_plain")
