from __future__ import annotations

from pathlib import Path

import pytest

import quacklake as ql
from quacklake.catalog.open import open_backend
from quacklake.catalog.url import parse_url
from quacklake.catalog.version import CURRENT, OLD, READABLE, check_readable, check_writable
from tests.conftest import Duck
from tests.lakes import Place

# What DuckLake's main branch does to a lake of 1.0.
TO_1_1 = (
    "ALTER TABLE ducklake_data_file ADD COLUMN row_group_count BIGINT",
    "ALTER TABLE ducklake_delete_file ADD COLUMN row_group_count BIGINT",
    "CREATE TABLE ducklake_view_column_tag(view_id BIGINT, column_name VARCHAR(99), begin_snapshot BIGINT,"
    " end_snapshot BIGINT)",
    "ALTER TABLE ducklake_inlined_data_1_1 RENAME COLUMN row_id TO _ducklake_row_id",
    "ALTER TABLE ducklake_inlined_data_1_1 RENAME COLUMN begin_snapshot TO _ducklake_begin_snapshot",
    "ALTER TABLE ducklake_inlined_data_1_1 RENAME COLUMN end_snapshot TO _ducklake_end_snapshot",
)


def test_a_lake_of_1_1_dev1_is_read_and_not_written(backend: Place, duck: Duck) -> None:
    with duck(backend) as con:
        con.execute("CREATE TABLE t (i INTEGER, s VARCHAR)")
        con.execute("INSERT INTO t VALUES (1, 'inlined')")
        if backend.kind != "mysql":
            con.execute("INSERT INTO t SELECT range, 'in a file' FROM range(2, 50)")
        expected = con.execute("SELECT * FROM t ORDER BY ALL").fetchall()
    database = open_backend(parse_url(backend.url))
    with database.write() as connection:
        for statement in TO_1_1:
            connection.exec_driver_sql(statement)
        key = "`key`" if database.name == "mysql" else '"key"'
        connection.exec_driver_sql(f"UPDATE ducklake_metadata SET value = '1.1-dev1' WHERE {key} = 'version'")
    database.close()
    with ql.connect(backend.url, engine="local", migrate=True) as session:
        assert session._catalog.version == "1.1-dev1"
        assert sorted(session.table("t").to_arrow().to_pylist(), key=lambda row: row["i"]) == [
            {"i": i, "s": s} for i, s in expected
        ]
        with pytest.raises(ql.VersionError) as caught:
            session._catalog.check_writable()
        assert caught.value.hint == "upgrade quacklake"


def test_every_known_version_is_readable_and_only_the_current_one_writable() -> None:
    for version in READABLE:
        check_readable(version, "x")
    check_writable(CURRENT, "x")
    for version in READABLE:
        if version != CURRENT:
            with pytest.raises(ql.VersionError):
                check_writable(version, "x")
    assert set(READABLE) == {*OLD, CURRENT, "1.1-dev1"}


@pytest.mark.parametrize("version", ["1.1", "2.0", "0.5", "", "one"])
def test_an_unknown_version_is_refused(version: str) -> None:
    with pytest.raises(ql.VersionError, match=r"reads 0\.1 to 1\.1-dev1"):
        check_readable(version, "x")


def test_the_error_names_the_lake_and_never_its_password() -> None:
    with pytest.raises(ql.VersionError, match=r"the lake in postgresql://me@h/d has version"):
        check_readable("9", parse_url("postgresql://me:hunter2@h/d").display)


def test_a_lake_that_we_make_has_the_current_version(tmp_path: Path) -> None:
    with ql.connect(tmp_path / "lake.db") as session:
        session._catalog.check_writable()
        assert session._catalog.version == CURRENT
