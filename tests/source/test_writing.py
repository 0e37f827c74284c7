"""`df.write.format("quacklake")`: one commit, or nothing."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import quacklake as ql
from quacklake.source.options import read_options
from tests.conftest import Reach
from tests.lakes import Place, snapshot_ids
from tests.source.conftest import Files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from quacklake.session import Session

pytestmark = pytest.mark.spark

Lake = tuple[dict[str, str], "Session"]


def save(
    frame: DataFrame, given: dict[str, str], table: str, mode: str = "append", **options: str | int | bool
) -> None:
    frame.write.format("quacklake").options(**given, **options).mode(mode).save(table)


def test_append_and_overwrite_are_one_snapshot_each(doors: SparkSession, lake: Lake) -> None:
    given, session = lake
    session.create_namespace("a")
    table = session.create_table("a.t", "id BIGINT, name STRING, part INT DEFAULT 3", partition_by=["part"])
    session.set_option("data_inlining_row_limit", 0)
    before = snapshot_ids(session)
    # By name, in any order and case; what is missing has its default.
    frame = doors.range(0, 1000, 1, 4).selectExpr("concat('n', id) AS NAME", "id")
    save(frame, given, "a.t", commitMessage="from Spark", commitAuthor="me")
    *older, last = session.snapshots()
    assert [each.snapshot_id for each in older] == before
    assert (last.message, last.author) == ("from Spark", "me")
    assert table.scan(where="name = 'n7' AND part = 3").to_arrow().to_pylist() == [{"id": 7, "name": "n7", "part": 3}]
    assert (table.count(), len(table.scan().files())) == (1000, 4)

    save(doors.sql("SELECT 1L AS id, NULL AS name, part FROM VALUES (1), (2) AS v(part)"), given, "a.t", "overwrite")
    assert snapshot_ids(session)[:-2] == before
    assert sorted(row["part"] for row in table.to_arrow().to_pylist()) == [1, 2]
    assert session.snapshots()[-1].changes is not None
    # To replace a table by what was read from it is the usual thing.
    save(doors.read.format("quacklake").options(**given).load("a.t").where("part = 2"), given, "a.t", "overwrite")
    assert table.to_arrow().to_pylist() == [{"id": 1, "name": None, "part": 2}]
    assert session.check() == []


def test_few_rows_go_into_the_catalog_from_however_many_tasks(
    doors: SparkSession, lake: Lake, parquet_files: Files
) -> None:
    given, session = lake
    table = session.create_table("t", "id BIGINT, x DOUBLE")
    session.set_option("data_inlining_row_limit", 5)
    save(doors.range(0, 4, 1, 4).selectExpr("id", "CAST('NaN' AS DOUBLE) AS x"), given, "t")
    assert not parquet_files()
    # Each task has few rows, and all of them together are too many.
    save(doors.range(4, 12, 1, 4).selectExpr("id", "0D AS x"), given, "t")
    assert len(parquet_files()) == 1
    assert set(table.to_arrow()["id"].to_pylist()) == set(range(12))
    assert table.count() == 12
    assert math.isnan(table.scan(where="id = 0").to_arrow()["x"][0].as_py())
    assert session.check() == []


def test_what_was_read_can_be_written(doors: SparkSession, lake: Lake) -> None:
    given, session = lake
    columns = (
        "i TINYINT, u UINT8, b UINT64, h INT128, m DECIMAL(9,2), d DATE, n TIMESTAMP_NTZ, z TIMESTAMP, c TIME, "
        "q TIMESTAMP_NS, g UUID, j JSON, v INTERVAL, r BINARY, s STRUCT<a: INT, b: ARRAY<STRING>>, k MAP<STRING, INT>"
    )
    one, two = (session.create_table(name, columns) for name in ("one", "two"))
    day = datetime(2024, 2, 29, 1, 2, 3, 456789)
    values: dict[str, tuple[Any, pa.DataType]] = {
        "i": (1, pa.int8()),
        "u": (255, pa.uint8()),
        "b": (2**64 - 1, pa.uint64()),
        "h": ("12345678901234567890123", pa.string()),
        "m": (1, pa.int32()),
        "d": (day.date(), pa.date32()),
        "n": (day, pa.timestamp("us")),
        "z": (day, pa.timestamp("us", "UTC")),
        "c": (day.time(), pa.time64("us")),
        "q": (1_700_000_000_123_456_789, pa.timestamp("ns")),
        "g": ("00000000-0000-0000-0000-00000000000a", pa.string()),
        "j": ('{"a": 1}', pa.string()),
        "v": ("1 year 2 days", pa.string()),
        "r": (b"\0\xff", pa.binary()),
        "s": ({"a": 1, "b": ["x", None]}, pa.struct([pa.field("a", pa.int32()), pa.field("b", pa.list_(pa.string()))])),
        "k": ([("k", 1)], pa.map_(pa.string(), pa.int32())),
    }
    one.append(pa.table({name: pa.array([value, None], type_) for name, (value, type_) in values.items()}))
    save(doors.read.format("quacklake").options(**given).load("one"), given, "two")
    rows = two.to_arrow()
    assert rows.schema == one.to_arrow().schema
    assert sorted(map(str, rows.to_pylist())) == sorted(map(str, one.to_arrow().to_pylist()))
    assert rows.filter(pc.field("i") == 1)["c"].to_pylist() == [day.time()]
    assert session.check() == []


def test_what_does_not_fit_is_refused_before_anything_is_written(
    doors: SparkSession, lake: Lake, parquet_files: Files
) -> None:
    given, session = lake
    session.create_table("t", "id INT, name STRING")
    session.set_option("data_inlining_row_limit", 0)
    before = session.current_snapshot
    frame = doors.range(3)
    mistakes: list[tuple[Callable[[], object], str]] = [
        (lambda: save(frame.selectExpr("1 AS id", "2 AS nam"), given, "t"), "t has no column 'nam'"),
        (lambda: save(frame.selectExpr("'x' AS id"), given, "t"), "column 'id' is int32, and string does not become"),
        (lambda: save(frame.selectExpr("id + 9999999999 AS id"), given, "t"), "InvalidInputError"),
        (lambda: save(frame, given, "nope"), "NotFoundError: there is no table main.nope"),
        (lambda: save(frame, given, "t", where="id = 1"), "the option 'where' means nothing to a write"),
        (lambda: save(frame, given, "t", "errorifexists"), 'either the "Append" or "Overwrite" mode'),
    ]
    for act, words in mistakes:
        with pytest.raises(Exception) as caught:  # noqa: PT011
            act()
        assert words.lower() in str(caught.value).lower()
    assert session.current_snapshot == before
    assert not parquet_files()


def test_new_columns_come_with_the_rows_when_asked_for(doors: SparkSession, lake: Lake) -> None:
    given, session = lake
    table = session.create_table("t", "id INT, s STRUCT<a: INT>")
    before = snapshot_ids(session)
    frame = doors.sql("SELECT 5000000000 AS id, named_struct('a', 1, 'b', 'x') AS s, 1.5D AS more")
    save(frame, given, "t", mergeSchema=True)
    assert snapshot_ids(session)[:-1] == before
    assert table.to_arrow().to_pylist() == [{"id": 5_000_000_000, "s": {"a": 1, "b": "x"}, "more": 1.5}]
    save(frame.selectExpr("1 AS other"), given, "t", schema="merge")
    assert session.table("t").schema.names == ("id", "s", "more", "other")


def test_a_failed_task_leaves_nothing_behind(
    doors: SparkSession, lake: Lake, parquet_files: Files, tmp_path: Path
) -> None:
    given, session = lake
    table = session.create_table("t", "id BIGINT")
    session.set_option("data_inlining_row_limit", 0)

    folder = tmp_path / "data"

    def fail_late(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        import time

        for batch in batches:
            if batch["id"][0].as_py() > 0:
                # The other task has written, and Spark has heard of it.
                while not list(folder.rglob("ducklake-*.parquet")):
                    time.sleep(0.1)
                time.sleep(3)
                raise ValueError("no more")
            yield batch

    before = session.current_snapshot
    with pytest.raises(Exception, match="no more"):
        save(doors.range(0, 40, 1, 2).mapInArrow(fail_late, "id BIGINT"), given, "t")
    assert (session.current_snapshot, table.count()) == (before, 0)
    assert not parquet_files()


def test_files_of_a_commit_that_went_through_stay_when_spark_takes_it_for_failed(
    lake: Lake, parquet_files: Files
) -> None:
    from pyspark.sql.types import LongType, StructField, StructType

    from quacklake.source.write import BatchWriter

    given, session = lake
    table = session.create_table("t", "id BIGINT")
    session.set_option("data_inlining_row_limit", 0)
    schema = StructType([StructField("id", LongType())])
    writer = BatchWriter(read_options({**given, "path": "t"}, "write"), schema, False)
    done, lost = (writer.write(iter([pa.record_batch({"id": [each]})])) for each in (1, 2))
    writer.commit([done])
    writer.abort([done, lost, None])
    assert len(parquet_files()) == 1
    assert table.to_arrow().to_pylist() == [{"id": 1}]


def test_a_table_that_changed_meanwhile_is_not_written_to(lake: Lake, parquet_files: Files) -> None:
    from pyspark.sql.types import LongType, StructField, StructType

    from quacklake.source.write import BatchWriter

    given, session = lake
    table = session.create_table("t", "id BIGINT")
    session.set_option("data_inlining_row_limit", 0)
    schema = StructType([StructField("id", LongType())])
    options = read_options({**given, "path": "t"}, "write")
    append, overwrite = (BatchWriter(options, schema, each) for each in (False, True))
    messages = [[each.write(iter([pa.record_batch({"id": [1]})]))] for each in (append, overwrite)]
    table.append(pa.table({"id": [7]}))
    # What an overwrite takes away is what was there when it began.
    with pytest.raises(ql.ConflictError):
        overwrite.commit(messages[1])
    overwrite.abort(messages[1])
    table.rename_column("id", "key")
    with pytest.raises(ql.ConflictError, match=r"columns or partitions of main\.t changed"):
        append.commit(messages[0])
    append.abort(messages[0])
    assert table.to_arrow()["key"].to_pylist() == [7]
    assert len(parquet_files()) == 1


def test_encrypted_lakes_are_written_and_read(tmp_path: Path, reach: Reach) -> None:
    from pyspark.sql.types import LongType, StructField, StructType

    from quacklake.source.read import BatchReader, load_schema
    from quacklake.source.write import BatchWriter

    place = Place.in_folder("sqlite", tmp_path)
    given = {**reach(place), "path": "t"}
    with ql.connect(place.url, place.data_path, engine="local", encrypted=True) as session:
        table = session.create_table("t", "id BIGINT")
        session.set_option("data_inlining_row_limit", 0)
        writer = BatchWriter(read_options(given, "write"), StructType([StructField("id", LongType())]), False)
        writer.commit([writer.write(iter([pa.record_batch({"id": [each]})])) for each in (1, 2)])
        assert sorted(row["id"] for row in table.to_arrow().to_pylist()) == [1, 2]
    options = read_options(given, "read")
    snapshot_id, schema = load_schema(options)
    reader = BatchReader(options, schema, snapshot_id)
    rows = [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]
    assert sorted(row["id"] for row in rows) == [1, 2]


def test_tasks_get_nothing_that_opens_the_catalog(lake: Lake) -> None:
    import io

    from pyspark.cloudpickle import dumps as untyped
    from pyspark.sql.types import LongType, StructField, StructType
    from pyspark.sql.worker.plan_data_source_read import write_read_func_and_partitions

    from quacklake.source.door import QuacklakeSource

    given, session = lake
    dumps: Callable[[object], bytes] = untyped
    session.create_table("t", "id BIGINT").append(pa.table({"id": [1]}))
    secret = given["url"].rsplit("/", 1)[-1].encode()
    source = QuacklakeSource({**given, "path": "t"})
    schema = source.schema()
    assert secret in dumps(source), "the planner needs it"
    reader = source.reader(schema)
    sent = io.BytesIO()
    write_read_func_and_partitions(
        sent, reader=reader, data_source=source, schema=schema, max_arrow_batch_size=100, binary_as_bytes=True
    )
    assert len(sent.getvalue()) > 1000
    assert secret not in sent.getvalue()

    writer = QuacklakeSource({**given, "path": "t"}).writer(StructType([StructField("id", LongType())]), False)
    message = writer.write(iter([pa.record_batch({"id": [1]})]))  # type: ignore[list-item]
    for_tasks, for_commit = dumps(writer), dumps(writer)
    assert secret not in for_tasks
    assert secret in for_commit
    assert secret not in dumps(message)


RETRIES = """
import json
import sys
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession

import quacklake as ql
from quacklake.source.door import QuacklakeSource
from quacklake.source.write import BatchWriter


class SpyWriter(BatchWriter):
    def write(self, iterator):
        assert self._options is None, "a task can open the catalog"
        done = super().write(iterator)
        if TaskContext.get().partitionId() == 1 and TaskContext.get().attemptNumber() == 0:
            raise ValueError("the first attempt fails after it has written")
        return done


class Spy(QuacklakeSource):
    def writer(self, schema, overwrite):
        found = super().writer(schema, overwrite)
        found.__class__ = SpyWriter
        return found


spark = SparkSession.builder.master("local[2,3]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
spark.dataSource.register(Spy)
frame = spark.range(0, 100, 1, 3)
frame.write.format("quacklake").options(**json.loads(sys.argv[1])).mode("append").save("t")
"""


@pytest.mark.slow
def test_a_task_that_is_tried_again_writes_its_rows_once(lake: Lake, tmp_path: Path) -> None:
    given, session = lake
    table = session.create_table("t", "id BIGINT")
    session.set_option("data_inlining_row_limit", 0)
    script = tmp_path / "retries.py"
    script.write_text(RETRIES)
    done = subprocess.run([sys.executable, str(script), json.dumps(given)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert table.count() == 100
    assert set(table.to_arrow()["id"].to_pylist()) == set(range(100))
    assert session.current_snapshot == session.snapshots()[-1].snapshot_id
    assert session.check() == []
