"""A driver in a process of its own, for a cluster whose executors know nothing of the catalog.

Gets its settings as JSON on standard input and says as JSON on standard output what it found.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import quacklake as ql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def start(settings: dict[str, str]) -> SparkSession:
    """A session on the cluster, whose tasks find other packages than the driver does."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(settings["master"]).appName("cluster")
    wanted = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.executorEnv.PYTHONPATH": settings["packages"],
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    for name, value in wanted.items():
        builder = builder.config(name, value)
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def keep_closures() -> list[bytes]:
    """Everything that Python sends to tasks from now on."""
    from pyspark.serializers import CloudPickleSerializer

    kept: list[bytes] = []
    dumps = CloudPickleSerializer.dumps

    def remember(self: Any, obj: object) -> bytes:
        data: bytes = dumps(self, obj)  # type: ignore[no-untyped-call]
        kept.append(data)
        return data

    CloudPickleSerializer.dumps = remember  # type: ignore[method-assign]
    return kept


def look_around(_: int) -> tuple[int, str]:
    """What a task can see: its own environment, and that of the executor it belongs to."""
    time.sleep(0.3)  # so that no worker takes all the tasks
    seen = [f"{name}={value}" for name, value in os.environ.items()]
    try:
        importlib.import_module("sqlalchemy")
    except ImportError as error:
        seen.append(str(error))
    executor = os.getppid()
    while executor > 1:
        place = Path(f"/proc/{executor}")
        command = (place / "cmdline").read_bytes()
        seen += [(place / name).read_bytes().decode(errors="replace") for name in ("cmdline", "environ")]
        if b"CoarseGrainedExecutorBackend" in command:
            return executor, "\n".join(seen)
        executor = int((place / "stat").read_text().rpartition(")")[2].split()[1])
    raise RuntimeError("there is no executor above this task")


def work(session: ql.Session, spark: SparkSession, archive: str) -> dict[str, Any]:
    """Read and change the tables; what the driver saw of it."""
    said: dict[str, Any] = {}
    t = session.table("t")
    # Spark's own reader and writer do this, and executors need nothing of ours for it.
    said["read"] = sorted(map(tuple, t.to_spark().collect()))
    said["sql"] = sorted(session.sql("SELECT late, count(*) FROM t WHERE b >= 40 GROUP BY late"))
    more = spark.range(200, 240).selectExpr("CAST(id AS INT) AS b", "CAST(id AS INT) AS a", "'more' AS late")
    said["appended"] = t.append(more).rows_inserted
    try:
        t.delete("b = 7")
    except ql.MissingExtraError as error:
        said["refused"] = str(error)
    spark.sparkContext.addPyFile(archive)
    said["variants"] = sorted(row.i for row in session.table("e").to_spark(where="i > 97").collect())
    said["deleted"] = t.delete("b % 10 = 3").rows_deleted
    said["updated"] = t.update({"a": "a * 2"}, "b >= 200").rows_updated
    news = spark.createDataFrame([(5, 7), (60, 8), (900, 9)], "b INT, a INT")
    merged = t.merge(news, on="b")
    said["merged"] = [merged.rows_updated, merged.rows_inserted]
    said["in_sql"] = session.sql("DELETE FROM t WHERE late = 'in'").commit.rows_deleted  # type: ignore[union-attr]
    return said


def main() -> None:
    """Run everything and say what was found."""
    settings = json.load(sys.stdin)
    spark = start(settings)
    closures = keep_closures()
    try:
        with ql.connect(settings["url"], spark=spark) as session:
            said = work(session, spark, settings["archive"])
        said["closures"] = len(closures)
        around = spark.sparkContext.parallelize(range(6), 6).map(look_around).collect()
        said["executors"] = len({executor for executor, _ in around})
        seen = b"\n".join(
            [*closures, *(text.encode() for _, text in around), repr(spark.sparkContext.getConf().getAll()).encode()]
        )
        said["leaks"] = [word for word in settings["secrets"] if word.encode() in seen]
        # What must be in there, if this looks at the right thing.
        words = ("quacklake.engine.spark", "main.t", "SPARK_HOME=", "a task wants the catalog")
        said["sees"] = [word for word in words if word.encode() in seen]
    finally:
        spark.stop()
    sys.stdout.write(json.dumps(said))


if __name__ == "__main__":
    main()
