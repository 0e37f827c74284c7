"""Change feeds on Spark: what can be asked of them, and where they are read."""

from __future__ import annotations

from typing import Any

import pytest

import quacklake as ql
from tests.engine.spark.conftest import MakeLake
from tests.engine.spark.connecting import SESSION
from tests.engine.spark.test_sessions import run

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

LIFE = (
    "CREATE TABLE t (i INTEGER, s VARCHAR)",
    "INSERT INTO t SELECT i, 'a' FROM range(30) r(i)",
    "UPDATE t SET s = 'b' WHERE i < 3",
    "DELETE FROM t WHERE i IN (5, 6)",
    "ALTER TABLE t ADD COLUMN n BIGINT DEFAULT 7",
    "INSERT INTO t SELECT i, 'c', i FROM range(30, 40) r(i)",
    "DELETE FROM t WHERE i >= 30",
    "TRUNCATE t",
)


def test_columns_predicates_limits_and_counts_are_those_of_what_comes_out(make_lake: MakeLake) -> None:
    table = make_lake(*LIFE).session.table("t")
    feed = table.changes(0)
    assert feed.to_spark().dtypes == [
        ("snapshot_id", "bigint"),
        ("rowid", "bigint"),
        ("change_type", "string"),
        ("i", "int"),
        ("s", "string"),
        ("n", "bigint"),
    ]
    assert feed.count() == feed.to_spark().count() == feed.to_arrow().num_rows == 30 + 6 + 2 + 10 + 10 + 28
    updates = table.changes(0, columns=["n", "s"], where="change_type LIKE 'update%' AND i = 1")
    assert sorted(tuple(row) for row in updates.to_spark().collect()) == [
        (3, 1, "update_postimage", 7, "b"),
        (3, 1, "update_preimage", 7, "a"),
    ]
    assert updates.count() == 2
    assert table.changes(0, where="rowid = 5").count() == 2
    assert table.changes(0, limit=5).to_spark().count() == table.changes(0, limit=5).count() == 5
    ids = [tuple(row) for row in table.changes(4, 4, columns=[]).to_spark().collect()]
    assert sorted(ids) == [(4, 5, "delete"), (4, 6, "delete")]
    assert table.changes(1, 1).to_spark().collect() == []


def test_the_driver_opens_no_delete_file_of_rows_that_died_one_by_one(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = make_lake(*LIFE[:4])

    def refuse(*_: object) -> Any:
        raise AssertionError("the driver opened a delete file")

    for module in ("quacklake.storage.positions._decode_parquet", "quacklake.engine.local.changes.read_deaths"):
        monkeypatch.setattr(module, refuse)
    assert lake.session.table("t").changes(4).to_spark().count() == 2


def test_a_column_that_is_called_as_one_of_the_feed_has_to_be_left_out(make_lake: MakeLake) -> None:
    lake = make_lake("CREATE TABLE t (i INTEGER, Change_Type VARCHAR)", "INSERT INTO t VALUES (1, 'mine')")
    table = lake.session.table("t")
    with pytest.raises(ql.InvalidInputError, match="has a column 'Change_Type'"):
        table.changes(0).to_spark()
    found = table.changes(0, columns=["i"], where="change_type = 'mine'").to_spark()
    assert [row.asDict() for row in found.collect()] == [
        {"snapshot_id": found.collect()[0][0], "rowid": 0, "change_type": "insert", "i": 1}
    ]


CONNECT = (
    SESSION
    + """
import quacklake as ql
with ql.connect({url!r}, engine="spark", spark=spark, read_only=True) as session:
    feed = session.table("t").changes(0)
    frame = feed.to_spark()
    counts = frame.groupBy("change_type").count().collect()
    print(feed.count(), sorted((row["change_type"], row["count"]) for row in counts))
    print(sorted(tuple(row) for row in session.table("t").changes(3, 3, where="i = 1").to_spark().collect()))
spark.stop()
"""
)


def test_connect_reads_the_same(make_lake: MakeLake) -> None:
    pytest.importorskip("grpc", reason="pyspark[connect] is not installed")
    done = run(CONNECT.format(url=make_lake(*LIFE).place.url))
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines() == [
        "86 [('delete', 40), ('insert', 40), ('update_postimage', 3), ('update_preimage', 3)]",
        "[(3, 1, 'update_postimage', 1, 'b'), (3, 1, 'update_preimage', 1, 'a')]",
    ]
