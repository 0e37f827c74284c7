"""Spark Connect, which has no sessions beside a session and no Java in this process, gives the same answers."""

from __future__ import annotations

import pytest

from tests.conftest import Duck
from tests.engine.spark.conftest import MakeLake
from tests.engine.spark.connecting import SESSION
from tests.engine.spark.test_sessions import run

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

CODE = (
    SESSION
    + """
import quacklake as ql
for given in (spark, None):
    with ql.connect({url!r}, engine="spark", spark=given, read_only=True) as session:
        t = session.table("t")
        frame = t.scan(row_ids=True).to_spark()
        print(frame.columns, frame.count(), t.count())
        print([tuple(row) for row in t.to_spark(["b", "u", "late"], where="a >= 1095").orderBy("b").collect()])
        print(t.to_spark(["b"], where="b < 3").toArrow().column("b").to_pylist())
        e = session.table("e").to_spark(where="i > 97").orderBy("i")
        print(e.dtypes, [row.i for row in e.collect()])
        print(sorted(row.place for row in session.table("h").to_spark().collect()))
spark.stop()
"""
)


def test_connect_reads_what_classic_spark_reads(make_lake: MakeLake, tmp_path: object) -> None:
    pytest.importorskip("grpc", reason="pyspark[connect] is not installed")
    lake = make_lake(
        "CREATE TABLE t (a INTEGER, b INTEGER, u UUID)",
        "INSERT INTO t SELECT i, 1000 + i, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11' FROM range(50) r(i)",
        "INSERT INTO t SELECT i, 1000 + i, NULL FROM range(50, 100) r(i)",
        "ALTER TABLE t RENAME COLUMN a TO c",
        "ALTER TABLE t RENAME COLUMN b TO a",
        "ALTER TABLE t RENAME COLUMN c TO b",
        "DELETE FROM t WHERE b IN (1, 60, 97)",
        "ALTER TABLE t ADD COLUMN late VARCHAR DEFAULT 'it''s'",
        "CALL lk.set_option('data_inlining_row_limit', 10)",
        "INSERT INTO t VALUES (-5, 5000, NULL, 'in')",
        "CREATE TABLE e (i INTEGER, v VARIANT)",
        "CALL lk.set_option('data_inlining_row_limit', 0)",
        "INSERT INTO e SELECT i, i::VARIANT FROM range(100) r(i)",
        "COPY (SELECT i, 'p' || i % 3 AS place FROM range(9) r(i)) TO '$files/hive' (FORMAT parquet, "
        "PARTITION_BY place)",
        "CREATE TABLE h (i BIGINT, place VARCHAR)",
        "CALL ducklake_add_data_files('lk', 'h', '$files/hive/**/*.parquet', hive_partitioning => true)",
        "DELETE FROM h WHERE i > 4",
    )
    done = run(CODE.format(url=lake.place.url))
    assert done.returncode == 0, done.stderr[-3000:]
    expected = [
        "['rowid', 'snapshot_id', 'b', 'a', 'u', 'late'] 98 98",
        '[(-5, None, \'in\'), (95, None, "it\'s"), (96, None, "it\'s"), (98, None, "it\'s"), (99, None, "it\'s")]',
        "[0, 2, -5]",
        "[('i', 'int'), ('v', 'string')] [98, 99]",
        "['p0', 'p0', 'p1', 'p1', 'p2']",
    ]
    assert done.stdout.splitlines() == expected * 2


CHANGES = (
    SESSION
    + """
import quacklake as ql
from quacklake.engine.local.dml import LocalWriter
for verb in ("delete", "update", "merge"):
    setattr(LocalWriter, verb, None)
with ql.connect({url!r}, engine="spark", spark=spark) as session:
    t = session.table("t")
    print(t.delete("b % 10 = 3").rows_deleted, t.delete("b = 1 OR b = 55").rows_deleted)
    print(t.update({{"a": "a * 2"}}, "b >= 40").rows_updated)
    frame = spark.createDataFrame([(5, 7), (60, 8), (900, 9)], "b INT, a INT")
    done = t.merge(frame, on="b")
    print(done.rows_updated, done.rows_inserted)
spark.stop()
"""
)


def test_connect_changes_rows(make_lake: MakeLake, duck: Duck) -> None:
    pytest.importorskip("grpc", reason="pyspark[connect] is not installed")
    lake = make_lake(
        "CREATE TABLE t (a INTEGER, b INTEGER, tags VARCHAR[])",
        "INSERT INTO t SELECT i, 1000 + i, ['x'] FROM range(50) r(i)",
        "INSERT INTO t SELECT i, 1000 + i, NULL FROM range(50, 100) r(i)",
        "ALTER TABLE t RENAME COLUMN a TO c",
        "ALTER TABLE t RENAME COLUMN b TO a",
        "ALTER TABLE t RENAME COLUMN c TO b",
    )
    lake.session.close()
    done = run(CHANGES.format(url=lake.place.url))
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines() == ["10 2", "53", "2 1"]
    expected = {b: (b + 1000) * (2 if b >= 40 else 1) for b in range(100) if b % 10 != 3 and b not in (1, 55)}
    with duck(lake.place) as connection:
        rows = connection.execute("SELECT rowid, b, a FROM t").fetchall()
    assert {b: a for _, b, a in rows} == expected | {5: 7, 60: 8, 900: 9}
    assert all(row_id == b for row_id, b, _ in rows if b < 100)
