"""A change on Spark happens once and as a whole, or not at all."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import quacklake as ql
from quacklake.engine.spark import removing
from tests.conftest import Duck
from tests.disks import noise
from tests.lakes import Place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.fixture
def place(new_place: Callable[[str], Place], duck: Duck) -> Place:
    """A table with two files, one of which has dead rows."""
    place = new_place("sqlite")
    with duck(place) as connection:
        for statement in (
            "CALL lk.set_option('data_inlining_row_limit', 0)",
            "CREATE TABLE t (id INTEGER NOT NULL, v INTEGER)",
            "INSERT INTO t SELECT i, i FROM range(50) r(i)",
            "INSERT INTO t SELECT i, i FROM range(50, 100) r(i)",
            "DELETE FROM t WHERE id = 7",
        ):
            connection.execute(statement).fetchall()
    return place


@pytest.fixture
def session(place: Place, spark: SparkSession) -> Iterator[ql.Session]:
    with ql.connect(place.url, engine="spark", spark=spark) as session:
        yield session


def stored(place: Place) -> set[str]:
    return {path.name for path in Path(place.data_path).rglob("*") if path.is_file()}


def pairs(spark: SparkSession, *ids: int) -> Any:
    return spark.createDataFrame([(each, -each) for each in ids], "id INT, v INT")


def test_two_rows_of_the_source_for_one_row_are_refused(session: ql.Session, spark: SparkSession, place: Place) -> None:
    table, before, files = session.table("t"), session.current_snapshot, stored(place)
    with pytest.raises(ql.MergeCardinalityError, match=r"main\.t \(1 rows, row id 3 is one\)"):
        table.merge(pairs(spark, 3, 3, 4, 200), on="id")
    assert (session.current_snapshot, stored(place)) == (before, files)


def test_two_rows_are_no_matter_where_no_clause_acts_on_them(session: ql.Session, spark: SparkSession) -> None:
    done = session.table("t").merge(
        pairs(spark, 3, 3, 4, 200, 200),
        on="id",
        when=[ql.when_matched(delete=True, where="t.id = 4"), ql.when_not_matched()],
    )
    assert (done.rows_deleted, done.rows_inserted) == (1, 2)
    assert session.table("t").count() == 100


FAILING: dict[str, Callable[[ql.Table, Any], Any]] = {
    "a division by zero": lambda t, _: t.update({"v": "1 div (id - 99)"}),
    "a number that is too large": lambda t, _: t.update({"v": "v + 2147483647"}, "id > 10"),
    "a NULL where there may be none": lambda t, _: t.update({"id": "nullif(id, 60)"}),
    "a fraction for a whole number": lambda t, _: t.update({"v": "v / 2"}, "id > 20"),
    "a text for a number": lambda t, _: t.update({"v": "'x'"}),
    "a condition that fails": lambda t, _: t.delete("1 div (id - 99) > 5"),
    "an insert that fails": lambda t, frame: t.merge(
        frame, on="id", when=[ql.when_matched(delete=True), ql.when_not_matched(insert={"id": "s.id", "v": "1 div 0"})]
    ),
    "an insert without a value": lambda t, frame: t.merge(
        frame, on="id", when=[ql.when_matched(delete=True), ql.when_not_matched(insert={"v": "s.v"})]
    ),
}


@pytest.mark.parametrize("what", FAILING)
def test_what_fails_leaves_nothing(what: str, session: ql.Session, spark: SparkSession, place: Place) -> None:
    before, files = session.current_snapshot, stored(place)
    with pytest.raises(ql.InvalidInputError):
        FAILING[what](session.table("t"), pairs(spark, 5, 6, 500))
    assert (session.current_snapshot, stored(place)) == (before, files)


def test_a_write_that_fails_takes_back_the_deletes(
    session: ql.Session, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ql.StorageError("the disk is full")

    before, files = session.current_snapshot, stored(place)
    with monkeypatch.context() as patch:
        patch.setattr("quacklake.engine.spark.changing.write_frame", fail)
        with pytest.raises(ql.StorageError, match="full"):
            session.table("t").update({"v": "0"}, "id % 2 = 0")
    assert (session.current_snapshot, stored(place)) == (before, files)


def test_a_task_that_runs_twice_counts_once(
    session: ql.Session, place: Place, duck: Duck, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare = removing._work

    def prepare_twice(*given: Any) -> Any:
        work = prepare(*given)

        def twice(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
            rows = list(batches)
            list(work(rows))
            return work(rows)

        return twice

    with monkeypatch.context() as patch:
        patch.setattr(removing, "_work", prepare_twice)
        assert session.table("t").delete("id % 2 = 0").rows_deleted == 50
    assert len([name for name in stored(place) if "delete" in name]) == 3  # the one before is kept for a while
    with duck(place) as connection:
        assert connection.execute("SELECT count(*), sum(id % 2) FROM t").fetchone() == (49, 49)


def test_the_source_is_computed_once(session: ql.Session, spark: SparkSession, place: Place, duck: Duck) -> None:
    counter = spark.sparkContext.accumulator(0)

    def count(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        for batch in batches:
            counter.add(batch.num_rows)
            yield batch

    source = spark.range(0, 200, 2).selectExpr("CAST(id AS INT) AS id", "-1 AS v").mapInArrow(count, "id INT, v INT")
    clauses = [
        ql.when_matched(update="*"),
        ql.when_not_matched(),
        ql.when_not_matched_by_source(delete=True, where="t.id < 50"),
    ]
    done = session.table("t").merge(source, on="id", when=clauses)
    assert (done.rows_updated, done.rows_inserted, done.rows_deleted) == (50, 50, 24)
    assert counter.value == 100
    with duck(place) as connection:
        assert connection.execute("SELECT count(*), count(*) FILTER (v = -1) FROM t").fetchone() == (125, 100)


def test_a_transaction_changes_its_own_rows(session: ql.Session, spark: SparkSession, place: Place, duck: Duck) -> None:
    with session.transaction() as tx:
        table = tx.table("t")
        table.append(spark.range(100, 140).selectExpr("CAST(id AS INT) AS id", "0 AS v"))
        assert table.delete("id % 20 = 0").rows_deleted == 7
        assert table.update({"v": "id + 1000"}, "id BETWEEN 90 AND 110").rows_updated == 20
        assert table.delete("id IN (1, 2, 91, 101)").rows_deleted == 4
        assert table.merge(pairs(spark, 92, 102, 500), on="id").rows_updated == 2
    with duck(place) as connection:
        rows = dict(connection.execute("SELECT id, v FROM t").fetchall())
        ids = connection.execute("SELECT rowid FROM t").fetchall()
    expected = {i: (i if i < 100 else 0) for i in range(140) if i != 7 and i % 20}
    expected |= {i: i + 1000 for i in range(90, 111) if i % 20}
    for gone in (1, 2, 91, 101):
        del expected[gone]
    assert rows == expected | {92: -92, 102: -102, 500: -500}
    assert len({row_id for (row_id,) in ids}) == len(ids) == len(rows)


def test_two_writers_delete_from_one_file_in_turn(session: ql.Session, place: Place, duck: Duck) -> None:
    """The second delete file takes the place of the first, and older snapshots stay as they were."""
    for each in range(3):
        session.table("t").delete(f"id % 9 = {each}")
    moments = range(len(session.snapshots()))[-3:]
    with duck(place) as connection:
        found = [connection.execute(f"SELECT count(*) FROM t AT (VERSION => {at})").fetchone() for at in moments]
    alive = [i for i in range(100) if i != 7]
    assert found == [(len([i for i in alive if i % 9 > each]),) for each in range(3)]


def test_the_settings_of_the_session_change_no_meaning(session: ql.Session, spark: SparkSession, place: Place) -> None:
    settings = {"spark.sql.parser.escapedStringLiterals": "true", "spark.sql.ansi.enabled": "false"}
    before = {key: str(spark.conf.get(key)) for key in settings}
    table, files = session.table("t"), stored(place)
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        assert table.delete(r"concat('a\\', id) = 'a\\5'").rows_deleted == 1
        for expression in ("v + 2147483647", "1 div (id - 60)", "CAST('x' AS INT)"):
            with pytest.raises(ql.InvalidInputError):
                table.update({"v": expression}, "id > 50")
        with pytest.raises(ql.InvalidInputError, match="overflow"):
            table.merge(pairs(spark, 60), on="id", when=[ql.when_matched(update={"v": "t.v + 2147483647"})])
        assert {key: spark.conf.get(key) for key in settings} == settings
    finally:
        for key, value in before.items():
            spark.conf.set(key, value)
    assert table.scan(where="id = 5").count() == 0
    assert len(stored(place) - files) == 1


FILLING: dict[str, Callable[[ql.Table, DataFrame], object]] = {
    "append": lambda table, frame: table.append(frame),
    "overwrite": lambda table, frame: table.overwrite(frame),
    "merge": lambda table, frame: table.merge(frame, on="id"),
}


def free_again(disk: Path, spark: SparkSession) -> None:
    """Wait for the room of files that are gone: Java has them open until it looks for garbage."""
    for _ in range(50):
        if shutil.disk_usage(disk).free > 1 << 20:
            return
        spark._jvm.System.gc()  # type: ignore[union-attr]
        time.sleep(0.1)
    raise AssertionError("the disk is still full")


@pytest.mark.parametrize("act", FILLING)
def test_a_full_disk_is_named_and_nothing_stays(
    act: str, small_disk: Path, tmp_path: Path, spark: SparkSession
) -> None:
    url = f"sqlite:///{tmp_path}/catalog.db"
    with ql.connect(url, f"{small_disk}/", engine="spark", spark=spark, inline_rows=0) as session:
        table = session.create_table("t", "id BIGINT, v BINARY")
        table.append(spark.createDataFrame(noise(1_000)))
        before = sorted(path for path in small_disk.rglob("*") if path.is_file())
        snapshot = session.current_snapshot
        with pytest.raises(ql.StorageError, match="No space left"):
            FILLING[act](table, spark.createDataFrame(noise(20_000, 500)))
        assert session.current_snapshot == snapshot
        assert sorted(path for path in small_disk.rglob("*") if path.is_file()) == before
        free_again(small_disk, spark)
        table.append(spark.createDataFrame(noise(10, 5_000)))
        assert table.count() == 1_010
        assert not session.check()
