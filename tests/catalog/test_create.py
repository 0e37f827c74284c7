from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

import quacklake as ql
from quacklake.catalog.open import open_backend
from quacklake.catalog.tables import LAYOUT
from quacklake.catalog.url import parse_url
from tests.conftest import Duck
from tests.lakes import Place

ALL = ["sqlite", "duckdb", *(pytest.param(name, marks=pytest.mark.server) for name in ("postgresql", "mysql"))]

SHAPES = {
    "sqlite": """SELECT m.name, c.name, c.type, c."notnull", c.pk FROM sqlite_master m, pragma_table_info(m.name) c
        WHERE m.type = 'table' ORDER BY m.name, c.cid""",
    "duckdb": """SELECT c.table_name, c.column_name, c.data_type, c.is_nullable, c.column_default,
        (SELECT string_agg(k.constraint_text) FROM duckdb_constraints() k
         WHERE k.database_name = c.database_name AND k.table_name = c.table_name)
        FROM duckdb_columns() c WHERE c.database_name = current_database() AND NOT c.internal
        ORDER BY c.table_name, c.column_index""",
    "postgresql": """SELECT c.table_name, c.column_name, c.data_type, c.is_nullable, c.column_default,
        EXISTS (SELECT 1 FROM information_schema.key_column_usage k
                WHERE k.table_name = c.table_name AND k.column_name = c.column_name)
        FROM information_schema.columns c WHERE c.table_schema = 'public' ORDER BY c.table_name, c.ordinal_position""",
    # MUL says that there is an index, which constrains nothing.
    "mysql": """SELECT table_name, column_name, column_type, is_nullable, IF(column_key = 'MUL', '', column_key)
        FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position""",
}


def shape(place: Place) -> list[tuple[object, ...]]:
    """Every table of a catalog with the names, types and constraints of its columns."""
    backend = open_backend(parse_url(place.url))
    with backend.read() as connection:
        rows = connection.exec_driver_sql(SHAPES[backend.name]).all()
    backend.close()
    return [tuple(row) for row in rows]


@pytest.mark.parametrize("name", ALL)
def test_our_tables_are_those_that_duckdb_makes(name: str, new_place: Callable[[str], Place], duck: Duck) -> None:
    ours = new_place(name)
    ql.connect(ours.url, ours.data_path).close()
    mine = shape(ours)
    path = parse_url(ours.url).path
    if path is not None:
        path.unlink()
    theirs = new_place(name)
    with duck(theirs):
        pass
    assert mine == shape(theirs)
    assert {str(row[0]) for row in mine} == {f"ducklake_{table}" for table in LAYOUT}


def test_duckdb_writes_to_a_lake_that_we_made_and_we_read_what_it_wrote(backend: Place, duck: Duck) -> None:
    ql.connect(backend.url, backend.data_path).close()
    with duck(backend) as con:
        con.execute("CREATE TABLE t (i INTEGER, s VARCHAR)")
        con.execute("INSERT INTO t VALUES (1, 'ä')")
        if backend.kind != "mysql":
            # DuckDB's own MySQL writer fails at the second insert.
            con.execute("INSERT INTO t SELECT range, 'x' FROM range(1000)")
            con.execute("UPDATE t SET s = 'y' WHERE i = 7")
            con.execute("DELETE FROM t WHERE i = 9")
            con.execute("ALTER TABLE t ADD COLUMN d DATE")
            con.execute("COMMENT ON TABLE t IS 'made by both'")
            con.execute("CALL ducklake_flush_inlined_data('lk')")
        expected = con.execute("SELECT count(*), sum(i) FROM t").fetchall()
    with duck(backend) as con:
        assert con.execute("SELECT count(*), sum(i) FROM t").fetchall() == expected
    with ql.connect(backend.url) as session:
        table = session.table("t")
        assert session.tables() == ["main.t"]
        if backend.kind != "mysql":
            assert table.schema.names == ("i", "s", "d")
            assert table.comment == "made by both"
            assert sum(file.record_count for file in table.scan().plan().files) >= 1000


def test_duckdb_encrypts_the_files_of_a_lake_that_we_made_encrypted(backend: Place, duck: Duck) -> None:
    ql.connect(backend.url, backend.data_path, encrypted=True).close()
    with duck(backend, "DATA_INLINING_ROW_LIMIT 0") as con:
        con.execute("CREATE TABLE t AS SELECT range AS i FROM range(10)")
        assert con.execute("SELECT sum(i) FROM t").fetchall() == [(45,)]
    with ql.connect(backend.url) as session:
        (file,) = session.table("t").scan().plan().files
        assert file.encryption_key is not None


RACER = """
import sys, time
import quacklake as ql
import quacklake.catalog.open
from quacklake.catalog.url import parse_url
from quacklake.catalog.open import open_backend
open_backend(parse_url(sys.argv[1]))  # load the driver before the start
print("ready", flush=True)
sys.stdin.readline()
with ql.connect(sys.argv[1], sys.argv[2]) as session:
    assert session.namespaces() == ["main"], session.namespaces()
    print(session.current_snapshot, flush=True)
"""


def race(place: Place, runners: int = 3) -> list[str]:
    """Open the same empty place in several processes at once; what each of them says."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, place.url, place.data_path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(runners)
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    ended = [process.communicate(timeout=120) for process in started]
    return [output.strip() or errors for output, errors in ended]


def test_processes_that_create_the_same_lake_at_once_end_with_one_good_lake(backend: Place, duck: Duck) -> None:
    assert race(backend) == ["0"] * 3
    with duck(backend) as con:
        con.execute("CREATE TABLE t AS SELECT 42 AS i")
    with ql.connect(backend.url) as session:
        assert [each.snapshot_id for each in session.snapshots()] == [0, 1]
        names = [option.name for option in session.options()]
        assert sorted(names) == ["created_by", "data_path", "encrypted", "version"]


@pytest.mark.server
def test_a_creation_in_mysql_that_was_interrupted_is_taken_up_again(
    new_place: Callable[[str], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    from quacklake.catalog import create

    class Interrupted(Exception):
        pass

    def interrupt(*_: object) -> None:
        raise Interrupted

    place = new_place("mysql")
    with monkeypatch.context() as patched:
        patched.setattr(create, "_fill", interrupt)
        with pytest.raises(Interrupted):
            ql.connect(place.url, place.data_path)
    with pytest.raises(ql.NotInitializedError):
        ql.connect(place.url, create=False)
    with ql.connect(place.url, place.data_path) as session:
        assert session.namespaces() == ["main"]
        assert len(session.snapshots()) == 1
