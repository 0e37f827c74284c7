"""A session that is started here: what it is told, and what is said when it cannot start."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import quacklake as ql
from quacklake.engine.spark import settings
from quacklake.engine.spark.engine import SparkEngine
from quacklake.engine.spark.java import require_java
from tests.engine.spark.test_sessions import run
from tests.storage.object_store import ObjectStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def untold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Spark is told nothing; the folder is where it would look."""
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "pyspark-shell")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    for name in ("SPARK_HOME", "MASTER", "SPARK_DRIVER_MEMORY", "SPARK_LOCAL_IP"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_a_session_that_is_told_nothing_stays_on_this_machine_and_takes_a_part_of_its_memory(untold: Path) -> None:
    found = settings.own_settings(["/a"])
    memory = int(found.pop("spark.driver.memory").removesuffix("m"))
    assert 1024 <= memory <= 4096
    assert found == {
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }


def test_progress_is_shown_where_a_person_can_see_it(untold: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert settings.own_settings([])["spark.ui.showConsoleProgress"] == "true"


def test_a_lake_in_a_bucket_brings_what_opens_it(untold: Path) -> None:
    assert "hadoop-aws" in settings.own_settings(["/a", "s3://b/x"])["spark.jars.packages"]


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("spark.jars.packages a:b:1", "spark.jars.packages"),
        ("  spark.driver.memory=2g", "spark.driver.memory"),
        ("spark.driver.bindAddress 0.0.0.0", "spark.driver.host"),
        ("spark.master spark://h:7077", "spark.driver.memory"),
        ("spark.ui.showConsoleProgress true", "spark.ui.showConsoleProgress"),
        ("--packages a:b:1 pyspark-shell", "spark.jars.packages"),
        ("--driver-memory 2g pyspark-shell", "spark.driver.memory"),
        ("--conf spark.driver.host=h pyspark-shell", "spark.driver.bindAddress"),
        ("--master yarn pyspark-shell", "spark.driver.host"),
    ],
)
def test_what_spark_is_told_already_is_left_alone(
    untold: Path, monkeypatch: pytest.MonkeyPatch, told: str, kept: str
) -> None:
    assert kept in settings.own_settings(["s3://b/x"])
    if told.startswith("--"):
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", told)
    else:
        (untold / "spark-defaults.conf").write_text(f"# mine\n{told}\n")
    assert kept not in settings.own_settings(["s3://b/x"])


def test_what_is_only_a_comment_is_not_told(untold: Path) -> None:
    (untold / "spark-defaults.conf").write_text("# spark.driver.memory 2g\n")
    assert "spark.driver.memory" in settings.own_settings([])


def fake_java(folder: Path, says: str, release: str | None = None) -> None:
    """A Java that only says its version."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "java").write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    (folder / "bin" / "java").chmod(0o755)
    if release is not None:
        (folder / "release").write_text(release)


@pytest.mark.parametrize(
    ("says", "release", "version"),
    [
        ('openjdk version "11.0.2" 2019-01-15', None, 11),
        ('java version "1.8.0_392"', None, 8),
        ('openjdk version "17.0.1"', 'IMPLEMENTOR="x"\nJAVA_VERSION="16.0.2"\n', 16),
        ('openjdk version "11.0.2" 2019-01-15', 'SOURCE=""\n', 11),
    ],
)
def test_a_java_that_is_too_old_is_named_with_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, release: str | None, version: int
) -> None:
    fake_java(tmp_path / "java", says, release)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    with pytest.raises(ql.MissingExtraError) as raised:
        require_java()
    assert f"Spark needs Java 17 or newer, and {tmp_path}/java/bin/java is Java {version}" in str(raised.value)
    assert "apt-get install openjdk-17-jre-headless" in str(raised.value)


def test_a_java_that_is_no_java_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path / "java", "Unable to locate a Java Runtime.")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "java" / "bin"))
    with pytest.raises(ql.MissingExtraError, match="does not say which it is"):
        require_java()


@pytest.mark.parametrize("says", ['openjdk version "17" 2021-09-14', 'openjdk version "25-ea" 2025-09-16'])
def test_a_java_that_is_new_enough_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str) -> None:
    fake_java(tmp_path / "java", says)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    require_java()


@pytest.mark.spark
def test_another_thread_finds_the_session_and_changes_none_of_its_settings(spark: SparkSession) -> None:
    before = dict(spark.conf.getAll)
    found: list[SparkSession] = []
    thread = threading.Thread(target=lambda: found.append(SparkEngine().spark))
    thread.start()
    thread.join()
    assert found[0].sparkContext is spark.sparkContext
    assert dict(spark.conf.getAll) == before


@pytest.mark.spark
def test_a_session_is_started_with_these_settings_and_again_after_it_was_stopped(tmp_path: Path) -> None:
    code = f"""
import json, logging
import quacklake as ql
logging.getLogger("py4j").setLevel(logging.ERROR)
with ql.connect("sqlite:///{tmp_path}/lake.db") as session:
    spark = session.spark
    print(json.dumps([spark.sparkContext.getConf().get(name) for name in
        ("spark.app.name", "spark.driver.host", "spark.ui.showConsoleProgress", "spark.driver.memory")]))
    spark.sparkContext.stop()
    print(session.spark.range(3).count())
"""
    done = run(code)
    assert done.returncode == 0, done.stderr[-2000:]
    first, second = done.stdout.splitlines()
    name, host, progress, memory = json.loads(first)
    assert (name, host, progress, second) == ("quacklake", "127.0.0.1", "false", "3")
    assert memory.endswith("m")


@pytest.mark.spark
def test_a_session_without_what_opens_a_bucket_is_told_which_lines_it_lacks(
    tmp_path: Path, spark: SparkSession, object_store: ObjectStore
) -> None:
    endpoint = object_store.options["aws_endpoint"]
    options = {"skip_signature": "true", "base_url": endpoint, "allow_http": "true"}
    place = "gs://bucket/x/"
    with ql.connect(f"sqlite:///{tmp_path}/lake.db", place, spark=spark, storage_options=options) as session:
        table = session.create_table("t", "id BIGINT")
        with pytest.raises(ql.MissingExtraError) as raised:
            table.append(spark.range(100))
    assert "nothing to write gs:// with" in str(raised.value)
    assert '.config("spark.jars.packages", "com.google.cloud.bigdataoss:gcs-connector:' in str(raised.value)
    assert "into the builder of the session" in str(raised.value)
