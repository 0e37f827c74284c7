"""`sql`, `append` and `changes`."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import quacklake as ql
from quacklake.cli.app import app
from tests.cli.conftest import Run
from tests.engine.spark.conftest import spark as spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def own(tmp_path: Path) -> str:
    """A lake that may be changed."""
    url = f"sqlite:///{tmp_path}/own.db"
    with ql.connect(url, engine="local") as session:
        session.create_table("t", "id BIGINT, name STRING, day DATE, n DECIMAL(5, 2) DEFAULT 1.5")
    return url


def test_sql_prints_rows_in_every_format(quacklake: Run) -> None:
    query = "SELECT id, amount FROM events WHERE id = 12"
    assert quacklake("sql", query).out.split() == ["id", "amount", "12", "3.00"]
    assert quacklake("sql", query, "--json").out == '{"id": 12, "amount": "3.00"}\n'
    assert quacklake("--json", "sql", query).out == '{"id": 12, "amount": "3.00"}\n'
    assert quacklake("sql", query, "--format", "csv", "--engine", "local").out == "id,amount\n12,3.00\n"
    assert quacklake("sql", "SELECT id FROM events WHERE id < 0", "--format", "csv").out == "id\n"
    assert quacklake("sql", "SELECT 1 AS a, 2 AS a, 3 AS a", "--json").out == '{"a": 1, "a_1": 2, "a_2": 3}\n'
    assert quacklake("sql", "SHOW CATALOGS", "--json").out == '{"catalog": "lake"}\n'


def test_values_have_names_and_types(quacklake: Run) -> None:
    query = "SELECT :a AS a, :b AS b, :c AS c, :d AS d, :e AS e"
    values = ["a=5", "b=x' OR '1'='1", 'c="5"', "d=null", "e=[1]"]
    found = quacklake("sql", query, "--json", *(word for value in values for word in ("--param", value)))
    assert json.loads(found.out) == {"a": 5, "b": "x' OR '1'='1", "c": "5", "d": None, "e": "[1]"}
    assert quacklake("sql", "SELECT 1", "--param", "nothing").code == 2


def test_statements_change_the_lake_one_after_the_other(quacklake: Run, own: str) -> None:
    found = quacklake(
        "sql", "INSERT INTO t (id) VALUES (1), (2); -- a ; here\nSELECT ';' AS s, sum(id) FROM t;", lake=own
    )
    assert found.code == 0
    assert found.out.split() == ["s", "sum(id)", ";", "3"]
    assert found.err == "snapshot 2, 2 rows inserted\n"
    assert json.loads(quacklake("sql", "DELETE FROM t WHERE id = 1", "--json", lake=own).out)["rows_deleted"] == 1
    found = quacklake("sql", "DELETE FROM t; SELECT * FROM nowhere; DROP TABLE t", lake=own)
    assert found.code == 1
    assert "statement 2 of 3: there is no table main.nowhere" in found.err
    assert quacklake("sql", "SELECT count(*) AS n FROM t", "--json", lake=own).out == '{"n": 0}\n'


def test_a_transaction_that_is_left_open_is_rolled_back(quacklake: Run, own: str) -> None:
    found = quacklake("sql", "BEGIN; INSERT INTO t (id) VALUES (1)", lake=own)
    assert found.code == 1
    assert "rolled back" in found.err
    assert quacklake("sql", "SELECT * FROM t", "--json", lake=own).out == ""


def test_statements_come_from_a_file_or_a_pipe(quacklake: Run, own: str, tmp_path: Path) -> None:
    script = tmp_path / "some.sql"
    script.write_text("INSERT INTO t (id) VALUES (1);\nSELECT id FROM t")
    assert quacklake("sql", "-f", str(script), "--json", lake=own).out.endswith('{"id": 1}\n')
    piped = CliRunner().invoke(app, ["--lake", own, "sql", "--json"], input="SELECT max(id) AS m FROM t;")
    assert piped.stdout == '{"m": 1}\n'
    assert quacklake("sql", "SELECT 1", "--file", str(script), lake=own).code == 2
    assert quacklake("sql", "--file", str(tmp_path / "none.sql"), lake=own).code == 2
    assert quacklake("sql", " ; ", lake=own).code == 2


def test_nothing_is_changed_in_the_past(quacklake: Run, own: str) -> None:
    found = quacklake("--at", "1", "sql", "INSERT INTO t (id) VALUES (1)", lake=own)
    assert (found.code, "as of 1" in found.err) == (1, True)


def test_a_secret_in_a_statement_is_never_printed(quacklake: Run, own: str) -> None:
    for statement in (
        "CREATE SECRET x (TYPE s3, KEY_ID 'someone' SECRET 'hushhush')",
        "CREATE SECRET x (TYPE s3, NONSENSE 'hushhush')",
        "CREATE SECRET x (TYPE s3, SECRET 'hushhush'",
        "ATTACH 'postgresql://u:hushhush@127.0.0.1:1/db' AS x",
    ):
        found = quacklake("sql", statement, lake=own)
        assert found.code == 1
        assert "hushhush" not in found.out + found.err


@pytest.mark.parametrize("kind", ["parquet", "csv", "csv.gz", "tsv", "json", "jsonl"])
def test_append_takes_the_rows_of_a_file(quacklake: Run, own: str, tmp_path: Path, kind: str) -> None:
    file = tmp_path / f"rows.{kind}"
    rows = [{"id": 1, "name": "a,b", "day": "2024-01-31"}, {"id": 2, "name": None, "day": None}]
    if kind == "parquet":
        days = pa.array(["2024-01-31", None]).cast(pa.date32())
        pq.write_table(pa.table({"id": [1, 2], "name": ["a,b", None], "day": days}), file)
    elif "json" in kind:
        lines = "\n".join(map(json.dumps, rows))
        file.write_text(lines if kind == "jsonl" else json.dumps(rows))
    else:
        mark = "\t" if kind == "tsv" else ","
        text = f'id{mark}name{mark}day\n1{mark}"a,b"{mark}2024-01-31\n2{mark}{mark}\n'
        file.write_bytes(gzip.compress(text.encode()) if kind.endswith("gz") else text.encode())
    assert quacklake("append", "t", str(file), lake=own).err == "2 rows, snapshot 2\n"
    with ql.connect(own, engine="local") as session:
        found = session.sql("SELECT id, name, CAST(day AS STRING), CAST(n AS STRING) FROM t ORDER BY id")
        assert list(found) == [(1, "a,b", "2024-01-31", "1.50"), (2, None, None, "1.50")]


def test_append_refuses_what_does_not_fit(quacklake: Run, own: str, tmp_path: Path) -> None:
    for name, text, why in (
        ("a.csv", "id,nobody\n1,2\n", "nobody"),
        ("b.csv", "id\none\n", "one"),
        ("c.csv", "id\n1.5\n", "column id takes no 1.5"),
        ("g.csv", "n\n1.555\n", "column n takes no 1.555"),
        ("d.json", '{"id": 1.5}', "id"),
        ("e.xml", "<a/>", "ending"),
        ("f.parquet", "no parquet", "cannot be read"),
    ):
        (tmp_path / name).write_text(text)
        found = quacklake("append", "t", str(tmp_path / name), lake=own)
        assert (found.code, why in found.err, "should not happen" in found.err) == (1, True, False), (name, found.err)
    assert quacklake("append", "t", str(tmp_path / "none.csv"), lake=own).code == 1
    assert quacklake("sql", "SELECT * FROM t", "--json", lake=own).out == ""


def test_changes_shows_what_happened(quacklake: Run) -> None:
    found = quacklake("changes", "events", "--from", "4", "--where", "id < 2", "--columns", "id", "--json")
    rows = [json.loads(line) for line in found.out.splitlines()]
    assert sorted((row["change_type"], row["id"], row["snapshot_id"]) for row in rows) == [
        ("delete", 0, 4),
        ("delete", 1, 4),
    ]
    assert quacklake("changes", "events", "--from", "2", "--to", "2", "--limit", "3", "--json").out.count("\n") == 3
    assert quacklake("changes", "events").code == 2


@pytest.mark.spark
@pytest.mark.slow
def test_rows_of_spark_are_printed_as_they_come(quacklake: Run, spark: SparkSession) -> None:
    late = "CASE WHEN id = 79999 THEN raise_error('late') ELSE id END"
    broken = quacklake("sql", "--engine", "spark", "--json", f"SELECT {late} AS id FROM range(0, 80000, 1, 8)")
    assert broken.code == 1
    assert "late" in broken.err
    assert broken.out.splitlines()[:2] == ['{"id": 0}', '{"id": 1}']
    whole = quacklake("sql", "--engine", "spark", "--json", "SELECT id, -id AS n FROM range(30000) ORDER BY n")
    assert [json.loads(line)["id"] for line in whole.out.splitlines()] == [*range(29999, -1, -1)]
    assert quacklake("sql", "--engine", "spark", "--format", "csv", "SELECT id FROM empty").out == "id\n"
