"""Every statement of the files beside this one gives what it must, on both engines, and DuckDB agrees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import quacklake as ql
from tests.lakes import Place, attached
from tests.sql.cases import Case, load_cases

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = load_cases()
READS = [case for case in CASES if case.file != "writes"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A lake with a little of everything."""
    place = Place.in_folder("sqlite", tmp_path_factory.mktemp("sql"))
    with ql.connect(place.url, place.data_path, engine="local") as session:
        session.create_namespace("shop")
        session.create_namespace("empty")
        people = session.create_table("people", "id BIGINT, name STRING, country STRING, tags ARRAY<STRING>")
        people.append(rows_of_people([1, 2]))
        people.append(rows_of_people([3, 4, 5]))
        people.delete("id = 5")
        orders = session.create_table("shop.orders", "person BIGINT, amount DOUBLE")
        orders.append(pa.table({"person": [1, 1, 3], "amount": [10.5, 20.25, 7.0]}))
        session.create_table("shop.`odd name`", "`a b` BIGINT, id BIGINT").append(pa.table({"a b": [1], "id": [9]}))
        session.create_table("shop.people", "id BIGINT")
        session.create_view("some", "SELECT id, name FROM people WHERE id > 2")
        session.create_view("few", "SELECT id, coalesce(name, '?') AS name FROM some")
        session.create_view("renamed", "SELECT id, name FROM main.people", columns=["who", "what"])
        session.create_view("ring", "SELECT 1 AS a")
        session.create_view("ring", "SELECT * FROM ring", or_replace=True)
        session.create_view("spenders", "SELECT p.id, o.amount FROM people p JOIN shop.orders o ON p.id = o.person")
        places = session.create_table("shop.places", "id BIGINT, place STRUCT<x: INT, inner: STRUCT<y: STRING>>")
        places.append(pa.table({"id": [1], "place": [{"x": 1, "inner": {"y": "q"}}]}))
    with attached(place) as connection:
        connection.execute("CREATE TABLE shop.close AS SELECT 100 AS id")
        connection.execute("CREATE TABLE close AS SELECT 1 AS id")
        connection.execute("CREATE VIEW shop.near AS SELECT id FROM close")
        connection.execute(
            "CREATE VIEW counted AS SELECT tags[id::INT + 1] AS a, tags[1] AS b, tags[-1] AS c FROM people WHERE id = 1"
        )
        connection.execute("CREATE VIEW starred AS SELECT * FROM people JOIN shop.people USING (id)")
    return place


def rows_of_people(ids: list[int]) -> pa.Table:
    every: dict[int, tuple[Any, ...]] = {
        1: ("Ada", "DE", ["x", "y"]),
        2: ("Bo", "FR", []),
        3: (None, "DE", None),
        4: ("Dee", "US", ["z"]),
        5: ("Eve", "US", ["gone"]),
    }
    tags = pa.array([every[each][2] for each in ids], pa.list_(pa.string()))
    names, countries = (pa.array([every[each][place] for each in ids], pa.string()) for place in (0, 1))
    return pa.table({"id": pa.array(ids, pa.int64()), "name": names, "country": countries, "tags": tags})


@pytest.fixture(scope="module")
def local(place: Place) -> Iterator[ql.Session]:
    with ql.connect(place.url, engine="local", read_only=True) as session:
        yield session


@pytest.fixture(scope="module")
def on_spark(place: Place, spark: SparkSession) -> Iterator[ql.Session]:
    with ql.connect(place.url, engine="spark", spark=spark, read_only=True) as session:
        yield session


def check(case: Case, session: ql.Session) -> None:
    if case.error is not None:
        kind, words = case.error
        with pytest.raises(ql.QuacklakeError) as raised:
            list(session.sql(case.statement, case.params))
        assert (type(raised.value).__name__, words) == (kind, words if words in str(raised.value) else raised.value)
        return
    compare(case, [plain(row) for row in session.sql(case.statement, case.params)])


def compare(case: Case, found: list[tuple[Any, ...]]) -> None:
    expected = [plain(row) for row in case.rows]
    if case.ordered:
        assert found == expected
    assert Counter(found) == Counter(expected)


def plain(row: Any) -> tuple[Any, ...]:
    """A row whose values compare alike whichever engine they come from."""
    return tuple(
        tuple(value) if isinstance(value, list) else float(value) if isinstance(value, int | Decimal) else value
        for value in row
    )


@pytest.mark.parametrize("case", [case for case in READS if "local" in case.engines], ids=str)
def test_the_local_engine_gives_what_the_file_says(case: Case, local: ql.Session) -> None:
    check(case, local)


@pytest.mark.spark
@pytest.mark.parametrize("case", [case for case in READS if "spark" in case.engines], ids=str)
def test_spark_gives_what_the_file_says(case: Case, on_spark: ql.Session) -> None:
    check(case, on_spark)


def test_duckdb_gives_what_the_files_say(place: Place) -> None:
    asked = [case for case in READS if case.duckdb is not None]
    assert len(asked) > 20
    with attached(place, "READ_ONLY") as connection:
        for case in asked:
            assert case.duckdb is not None
            compare(case, [plain(row) for row in connection.execute(case.duckdb).fetchall()])


@pytest.mark.spark
def test_rows_of_spark_come_before_the_last_is_computed(on_spark: ql.Session) -> None:
    late = "CASE WHEN id = 79999 THEN raise_error('late') ELSE id END"
    batches = on_spark.sql(f"SELECT id, id AS id, {late} AS n FROM range(0, 80000, 1, 8)").to_batches()
    assert next(batches).names == ["id", "id", "n"]
    assert next(batches).slice(0, 2).column(2).to_pylist() == [0, 1]
    with pytest.raises(ql.InvalidInputError, match="late"):
        list(batches)


@pytest.mark.spark
def test_batches_of_spark_have_every_value_as_it_is(on_spark: ql.Session) -> None:
    query = (
        "SELECT TIMESTAMP '2024-10-27 00:30:00Z' + make_dt_interval(0, id) AS t, TIMESTAMP_NTZ '2024-10-27 02:30:00' "
        "AS n, CAST(id AS DECIMAL(20, 3)) AS d, array(id, NULL) AS a, map('k', named_struct('x', id)) AS m, X'00' "
        "AS b, DATE '0001-01-01' AS o, 'ä' AS s FROM range(0, 5, 1, 3) ORDER BY id DESC"
    )
    batches = on_spark.sql(query).to_batches()
    schema = next(batches)
    assert pa.Table.from_batches(list(batches), schema) == on_spark.sql(query).to_arrow()


def test_long_lists_of_values_leave_out_files_and_raise_nothing(tmp_path: Path) -> None:
    with ql.connect(f"sqlite:///{tmp_path}/catalog.db", engine="local", inline_rows=0) as session:
        table = session.create_table("t", "id BIGINT, name STRING")
        for start in (0, 1_000_000):
            table.append(pa.table({"id": [start, start + 7], "name": [f"n{start}", "z"]}))
        ids = ", ".join(map(str, range(5, 5005)))
        names = ", ".join(f"'m{each}'" for each in range(3000))
        assert list(session.sql(f"SELECT id FROM t WHERE id IN ({ids})")) == [(7,)]
        assert len(table.scan(where=f"id IN ({ids})").files()) == 1
        assert len(table.scan(where=f"name IN ({names}, 'n0')").files()) == 1
        assert not table.scan(where=f"name IN ({names})").files()
        assert sorted(session.sql(f"SELECT id FROM t WHERE name IN ({names}, 'n0') OR id = 1000000")) == [
            (0,),
            (1000000,),
        ]
        done = session.sql(f"DELETE FROM t WHERE id IN ({ids})").commit
        assert done is not None
        assert done.rows_deleted == 1
        with pytest.raises(ql.InvalidInputError, match="nested too deeply"):
            session.sql("SELECT id FROM t WHERE " + " OR ".join(f"id = {each}" for each in range(3000)))


def test_a_result_comes_in_any_form(local: ql.Session) -> None:
    result = local.sql("SELECT id, name FROM people WHERE id < 3 ORDER BY id")
    expected = [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Bo"}]
    assert result.to_arrow().to_pylist() == expected
    assert result.to_pandas().to_dict("records") == expected
    assert result.to_polars().to_dicts() == expected
    assert result.commit is None


@pytest.mark.spark
def test_a_result_of_spark_comes_in_any_form(on_spark: ql.Session) -> None:
    result = on_spark.sql("SELECT id, name FROM people WHERE id < 3 ORDER BY id")
    expected = [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Bo"}]
    assert [row.asDict() for row in result.to_spark().collect()] == expected
    assert result.to_arrow().to_pylist() == expected
    assert result.to_pandas().to_dict("records") == expected
    assert result.to_polars().to_dicts() == expected


@pytest.mark.spark
def test_nothing_is_left_in_the_session_of_spark(on_spark: ql.Session, spark: SparkSession) -> None:
    before = {table.name for table in spark.catalog.listTables()}
    list(on_spark.sql("SELECT * FROM few"))
    assert {table.name for table in spark.catalog.listTables()} == before


def test_a_transaction_sees_what_it_did(tmp_path: Path) -> None:
    with ql.connect(f"sqlite:///{tmp_path}/catalog.db", engine="local") as session:
        table = session.create_table("t", "id BIGINT")
        table.append(pa.table({"id": [1]}))
        with session.transaction() as tx:
            tx.table("t").append(pa.table({"id": [2]}))
            assert sorted(tx.sql("SELECT id FROM t")) == [(1,), (2,)]
            assert sorted(session.sql("SELECT id FROM t")) == [(1,)]
        assert sorted(session.sql("SELECT id FROM t")) == [(1,), (2,)]


@pytest.mark.parametrize("params", ["abc", 3, b"x"])
def test_one_value_is_no_list_of_parameters(local: ql.Session, params: Any) -> None:
    with pytest.raises(ql.InvalidInputError, match="give a list"):
        local.sql("SELECT 1", params)
