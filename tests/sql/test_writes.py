"""The statements of a whole life, one after the other, on both engines; DuckDB reads what each of them left."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import quacklake as ql
from tests.lakes import Place, attached
from tests.sql.cases import load_cases
from tests.sql.test_select import check, compare, plain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = [case for case in load_cases() if case.file == "writes"]
ENGINES = ["local", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)])]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_life_in_sql(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    place = Place.in_folder("sqlite", tmp_path)
    spark: SparkSession | None = request.getfixturevalue("spark") if engine == "spark" else None
    seen = 0
    with ql.connect(place.url, place.data_path, engine=engine, spark=spark) as session:  # type: ignore[arg-type]
        # DuckDB refuses databases that catalogs share.
        is_lake = session._catalog.catalog_id is None
        for case in (each for each in CASES if engine in each.engines):
            *before, last = case.statements
            for statement in before:
                list(session.sql(statement, case.params))
            check(case.of(last), session)
            if case.duckdb is not None and last.startswith("SELECT"):
                seen += 1
                if is_lake:
                    with attached(place) as connection:
                        compare(case, [plain(row) for row in connection.execute(last).fetchall()])
        assert not session.check()
    assert seen > 10


@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_statement_did_is_told(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    spark: SparkSession | None = request.getfixturevalue("spark") if engine == "spark" else None
    url = f"sqlite:///{tmp_path}/catalog.db"
    with ql.connect(url, engine=engine, spark=spark) as session:  # type: ignore[arg-type]
        session.sql("CREATE TABLE t AS SELECT id FROM range(10)")
        for statement, counts in {
            "INSERT INTO t SELECT id + 10 FROM t WHERE id < 3": (3, 0, 0),
            "INSERT INTO t VALUES (77)": (1, 0, 0),
            "UPDATE t SET id = -id WHERE id IN (1, 2)": (0, 2, 0),
            "DELETE FROM t WHERE id = 77": (0, 0, 1),
            "MERGE INTO t USING (SELECT 5 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE": (0, 0, 1),
        }.items():
            done = session.sql(statement).commit
            assert done is not None
            assert done.snapshot_id == session.current_snapshot
            assert (done.rows_inserted, done.rows_updated, done.rows_deleted) == counts


def test_an_insert_from_a_query_is_of_one_snapshot(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/catalog.db"
    with ql.connect(url, engine="local") as session, ql.connect(url, engine="local") as other:
        table = session.create_table("t", "id BIGINT")
        table.append(pa.table({"id": [1, 2]}))
        session.sql("BEGIN")
        session.sql("INSERT INTO t SELECT id + 10 FROM t")
        other.table("t").delete("id = 1")
        with pytest.raises(ql.ConflictError, match="t"):
            session.sql("COMMIT")
        assert sorted(session.sql("SELECT id FROM t")) == [(2,)]


def test_rows_that_depend_on_nothing_go_in_beside_other_writers(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/catalog.db"
    with ql.connect(url, engine="local") as session:
        session.sql("CREATE TABLE t (id BIGINT)")
        done = session.sql("INSERT INTO t VALUES (1)").commit
        assert done is not None
        assert done.rows_inserted == 1


def test_a_transaction_in_sql_ends_with_the_session(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/catalog.db"
    with ql.connect(url, engine="local", inline_rows=0) as session:
        session.sql("CREATE TABLE t (id BIGINT)")
        session.sql("BEGIN")
        session.sql("INSERT INTO t VALUES (1)")
        with pytest.raises(ql.InvalidInputError, match="a transaction is open already"):
            session.sql("BEGIN")
    with ql.connect(url, engine="local") as session:
        assert not list(session.sql("SELECT * FROM t"))
    assert not list(tmp_path.rglob("*.parquet"))


def test_a_block_of_python_is_not_ended_by_sql(tmp_path: Path) -> None:
    with ql.connect(f"sqlite:///{tmp_path}/catalog.db", engine="local") as session:
        session.sql("CREATE TABLE t (id BIGINT)")
        with session.transaction() as tx:
            tx.sql("INSERT INTO t VALUES (1)")
            with pytest.raises(ql.InvalidInputError, match="ends with its block"):
                tx.sql("COMMIT")
        assert list(session.sql("SELECT * FROM t")) == [(1,)]


def test_a_session_that_only_reads_refuses_to_write(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/catalog.db"
    with ql.connect(url, engine="local") as session:
        session.sql("CREATE TABLE t (id BIGINT)")
    with ql.connect(url, engine="local", read_only=True) as session:
        for statement in ("INSERT INTO t VALUES (1)", "DELETE FROM t", "DROP TABLE t", "BEGIN"):
            with pytest.raises(ql.ReadOnlyError):
                session.sql(statement)


def test_a_change_gives_no_rows(tmp_path: Path) -> None:
    with ql.connect(f"sqlite:///{tmp_path}/catalog.db", engine="local") as session:
        result = session.sql("CREATE TABLE t (id BIGINT)")
        assert not list(result)
        with pytest.raises(ql.InvalidInputError, match="no rows"):
            result.to_arrow()
