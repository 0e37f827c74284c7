"""`spark.read.format("quacklake")` gives what `to_spark()` gives."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import quacklake as ql
from tests.conftest import Duck, Reach
from tests.lakes import Place, spread_moments

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from quacklake.session import Session

pytestmark = pytest.mark.spark

Lake = tuple[dict[str, str], "Session"]

EVERYTHING = """
CREATE TABLE every AS SELECT i AS id, i % 2 = 0 AS flag, CAST(i AS TINYINT) AS t, CAST(i AS UTINYINT) AS ut,
    CAST(i AS USMALLINT) AS us, CAST(i AS UINTEGER) AS ui, CAST(18446744073709551000 + i AS UBIGINT) AS ub,
    CAST(i AS HUGEINT) * 1000000000000000000000 AS huge, CAST(i / 4 AS FLOAT) AS f,
    CASE i WHEN 3 THEN 'NaN'::DOUBLE WHEN 4 THEN NULL ELSE i / 3 END AS d,
    CAST(i AS DECIMAL(9,2)) / 8 AS money, 'text ''' || i || chr(92) AS name, encode('bytes' || i) AS raw,
    DATE '2024-02-28' + CAST(i AS INTEGER) AS day, TIMESTAMP '2024-01-01 10:00:00.123456' + to_hours(i) AS local,
    TIMESTAMPTZ '2024-01-01 10:00:00.123456+02' + to_hours(i) AS moment,
    TIME '10:00:00.5' + to_seconds(i) AS clock, CAST('2024-01-01 00:00:00.123456789' AS TIMESTAMP_NS) AS nano,
    uuid() AS u, CAST('{"a": ' || i || '}' AS JSON) AS doc, to_days(CAST(i AS INTEGER)) AS gap,
    {'a': i, 'b': [i, NULL]} AS s, [{'x': i}] AS list, MAP {'k': i} AS m
FROM range(8) r(i)
"""


def load(spark: SparkSession, given: dict[str, str], table: str = "t", **options: str | int | bool) -> DataFrame:
    # A reader keeps the options that it was given, so each load has one of its own.
    return spark.read.format("quacklake").options(**given, **options).load(table)


def rows(frame: DataFrame) -> Counter[str]:
    return Counter(repr(row) for row in frame.toArrow().to_pylist())


def test_every_type_and_kind_of_row_is_as_in_to_spark(
    doors: SparkSession, tmp_path: Path, duck: Duck, reach: Reach
) -> None:
    place = Place.in_folder("sqlite", tmp_path)
    given = reach(place)
    with duck(place) as con:
        con.execute("CALL lk.set_option('data_inlining_row_limit', 0)").fetchall()
        con.execute(EVERYTHING)
        con.execute("DELETE FROM every WHERE id = 5")
        con.execute("ALTER TABLE every RENAME COLUMN name TO Title")
        con.execute("ALTER TABLE every ADD COLUMN late INTEGER DEFAULT 7")
        con.execute("ALTER TABLE every ALTER COLUMN t SET DATA TYPE INTEGER")
        con.execute("INSERT INTO every (id, Title) VALUES (100, 'new')")
        con.execute("CALL lk.set_option('data_inlining_row_limit', 10)").fetchall()
        con.execute("INSERT INTO every (id, Title, d) VALUES (101, 'in the catalog', 'NaN')")
        con.execute("CREATE TABLE nothing (a INTEGER)")
    with ql.connect(place.url, spark=doors, read_only=True) as session:
        for name in ("every", "nothing"):
            native, through = session.table(name).to_spark(), load(doors, given, name)
            assert through.schema == native.schema
            assert rows(through) == rows(native)
        ids = load(doors, given, "main.every", rowIds=True)
        native = session.table("every").scan(row_ids=True).to_spark()
        assert ids.schema == native.schema
        assert rows(ids) == rows(native)


VALUES: dict[str, list[Any]] = {
    "id": [1, 2, 3, None, -5, 2**40],
    "x": [1.5, math.nan, None, -0.0, math.inf, 0.1],
    "f": [0.1, math.nan, -0.0, None, 1.5, -math.inf],
    "name": ["a'b", "B\\", None, "", 'say "hi"', "50%_"],
    "flag": [True, None, False, True, None, False],
}
TYPES = (pa.int64(), pa.float64(), pa.float32(), pa.string(), pa.bool_())
FRAME = pa.table({name: pa.array(values, type_) for (name, values), type_ in zip(VALUES.items(), TYPES, strict=True)})
CONSTANTS = {
    "id": ["2", "-5", "1099511627776", "1.5", "NULL"],
    "x": ["1.5", "CAST('NaN' AS DOUBLE)", "0.0", "CAST('Infinity' AS DOUBLE)", "NULL"],
    "f": ["CAST(0.1 AS FLOAT)", "CAST('NaN' AS FLOAT)", "0"],
    "name": [r"'a\'b'", r"'B\\'", "''", "'A''b'", "'50%_'"],
    "flag": ["true", "false"],
}
OPERATORS = ("=", "<", ">=", "<=>")
PREDICATES = [
    *(f"{name} {op} {value}" for name, values in CONSTANTS.items() for value in values for op in OPERATORS),
    *(f"NOT ({name} = {values[0]}) AND {name} IS NOT NULL" for name, values in CONSTANTS.items()),
    *(f"{name} IN ({', '.join(values[:3])})" for name, values in CONSTANTS.items()),
    "NOT (id IN (1, NULL))",
    "name LIKE 'a%' OR name LIKE '%i\"'",
    r"contains(name, '\'')",
    "flag",
    "NOT flag",
    "id > 1 AND (x < 2 OR f IS NULL)",
]


def spread(session: Session) -> None:
    """The rows one by one, so that files can be left out, and some of them in the catalog."""
    table = session.create_table("t", "id BIGINT, x DOUBLE, f FLOAT, name STRING, flag BOOLEAN")
    for index in range(FRAME.num_rows):
        session.set_option("data_inlining_row_limit", 0 if index % 2 else 10)
        table.append(FRAME.slice(index, 1))


@pytest.mark.parametrize("pushdown", [True, False])
def test_filters_lose_no_row_and_let_none_through(doors: SparkSession, lake: Lake, pushdown: bool) -> None:
    given, session = lake
    spread(session)
    doors.conf.set("spark.sql.python.filterPushdown.enabled", pushdown)
    try:
        frame = load(doors, given)
        local = doors.createDataFrame(FRAME)
        # One DataFrame is asked everything, as a temporary view is: what one query asks must not stick to the next.
        flags = [f"({each}) IS TRUE AS p{index}" for index, each in enumerate(PREDICATES)]
        assert rows(frame.selectExpr("id", *flags)) == rows(local.selectExpr("id", *flags))
        for each in ("id = 2", "x >= CAST('NaN' AS DOUBLE)", "name = 'a\\'b'"):
            assert rows(frame.where(each)) == rows(local.where(each)), each
        assert frame.where("id > 1").union(frame.where("id <= 1")).union(frame.where("id IS NULL")).count() == 6
        assert frame.count() == 6
    finally:
        doors.conf.unset("spark.sql.python.filterPushdown.enabled")


def test_where_gives_what_spark_gives(doors: SparkSession, lake: Lake) -> None:
    given, session = lake
    spread(session)
    local = doors.createDataFrame(FRAME)
    for each in PREDICATES[::9]:
        assert rows(load(doors, given, where=each)) == rows(local.where(each)), each


def test_where_leaves_files_out(doors: SparkSession, lake: Lake) -> None:
    given, session = lake
    table = session.create_table("t", "id BIGINT")
    session.set_option("data_inlining_row_limit", 0)
    for index in range(3):
        table.append(pa.table({"id": [index]}))
    assert load(doors, given, where="id = 1").rdd.getNumPartitions() == 1
    Path(table.scan(where="id = 0").files()[0].path).unlink()
    assert load(doors, given, where="id > 0").count() == 2
    with pytest.raises(Exception, match="StorageError"):
        load(doors, given).collect()


def test_a_frame_shows_the_snapshot_that_load_saw(doors: SparkSession, lake: Lake) -> None:
    given, session = lake
    table = session.create_table("t", "id BIGINT")
    table.append(pa.table({"id": [1]}))
    first = session.current_snapshot
    frame = load(doors, given)
    table.append(pa.table({"id": [2]}))
    table.add_column("more", "INT")
    assert frame.collect() == [(1,)]
    assert frame.join(frame.withColumnRenamed("id", "other"), frame.id >= 0).count() == 1
    assert sorted(load(doors, given).collect()) == [(1, None), (2, None)]
    by_option = doors.read.format("quacklake").options(**given, at=first, table="main.t").load()
    assert by_option.collect() == [(1,)]
    moment = spread_moments(session)[-2].isoformat()
    assert sorted(load(doors, given, at=moment).collect()) == [(1,), (2,)]


def test_a_mistake_is_told_by_its_own_name(doors: SparkSession, lake: Lake) -> None:
    given, session = lake
    session.create_table("t", "id BIGINT, name STRING")
    mistakes: list[tuple[Callable[[], object], str]] = [
        (lambda: load(doors, given, "nope"), "NotFoundError: there is no table main.nope"),
        (lambda: load(doors, given, at=10**9), "NotFoundError"),
        (lambda: load(doors, given, where="nope = 1").collect(), "uses the unknown column 'nope'"),
        # Nothing in DuckDB means the same: refused, where Spark would rather read nothing at all.
        (lambda: load(doors, given, where="name RLIKE '(?=a)'").collect(), "InvalidInputError"),
        (lambda: load(doors, given, wehre="id > 0"), "did you mean 'where'"),
        (lambda: doors.read.format("quacklake").load("t"), "option 'url' is missing"),
        (lambda: load(doors, {**given, "url": f"{given['url']}x"}), "NotInitializedError"),
        (
            lambda: doors.read.format("quacklake").options(**given).schema("id INT").load("t").collect(),
            "are id bigint, name string, not id int",
        ),
    ]
    for act, words in mistakes:
        with pytest.raises(Exception) as caught:  # noqa: PT011
            act()
        assert words in str(caught.value)
