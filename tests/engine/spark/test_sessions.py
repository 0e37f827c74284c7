"""Whose session plans run in, and that nothing of it is changed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import quacklake as ql
from quacklake.engine.spark.engine import SparkEngine
from tests.engine.spark.conftest import MakeLake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SWAPPED = (
    "CREATE TABLE t (a INTEGER, b INTEGER)",
    "INSERT INTO t SELECT i, 1000 + i FROM range(100) r(i)",
    "ALTER TABLE t RENAME COLUMN a TO c",
    "ALTER TABLE t RENAME COLUMN b TO a",
    "ALTER TABLE t RENAME COLUMN c TO b",
    "DELETE FROM t WHERE b = 50",
)


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python that has this checkout and nothing of this process."""
    kept = {key: os.environ[key] for key in ("PATH", "PYTHONPATH", "JAVA_HOME", "HOME") if key in os.environ}
    source = str(Path(ql.__file__).parent.parent)
    paths = os.pathsep.join([source, kept.pop("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**kept, "PYTHONPATH": paths, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )


def test_the_session_that_was_given_is_used(spark: SparkSession) -> None:
    other = spark.newSession()
    engine = SparkEngine(other)
    assert engine.spark is other
    engine.close()
    assert other.range(3).count() == 3


def test_without_one_the_active_session_is_used(spark: SparkSession) -> None:
    assert SparkEngine().spark.sparkContext is spark.sparkContext


def test_what_is_no_session_is_refused() -> None:
    with pytest.raises(ql.InvalidInputError, match="no Spark session"):
        SparkEngine("local[2]")  # type: ignore[arg-type]


def test_no_setting_of_the_session_changes_whatever_is_done(tmp_path: Path, spark: SparkSession) -> None:
    mine = spark.newSession()
    # Neither is what a change of rows runs with.
    mine.conf.set("spark.sql.ansi.enabled", "false")
    mine.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    before = (dict(mine.conf.getAll), sorted(mine.sparkContext.getConf().getAll()), _hadoop(mine))
    with ql.connect(f"sqlite:///{tmp_path}/lake.db", spark=mine) as session:
        table = session.create_table("t", "id BIGINT, n INT, tags ARRAY<STRING>", partition_by=["n"])
        frame = mine.range(40).selectExpr("id", "CAST(id % 2 AS INT) AS n", "array('x') AS tags")
        done = {
            "append": table.append(frame).rows_inserted,
            "update": table.update({"n": "n + 1"}, "id < 30").rows_updated,
            "delete": table.delete("id % 10 = 3").rows_deleted,
            "merge": table.merge(mine.range(38, 42).selectExpr("id", "7 AS n"), on="id").rows_inserted,
            "partitions": table.overwrite_partitions(frame.filter("id > 30")).rows_inserted,
            "sql": len(list(session.sql("SELECT n, count(*) FROM t GROUP BY n"))),
            "read": table.to_spark(where="n = 7").count(),
            "feed": len(table.changes(1).to_spark().collect()),
        }
        assert all(done.values()), done
        with pytest.raises(ql.InvalidInputError):
            table.append(frame.withColumn("more", frame.id))
    assert before == (dict(mine.conf.getAll), sorted(mine.sparkContext.getConf().getAll()), _hadoop(mine))


def test_the_active_session_is_the_users_whatever_is_done(tmp_path: Path, spark: SparkSession) -> None:
    from pyspark.sql import SparkSession

    mine = spark.newSession()
    # A change of rows runs in a session beside one with these, and a write in a session beside every other one.
    mine.conf.set("spark.sql.ansi.enabled", "false")
    ql.register(mine)
    mine.createDataFrame([], "a INT")
    url = f"sqlite:///{tmp_path}/lake.db"
    with ql.connect(url, spark=mine, inline_rows=0) as session:
        table = session.create_table("t", "id BIGINT, n INT", partition_by=["n"])
        frame = mine.range(40).selectExpr("id", "CAST(id % 2 AS INT) AS n")
        acts: dict[str, Callable[[], object]] = {
            "append": lambda: table.append(frame),
            "update": lambda: table.update({"n": "n + 1"}, "id < 30"),
            "delete": lambda: table.delete("id % 10 = 3"),
            "merge": lambda: table.merge(mine.range(38, 42).selectExpr("id", "7 AS n"), on="id"),
            "partitions": lambda: table.overwrite_partitions(frame.filter("id > 30")),
            "sql": lambda: list(session.sql("SELECT n, count(*) FROM t GROUP BY n")),
            "read": lambda: table.to_spark(where="n = 7").count(),
            "count": lambda: table.scan(where="n = 7").count(),
            "feed": lambda: table.changes(1).to_spark().collect(),
        }
        for name, act in acts.items():
            act()
            assert SparkSession.getActiveSession() is mine, name
        before = table.count()
        # Which Spark looks up in the active session.
        frame.write.format("quacklake").option("url", url).mode("append").save("t")
        assert table.count() == before + 40
    spark.createDataFrame([], "a INT")


def _hadoop(spark: SparkSession) -> dict[str, str]:
    """The settings that Spark hands to Hadoop."""
    found = spark.sparkContext._jsc.hadoopConfiguration().iterator()
    settings = {}
    while found.hasNext():
        each = found.next()
        settings[each.getKey()] = each.getValue()
    return settings


@pytest.mark.parametrize(
    "settings",
    [
        {"spark.sql.parquet.fieldId.read.enabled": "true"},
        {"spark.sql.caseSensitive": "true"},
        {"spark.sql.ansi.enabled": "false"},
        {"spark.sql.parquet.enableVectorizedReader": "false"},
        {"spark.sql.files.ignoreMissingFiles": "true", "spark.sql.files.ignoreCorruptFiles": "true"},
        {"spark.sql.parser.escapedStringLiterals": "true"},
        {"spark.sql.ansi.doubleQuotedIdentifiers": "true"},
        {"spark.sql.adaptive.enabled": "false"},
        {"spark.sql.timestampType": "TIMESTAMP_NTZ", "spark.sql.session.timeZone": "Asia/Tokyo"},
        {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"},
    ],
    ids=lambda settings: next(iter(settings)).removeprefix("spark.sql."),
)
def test_the_answer_does_not_depend_on_settings(
    make_lake: MakeLake, spark: SparkSession, settings: dict[str, str]
) -> None:
    mine = spark.newSession()
    for key, value in settings.items():
        mine.conf.set(key, value)
    lake = make_lake(
        *SWAPPED,
        "ALTER TABLE t ADD COLUMN s VARCHAR DEFAULT 'it''s \\'",
        "ALTER TABLE t ADD COLUMN f DOUBLE",
        "ALTER TABLE t ADD COLUMN z TIMESTAMPTZ DEFAULT '2024-01-01 00:00:00+00'",
        "INSERT INTO t SELECT i, 2000 + i, 'new', i / 2, '2024-01-01 00:00:00+00' FROM range(100) r(i)",
        "CALL lk.set_option('data_inlining_row_limit', 10)",
        "INSERT INTO t VALUES (7, 7, 'in', 7, '2024-01-01 00:00:00+00')",
        "CALL lk.set_option('data_inlining_row_limit', 0)",
        "DELETE FROM t WHERE b = 2050",
        questions=[("t", "a < 5"), ("t", "s = 'new' AND f > 40")],
        spark=mine,
    )
    assert lake.faults() == []


def test_a_frame_joins_and_is_queried_in_the_users_session(make_lake: MakeLake, spark: SparkSession) -> None:
    spark.conf.set("spark.sql.parquet.fieldId.read.enabled", "false")
    lake = make_lake(*SWAPPED)
    frame = lake.session.table("t").to_spark()
    frame.createOrReplaceTempView("from_the_lake")
    spark.range(1000, 1005).createOrReplaceTempView("of_the_user")
    found = spark.sql("SELECT a, b FROM from_the_lake JOIN of_the_user ON a = id ORDER BY a").collect()
    assert [tuple(row) for row in found] == [(1000 + i, i) for i in range(5)]
    cached = frame.cache()
    assert cached.count() == 99
    assert cached.filter("a = 1007").collect()[0].b == 7
    cached.unpersist()
    assert spark.sql("SELECT count(*) AS n FROM {t}", t=frame).collect()[0].n == 99


def test_a_timestamp_in_a_predicate_means_the_zone_of_the_users_session(
    make_lake: MakeLake, spark: SparkSession
) -> None:
    mine = spark.newSession()
    mine.conf.set("spark.sql.session.timeZone", "America/New_York")
    lake = make_lake(
        "CREATE TABLE t (z TIMESTAMPTZ, n TIMESTAMP)",
        "INSERT INTO t VALUES ('2024-01-01 05:00:00+00', '2024-01-01 00:00:00'), "
        "('2024-01-01 00:00:00+00', '2024-01-01 05:00:00')",
        spark=mine,
    )
    table = lake.session.table("t")
    assert table.to_spark(where="z = TIMESTAMP '2024-01-01 00:00:00'").count() == 1
    assert table.scan(where="n = TIMESTAMP '2024-01-01 00:00:00'").count() == 1
    assert table.to_spark(where="z = TIMESTAMP '2024-01-01 00:00:00'").collect()[0].n.hour == 0


def test_a_text_that_the_session_would_misread_is_refused(make_lake: MakeLake, spark: SparkSession) -> None:
    mine = spark.newSession()
    mine.conf.set("spark.sql.parser.escapedStringLiterals", "true")
    lake = make_lake("CREATE TABLE t (s VARCHAR)", "INSERT INTO t VALUES ('it''s')", spark=mine)
    with pytest.raises(ql.UnsupportedError, match="escapedStringLiterals"):
        lake.session.table("t").to_spark(where='s = "it\'s"')
    with pytest.raises(ql.UnsupportedError, match="escapedStringLiterals"):
        lake.session.sql("""SELECT s FROM t WHERE s = "it's" """)


def test_closing_leaves_a_session_that_was_given_running(make_lake: MakeLake, spark: SparkSession) -> None:
    lake = make_lake("CREATE TABLE t (i INTEGER)", "INSERT INTO t VALUES (1)")
    frame = lake.session.table("t").to_spark()
    lake.session.close()
    assert frame.count() == 1
    assert spark.range(2).count() == 2


def test_a_session_is_started_when_there_is_none_and_its_tasks_run_in_this_python() -> None:
    code = """
from quacklake.engine.spark.engine import SparkEngine
import sys
engine = SparkEngine()
print(engine.spark.range(3).count(), engine.spark is engine.spark)
print(engine.spark.sparkContext.pythonExec == sys.executable)
engine.close()
print(engine.spark.range(4).count())
"""
    done = run(code)
    assert (done.stdout.split(), done.returncode) == (["3", "True", "True", "4"], 0), done.stderr[-2000:]


def test_without_java_the_error_says_how_to_get_it(tmp_path: Path) -> None:
    code = """
from quacklake.engine.spark.engine import SparkEngine
from quacklake.errors import MissingExtraError
try:
    SparkEngine().spark
except MissingExtraError as error:
    print(error)
"""
    done = run(code, PATH=str(tmp_path), JAVA_HOME="")
    assert "Java 17" in done.stdout
    assert "apt-get install openjdk-17-jre-headless" in done.stdout
    done = run(code, PATH=str(tmp_path), JAVA_HOME=str(tmp_path))
    assert f"JAVA_HOME is {tmp_path}" in done.stdout


def test_without_pyspark_the_error_has_the_line_that_installs_it() -> None:
    code = """
import sys
sys.modules["pyspark"] = None
import quacklake as ql
with ql.connect("sqlite://", create=True) as session: pass
from quacklake.engine.spark.engine import SparkEngine
try:
    SparkEngine().spark
except ql.MissingExtraError as error:
    print(error)
"""
    done = run(code.replace('with ql.connect("sqlite://", create=True) as session: pass\n', ""))
    assert "pip install 'quacklake[spark]'" in done.stdout, done.stderr[-2000:]
