"""Spark Connect, which has no sessions beside a session and no Java in this process, gives the same answers."""

from __future__ import annotations

import pytest

from tests.engine.spark.conftest import MakeLake
from tests.engine.spark.test_sessions import run

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

CODE = """
import sys, tempfile, os
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
assert "connect" in type(spark).__module__
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
