"""What Spark is asked to do: filters and columns reach the files, and only dead rows cost anything."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from quacklake.engine.spark import tasks
from tests.engine.spark.conftest import Lake, MakeLake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pytestmark = pytest.mark.spark


def explained(frame: DataFrame, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    frame.explain()
    return capsys.readouterr().out


@pytest.fixture
def lake(make_lake: MakeLake) -> Lake:
    return make_lake(
        "CREATE TABLE t (id BIGINT, n INTEGER, s VARCHAR, st STRUCT(a INTEGER, b VARCHAR), unused VARCHAR)",
        "INSERT INTO t SELECT i, i, 'x' || i, {'a': i, 'b': 'y'}, 'z' FROM range(1000) r(i)",
        "ALTER TABLE t RENAME COLUMN n TO number",
        "ALTER TABLE t ALTER COLUMN number SET DATA TYPE BIGINT",
        "INSERT INTO t SELECT i, i, 'x' || i, {'a': i, 'b': 'y'}, 'z' FROM range(1000, 2000) r(i)",
    )


def test_filters_and_columns_reach_the_files_under_the_names_of_the_files(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = explained(lake.session.table("t").to_spark(["id"], where="number > 500 AND s = 'x1995'"), capsys)
    filters = re.findall(r"PushedFilters: \[(.*?)\]", plan)
    schemas = re.findall(r"ReadSchema: struct<(.*?)>", plan)
    assert sorted(filters) == [
        "IsNotNull(n), IsNotNull(s), GreaterThan(n,500), EqualTo(s,x1995)",
        "IsNotNull(number), IsNotNull(s), GreaterThan(number,500), EqualTo(s,x1995)",
    ]
    assert sorted(schemas) == ["id:bigint,n:int,s:string", "id:bigint,number:bigint,s:string"]


def test_what_is_done_with_the_frame_reaches_the_files_too(lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    frame = lake.session.table("t").to_spark().filter("st.a = 5").select("id")
    plan = explained(frame, capsys)
    assert plan.count("EqualTo(st.a,5)") == 2
    assert set(re.findall(r"ReadSchema: struct<(.*?)>+", plan)) == {"id:bigint,st:struct<a:int"}


def test_files_without_dead_rows_are_read_without_metadata(
    make_lake: MakeLake, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = make_lake(
        "CREATE TABLE t (i INTEGER)",
        "INSERT INTO t SELECT i FROM range(100) r(i)",
        "INSERT INTO t SELECT i FROM range(100, 200) r(i)",
        "INSERT INTO t SELECT i FROM range(200, 300) r(i)",
        "DELETE FROM t WHERE i IN (3, 105)",
    )
    plan = explained(lake.session.table("t").to_spark(where="i > 1"), capsys)
    scans = re.findall(r"FileScan parquet \[(.*?)\].*?InMemoryFileIndex\((\d) path", plan)
    assert sorted((len(columns.split(",")), int(paths)) for columns, paths in scans) == [(1, 1), (3, 2)]
    assert plan.count("GreaterThan(i,1)") == 2
    assert "Join" not in plan


def test_layouts_that_differ_in_what_is_not_read_are_one_read(
    make_lake: MakeLake, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = make_lake(
        "CREATE TABLE t (i INTEGER, a INTEGER)",
        "INSERT INTO t VALUES (1, 1)",
        "ALTER TABLE t RENAME COLUMN a TO b",
        "INSERT INTO t VALUES (2, 2)",
        "ALTER TABLE t ADD COLUMN c INTEGER",
        "INSERT INTO t VALUES (3, 3, 3)",
    )
    assert explained(lake.session.table("t").to_spark(["i"]), capsys).count("FileScan") == 1


def test_the_schema_depends_on_the_table_alone(make_lake: MakeLake) -> None:
    lake = make_lake(
        "CREATE TABLE t (i INTEGER)",
        "INSERT INTO t VALUES (1)",
        "ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 5",
        "ALTER TABLE t ADD COLUMN s STRUCT(a INTEGER[], m MAP(VARCHAR, UUID))",
        "DELETE FROM t",
        "INSERT INTO t VALUES (2, 2, NULL)",
        "CALL lk.set_option('data_inlining_row_limit', 10)",
        "INSERT INTO t VALUES (3, 3, NULL)",
        "CREATE TABLE e AS FROM t LIMIT 0",
    )
    table = lake.session.table("t")
    newest = lake.session.current_snapshot
    added = [lake.session.table("t", at=at) for at in range(newest) if _has_struct(lake, at)]
    schemas = {each.to_spark().schema.json() for each in [table, lake.session.table("e"), *added]}
    assert len(schemas) == 1
    assert '"nullable":false' not in schemas.pop()
    ids = {each.scan(row_ids=True).to_spark().schema.json() for each in [table, *added]}
    assert len(ids) == 1


def _has_struct(lake: Lake, at: int) -> bool:
    return any(answer.snapshot_id == at and answer.table == "t" and "s" in answer.columns for answer in lake.answers)


def test_counting_runs_no_job_where_the_footers_know(make_lake: MakeLake) -> None:
    lake = make_lake(
        "CREATE TABLE t (i INTEGER)",
        "INSERT INTO t SELECT i FROM range(100) r(i)",
        "DELETE FROM t WHERE i % 10 = 0",
        "CALL lk.set_option('data_inlining_row_limit', 10)",
        "INSERT INTO t VALUES (1000)",
    )
    spark = lake.session.spark
    spark.sparkContext.setJobGroup("counting", "")
    assert lake.session.table("t").count() == 91
    assert lake.session.table("t").scan(limit=7).count() == 7
    assert spark.sparkContext.statusTracker().getJobIdsForGroup("counting") == []
    assert lake.session.table("t").scan(where="i > 50").count() == 46


def test_a_table_as_it_was_written_is_the_bare_read_with_the_size_of_its_files(make_lake: MakeLake) -> None:
    lake = make_lake("CREATE TABLE t (i INTEGER, s VARCHAR)", "INSERT INTO t SELECT i, 'x' FROM range(1000) r(i)")
    table = lake.session.table("t")
    frame = table.to_spark()
    found = frame._jdf.queryExecution()
    assert found.analyzed().toString().split()[0] == "Relation"
    sizes = [file.size for file in table.scan().files()]
    assert found.optimizedPlan().stats().sizeInBytes() == sum(size or 0 for size in sizes)


def test_a_condition_of_a_statement_reaches_the_files_once(
    make_lake: MakeLake, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = make_lake("CREATE TABLE t (i INTEGER)", "INSERT INTO t SELECT i FROM range(100) r(i)")
    result = lake.session.sql("SELECT i FROM t WHERE i > 97")
    plan = explained(result.to_spark(), capsys)
    assert (plan.count("GreaterThan(i,97)"), len(re.findall(r"\bFilter \(", plan))) == (1, 1)
    assert sorted(result) == [(98,), (99,)]


def test_rows_that_tasks_read_are_not_sent_to_every_executor_in_a_join(
    make_lake: MakeLake, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = make_lake("CREATE TABLE t (i INTEGER, v VARIANT)", "INSERT INTO t SELECT i, i::VARIANT FROM range(100) r(i)")
    large = lake.session.spark.range(1 << 40)
    small = lake.session.table("t").to_spark()
    assert "BroadcastHashJoin" in explained(large.join(small, large.id == small.i), capsys)
    monkeypatch.setattr(tasks, "_SMALL", 0)
    unknown = lake.session.table("t").to_spark()
    assert "SortMergeJoin" in explained(large.join(unknown, large.id == unknown.i), capsys)
    assert unknown.filter("i > 97").count() == 2
