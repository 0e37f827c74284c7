"""Files that an engine hands over: name mappings, row ids, statistics and counters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import quacklake as ql
from quacklake.plan.scan import MappedName
from quacklake.plan.write import ColumnStats, InlinedInsert, RemovedFile, WriteResult, WrittenFile
from tests.commit.rows import own_rows as rows
from tests.conftest import Duck
from tests.lakes import Place, run

NAMES = (MappedName("number", 1), MappedName("things", 2, children=(MappedName("list", 3),)))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place.in_folder("sqlite", tmp_path)


@pytest.fixture
def session(place: Place) -> Iterator[ql.Session]:
    with ql.connect(place.url, place.data_path, engine="local") as session:
        session.create_table("t", "id INT, l ARRAY<INT>")
        yield session


def write(place: Place, name: str, ids: list[int]) -> WrittenFile:
    """A file without field ids, whose columns have other names than the table's."""
    path = Path(place.data_path) / "main" / "t" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    things = pa.array([[id_, None] for id_ in ids], pa.list_(pa.int32()))
    pq.write_table(pa.table({"number": pa.array(ids, pa.int32()), "things": things}), path)
    footer = int.from_bytes(path.read_bytes()[-8:-4], "little")
    stats = (ColumnStats(1, 0, len(ids), 0, str(min(ids)), str(max(ids))),)
    return WrittenFile(str(path), len(ids), path.stat().st_size, footer, stats, name_mapping=NAMES)


def stage(session: ql.Session, result: WriteResult) -> None:
    with session.transaction() as tx:
        tx.stage(tx.table("t")._entry, result)


def test_files_with_names_of_their_own_are_read_right_and_share_one_mapping(
    session: ql.Session, place: Place, duck: Duck
) -> None:
    with duck(place) as con:
        stage(session, WriteResult(files=(write(place, "a.parquet", [1, 2]), write(place, "b.parquet", [3]))))
        stage(session, WriteResult(files=(write(place, "c.parquet", [4, 5]),)))
        assert con.execute("SELECT id, l FROM t ORDER BY id").fetchall() == [(id_, [id_, None]) for id_ in range(1, 6)]
        assert con.execute("SELECT rowid FROM t ORDER BY id").fetchall() == [(id_,) for id_ in range(5)]
        run(con, "INSERT INTO t VALUES (9, [9])")
    found = rows(session)
    assert [row["mapping_id"] for row in found["ducklake_column_mapping"]] == [0]
    assert [(row["data_file_id"], row["mapping_id"]) for row in found["ducklake_data_file"]] == [(1, 0), (2, 0), (3, 0)]
    assert [row["next_file_id"] for row in found["ducklake_snapshot"]] == [0, 0, 3, 4, 5]
    tree = [
        (row["column_id"], row["source_name"], row["target_field_id"], row["parent_column"])
        for row in found["ducklake_name_mapping"]
    ]
    assert tree == [(0, "number", 1, None), (1, "things", 2, None), (2, "list", 3, 1)]
    assert session.table("t").scan(where="id < 4").to_arrow()["l"].to_pylist() == [[1, None], [2, None], [3, None]]


def widen_and_lose(session: ql.Session, place: Place) -> None:
    """Three files, of which the last says nothing of its values."""
    stage(session, WriteResult(files=(write(place, "a.parquet", [5, 20]),)))
    found = rows(session)
    assert [(row["column_id"], row["min_value"], row["max_value"]) for row in found["ducklake_table_column_stats"]] == [
        (1, "5", "20")
    ]
    stage(session, WriteResult(files=(write(place, "b.parquet", [-7, 9]),)))
    found = rows(session)
    assert [(row["min_value"], row["max_value"]) for row in found["ducklake_table_column_stats"]] == [("-7", "20")]
    (stats,) = found["ducklake_table_stats"]
    assert (stats["record_count"], stats["next_row_id"]) == (4, 4)
    unknown = write(place, "c.parquet", [99])
    stage(session, WriteResult(files=(_without_stats(unknown),)))
    assert rows(session)["ducklake_table_column_stats"] == []


def test_statistics_of_the_table_are_exact_or_not_there(session: ql.Session, place: Place) -> None:
    widen_and_lose(session, place)
    assert session.table("t").scan(where="id > 50").to_arrow()["id"].to_pylist() == [99]


def test_duckdb_finds_rows_that_statistics_no_longer_tell_of(session: ql.Session, place: Place, duck: Duck) -> None:
    widen_and_lose(session, place)
    with duck(place) as con:
        run(con, "INSERT INTO t VALUES (1, NULL)")
        assert con.execute("SELECT min(id), max(id), count(*) FROM t WHERE id > 50").fetchall() == [(99, 99, 1)]
        assert con.execute("SELECT min(id), max(id) FROM t").fetchall() == [(-7, 99)]


def _without_stats(file: WrittenFile) -> WrittenFile:
    return WrittenFile(file.path, file.record_count, file.size, file.footer_size, name_mapping=file.name_mapping)


def test_a_file_outside_the_lake_is_kept_by_its_whole_path(session: ql.Session, place: Place, tmp_path: Path) -> None:
    file = write(place, "a.parquet", [1])
    elsewhere = tmp_path / "elsewhere.parquet"
    Path(file.path).rename(elsewhere)
    moved = WrittenFile(str(elsewhere), 1, file.size, file.footer_size, file.stats, name_mapping=NAMES)
    stage(session, WriteResult(files=(moved,)))
    (row,) = rows(session)["ducklake_data_file"]
    assert (row["path"], row["path_is_relative"]) == (str(elsewhere), 0)
    assert session.table("t").to_arrow().num_rows == 1


def test_a_file_that_is_gone_already_is_a_conflict_whatever_the_snapshots_say(
    session: ql.Session, place: Place
) -> None:
    stage(session, WriteResult(files=(write(place, "a.parquet", [1]),)))
    before = rows(session)
    tx = session.transaction()
    tx.stage(tx.table("t")._entry, WriteResult(removed=(RemovedFile(77),)))
    with pytest.raises(ql.ConflictError):
        tx.commit()
    assert rows(session) == before


def test_rows_that_cannot_be_inlined_fail_before_anything_is_written(session: ql.Session, place: Place) -> None:
    before = rows(session)
    data = pa.table({"id": pa.array([1], pa.int32())})
    tx = session.transaction()
    tx.stage(tx.table("t")._entry, WriteResult(inserts=InlinedInsert(data), rows_inserted=1))
    with pytest.raises(ql.QuacklakeError):
        tx.commit()
    assert rows(session) == before


def test_an_append_on_its_own_does_not_mind_what_others_delete_meanwhile(session: ql.Session, place: Place) -> None:
    stage(session, WriteResult(files=(write(place, "a.parquet", [1, 2, 3]),)))
    with session._writing() as tx:
        tx.stage(tx.table("t")._entry, WriteResult(files=(write(place, "b.parquet", [4]),)))
        session.table("t").delete("id = 2")
    assert {row["id"] for row in session.table("t").to_arrow().to_pylist()} == {1, 3, 4}
