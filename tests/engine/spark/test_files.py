"""Files that are missing, damaged or called by another name are noticed."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import quacklake as ql
from quacklake.engine.spark import reading
from quacklake.engine.spark.connectors import packages
from quacklake.engine.spark.failures import planning_errors
from quacklake.engine.spark.hadoop import Doors
from quacklake.engine.spark.paths import known_path, reader_path
from quacklake.secrets.keyring import Keyring
from tests.engine.spark.conftest import Lake, MakeLake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ODD = [
    "plain",
    "a b",
    "a%20b",
    "k=é%2Fx",
    "plus+",
    "hash#x",
    "tab\tx",
    "'quote'",
    "%",
    "non\u00a0break",
    "日本",
    "~@!$&,;()",
]


@pytest.fixture
def lake(make_lake: MakeLake) -> Lake:
    return make_lake(
        "CREATE TABLE t (i INTEGER)",
        "INSERT INTO t SELECT i FROM range(10) r(i)",
        "INSERT INTO t SELECT i FROM range(10, 20) r(i)",
        "DELETE FROM t WHERE i IN (3, 13)",
    )


def data_files(lake: Lake) -> list[Path]:
    return sorted(each for each in Path(lake.place.data_path).rglob("*.parquet") if "-delete" not in each.name)


def test_a_missing_file_is_named_before_anything_runs(lake: Lake) -> None:
    gone = data_files(lake)[0]
    gone.unlink()
    with pytest.raises(ql.StorageError, match=gone.name):
        lake.session.table("t").to_spark()


def test_a_damaged_file_is_named_before_anything_runs(lake: Lake) -> None:
    damaged = data_files(lake)[1]
    damaged.write_bytes(damaged.read_bytes()[:-20])
    with pytest.raises(ql.StorageError, match=damaged.name):
        lake.session.table("t").to_spark()


def test_a_file_that_vanishes_between_planning_and_reading_stops_the_query(lake: Lake) -> None:
    spark = lake.session.spark.newSession()
    spark.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    with ql.connect(lake.place.url, engine="spark", spark=spark, read_only=True) as session:
        frame = session.table("t").to_spark()
        data_files(lake)[0].unlink()
        with pytest.raises(Exception, match=r"FILE_NOT_EXIST|does not exist"):
            frame.collect()


def test_a_file_that_spark_calls_by_another_name_stops_the_query(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "known_path", lambda path: known_path(path) + "?")
    with pytest.raises(Exception, match="quacklake does not know the file that Spark calls file:"):
        lake.session.table("t").to_spark().collect()


@pytest.mark.parametrize("name", ODD)
def test_paths_are_spelled_as_spark_spells_them(spark: SparkSession, tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    path = f"{folder}/f {name}.parquet"
    spark.range(1).toPandas().to_parquet(path)
    given = reader_path(path)
    assert given is not None
    found = spark.read.parquet(given).select("_metadata.file_path").collect()
    assert [row[0] for row in found] == [known_path(given)]


def test_paths_that_spark_would_tidy_up_or_take_for_patterns_are_not_given_to_it() -> None:
    refused = ["/a/_x.parquet", "/a/.x", "/a/x*y/f", "/a/[1]/f", "/a/{b}/f", "s3://b/a//f", "s3://b/./f", "http://h/f"]
    assert [path for path in refused if reader_path(path) is not None] == []
    assert reader_path("s3://b/k/f.parquet") == "s3a://b/k/f.parquet"
    assert reader_path("gcs://b/k/f.parquet") == "gs://b/k/f.parquet"
    assert reader_path("/a//b/../c/f.parquet") == "file:///a/c/f.parquet"


def test_credentials_become_options_of_the_reader_and_of_no_other_store() -> None:
    doors = Doors(
        Keyring(
            {
                "aws_access_key_id": "id",
                "AWS_SECRET_ACCESS_KEY": "secret",
                "aws_endpoint": "http://localhost:9000",
                "azure_storage_account_name": "acc",
                "azure_storage_account_key": "k",
            },
            {},
        )
    )
    here, there, else_ = (doors.reader_path(f"{root}/x") for root in ("s3://b", "az://c", "/a"))
    assert here is not None
    assert there == "abfss://c@acc.dfs.core.windows.net/x"
    assert else_ == "file:///a/x"
    scheme = here.removesuffix("://b/x")
    assert re.fullmatch("s3a-[0-9a-f]{12}", scheme)
    found = doors.reading([here])
    assert found["fs.s3a.bucket.b.access.key"] == "id"
    assert found[f"fs.{scheme}.impl"] == "org.apache.hadoop.fs.s3a.S3AFileSystem"
    assert not any("azure" in key for key in found)
    assert doors.reading([there])["fs.azure.account.key.acc.dfs.core.windows.net"] == "k"
    assert not any("fs." in key for key in doors.reading([else_]))
    assert Doors(Keyring({}, {})).reader_path("s3://b/x") == "s3a://b/x"


def test_other_credentials_are_another_store() -> None:
    paths = [
        Doors(Keyring({"key_id": key, "secret": "s"}, {})).writer_path("s3://b/x/") for key in ("one", "two", "one")
    ]
    assert paths[0] == paths[2] != paths[1]
    kept = []
    for key in ("one", "two", "one"):
        doors = Doors(Keyring({"account_key": key}, {}))
        path = doors.writer_path("abfss://only-here@acc.dfs.core.windows.net/x")
        kept.append(doors.writing([path]).get("fs.abfss.impl.disable.cache"))
    assert kept == [None, "true", None]


def test_a_store_that_spark_cannot_read_is_explained_with_the_line_for_the_builder(spark: SparkSession) -> None:
    for path, package in (("gs://bucket/x.parquet", "gcs-connector"), ("abfss://c@a.b/x.parquet", "hadoop-azure")):
        doors = Doors(Keyring({}, {}))
        given = doors.reader_path(path)
        assert given is not None
        with pytest.raises(ql.MissingExtraError, match=package), planning_errors([given], Keyring()):
            spark.read.schema("i INT").options(**doors.reading([given])).parquet(given)


def test_the_jars_for_s3_come_without_the_bundle() -> None:
    found = packages(["s3", "azure"], "4.1.4")
    assert found["spark.jars.excludes"] == "software.amazon.awssdk:bundle"
    names = [each.rpartition(":")[0] for each in found["spark.jars.packages"].split(",")]
    assert names[0] == "org.apache.hadoop:hadoop-aws"
    assert "software.amazon.awssdk:s3" in names
    assert names[-1] == "org.apache.hadoop:hadoop-azure"
    assert packages([]) == {}


def test_connectors_are_of_the_version_of_hadoop_that_spark_has() -> None:
    import pyspark

    jars = [each.name for each in (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")]
    assert jars
    version = jars[0].removeprefix("hadoop-client-api-").removesuffix(".jar")
    for kind in ("s3", "azure"):
        assert packages([kind], pyspark.__version__)["spark.jars.packages"].split(",")[0].endswith(f":{version}")


def test_keys_of_encrypted_files_are_in_no_plan(make_lake: MakeLake, capsys: pytest.CaptureFixture[str]) -> None:
    lake = make_lake("CREATE TABLE e (i INTEGER)", "INSERT INTO e SELECT i FROM range(100) r(i)", options="ENCRYPTED")
    with sqlite3.connect(Path(lake.place.url.removeprefix("sqlite:///"))) as catalog:
        keys = [row[0] for row in catalog.execute("SELECT encryption_key FROM ducklake_data_file")]
    catalog.close()
    capsys.readouterr()
    lake.session.table("e").to_spark().explain(True)
    assert keys
    assert all(key not in capsys.readouterr().out for key in keys)
