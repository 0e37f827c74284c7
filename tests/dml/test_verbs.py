"""Every verb that changes rows, on every catalog database, seen by us and by DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import quacklake as ql
from tests.conftest import Duck
from tests.lakes import Place, snapshot_ids

PEOPLE = pa.table({"id": [1, 2, 3], "name": ["ann", "bob", None], "age": [31, None, 7]})
MANY = pa.table({"id": range(100, 150), "name": [f"n{i}" for i in range(50)], "age": [i % 5 for i in range(50)]})


@pytest.fixture
def session(backend: Place) -> Iterator[ql.Session]:
    with ql.connect(backend.url, backend.data_path, engine="local") as session:
        yield session


@pytest.fixture
def people(session: ql.Session) -> ql.Table:
    table = session.create_table("people", "id INT NOT NULL, name STRING, age INT")
    table.append(PEOPLE)
    return table


def rows(table: ql.Table, where: str | None = None) -> list[tuple[Any, ...]]:
    found = table.scan(where=where).to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=str)


@pytest.mark.parametrize("frame", [PEOPLE, PEOPLE.to_batches()[0], PEOPLE.to_pandas(), pl.from_arrow(PEOPLE)])
def test_append_takes_every_kind_of_frame(session: ql.Session, frame: Any) -> None:
    table = session.create_table("people", "id INT, name STRING, age INT")
    before = snapshot_ids(session)
    done = table.append(frame)
    assert (done.snapshot_id, done.rows_inserted) == (session.current_snapshot, 3)
    assert snapshot_ids(session) == [*before, done.snapshot_id]
    assert rows(table) == [(1, "ann", 31), (2, "bob", None), (3, None, 7)]


def test_a_reader_is_read_once_and_streams(people: ql.Table) -> None:
    assert people.append(MANY.to_reader(max_chunksize=7)).rows_inserted == 50
    assert people.count() == 53


def test_columns_are_matched_by_name_and_missing_ones_get_their_default(session: ql.Session) -> None:
    table = session.create_table("t", "a INT, b STRING DEFAULT 'none', c INT")
    table.append(pa.table({"c": [3], "A": [1]}))
    assert rows(table) == [(1, "none", 3)]


def test_delete_says_how_many_rows_went(people: ql.Table) -> None:
    people.append(MANY)
    assert people.delete("age = 1").rows_deleted == 10
    assert people.delete("id >= 100").rows_deleted == 40
    assert people.delete("id > 1000") == ql.Commit(None)
    assert rows(people) == [(1, "ann", 31), (2, "bob", None), (3, None, 7)]


def test_update_sets_what_it_says_and_keeps_row_ids(people: ql.Table) -> None:
    people.append(MANY)
    before = {row["id"]: row["rowid"] for row in people.scan(row_ids=True).to_arrow().to_pylist()}
    done = people.update({"age": "age + 1", "name": "upper(name)"}, "id IN (1, 120)")
    assert done.rows_updated == 2
    assert rows(people, "id IN (1, 120)") == [(1, "ANN", 32), (120, "N20", 1)]
    after = {row["id"]: row["rowid"] for row in people.scan(row_ids=True).to_arrow().to_pylist()}
    assert after == before


def test_merge_upserts(people: ql.Table) -> None:
    done = people.merge(pa.table({"id": [2, 9], "age": [50, 60]}), on="id")
    assert (done.rows_updated, done.rows_inserted) == (1, 1)
    assert rows(people) == [(1, "ann", 31), (2, "bob", 50), (3, None, 7), (9, None, 60)]


def test_merge_finds_columns_of_the_source_in_any_case(people: ql.Table) -> None:
    source = pa.table({"ID": pa.array([2], pa.int32()), "Name": ["bea"], "AGE": pa.array([9], pa.int32())})
    assert people.merge(source, on="Id").rows_updated == 1
    assert rows(people, "id = 2") == [(2, "bea", 9)]


def test_merge_obeys_every_kind_of_clause(people: ql.Table) -> None:
    source = pa.table({"id": [1, 2, 8, 9], "add": [1, 0, 5, 6], "gone": [False, True, False, True]})
    done = people.merge(
        source,
        on="t.id = s.id",
        when=[
            ql.when_matched(delete=True, where="s.gone"),
            ql.when_matched(update={"age": "t.age + s.add"}),
            ql.when_not_matched(insert={"id": "s.id", "name": "'new'"}, where="NOT s.gone"),
            ql.when_not_matched_by_source(update={"name": "'left'"}, where="t.age < 10"),
        ],
    )
    assert (done.rows_updated, done.rows_deleted, done.rows_inserted) == (2, 1, 1)
    assert rows(people) == [(1, "ann", 32), (3, "left", 7), (8, "new", None)]


def test_merge_of_two_rows_into_one_is_refused_before_anything_happens(people: ql.Table, session: ql.Session) -> None:
    before = session.current_snapshot
    with pytest.raises(ql.MergeCardinalityError, match="people"):
        people.merge(pa.table({"id": [1, 1], "age": [1, 2]}), on="id")
    assert session.current_snapshot == before
    assert rows(people)[0] == (1, "ann", 31)


def test_overwrite_replaces_everything_or_what_matches(people: ql.Table) -> None:
    people.overwrite(pa.table({"id": [7]}), where="age IS NULL")
    assert rows(people) == [(1, "ann", 31), (3, None, 7), (7, None, None)]
    done = people.overwrite(pa.table({"id": [5]}))
    assert (done.rows_deleted, done.rows_inserted) == (3, 1)
    assert rows(people) == [(5, None, None)]


def test_overwrite_partitions_leaves_the_others_alone(session: ql.Session) -> None:
    table = session.create_table("t", "day DATE, v INT", partition_by=["month(day)"])
    table.append(pd.DataFrame({"day": pd.to_datetime(["2024-01-05", "2024-02-05", "2024-03-05"]).date, "v": [1, 2, 3]}))
    table.overwrite_partitions(pa.table({"day": pa.array([19758], pa.int32()).cast(pa.date32()), "v": [20]}))
    assert sorted(row[1] for row in rows(table)) == [1, 3, 20]


def test_truncate_empties_the_table_but_not_its_past(people: ql.Table, session: ql.Session) -> None:
    people.append(MANY)
    before = session.current_snapshot
    assert people.truncate().rows_deleted == 53
    assert people.count() == 0
    assert session.table("people", at=before).count() == 53


def test_schema_merge_adds_columns_and_widens_types_in_the_same_commit(people: ql.Table, session: ql.Session) -> None:
    before = snapshot_ids(session)
    done = people.append(pa.table({"id": [2**40], "mail": ["a@b"]}), schema="merge")
    assert snapshot_ids(session) == [*before, done.snapshot_id]
    assert [(column.name, str(column.type)) for column in session.table("people").schema] == [
        ("id", "int64"),
        ("name", "varchar"),
        ("age", "int32"),
        ("mail", "varchar"),
    ]
    assert rows(session.table("people"), "mail IS NOT NULL") == [(2**40, None, None, "a@b")]


BAD_FRAMES = {
    "an unknown column": (pa.table({"id": [1], "nope": [1]}), "'nope'"),
    "a type that does not fit": (pa.table({"id": ["x"]}), "'id'"),
    "a value that does not fit": (pa.table({"id": [2**40]}), "people"),
    "NULL where it may not be": (pa.table({"id": pa.array([None], pa.int32())}), "may not be NULL"),
    "a required column that is missing": (pa.table({"name": ["x"]}), "'id'"),
    "something that is no frame": (object(), "is not a frame"),
}


@pytest.mark.parametrize("case", BAD_FRAMES)
def test_bad_data_is_refused_and_leaves_nothing_behind(people: ql.Table, session: ql.Session, case: str) -> None:
    frame, words = BAD_FRAMES[case]
    before = session.current_snapshot
    with pytest.raises(ql.InvalidInputError, match=words):
        people.append(frame)
    assert session.current_snapshot == before
    folder = Path(session._catalog.data_path)
    assert not [path for path in folder.rglob("*") if path.is_file()]


def test_bad_words_are_refused_by_name(people: ql.Table) -> None:
    with pytest.raises(ql.NotFoundError, match="nope"):
        people.update({"nope": "1"})
    with pytest.raises(ql.NotFoundError, match="nope"):
        people.delete("nope = 1")
    with pytest.raises(ql.InvalidInputError, match="no column"):
        people.update({})
    with pytest.raises(ql.InvalidInputError, match="after one without a condition"):
        people.merge(PEOPLE, on="id", when=[ql.when_matched(delete=True), ql.when_matched(update="*")])
    with pytest.raises(ql.InvalidInputError, match="exactly one action"):
        ql.when_matched(update="*", delete=True)
    with pytest.raises(ql.InvalidInputError, match="is not a condition"):
        people.delete("id + 1")


def test_the_past_and_a_read_only_session_cannot_be_written(
    people: ql.Table, session: ql.Session, backend: Place
) -> None:
    with pytest.raises(ql.ReadOnlyError):
        session.table("people", at=snapshot_ids(session)[1]).append(PEOPLE)
    with ql.connect(backend.url, read_only=True, engine="local") as reader, pytest.raises(ql.ReadOnlyError):
        reader.table("people").delete("id = 1")


def test_a_transaction_is_one_snapshot_over_many_tables(people: ql.Table, session: ql.Session) -> None:
    session.create_table("log", "what STRING")
    before = snapshot_ids(session)
    with session.transaction(message="nightly", author="etl") as tx:
        tx.table("people").delete("id = 1")
        tx.table("people").append(MANY)
        tx.table("log").append(pa.table({"what": ["loaded"]}))
        assert tx.table("people").count() == 52
        assert session.table("people").count() == 3
    *older, newest = session.snapshots()
    assert [each.snapshot_id for each in older] == before
    assert (newest.snapshot_id, newest.author, newest.message) == (tx.done.snapshot_id, "etl", "nightly")
    assert (session.table("people").count(), session.table("log").count()) == (52, 1)


def test_a_transaction_that_fails_leaves_no_rows_and_no_files(people: ql.Table, session: ql.Session) -> None:
    before = session.current_snapshot

    def fail_halfway() -> None:
        with session.transaction() as tx:
            tx.table("people").append(MANY)
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail_halfway()
    assert (session.current_snapshot, session.table("people").count()) == (before, 3)
    assert not [path for path in Path(session._catalog.data_path).rglob("*") if path.is_file()]


def test_duckdb_reads_what_we_wrote(people: ql.Table, session: ql.Session, backend: Place, duck: Duck) -> None:
    people.append(MANY)
    people.delete("age = 2")
    people.update({"name": "'x'"}, "id < 120")
    people.merge(pa.table({"id": [1, 999], "age": [1, 2]}), on="id")
    ours = rows(people)
    history = [session.table("people", at=at).count() for at in snapshot_ids(session)[1:]]
    session.close()
    with duck(backend) as connection:
        found = connection.execute("SELECT id, name, age FROM lk.people").fetchall()
        assert sorted(found, key=str) == ours
        for at, count in enumerate(history, 1):
            assert connection.execute(f"SELECT count(*) FROM lk.people AT (VERSION => {at})").fetchone() == (count,)


def test_decimals_are_computed_exactly_and_rounded_to_the_column(session: ql.Session) -> None:
    table = session.create_table("t", "v DECIMAL(10,2)")
    table.append(pa.table({"v": pa.array([Decimal("10.01"), Decimal("0.05")], pa.decimal128(10, 2))}))
    table.update({"v": "v * 1.1"})
    assert rows(table) == [(Decimal("0.06"),), (Decimal("11.01"),)]


def test_a_text_that_looks_like_a_parameter_is_a_text(people: ql.Table) -> None:
    people.append(pa.table({"id": [50, 51], "name": ["$p0", "a'$p1"], "age": [1, 1]}))
    people.append(MANY)
    assert people.update({"age": "2"}, "name = '$p0'").rows_updated == 1
    assert people.delete("name = 'a''$p1'").rows_deleted == 1
    assert rows(people, "id IN (50, 51)") == [(50, "$p0", 2)]


def test_few_rows_that_the_catalog_cannot_hold_go_into_a_file(session: ql.Session, backend: Place, duck: Duck) -> None:
    """PostgreSQL has no text with a NUL character; the others take the row."""
    table = session.create_table("t", "id INT, words ARRAY<STRING>")
    table.append(pa.table({"id": [1, 2], "words": [["a\0b"], ["c"]]}))
    table.update({"id": "id + 10"}, "id = 1")
    table.merge(pa.table({"id": [11, 3], "words": [["d\0"], ["e\0"]]}), on="id")
    assert rows(table) == [(11, ["d\0"]), (2, ["c"]), (3, ["e\0"])]
    ids = {row["id"]: row["rowid"] for row in table.scan(row_ids=True).to_arrow().to_pylist()}
    assert (ids[11], ids[2]) == (0, 1)
    session.close()
    with duck(backend) as connection:
        found = connection.execute("SELECT id, words FROM t ORDER BY id").fetchall()
    assert found == [(2, ["c"]), (3, ["e\0"]), (11, ["d\0"])]


def test_update_and_merge_reach_several_partitions_at_once(session: ql.Session, backend: Place, duck: Duck) -> None:
    table = session.create_table("t", "id INT, part STRING, v INT", partition_by=["part"])
    session.set_option("data_inlining_row_limit", 0)
    table.append(pa.table({"id": range(30), "part": ["a", "b", "c"] * 10, "v": [0] * 30}))
    before = {row["id"]: row["rowid"] for row in table.scan(row_ids=True).to_arrow().to_pylist()}
    assert table.update({"v": "1"}, "id < 6").rows_updated == 6
    done = table.merge(pa.table({"id": range(27, 33), "part": ["a", "b", "c"] * 2, "v": [9] * 6}), on="id")
    assert (done.rows_updated, done.rows_inserted) == (3, 3)
    after = {row["id"]: row["rowid"] for row in table.scan(row_ids=True).to_arrow().to_pylist()}
    assert {id_: after[id_] for id_ in before} == before
    assert len(set(after.values())) == 33
    session.close()
    with duck(backend) as connection:
        found = connection.execute("SELECT v, count(*) FROM t GROUP BY v ORDER BY v").fetchall()
    assert found == [(0, 21), (1, 6), (9, 6)]


def test_parts_of_nested_columns_are_written_as_they_are(session: ql.Session, backend: Place, duck: Duck) -> None:
    """DuckDB reads structs from the wrong place when a list holds but a part of them."""
    table = session.create_table("t", "k INT, l ARRAY<STRUCT<z: BIGINT>>")
    everything = pl.DataFrame({"k": range(100), "l": [[{"z": number}] for number in range(100)]})
    structs = pa.StructArray.from_arrays([pa.array(range(100))], ["z"]).slice(50, 20)
    lists = pa.ListArray.from_arrays(pa.array(range(21), pa.int32()), structs)
    table.append(everything.filter(pl.col("k").is_between(30, 49)))
    table.append(pa.table({"k": range(50, 70), "l": lists}))
    expected = [(number, [{"z": number}]) for number in range(30, 70)]
    assert rows(table) == expected
    found = table.scan(where="k = 60").to_arrow()
    assert found.select(["l"]).to_pylist() == [{"l": [{"z": 60}]}]
    assert duckdb.sql("SELECT l FROM found").fetchall() == [([{"z": 60}],)]
    session.close()
    with duck(backend) as connection:
        assert connection.execute("FROM t ORDER BY k").fetchall() == expected


def test_nanoseconds_are_refused_inside_nested_columns_too(session: ql.Session) -> None:
    table = session.create_table("t", "l ARRAY<TIMESTAMP>")
    fine = pa.array([[1_000, 2_001]], pa.list_(pa.timestamp("ns", "UTC")))
    with pytest.raises(ql.InvalidInputError, match="microsecond"):
        table.append(pa.table({"l": fine}))
    assert table.append(pa.table({"l": pa.array([[1_000]], fine.type)})).rows_inserted == 1


def test_an_encrypted_lake_takes_every_change_and_duckdb_reads_it(backend: Place, duck: Duck) -> None:
    with ql.connect(backend.url, backend.data_path, engine="local", encrypted=True) as session:
        table = session.create_table("people", "id INT, name STRING, age INT")
        table.append(MANY)
        table.delete("id < 115")
        table.delete("id >= 135")
        table.update({"name": "upper(name)"}, "id BETWEEN 116 AND 130")
        table.merge(pa.table({"id": [134, 900], "age": [1, 2]}), on="id")
        assert table.count() == 21
        assert rows(table, "id = 120") == [(120, "N20", 0)]
        assert session.check() == []
        files = {path.read_bytes()[:4] for path in Path(backend.data_path).rglob("*.parquet")}
        assert files == {b"PARE"}
    with duck(backend) as connection:
        found = connection.execute("SELECT count(*), min(id), max(id), count(*) FILTER (name = 'N20') FROM people")
        assert found.fetchall() == [(21, 115, 900, 1)]


def test_a_column_with_a_name_that_changes_need_is_refused_by_name(session: ql.Session) -> None:
    table = session.create_table("t", "id INT, _Quacklake_row_id INT")
    with pytest.raises(ql.UnsupportedError, match="_Quacklake_row_id"):
        table.append(pa.table({"id": [1]}))
    table.rename_column("_Quacklake_row_id", "other")
    assert session.table("t").append(pa.table({"id": [1]})).rows_inserted == 1


@pytest.mark.parametrize("change", ["append", "update", "merge", "overwrite"])
def test_a_change_that_fails_half_way_leaves_no_file(change: str, tmp_path: Path) -> None:
    """The folder of one partition cannot be made, for a file has its name."""
    place = Place.in_folder("sqlite", tmp_path)
    with ql.connect(place.url, place.data_path, engine="local", inline_rows=0) as session:
        table = session.create_table("t", "id INT, part STRING", partition_by=["part"])
        table.append(pa.table({"id": range(40), "part": ["a", "b"] * 20}))
        before = {path for path in Path(place.data_path).rglob("*") if path.is_file()}
        blocked = next(path.parent.parent for path in before) / "part=z"
        blocked.write_text("in the way")
        some = pa.table({"id": range(30, 60), "part": ["c", "y", "z"] * 10})
        acts: dict[str, Any] = {
            "append": lambda: table.append(some),
            "update": lambda: table.update({"part": "CASE id % 3 WHEN 0 THEN 'c' WHEN 1 THEN 'y' ELSE 'z' END"}),
            "merge": lambda: table.merge(some, on="id"),
            "overwrite": lambda: table.overwrite(some, where="id < 15"),
        }
        with pytest.raises(ql.StorageError):
            acts[change]()
        assert {path for path in Path(place.data_path).rglob("*") if path.is_file()} == {*before, blocked}
        assert table.count() == 40
