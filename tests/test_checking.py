"""What `session.check()` finds, and that it finds nothing in a lake that is well."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
import sqlalchemy as sa

import quacklake as ql
from tests.conftest import Duck
from tests.lakes import Place

MANY = pa.table({"id": range(50), "word": [str(number) for number in range(50)]})


def live(place: Place) -> None:
    """A life with everything that leaves rows in the catalog."""
    with ql.connect(place.url, place.data_path, engine="local") as session:
        table = session.create_table("t", "id BIGINT, word STRING", partition_by=["bucket(3, id)"])
        table.append(MANY)
        table.append(MANY.slice(0, 2))
        table.delete("id < 38")
        table.update({"word": "'x'"}, "id = 40")
        table.merge(pa.table({"id": range(45, 70), "word": ["m"] * 25}), on="id")
        table.add_column("extra", "INT")
        session.create_view("v", "SELECT 1 AS one")
        session.create_table("u", "a INT").append(pa.table({"a": range(30)}))
        session.drop_table("u")


def test_a_lake_that_is_well_has_no_findings(backend: Place) -> None:
    live(backend)
    with ql.connect(backend.url, engine="local") as session:
        assert session.check() == []


@pytest.mark.parametrize("kind", ["sqlite", "duckdb", pytest.param("postgresql", marks=pytest.mark.server)])
def test_lakes_that_duckdb_wrote_and_maintained_have_no_findings(
    kind: str, new_place: Callable[[str], Place], duck: Duck
) -> None:
    """Not in MySQL, where DuckDB cannot end a data file."""
    place = new_place(kind)
    with duck(place) as connection:
        for statement in (
            "CREATE TABLE t (id INT, l VARCHAR)",
            "INSERT INTO t SELECT i, i::VARCHAR FROM range(100) r(i)",
            "INSERT INTO t VALUES (1, NULL)",
            "DELETE FROM t WHERE id % 2 = 0",
            "UPDATE t SET l = 'u' WHERE id < 10",
            "CALL ducklake_flush_inlined_data('lk')",
            "INSERT INTO t SELECT i, NULL FROM range(100) r(i)",
            "CALL ducklake_merge_adjacent_files('lk')",
            "CALL ducklake_rewrite_data_files('lk', delete_threshold => 0)",
            "ALTER TABLE t RENAME id TO number",
        ):
            connection.execute(statement).fetchall()
    with ql.connect(place.url, engine="local") as session:
        assert [str(finding) for finding in session.check()] == []


@pytest.mark.parametrize(
    ("damage", "kind", "words"),
    [
        ("UPDATE ducklake_snapshot SET next_file_id = 1", "counter", "next_file_id is 1"),
        ("UPDATE ducklake_snapshot SET next_catalog_id = 1", "counter", "next_catalog_id is 1"),
        ("UPDATE ducklake_table_stats SET next_row_id = 3", "counter", "next_row_id is 3"),
        ("UPDATE ducklake_data_file SET row_id_start = 0", "rows", "another file's"),
        ("DELETE FROM ducklake_data_file WHERE data_file_id = 1", "dangling", "no such row in ducklake_data_file"),
        ("INSERT INTO ducklake_table SELECT * FROM ducklake_table WHERE table_name = 't'", "duplicate", "alive"),
        ("UPDATE ducklake_delete_file SET delete_count = 1000", "rows", "it deletes 1000 of"),
        ("UPDATE ducklake_data_file SET file_size_bytes = 1", "file", "the catalog says 1"),
        ("DROP TABLE ducklake_inlined_data_1_1", "dangling", "registered and not there"),
    ],
)
def test_damage_is_found_and_named(
    damage: str, kind: str, words: str, new_place: Callable[[str], Place], tmp_path: Path
) -> None:
    place = new_place("sqlite")
    live(place)
    engine = sa.create_engine(f"sqlite:///{place.url.removeprefix('sqlite:///')}")
    with engine.begin() as connection:
        connection.exec_driver_sql(damage)
    engine.dispose()
    with ql.connect(place.url, engine="local") as session:
        found = session.check()
    assert any(finding.kind == kind and words in str(finding) for finding in found), found


def test_a_missing_file_is_found(backend: Place) -> None:
    live(backend)
    with ql.connect(backend.url, engine="local") as session:
        path = session.table("t").scan().files()[0].path
        Path(path).unlink()
        (finding,) = session.check()
        assert (finding.kind, finding.subject) == ("file", path)
