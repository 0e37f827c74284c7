"""Lakes in a bucket, on Spark and locally, with one set of credentials."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import quacklake as ql
from quacklake.engine.spark.output import in_writing_session
from tests.conftest import JARS
from tests.dml.test_places_that_refuse import strict_door
from tests.engine.spark.connecting import SESSION
from tests.engine.spark.test_sessions import run
from tests.storage.object_store import ObjectStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not JARS, reason="Hadoop's connector for S3 is not there; make setup fetches it"),
]
SECRET = "a-secret-that-nobody-sees"


@pytest.fixture
def options(object_store: ObjectStore) -> dict[str, str]:
    return {**object_store.options, "aws_secret_access_key": SECRET}


@pytest.fixture
def place(object_store: ObjectStore, tmp_path: Path) -> str:
    return f"{object_store.url}/{tmp_path.name}/"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/catalog.db"


@pytest.fixture
def session(url: str, place: str, options: dict[str, str], spark: SparkSession) -> Iterator[ql.Session]:
    with ql.connect(url, place, spark=spark, inline_rows=0, storage_options=options) as session:
        yield session


def keys(store: ObjectStore, place: str) -> set[str]:
    """Every object below a place, those that stand for folders as well."""
    prefix = place.removeprefix(f"{store.url}/")
    found = store.client.list_objects_v2(Bucket="lake-bucket", Prefix=prefix)
    return {each["Key"].removeprefix(prefix) for each in found.get("Contents", [])}


def frame(spark: SparkSession, ids: range, v: str) -> Any:
    return spark.createDataFrame([(each, v) for each in ids], "id BIGINT, v STRING")


def arrow(ids: range, v: str) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "v": [v] * len(ids)})


def rows(table: Any) -> dict[int, str]:
    return {row["id"]: row["v"] for row in table.to_pylist()}


def known(session: ql.Session) -> set[str]:
    """The data files that some snapshot has."""
    every = (session.table("t", at=each.snapshot_id).scan().files() for each in session.snapshots()[2:])
    return {file.path for files in every for file in files}


@pytest.mark.parametrize(
    ("scheme", "keys_of"),
    [("s3", []), ("s3a", ["bucket(2, id)"]), ("s3", ["v"])],
    ids=["not partitioned", "by buckets", "by values"],
)
def test_a_whole_life_of_a_lake_that_both_engines_change_in_turns(
    url: str,
    place: str,
    options: dict[str, str],
    object_store: ObjectStore,
    spark: SparkSession,
    scheme: str,
    keys_of: list[str],
) -> None:
    before = dict(spark.conf.getAll)
    there = place.replace("s3://", f"{scheme}://")
    with (
        ql.connect(url, there, spark=spark, inline_rows=0, storage_options=options) as on_spark,
        ql.connect(url, engine="local", inline_rows=0, storage_options=options) as locally,
    ):
        on_spark.create_table("t", "id BIGINT, v STRING", partition_by=keys_of)
        expected: dict[int, str] = {}

        def agree() -> None:
            assert rows(locally.table("t").to_arrow()) == expected
            assert rows(on_spark.table("t").to_spark().toArrow()) == expected
            assert on_spark.table("t").count() == len(expected)

        on_spark.table("t").append(frame(spark, range(100), "spark/1 ä"))
        expected |= dict.fromkeys(range(100), "spark/1 ä")
        agree()
        locally.table("t").append(arrow(range(100, 150), "local"))
        expected |= dict.fromkeys(range(100, 150), "local")
        agree()
        assert on_spark.table("t").update({"v": "'updated'"}, "id % 10 = 0").rows_updated == 15
        expected |= dict.fromkeys(range(0, 150, 10), "updated")
        agree()
        assert on_spark.table("t").delete("id < 5 OR id = 120").rows_deleted == 6
        expected = {id_: v for id_, v in expected.items() if id_ >= 5 and id_ != 120}
        agree()
        locally.table("t").delete("id = 7")
        del expected[7]
        agree()
        done = on_spark.table("t").merge(frame(spark, range(140, 160), "merged"), on="id")
        assert (done.rows_updated, done.rows_inserted) == (10, 10)
        expected |= dict.fromkeys(range(140, 160), "merged")
        agree()
        with on_spark.transaction() as tx:
            tx.table("t").append(frame(spark, range(900, 910), "gone"))
            tx.table("t").delete("id = 50")
            tx.rollback()
        agree()
        on_spark.table("t").overwrite(frame(spark, range(500, 520), "over"), where="id < 20")
        expected = {id_: v for id_, v in expected.items() if id_ >= 20} | dict.fromkeys(range(500, 520), "over")
        agree()
        assert rows(locally.table("t", at=2).to_arrow()) == dict.fromkeys(range(100), "spark/1 ä")
        assert locally.check() == []
        paths = {path.removeprefix(there) for path in known(locally)}
    stored = keys(object_store, place)
    assert {each for each in stored if "-delete" not in each} == paths
    assert dict(spark.conf.getAll) == before


def test_duckdb_reads_what_both_engines_wrote(
    session: ql.Session, url: str, options: dict[str, str], spark: SparkSession
) -> None:
    import duckdb

    extensions = pytest.importorskip("duckdb_extensions", reason="DuckDB's extensions are not installed")
    session.create_table("t", "id BIGINT, v STRING, tags ARRAY<STRING>", partition_by=["v"])
    made = frame(spark, range(60), "a/b c").selectExpr("*", "array(v, NULL) AS tags")
    session.table("t").append(made)
    with ql.connect(url, engine="local", inline_rows=0, storage_options=options) as locally:
        locally.table("t").append(pa.table({"id": [100], "v": ["local"], "tags": [["x"]]}))
    session.table("t").update({"v": "'new'"}, "id = 3")
    session.table("t").delete("id IN (4, 5)")
    endpoint = options["aws_endpoint"].removeprefix("http://")
    with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as connection:
        for name in ("httpfs", "ducklake", "sqlite_scanner"):
            try:
                connection.execute(f"LOAD {name}")
            except duckdb.Error:
                extensions.import_extension(name.removesuffix("_scanner"), con=connection)
                connection.execute(f"LOAD {name}")
        connection.execute(
            "CREATE SECRET (TYPE s3, KEY_ID 'key', SECRET 'x', REGION 'us-east-1', URL_STYLE 'path', USE_SSL false, "
            f"ENDPOINT '{endpoint}')"
        )
        connection.execute(f"ATTACH 'ducklake:sqlite:{url.removeprefix('sqlite:///')}' AS lk")
        found = connection.execute("SELECT id, v, tags FROM lk.t ORDER BY id").fetchall()
    expected = [(id_, "new" if id_ == 3 else "a/b c", ["a/b c", None]) for id_ in range(60) if id_ not in (4, 5)]
    assert found == [*expected, (100, "local", ["x"])]


CHANGES: dict[str, Callable[[ql.Table, Any], object]] = {
    "append": lambda table, new: table.append(new),
    "overwrite": lambda table, new: table.overwrite(new),
    "delete": lambda table, _: table.delete("id % 2 = 0"),
    "update": lambda table, _: table.update({"v": "'x'"}, "id % 2 = 0"),
    "merge": lambda table, new: table.merge(new, on="id"),
}


@pytest.mark.parametrize("act", CHANGES)
def test_a_bucket_that_denies_writing_is_named_and_nothing_stays(
    act: str,
    session: ql.Session,
    url: str,
    place: str,
    options: dict[str, str],
    object_store: ObjectStore,
    spark: SparkSession,
) -> None:
    session.create_table("t", "id BIGINT, v STRING").append(frame(spark, range(100), "a"))
    snapshot, present = session.current_snapshot, keys(object_store, place)
    with strict_door(options["aws_endpoint"]) as endpoint:
        denied = {**options, "aws_endpoint": endpoint}
        with ql.connect(url, spark=spark, inline_rows=0, storage_options=denied) as refused:
            assert refused.table("t").to_spark().count() == 100
            with pytest.raises(ql.AuthError, match=f"no permission to write {place}") as caught:
                CHANGES[act](refused.table("t"), frame(spark, range(50, 150), "b"))
            assert refused.current_snapshot == snapshot
    assert keys(object_store, place) == present
    assert SECRET not in "".join(traceback.format_exception(caught.value))


FAILING: dict[str, Callable[[ql.Table, Any], object]] = {
    "append": lambda table, bad: table.append(bad),
    "update": lambda table, _: table.update({"v": "CAST(1 div (id - 99) AS STRING)"}),
    "merge": lambda table, bad: table.merge(bad, on="id"),
}


@pytest.mark.parametrize("act", FAILING)
def test_a_job_that_fails_leaves_nothing_in_the_bucket(
    act: str, session: ql.Session, place: str, object_store: ObjectStore, spark: SparkSession
) -> None:
    session.create_table("t", "id BIGINT, v STRING").append(frame(spark, range(100), "a"))
    snapshot, present = session.current_snapshot, keys(object_store, place)
    bad = spark.range(0, 200, 1, 4).selectExpr("id", "CAST(1 div (id - 199) AS STRING) AS v")
    with pytest.raises(ql.InvalidInputError):
        FAILING[act](session.table("t"), bad)
    assert session.current_snapshot == snapshot
    assert keys(object_store, place) == present


def test_a_bucket_that_is_not_there_is_named(url: str, options: dict[str, str], spark: SparkSession) -> None:
    with ql.connect(url, "s3://no-such-bucket/x/", spark=spark, inline_rows=0, storage_options=options) as session:
        table = session.create_table("t", "id BIGINT, v STRING")
        with pytest.raises(ql.StorageError, match="no-such-bucket"):
            table.append(frame(spark, range(3), "a"))
        assert session.current_snapshot == 1


def test_every_session_uses_its_own_credentials(
    session: ql.Session, url: str, options: dict[str, str], spark: SparkSession
) -> None:
    # Hadoop keeps a bucket that was opened once, and would give it to whoever asks next.
    session.create_table("t", "id BIGINT, v STRING").append(frame(spark, range(10), "a"))
    assert session.table("t").to_spark().count() == 10
    with strict_door(options["aws_endpoint"], lets_read=False) as endpoint:
        other = {**options, "aws_endpoint": endpoint}
        with (
            ql.connect(url, spark=spark, storage_options=other) as refused,
            pytest.raises(ql.AuthError, match="no permission to read"),
        ):
            refused.table("t").to_spark().collect()
    assert session.table("t").to_spark().count() == 10


def test_a_secret_opens_its_bucket_in_both_engines(
    url: str, place: str, options: dict[str, str], object_store: ObjectStore, spark: SparkSession
) -> None:
    with ql.connect(url, place, spark=spark, inline_rows=0) as session:
        session.create_secret("wrong", type="s3", endpoint="127.0.0.1:9", use_ssl=False, key_id="x", secret="y" * 9)
        session.create_secret(
            "right",
            type="s3",
            scope=object_store.url,
            KEY_ID="key",
            SECRET=SECRET,
            ENDPOINT=options["aws_endpoint"].removeprefix("http://"),
            USE_SSL=False,
            REGION="us-east-1",
        )
        session.create_table("t", "id BIGINT, v STRING").append(frame(spark, range(10), "a"))
        session.table("t").append(arrow(range(10, 15), "b"))
        assert session.table("t").to_spark().count() == len(session.table("t").to_arrow()) == 15


def test_the_environment_opens_a_bucket_in_both_engines(
    url: str, place: str, options: dict[str, str], spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", options["aws_endpoint"])
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    with ql.connect(url, place, spark=spark, inline_rows=0) as session:
        session.create_table("t", "id BIGINT, v STRING").append(frame(spark, range(10), "a"))
        session.table("t").delete("id = 3")
        assert session.table("t").to_spark().count() == len(session.table("t").to_arrow()) == 9


def test_no_plan_shows_a_secret(
    session: ql.Session, spark: SparkSession, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    session.create_table("t", "id BIGINT, v STRING").append(frame(spark, range(10), "a"))
    session.table("t").update({"v": "'b'"}, "id < 3")
    session.table("t").to_spark().explain(True)
    shown = capsys.readouterr().out
    with in_writing_session(spark.range(1)) as written:
        # Spark takes this key of Azure's for harmless.
        name = "fs.azure.account.key.acc.dfs.core.windows.net"
        written.write.options(**{name: SECRET}).parquet(f"file://{tmp_path}/written")
    executions = spark._jsparkSession.sharedState().statusStore().executionsList()
    plans = [executions.apply(at).physicalPlanDescription() for at in range(executions.size())]
    assert any("InsertIntoHadoopFsRelationCommand" in plan and "s3a-" in plan for plan in plans)
    assert any("fs.azure.account.key" in plan for plan in plans)
    assert [plan for plan in [shown, *plans] if SECRET in plan] == []


def test_rows_that_are_few_go_into_the_catalog_and_leave_no_object(
    url: str, place: str, options: dict[str, str], object_store: ObjectStore, spark: SparkSession
) -> None:
    with ql.connect(url, place, spark=spark, inline_rows=50, storage_options=options) as session:
        session.create_table("t", "id BIGINT, v STRING").append(frame(spark, range(10), "a"))
        assert rows(session.table("t").to_arrow()) == dict.fromkeys(range(10), "a")
        assert keys(object_store, place) == set()


def test_a_frame_without_rows_leaves_no_object(
    session: ql.Session, place: str, object_store: ObjectStore, spark: SparkSession
) -> None:
    session.create_table("t", "id BIGINT, v STRING", partition_by=["v"]).append(frame(spark, range(10), "a"))
    present = keys(object_store, place)
    assert session.table("t").append(frame(spark, range(10), "b").filter("id < 0")).rows_inserted == 0
    assert keys(object_store, place) == present


STARTED = """
import quacklake as ql
with ql.connect({url!r}, {place!r}, inline_rows=0, storage_options={options!r}) as session:
    session.create_table("t", "id BIGINT, v STRING")
    spark = session.spark
    session.table("t").append(spark.createDataFrame([(each, "a") for each in range(10)], "id BIGINT, v STRING"))
    print(session.table("t").delete("id < 3").rows_deleted, session.table("t").to_spark().count())
"""


def test_a_session_that_is_started_for_a_lake_in_a_bucket_brings_what_opens_it(
    url: str, place: str, options: dict[str, str]
) -> None:
    done = run(STARTED.format(url=url, place=place, options=options))
    assert (done.stdout.split(), done.returncode) == (["3", "7"], 0), done.stderr[-3000:]
    assert SECRET not in done.stderr


CONNECT = (
    SESSION
    + """
import quacklake as ql
frame = lambda ids, v: spark.createDataFrame([(each, v) for each in ids], "id BIGINT, v STRING")
with ql.connect({url!r}, {place!r}, spark=spark, inline_rows=0, storage_options={options!r}) as session:
    table = session.create_table("t", "id BIGINT, v STRING")
    table.append(frame(range(10), "a"))
    table.delete("id < 3")
    table.merge(frame(range(8, 12), "b"), on="id")
    print(sorted((row.id, row.v) for row in table.to_spark().collect()))
    bad = spark.range(0, 50, 1, 4).selectExpr("id", "CAST(1 div (id - 49) AS STRING) AS v")
    try:
        table.append(bad)
    except ql.InvalidInputError:
        print("refused")
spark.stop()
"""
)


def test_spark_connect_changes_a_lake_in_a_bucket(
    url: str, place: str, options: dict[str, str], object_store: ObjectStore
) -> None:
    pytest.importorskip("grpc", reason="pyspark[connect] is not installed")
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_SUBMIT_ARGS": os.environ["PYSPARK_SUBMIT_ARGS"]}
    done = run(CONNECT.format(url=url, place=place, options=options), **python)
    assert done.returncode == 0, done.stderr[-3000:]
    expected = [(id_, "a") for id_ in range(3, 8)] + [(id_, "b") for id_ in range(8, 12)]
    assert done.stdout.splitlines() == [str(expected), "refused"]
    with ql.connect(url, engine="local", storage_options=options) as session:
        assert sorted(rows(session.table("t").to_arrow()).items()) == expected
        paths = {path.removeprefix(place) for path in known(session)}
    assert {each for each in keys(object_store, place) if "-delete" not in each} == paths
