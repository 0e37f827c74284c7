"""Streams in and out of tables, run by Spark: every row arrives once, also when everything is killed in between."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import quacklake as ql
from tests.conftest import Reach
from tests.lakes import Place
from tests.servers import PASSWORD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from quacklake.session import Session
    from quacklake.table import Table

pytestmark = pytest.mark.spark

Lake = tuple[dict[str, str], "Session"]


def copy(spark: SparkSession, given: dict[str, str], checkpoint: Path, **options: str | int | bool) -> StreamingQuery:
    """A query that copies the table `t` into the table `copy`."""
    rows = spark.readStream.format("quacklake").options(**given, **options).load("t")
    return rows.writeStream.format("quacklake").options(**given, checkpointLocation=str(checkpoint)).start("copy")


def ids(table: Table) -> list[int]:
    return sorted(value for value in table.to_arrow()["id"].to_pylist() if value is not None)


def test_a_copy_follows_its_source_batch_by_batch(doors: SparkSession, lake: Lake, tmp_path: Path) -> None:
    given, session = lake
    table, target = (session.create_table(name, "id BIGINT, name STRING") for name in ("t", "copy"))
    table.append(pa.table({"id": [1, 2], "name": ["a", None]}))
    query = copy(doors, given, tmp_path / "c", maxSnapshotsPerTrigger=1)
    try:
        query.processAllAvailable()
        assert ids(target) == [1, 2]
        session.set_option("data_inlining_row_limit", 0)
        for each in (3, 4):
            table.append(pa.table({"id": [each], "name": ["b"]}))
        query.processAllAvailable()
    finally:
        query.stop()
    assert ids(target) == [1, 2, 3, 4]
    commits = [each for each in session.snapshots() if each.extra and query.id in each.extra]
    assert [each.extra for each in commits] == [f'{{"query": "{query.id}", "batch": {each}}}' for each in range(3)]

    # The same query again: it has its id and its place from the checkpoint, and holds to the limit from the start.
    for each in (5, 6):
        table.append(pa.table({"id": [each], "name": ["c"]}))
    before = len(session.snapshots())
    query = copy(doors, given, tmp_path / "c", maxSnapshotsPerTrigger=1)
    try:
        query.processAllAvailable()
        assert (ids(target), len(session.snapshots())) == ([1, 2, 3, 4, 5, 6], before + 2)
        table.delete("id = 1")
        with pytest.raises(Exception, match="UnsupportedError: snapshot") as caught:
            query.processAllAvailable()
        assert "deleted or updated rows of main.t" in str(caught.value)
    finally:
        query.stop()
    # A new checkpoint is a new query: its first batch is not taken for that of the other.
    query = copy(doors, given, tmp_path / "another")
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    assert ids(target) == [1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
    assert session.check() == []


def test_an_aggregate_takes_the_place_of_the_one_before(doors: SparkSession, lake: Lake, tmp_path: Path) -> None:
    given, session = lake
    table, totals = (
        session.create_table("t", "id BIGINT, part INT"),
        session.create_table("totals", "part INT, n INT64"),
    )
    table.append(pa.table({"id": [1, 2, 3], "part": [1, 1, 2]}))
    rows = doors.readStream.format("quacklake").options(**given).load("t")
    writer = rows.groupBy("part").count().withColumnRenamed("count", "n").writeStream.format("quacklake")
    query = writer.outputMode("complete").options(**given, checkpointLocation=str(tmp_path / "c")).start("totals")
    try:
        query.processAllAvailable()
        table.append(pa.table({"id": [4], "part": [2]}))
        query.processAllAvailable()
    finally:
        query.stop()
    found = totals.to_arrow().sort_by("part").to_pylist()
    assert found == [{"part": 1, "n": 2}, {"part": 2, "n": 2}]


def test_what_is_there_now_is_one_batch(doors: SparkSession, lake: Lake, tmp_path: Path) -> None:
    given, session = lake
    table, target = (session.create_table(name, "id BIGINT, name STRING") for name in ("t", "copy"))

    def run(**options: int) -> None:
        rows = doors.readStream.format("quacklake").options(**given, **options).load("t")
        writer = rows.writeStream.format("quacklake").options(**given, checkpointLocation=str(tmp_path / "c"))
        writer.trigger(availableNow=True).start("copy").awaitTermination()

    for each in range(3):
        table.append(pa.table({"id": [each], "name": ["n"]}))
        if not each:
            run()
    run(maxSnapshotsPerTrigger=1)
    assert ids(target) == [0, 1]
    run()
    assert ids(target) == [0, 1, 2]


def test_limited_runs_over_what_is_there_lose_nothing(doors: SparkSession, lake: Lake, tmp_path: Path) -> None:
    given, session = lake
    table, target = (session.create_table(name, "id BIGINT, name STRING") for name in ("t", "copy"))
    first = session.current_snapshot + 1
    for each in range(3):
        table.append(pa.table({"id": [each], "name": ["n"]}))

    def run(**trigger: Any) -> int:
        before = len(session.snapshots())
        options: dict[str, Any] = {**given, "startingSnapshot": first, "maxSnapshotsPerTrigger": 1}
        rows = doors.readStream.format("quacklake").options(**options).load("t")
        writer = rows.writeStream.format("quacklake").options(**given, checkpointLocation=str(tmp_path / "c"))
        query = writer.trigger(**trigger).start("copy")
        if "availableNow" in trigger:
            query.awaitTermination()
        else:
            query.processAllAvailable()
            query.stop()
        return len(session.snapshots()) - before

    for each in range(3):
        assert run(availableNow=True) == 1
        assert ids(target) == [*range(each + 1)]
    # Its own writes to the other table are snapshots too, which have nothing for it.
    assert run(availableNow=True) == 0
    for each in range(3, 6):
        table.append(pa.table({"id": [each], "name": ["n"]}))
    assert run(processingTime="0 seconds") == 3
    assert ids(target) == [*range(6)]


def test_a_batch_that_spark_asks_for_again_is_left_out(lake: Lake, tmp_path: Path) -> None:
    from pyspark.sql.types import LongType, StructField, StructType

    from quacklake.engine.spark.task_output import append_in_task
    from quacklake.source.options import read_options
    from quacklake.source.stream_write import StreamWriter
    from quacklake.source.write import Written

    given, session = lake
    table = session.create_table("t", "id BIGINT")
    session.set_option("data_inlining_row_limit", 0)
    schema = StructType([StructField("id", LongType())])

    def commit(query: str, batch: int, value: int) -> None:
        options = read_options({**given, "path": "t", "checkpointLocation": "c"}, "stream write")
        # For the tasks and for the commit Spark makes one each.
        target = StreamWriter(options, schema, False)._target
        rows = [pa.record_batch({"id": [value]})]
        written = Written(append_in_task(target.plan, options.secrets, rows), target, query)
        empty = Written(append_in_task(target.plan, options.secrets, []), target, query)
        StreamWriter(options, schema, False).commit([written, empty], batch)

    for query, batch, value in (("q", 0, 1), ("q", 1, 2), ("q", 1, 2), ("q", 0, 1), ("other", 0, 3)):
        commit(query, batch, value)
    assert ids(table) == [1, 2, 3]
    assert len(list((tmp_path / "data").rglob("*.parquet"))) == 3
    assert session.check() == []
    with pytest.raises(ql.UnsupportedError, match="without the word of every task"):
        StreamWriter(read_options({**given, "path": "t"}, "stream write"), schema, False).commit([None], 2)


def test_a_numbered_write_happens_once(doors: SparkSession, lake: Lake) -> None:
    given, session = lake
    table = session.create_table("t", "id BIGINT")

    def write(number: int, name: str = "orders") -> None:
        writer = doors.range(3).write.format("quacklake").mode("append")
        writer.options(**given, txnAppId=name, txnVersion=number).save("t")

    for number in (0, 0, 1, 0):
        write(number)
    assert table.count() == 6
    write(0, "others")
    assert table.count() == 9
    with pytest.raises(Exception, match="txnAppId and txnVersion belong together"):
        doors.range(1).write.format("quacklake").mode("append").options(**given, txnAppId="orders").save("t")


KILLED = """
import json
import os
import signal
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from quacklake.source.door import QuacklakeSource
from quacklake.source.stream_write import StreamWriter

given, folder = json.loads(sys.argv[1]), Path(sys.argv[2])
moment, batch, start = sys.argv[3], int(sys.argv[4]), sys.argv[5:]


def die(now):
    if now == moment:
        for pid in (folder / "pids").read_text().split():
            os.kill(int(pid), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)


class Killed(StreamWriter):
    def write(self, iterator):
        done = super().write(iterator)
        if list(folder.glob("checkpoint/offsets/%d" % batch)):
            die("in a task")
        return done

    def commit(self, messages, batchId):
        if batchId == batch:
            die("before the commit")
        super().commit(messages, batchId)
        if batchId == batch:
            die("after the commit")


class Source(QuacklakeSource):
    def streamWriter(self, schema, overwrite):
        found = super().streamWriter(schema, overwrite)
        found.__class__ = Killed
        return found


builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
(folder / "pids").write_text("%d %d" % (spark.sparkContext._gateway.proc.pid, os.getpid()))
spark.dataSource.register(Source)
reader = spark.readStream.format("quacklake").options(**given).option("maxSnapshotsPerTrigger", 1)
rows = (reader.option("startingSnapshot", start[0]) if start else reader).load("t")
writer = rows.repartition(2).writeStream.format("quacklake").options(**given)
query = writer.option("checkpointLocation", str(folder / "checkpoint")).start("copy")
query.processAllAvailable()
query.stop()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend_name", "moments", "start"),
    [
        pytest.param("sqlite", ("before the commit", "in a task", "after the commit"), ("1",), id="sqlite"),
        # The first batch, which is all that the table holds.
        pytest.param("postgresql", ("after the commit",), (), id="postgresql", marks=pytest.mark.server),
    ],
)
def test_a_query_that_is_killed_goes_on_and_writes_every_row_once(
    backend_name: str,
    moments: tuple[str, ...],
    start: tuple[str, ...],
    new_place: Callable[[str], Place],
    reach: Reach,
    tmp_path: Path,
) -> None:
    place = new_place(backend_name)
    script = tmp_path / "killed.py"
    script.write_text(KILLED)

    def run(moment: str, batch: int) -> subprocess.CompletedProcess[str]:
        arguments = [sys.executable, str(script), json.dumps(reach(place)), str(tmp_path), moment, str(batch), *start]
        return subprocess.run(arguments, capture_output=True, text=True, timeout=300)

    with ql.connect(place.url, place.data_path, engine="local") as session:
        table, target = (session.create_table(name, "id BIGINT, name STRING") for name in ("t", "copy"))
        for each in range(2):
            session.set_option("data_inlining_row_limit", 0 if each % 2 else 100)
            table.append(pa.table({"id": [each * 100 + step for step in range(20)], "name": ["n"] * 20}))
        # Each run is killed in a later batch than the run before, and the rows of that batch come once.
        for batch, moment in enumerate(moments, start=len(start)):
            table.append(pa.table({"id": [10_000 + batch], "name": ["late"]}))
            done = run(moment, batch)
            assert done.returncode == -9, (moment, done.returncode, done.stderr[-2000:])
            table.append(pa.table({"id": [20_000 + batch], "name": ["later"]}))
        done = run("never", -1)
        assert done.returncode == 0, done.stderr[-2000:]
        assert PASSWORD not in done.stdout + done.stderr
        assert ids(target) == ids(table)
        assert target.count() == len(set(ids(target))) == 40 + 2 * len(moments)
        assert session.check() == []
