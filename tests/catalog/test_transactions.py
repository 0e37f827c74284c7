from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest
import sqlalchemy as sa

import quacklake as ql
from quacklake.catalog.backends import duckdb as duckdb_backend
from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.open import open_backend
from quacklake.catalog.tables import build_tables
from quacklake.catalog.url import parse_url
from tests.lakes import Place
from tests.servers import Server

ROWS = "SELECT count(*) FROM ducklake_tag"


@pytest.fixture
def lake(backend: Place) -> Place:
    ql.connect(backend.url, backend.data_path).close()
    return backend


@pytest.fixture
def database(lake: Place) -> Iterator[Backend]:
    found = open_backend(parse_url(lake.url))
    yield found
    found.close()


def add_tag(connection: sa.Connection, object_id: int = 1) -> None:
    connection.exec_driver_sql(f"INSERT INTO ducklake_tag VALUES ({object_id}, 0, NULL, 'k', 'v')")


def write(database: Backend, *statements: str) -> None:
    """Run statements in one transaction."""
    with database.write() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def count(database: Backend) -> int:
    with database.read() as connection:
        return int(connection.exec_driver_sql(ROWS).scalar_one())


def test_a_block_that_ends_well_is_committed(database: Backend) -> None:
    with database.write() as connection:
        add_tag(connection)
    assert count(database) == 1


def test_a_row_that_is_set_to_what_it_was_is_counted(database: Backend) -> None:
    tag = build_tables(database.sql_schema).tag
    with database.write() as connection:
        add_tag(connection)
        for value in ("v", "w", "w"):
            assert connection.execute(tag.update().where(tag.c.key == "k").values(value=value)).rowcount == 1
        assert connection.execute(tag.update().where(tag.c.key == "x").values(value="w")).rowcount == 0


def test_a_block_that_fails_leaves_nothing_behind(database: Backend) -> None:
    def fail() -> None:
        with database.write() as connection:
            add_tag(connection)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert count(database) == 0
    with database.write() as connection:
        add_tag(connection)
    assert count(database) == 1


def test_a_statement_that_fails_leaves_nothing_behind_and_the_next_block_works(database: Backend) -> None:
    for _ in range(8):
        with pytest.raises(sa.exc.DBAPIError):
            write(database, "INSERT INTO ducklake_tag VALUES (1, 0, NULL, 'k', 'v')", "SELECT * FROM no_such_table")
    assert count(database) == 0


def test_a_reader_sees_one_state_whatever_others_commit(lake: Place, database: Backend) -> None:
    if database.name == "duckdb":
        pytest.skip("one process at a time: nobody commits while a file is read")
    writer = open_backend(parse_url(lake.url))
    with database.read() as reading:
        # PostgreSQL takes its snapshot with the first query, SQLite as well.
        assert reading.exec_driver_sql(ROWS).scalar_one() == 0
        if database.name != "sqlite":
            with writer.write() as connection:
                add_tag(connection)
            assert reading.exec_driver_sql(ROWS).scalar_one() == 0
    if database.name == "sqlite":
        with writer.write() as connection:
            add_tag(connection)
    assert count(database) == 1
    writer.close()


@pytest.mark.server
@pytest.mark.parametrize("name", ["postgresql", "mysql"])
def test_a_server_does_not_let_a_reader_write(name: str, new_place: Callable[[str], Place]) -> None:
    place = new_place(name)
    ql.connect(place.url, place.data_path).close()
    database = open_backend(parse_url(place.url))
    with pytest.raises(ql.CatalogError), database.read() as connection:
        add_tag(connection)
    assert count(database) == 0
    database.close()


def test_failures_are_told_apart(database: Backend) -> None:
    def failure(statement: str) -> str:
        with pytest.raises(sa.exc.DBAPIError) as caught, database.write() as connection:
            connection.exec_driver_sql(statement)
        return database.classify(caught.value)

    assert failure("INSERT INTO ducklake_snapshot VALUES (0, NULL, 0, 1, 0)") == "unique"
    assert failure("SELECT * FROM ducklake_no_such_table") == "missing_table"
    assert failure("SELEKT") == "other"
    assert database.classify(ValueError("x")) == "other"


def test_what_fails_while_reading_is_an_error_of_our_own(database: Backend) -> None:
    with pytest.raises(ql.CatalogError) as caught, database.read() as connection:
        connection.exec_driver_sql("SELECT * FROM ducklake_no_such_table")
    assert isinstance(caught.value.__cause__, sa.exc.DBAPIError)
    assert database.classify(caught.value.__cause__) == "missing_table"


def test_errors_of_others_pass_through_a_read(database: Backend) -> None:
    with pytest.raises(KeyError), database.read():
        raise KeyError("mine")


@pytest.mark.server
def test_conflicts_between_writers_are_told_apart_in_postgresql(new_place: Callable[[str], Place]) -> None:
    place = new_place("postgresql")
    ql.connect(place.url, place.data_path).close()
    one, two = open_backend(parse_url(place.url)), open_backend(parse_url(place.url))
    with one.write() as first:
        first.exec_driver_sql("LOCK TABLE ducklake_tag")
        with pytest.raises(sa.exc.DBAPIError) as locked:
            write(two, "LOCK TABLE ducklake_tag NOWAIT")
    assert two.classify(locked.value) == "locked"

    def be_late() -> None:
        with two.write() as second:
            second.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            second.exec_driver_sql("SELECT * FROM ducklake_snapshot")
            write(one, "UPDATE ducklake_snapshot SET next_file_id = 5")
            second.exec_driver_sql("UPDATE ducklake_snapshot SET next_file_id = 6")

    with pytest.raises(sa.exc.DBAPIError) as stale:
        be_late()
    assert two.classify(stale.value) == "serialization"
    one.close()
    two.close()


@pytest.mark.server
@pytest.mark.parametrize("name", ["postgresql", "mysql"])
def test_a_deadlock_is_told_apart(name: str, new_place: Callable[[str], Place]) -> None:
    place = new_place(name)
    ql.connect(place.url, place.data_path).close()
    database = open_backend(parse_url(place.url))
    with database.write() as connection:
        connection.exec_driver_sql("INSERT INTO ducklake_snapshot VALUES (1, NULL, 0, 1, 0)")
    barrier, failures = threading.Barrier(2), []

    def cross(first: int, second: int) -> None:
        try:
            with database.write() as connection:
                connection.exec_driver_sql(f"UPDATE ducklake_snapshot SET next_file_id = 1 WHERE snapshot_id = {first}")
                barrier.wait(10)
                connection.exec_driver_sql(
                    f"UPDATE ducklake_snapshot SET next_file_id = 2 WHERE snapshot_id = {second}"
                )
        except sa.exc.DBAPIError as error:
            failures.append(database.classify(error))

    threads = [threading.Thread(target=cross, args=ids) for ids in ((0, 1), (1, 0))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == ["deadlock"]
    database.close()


@pytest.mark.server
@pytest.mark.parametrize("name", ["postgresql", "mysql"])
def test_a_connection_that_was_lost_while_idle_is_replaced(
    name: str, new_place: Callable[[str], Place], request: pytest.FixtureRequest
) -> None:
    server: Server = request.getfixturevalue(f"{name}_server")
    place = new_place(name)

    def identify(connection: sa.Connection) -> int:
        mine = "SELECT pg_backend_pid()" if name == "postgresql" else "SELECT CONNECTION_ID()"
        return int(connection.exec_driver_sql(mine).scalar_one())

    def cut(id_: int) -> None:
        server.run(f"SELECT pg_terminate_backend({id_})" if name == "postgresql" else f"KILL {id_}")
        time.sleep(0.2)

    with ql.connect(place.url, place.data_path) as session:
        database = session._catalog.backend
        with database.read() as connection:
            idle = identify(connection)
        cut(idle)
        assert session.namespaces() == ["main"]
        with database.write() as connection:
            idle = identify(connection)
        cut(idle)
        with database.write() as connection:
            add_tag(connection)

        def write_on() -> None:
            with database.write() as connection:
                cut(identify(connection))
                add_tag(connection)

        # In the middle of a write nobody may go on as if nothing had happened.
        with pytest.raises(sa.exc.DBAPIError) as caught:
            write_on()
        assert database.classify(caught.value) == "lost"
        assert count(database) == 1


HOLDER = """
import sys
import duckdb
con = duckdb.connect(sys.argv[1])
print("held", flush=True)
sys.stdin.readline()
con.close()
"""


@pytest.fixture
def in_duckdb(tmp_path: Path) -> Place:
    place = Place.in_folder("duckdb", tmp_path)
    ql.connect(place.url, place.data_path).close()
    return place


def hold(place: Place) -> subprocess.Popen[str]:
    """Another process that has the file open until it reads a line."""
    path = str(parse_url(place.url).path)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


def test_a_duckdb_file_is_let_go_after_every_call(in_duckdb: Place) -> None:
    with ql.connect(in_duckdb.url) as session:
        session.namespaces()
        with pytest.raises(ql.NotFoundError):
            session.table("missing")
        with pytest.raises(ZeroDivisionError), session._catalog.backend.write():
            raise ZeroDivisionError
        with hold(in_duckdb) as holder:
            holder.communicate("\n")
        assert holder.returncode == 0


def test_a_duckdb_file_that_another_process_has_open_is_waited_for(in_duckdb: Place) -> None:
    with ql.connect(in_duckdb.url) as session, hold(in_duckdb) as holder:
        assert holder.stdin is not None
        timer = threading.Timer(1.0, lambda: (holder.stdin.write("\n"), holder.stdin.flush()))  # type: ignore[union-attr]
        timer.start()
        started = time.monotonic()
        assert session.namespaces() == ["main"]
        assert time.monotonic() - started > 0.5
        timer.join()
        holder.wait(30)


def test_a_duckdb_file_that_stays_open_elsewhere_is_an_error_that_says_so(
    in_duckdb: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duckdb_backend, "LOCK_TIMEOUT_SECONDS", 0.3)
    with ql.connect(in_duckdb.url) as session, hold(in_duckdb) as holder:
        with pytest.raises(ql.CatalogError, match=r"another process has kept .* open"):
            session.namespaces()
        with (
            pytest.raises(ql.CatalogError, match=r"another process has kept .* open"),
            session._catalog.backend.write(),
        ):
            pass
        holder.communicate("\n")
        assert session.namespaces() == ["main"]


def test_a_duckdb_file_that_this_process_has_attached_elsewhere_keeps_its_lock(
    in_duckdb: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duckdb_backend, "SAME_PROCESS_TIMEOUT_SECONDS", 0.2)
    path = parse_url(in_duckdb.url).path
    con = duckdb.connect()
    con.execute(f"ATTACH '{path}' AS held")
    with pytest.raises(ql.CatalogError, match="attached to another DuckDB"):
        ql.connect(str(path))
    program = f"import duckdb; duckdb.connect({str(path)!r}, read_only=True)"
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "Could not set lock" in other.stderr
    con.close()
    ql.connect(str(path)).close()


def test_threads_share_a_duckdb_file(in_duckdb: Place) -> None:
    tags = build_tables(None).tag
    with ql.connect(in_duckdb.url) as session:
        database, wrong = session._catalog.backend, []

        def write(number: int) -> None:
            for turn in range(5):
                with database.write() as connection:
                    connection.execute(tags.insert().values(object_id=number, begin_snapshot=turn))

        def read() -> None:
            for _ in range(10):
                if session.namespaces() != ["main"]:
                    wrong.append("namespaces")

        threads = [*(threading.Thread(target=write, args=(n,)) for n in range(3)), threading.Thread(target=read)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not wrong
        assert count(database) == 15


def test_a_result_of_duckdb_outlives_the_next_statement(in_duckdb: Place) -> None:
    database = open_backend(parse_url(in_duckdb.url))
    with database.read() as connection:
        numbers = connection.exec_driver_sql("SELECT * FROM range(5)")
        words = connection.exec_driver_sql("SELECT 'a', 'b'")
        assert words.all() == [("a", "b")]
        assert [row[0] for row in numbers] == [0, 1, 2, 3, 4]
    with database.write() as connection:
        done = connection.exec_driver_sql("INSERT INTO ducklake_tag SELECT range, 0, NULL, 'k', 'v' FROM range(3)")
        assert done.rowcount == 3


def test_sqlite_waits_for_a_writer(tmp_path: Path) -> None:
    place = Place.in_folder("sqlite", tmp_path)
    ql.connect(place.url, place.data_path).close()
    one, two = open_backend(parse_url(place.url)), open_backend(parse_url(place.url))
    inside = threading.Event()

    def write_slowly() -> None:
        with one.write() as connection:
            inside.set()
            add_tag(connection)
            time.sleep(0.5)

    thread = threading.Thread(target=write_slowly)
    thread.start()
    assert inside.wait(10)
    with two.write() as connection:
        add_tag(connection)
    thread.join(10)
    assert count(one) == 2
    one.close()
    two.close()


def test_a_lock_that_never_ends_is_an_error_that_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from quacklake.catalog.backends import sqlite as sqlite_backend

    monkeypatch.setattr(sqlite_backend, "BUSY_TIMEOUT_SECONDS", 0.1)
    place = Place.in_folder("sqlite", tmp_path)
    ql.connect(place.url, place.data_path).close()
    one, two = open_backend(parse_url(place.url)), open_backend(parse_url(place.url))
    with one.write(), pytest.raises(ql.CatalogError, match="was locked for") as caught, two.write():
        pass
    assert "in DuckDB, fetch or close open results" in str(caught.value.hint)
    one.close()
    two.close()
