"""Files from elsewhere become part of a table, where they are and only when they fit."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import quacklake as ql
from tests.conftest import Duck
from tests.lakes import Place

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int32()), "name": ["ann", None, "cid"]})


@pytest.fixture
def session(backend: Place) -> Iterator[ql.Session]:
    with ql.connect(backend.url, backend.data_path, engine="local") as session:
        yield session


def rows(table: ql.Table, where: str | None = None) -> list[tuple[Any, ...]]:
    found = table.scan(where=where).to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=str)


def write(path: Path, table: pa.Table) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)
    return str(path)


def test_rows_of_added_files_are_the_tables_and_duckdb_agrees(
    session: ql.Session, backend: Place, duck: Duck, tmp_path: Path
) -> None:
    table = session.create_table("t", "id BIGINT, name STRING")
    table.append(pa.table({"id": [10], "name": ["old"]}))
    done = table.add_files([write(tmp_path / "in" / "a.parquet", ROWS)])
    assert (done.files_added, done.rows_inserted) == (1, 3)
    assert rows(table) == [(1, "ann"), (10, "old"), (2, None), (3, "cid")]
    assert rows(table, "id = 3") == [(3, "cid")]
    assert sorted(row["rowid"] for row in table.scan(row_ids=True).to_arrow().to_pylist()) == [0, 1, 2, 3]
    session.close()
    with duck(backend) as connection:
        found = connection.execute("SELECT count(*), min(id), max(id), min(name), max(name) FROM t").fetchall()
        assert found == [(4, 1, 10, "ann", "old")]
        assert connection.execute("SELECT name FROM t WHERE id = 1").fetchall() == [("ann",)]
        connection.execute("DELETE FROM t WHERE id = 2")
    with ql.connect(backend.url, engine="local") as again:
        assert rows(again.table("t")) == [(1, "ann"), (10, "old"), (3, "cid")]


def test_nested_columns_are_found_by_name(session: ql.Session, backend: Place, duck: Duck, tmp_path: Path) -> None:
    table = session.create_table("t", "k INT, s STRUCT<a: INT, l: ARRAY<STRING>>, m MAP<STRING, INT>")
    data = pa.table(
        {
            "M": pa.array([[("x", 1)]], pa.map_(pa.string(), pa.int32())),
            "s": [{"l": ["u", None], "a": 7}],
            "k": pa.array([1], pa.int8()),
        },
    )
    data = data.set_column(1, "s", data["s"].cast(pa.struct([("l", pa.list_(pa.string())), ("a", pa.int32())])))
    table.add_files(write(tmp_path / "n.parquet", data))
    assert rows(table) == [(1, {"a": 7, "l": ["u", None]}, [("x", 1)])]
    session.close()
    with duck(backend) as connection:
        assert connection.execute("FROM t").fetchall() == [(1, {"a": 7, "l": ["u", None]}, {"x": 1})]


def test_values_in_the_path_serve_as_columns_and_partitions(
    session: ql.Session, backend: Place, duck: Duck, tmp_path: Path
) -> None:
    table = session.create_table("t", "id INT, name STRING, day INT, c STRING", partition_by=["day", "c"])
    write(tmp_path / "day=07" / "c=a%2Fb" / "x.parquet", ROWS)
    write(tmp_path / "day=8" / "c=__HIVE_DEFAULT_PARTITION__" / "y.parquet", ROWS)
    assert table.add_files(f"{tmp_path}/*/*/*.parquet").files_added == 2
    assert rows(table, "id = 1") == [(1, "ann", 7, "a/b"), (1, "ann", 8, None)]
    assert rows(table, "c = 'a/b' AND id = 2") == [(2, None, 7, "a/b")]
    assert len(table.scan(where="day = 8").files()) == 1
    session.close()
    with duck(backend) as connection:
        found = connection.execute("SELECT day, c, count(*) FROM t GROUP BY ALL ORDER BY day").fetchall()
        assert found == [(7, "a/b", 3), (8, None, 3)]
        assert connection.execute("SELECT count(*) FROM t WHERE day = 7").fetchall() == [(3,)]


def test_footers_tell_the_partition_of_a_file(session: ql.Session, tmp_path: Path) -> None:
    table = session.create_table("t", "id INT, at TIMESTAMP_NTZ", partition_by=["month(at)"])
    stamps = [datetime(2024, 5, 1), datetime(2024, 5, 31, 23)]
    table.add_files(write(tmp_path / "may.parquet", pa.table({"id": pa.array([1, 2], pa.int32()), "at": stamps})))
    assert rows(table, "at > TIMESTAMP_NTZ '2024-05-30 00:00:00'") == [(2, stamps[1])]
    both = pa.table({"id": pa.array([1, 2], pa.int32()), "at": [datetime(2024, 5, 1), datetime(2025, 5, 1)]})
    with pytest.raises(ql.InvalidInputError, match="several partitions"):
        table.add_files(write(tmp_path / "mays.parquet", both))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"id": pa.array([1], pa.int64()), "name": ["x"]}, "holds BIGINT in 'id', the table int32"),
        ({"id": pa.array([1], pa.int32()), "name": [1.5]}, "holds DOUBLE in 'name', the table varchar"),
        ({"id": pa.array([1], pa.int32())}, "has no column 'name'"),
        ({"id": pa.array([1], pa.int32()), "name": ["x"], "more": [1]}, "a column 'more' that the table lacks"),
        ({"id": pa.array([None], pa.int32()), "name": ["x"]}, "has NULL in column 'id'"),
        ({"id": pa.array([], pa.int32()), "name": pa.array([], pa.string())}, "has no rows"),
    ],
)
def test_what_does_not_fit_is_refused_and_stays(
    session: ql.Session, tmp_path: Path, columns: dict[str, Any], message: str
) -> None:
    table = session.create_table("t", "id INT NOT NULL, name STRING")
    path = write(tmp_path / "in" / "x.parquet", pa.table(columns))
    before = session.current_snapshot
    with pytest.raises(ql.InvalidInputError, match=message):
        table.add_files([path])
    assert (Path(path).exists(), session.current_snapshot, table.count()) == (True, before, 0)


def test_missing_and_extra_columns_are_allowed_on_request(session: ql.Session, tmp_path: Path) -> None:
    table = session.create_table("t", "id INT, note STRING")
    path = write(tmp_path / "x.parquet", ROWS)
    table.add_files([path], allow_missing=True, ignore_extra_columns=True)
    assert rows(table) == [(1, None), (2, None), (3, None)]


def test_a_file_is_added_once(session: ql.Session, tmp_path: Path) -> None:
    table = session.create_table("t", "id INT, name STRING")
    path = write(tmp_path / "x.parquet", ROWS)
    with pytest.raises(ql.InvalidInputError, match="given twice"):
        table.add_files([path, path])
    table.add_files([path])
    with pytest.raises(ql.AlreadyExistsError, match="is part of"):
        table.add_files([path])
    assert table.count() == 3


def test_a_rolled_back_file_stays_where_it_was(session: ql.Session, tmp_path: Path) -> None:
    session.create_table("t", "id INT, name STRING")
    path = write(tmp_path / "x.parquet", ROWS)
    tx = session.transaction()
    tx.table("t").add_files([path])
    assert tx.table("t").count() == 3
    tx.table("t").truncate()
    tx.rollback()
    assert Path(path).exists()
    assert session.table("t").count() == 0


def test_bounds_that_change_with_the_type_are_left_out(
    session: ql.Session, backend: Place, duck: Duck, tmp_path: Path
) -> None:
    """0.1 of four bytes is not 0.1 of eight."""
    table = session.create_table("t", "x DOUBLE, long STRING")
    text = "z" * 80
    table.add_files([write(tmp_path / "f.parquet", pa.table({"x": pa.array([0.1], pa.float32()), "long": [text]}))])
    value = rows(table)[0][0]
    assert rows(table, f"x = {value!r}D") == [(value, text)]
    session.close()
    with duck(backend) as connection:
        assert connection.execute("SELECT max(x), max(long) FROM t").fetchall() == [(value, text)]


def test_a_file_of_another_lake_with_row_ids_of_its_own_is_refused(session: ql.Session, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    duckdb.execute(
        f"COPY (SELECT 1 AS id, 'a' AS name, 7::BIGINT AS _ducklake_internal_row_id) TO '{path}'"
        " (FIELD_IDS {id: 1, name: 2, _ducklake_internal_row_id: 2147483540})"
    )
    table = session.create_table("t", "id INT, name STRING")
    with pytest.raises(ql.InvalidInputError, match="row ids"):
        table.add_files([str(path)])


def test_a_missing_file_is_named(session: ql.Session, tmp_path: Path) -> None:
    table = session.create_table("t", "id INT, name STRING")
    with pytest.raises(ql.StorageError, match=r"nowhere\.parquet"):
        table.add_files([str(tmp_path / "nowhere.parquet")])
    with pytest.raises(ql.StorageError, match="no file"):
        table.add_files(f"{tmp_path}/*.parquet")


def test_nanoseconds_with_a_zone_are_refused_for_no_reader_keeps_them(session: ql.Session, tmp_path: Path) -> None:
    table = session.create_table("t", "at TIMESTAMP")
    path = write(tmp_path / "x.parquet", pa.table({"at": pa.array([1_001], pa.timestamp("ns", "UTC"))}))
    with pytest.raises(ql.InvalidInputError, match="'at'"):
        table.add_files(path)
    assert table.count() == 0


@pytest.mark.parametrize("paths", [None, 3, [None], ["a.parquet", 3]])
def test_what_is_no_path_is_refused_by_name(session: ql.Session, paths: Any) -> None:
    table = session.create_table("t", "id INT")
    with pytest.raises(ql.InvalidInputError, match="no list of files"):
        table.add_files(paths)


def test_a_path_object_is_a_path(session: ql.Session, tmp_path: Path) -> None:
    table = session.create_table("t", "id INT, name STRING")
    write(tmp_path / "x.parquet", ROWS)
    assert table.add_files(tmp_path / "x.parquet").rows_inserted == 3
    (tmp_path / "y.parquet").write_text("no Parquet at all")
    with pytest.raises(ql.StorageError, match="damaged"):
        table.add_files(tmp_path / "y.parquet")
