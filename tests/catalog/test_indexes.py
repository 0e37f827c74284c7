"""Indexes make plans quick; they are never in anybody's way and change no answer."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
import sqlalchemy as sa

import quacklake as ql
from quacklake.catalog import candidates, indexes
from quacklake.catalog.bounds import FORM, KEY, WIDTH, moment_key
from quacklake.catalog.indexes import ensure_indexes, wanted_indexes
from quacklake.catalog.open import open_backend
from quacklake.catalog.url import parse_url
from tests.catalog.test_prune import COLUMNS, QUESTIONS, fill, texts
from tests.conftest import Duck
from tests.lakes import Place

FOUND = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'index' AND name LIKE 'quacklake%'",
    "duckdb": "SELECT index_name FROM duckdb_indexes() WHERE index_name LIKE 'quacklake%'",
    "postgresql": "SELECT indexname FROM pg_indexes WHERE schemaname = '{place}' AND indexname LIKE 'quacklake%'",
    "mysql": "SELECT DISTINCT index_name FROM information_schema.statistics"
    " WHERE table_schema = COALESCE({place}, DATABASE()) AND index_name LIKE 'quacklake%'",
}


def indexes_of(place: Place, metadata_schema: str | None = None) -> set[str]:
    """The indexes of ours in a database."""
    backend = open_backend(parse_url(place.url), metadata_schema)
    where = metadata_schema or "public" if backend.name == "postgresql" else repr(metadata_schema or "")
    query = FOUND[backend.name].format(place="NULL" if where == "''" else where)
    with backend.read() as connection:
        found = set(connection.execute(sa.text(query)).scalars())
    backend.close()
    return found


def wanted(place: Place) -> set[str]:
    """The indexes that a lake in a database should have."""
    name = parse_url(place.url).kind
    return set() if name == "duckdb" else set(wanted_indexes(name))


def test_a_lake_that_we_make_has_indexes_and_duckdb_works_with_them(backend: Place, duck: Duck) -> None:
    ql.connect(backend.url, backend.data_path, engine="local").close()
    assert indexes_of(backend) == wanted(backend)
    long_word = "w" * 20_000
    with duck(backend) as connection:
        connection.execute("CREATE TABLE lk.t (id BIGINT, word VARCHAR, ts TIMESTAMP, day DATE, d DOUBLE)")
        # On MySQL DuckDB itself fails from the second write on.
        is_mysql = backend.kind == "mysql"
        for start in (200,) if is_mysql else range(0, 300, 100):
            connection.execute(
                f"""INSERT INTO lk.t SELECT i, '{long_word}' || i, TIMESTAMP '2024-01-01' + INTERVAL 1 HOUR * i,
                DATE '2024-01-01', i FROM range({start}, {start + 100}) r(i)"""
            )
        if not is_mysql:
            change(connection)
            assert connection.execute("SELECT count(*), max(id) FROM lk.u").fetchone() == (299, 299)
    with ql.connect(backend.url, engine="local") as session:
        assert session.table("t" if is_mysql else "u").scan(where="id = 250").to_arrow().num_rows == 1


def change(connection: duckdb.DuckDBPyConnection) -> None:
    """What else DuckDB does with a table."""
    for statement in (
        "UPDATE lk.t SET d = 'nan' WHERE id = 7",
        "DELETE FROM lk.t WHERE id = 9",
        "ALTER TABLE lk.t RENAME TO u",
        "ALTER TABLE lk.u ADD COLUMN more STRUCT(a INTEGER)",
        "CALL ducklake_merge_adjacent_files('lk')",
        "CALL ducklake_expire_snapshots('lk', older_than => now())",
        "CALL ducklake_cleanup_old_files('lk', cleanup_all => true)",
    ):
        connection.execute(statement)


@pytest.mark.parametrize("name", [pytest.param(each, marks=pytest.mark.server) for each in ("postgresql", "mysql")])
def test_indexes_go_where_the_tables_are(name: str, new_place: Callable[[str], Place]) -> None:
    place = new_place(name)
    schema = f"Other {random.Random(name).randrange(10**9)}"
    ql.connect(place.url, place.data_path, metadata_schema=schema, engine="local").close()
    assert indexes_of(place) == set()
    assert indexes_of(place, schema) == wanted(place)


def test_a_lake_of_duckdb_gets_indexes_when_it_is_large(
    backend: Place, duck: Duck, monkeypatch: pytest.MonkeyPatch
) -> None:
    with duck(backend) as connection:
        connection.execute("CREATE TABLE lk.t AS SELECT 1 AS i")
    with ql.connect(backend.url, engine="local") as session:
        session.table("t").append([{"i": 2}])
    assert indexes_of(backend) == set()
    monkeypatch.setattr(indexes, "MANY", 1)
    with ql.connect(backend.url, engine="local", read_only=True) as session:
        assert session.table("t").count() == 2
    assert indexes_of(backend) == set()
    with ql.connect(backend.url, engine="local") as session:
        session.table("t").append([{"i": 3}])
        assert session.table("t").count() == 3
    assert indexes_of(backend) == wanted(backend)
    database = open_backend(parse_url(backend.url))
    ensure_indexes(database)
    database.close()


def test_who_may_not_make_indexes_does_without(tmp_path: Path) -> None:
    place = Place.in_folder("sqlite", tmp_path)
    ql.connect(place.url, place.data_path, engine="local").close()
    path = parse_url(place.url).path
    assert path is not None
    writer = sqlite3.connect(path, isolation_level=None)
    for name in wanted(place):
        writer.execute(f"DROP INDEX {name}")
    writer.execute("BEGIN IMMEDIATE")
    backend = open_backend(parse_url(place.url))
    started = time.monotonic()
    ensure_indexes(backend)
    assert time.monotonic() - started < 10
    writer.execute("COMMIT")
    assert indexes_of(place) == set()
    # Others wait as long as ever.
    with backend.read() as connection:
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 30_000
    backend.close()


@pytest.mark.parametrize("seed", range(3))
def test_files_found_through_indexes_are_all_that_any_other_way_finds(
    seed: int, tmp_path: Path, duck: Duck, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place.in_folder("sqlite", tmp_path)
    ql.connect(place.url, place.data_path, engine="local").close()
    with duck(place, "DATA_INLINING_ROW_LIMIT 0") as connection:
        fill(connection, seed)
    monkeypatch.setattr(candidates, "MOST", 11)
    used = 0
    # The values of these do not all fit into Arrow.
    columns = [each for each in COLUMNS if each not in ("day", "moment", "instant")]
    for where in QUESTIONS:
        with ql.connect(place.url, engine="local") as session:
            scan = session.table("t").scan(columns=columns, where=where)
            expected, files = texts(scan.to_arrow()), {file.file_id for file in scan.files()}
            with monkeypatch.context() as patch:
                patch.setattr(indexes, "MANY", 1)
                # Twice: what was learned first is used then.
                for _ in range(2):
                    assert {file.file_id for file in scan.files()} <= files, where
                    assert texts(scan.to_arrow()) == expected, where
            used += any(key != ("indexed",) for key in session._catalog._settled)
    assert used > len(QUESTIONS) // 2


BOUNDS = [
    ("5", "17", "n"),
    ("-5", "1e-7", "n"),
    ("-1.5", "1E300", "n"),
    ("9223372036854775807", "18446744073709551615", "n"),
    ("2024-02-29", "2024-03-01", "d"),
    ("2024-02-29 23:59:59", "2024-03-01 00:00:00.5", "t"),
    ("2024-02-29 23:59:59+00", "2024-03-01 00:00:00.123456+00", "z"),
    ("2024-02-29 23:59:59", "2024-03-01 00:00:00+00", None),
    ("2024-02-29", "infinity", None),
    ("0044-03-15 (BC)", "2024-01-01", None),
    ("2024-01-01", "12024-01-01", None),
    ("2024-02-29 23:59:59+05", "2024-03-01 00:00:00+05", None),
    ("-inf", "3", None),
    ("1", None, None),
    (None, None, None),
    ("", "5", None),
    ("a", "b", None),
]


@pytest.mark.parametrize(("low", "high", "form"), BOUNDS)
def test_bounds_have_a_form_only_when_their_keys_can_be_compared(
    low: str | None, high: str | None, form: str | None
) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (min_value VARCHAR, max_value VARCHAR)")
    connection.execute("INSERT INTO t VALUES (?, ?)", (low, high))
    found, low_key, high_key, width = connection.execute(
        f"SELECT {FORM}, {KEY['min_value']}, {KEY['max_value']}, {WIDTH} FROM t"
    ).fetchone()
    assert found == form
    if form is not None and low is not None:
        assert low_key < high_key
        assert width > 0
        assert low_key == (pytest.approx(float(low)) if form == "n" else moment_key(low))


def test_a_column_that_became_a_float_may_hold_nan_in_files_that_do_not_say(
    tmp_path: Path, duck: Duck, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place.in_folder("sqlite", tmp_path)
    monkeypatch.setattr(indexes, "MANY", 1)
    with ql.connect(place.url, place.data_path, engine="local", inline_rows=0) as session:
        table = session.create_table("t", "v FLOAT, n INT")
        for value in (1.0, 2.0, 3.0):
            table.append([{"v": value, "n": int(value)}])
        files = [file.file_id for file in table.scan().files()]
        with session._catalog.backend.write() as connection:
            stats = session._catalog.tables.file_column_stats
            first = stats.c.data_file_id == files[0]
            connection.execute(sa.update(stats).where(first, stats.c.column_id == 1).values(contains_nan=None))
            connection.execute(sa.delete(stats).where(first, stats.c.column_id == 2))
        kept = [[file.file_id for file in table.scan(where=where).files()] for where in ("v > 2.5", "n > 2", "n = 2")]
        assert kept == [[files[0], files[2]], [files[0], files[2]], files[:2]]
        table.append([{"v": 4.0, "n": 4}])
        assert len(table.scan(where="n > 2").files()) == 3


def test_duckdb_reads_while_indexes_are_made(tmp_path: Path, duck: Duck) -> None:
    place = Place.in_folder("sqlite", tmp_path)
    with duck(place) as connection:
        connection.execute("CREATE TABLE lk.t AS SELECT i FROM range(100) r(i)")
        backend = open_backend(parse_url(place.url))
        ensure_indexes(backend)
        assert indexes_of(place) == wanted(place)
        connection.execute("INSERT INTO lk.t VALUES (100)")
        assert connection.execute("SELECT count(*) FROM lk.t").fetchone() == (101,)
        assert isinstance(connection, duckdb.DuckDBPyConnection)
        backend.close()
