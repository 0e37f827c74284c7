from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from quacklake.catalog.url import CatalogUrl, parse_url, scrub
from quacklake.errors import InvalidInputError


@pytest.mark.parametrize(
    ("text", "kind", "path"),
    [
        ("sqlite:///lake.db", "sqlite", "lake.db"),
        ("sqlite:////abs/lake.db", "sqlite", "/abs/lake.db"),
        ("sqlite+pysqlite:///lake.db", "sqlite", "lake.db"),
        ("sqlite:lake.db", "sqlite", "lake.db"),
        ("SQLite:///Lake.db", "sqlite", "Lake.db"),
        ("duckdb:///dir/lake.db", "duckdb", "dir/lake.db"),
        ("duckdb:////abs/x", "duckdb", "/abs/x"),
        ("ducklake:sqlite:lake.db", "sqlite", "lake.db"),
        ("ducklake:sqlite:/abs/lake.db", "sqlite", "/abs/lake.db"),
        ("ducklake:duckdb:lake.db", "duckdb", "lake.db"),
        ("ducklake:/abs/lake.db", "duckdb", "/abs/lake.db"),
        ("ducklake:lake.sqlite", "duckdb", "lake.sqlite"),
        ("lake.db", "sqlite", "lake.db"),
        ("dir/lake", "sqlite", "dir/lake"),
        ("lake.duckdb", "duckdb", "lake.duckdb"),
        ("lake.DuckLake", "duckdb", "lake.DuckLake"),
        ("/abs/what is this?.db", "sqlite", "/abs/what is this?.db"),
    ],
)
def test_every_spelling_of_a_file_is_understood(text: str, kind: str, path: str) -> None:
    assert parse_url(text) == CatalogUrl(kind, path=Path(path))  # type: ignore[arg-type]


def test_a_home_folder_is_expanded() -> None:
    assert parse_url("sqlite:///~/lake.db").path == Path.home() / "lake.db"
    assert parse_url("~/lake.db").path == Path.home() / "lake.db"


def test_an_existing_file_is_told_by_its_first_bytes_and_not_by_its_name(tmp_path: Path) -> None:
    in_sqlite, in_duckdb = tmp_path / "a.duckdb", tmp_path / "b.db"
    with sqlite3.connect(in_sqlite) as connection:
        connection.execute("CREATE TABLE t (i)")
    connection.close()
    duckdb.connect(str(in_duckdb)).close()
    assert parse_url(str(in_sqlite)).kind == parse_url(f"ducklake:{in_sqlite}").kind == "sqlite"
    assert parse_url(str(in_duckdb)).kind == parse_url(f"ducklake:{in_duckdb}").kind == "duckdb"


def test_an_empty_file_counts_as_a_new_one(tmp_path: Path) -> None:
    (tmp_path / "a.duckdb").touch()
    (tmp_path / "b.db").touch()
    assert parse_url(str(tmp_path / "a.duckdb")).kind == "duckdb"
    assert parse_url(str(tmp_path / "b.db")).kind == "sqlite"


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_text("dear diary, " * 100)
    with pytest.raises(InvalidInputError, match="neither a SQLite nor a DuckDB database"):
        parse_url(str(path))


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="is a folder"):
        parse_url(str(tmp_path))


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_a_postgresql_url_is_understood(scheme: str) -> None:
    found = parse_url(f"{scheme}://me:p%40ss%2Fw%3Ard%23%25@db.example:5433/my%20lake?sslmode=require&x=a%3Db")
    assert found == CatalogUrl(
        "postgresql",
        host="db.example",
        port=5433,
        database="my lake",
        user="me",
        password="p@ss/w:rd#%",
        options={"sslmode": "require", "x": "a=b"},
    )


@pytest.mark.parametrize("scheme", ["mysql", "mariadb", "mysql+pymysql"])
def test_a_mysql_url_is_understood(scheme: str) -> None:
    found = parse_url(f"{scheme}://me:secret@db/lake")
    assert found == CatalogUrl("mysql", host="db", database="lake", user="me", password="secret")


def test_parts_of_a_server_url_may_be_left_out() -> None:
    assert parse_url("postgresql:///lake") == CatalogUrl("postgresql", database="lake")
    assert parse_url("postgresql://h") == CatalogUrl("postgresql", host="h")
    assert parse_url("postgresql:///lake?host=/run/pg&port=1") == CatalogUrl(
        "postgresql", host="/run/pg", port=1, database="lake"
    )
    assert parse_url("postgresql://[::1]:5432/lake").host == "::1"


@pytest.mark.parametrize("prefix", ["ducklake:postgres:", "ducklake:postgresql:", "postgres:"])
def test_settings_as_libpq_writes_them_are_understood(prefix: str) -> None:
    found = parse_url(
        prefix + r"dbname=lake host = db port=5433  user='the owner' password='it\'s \\ x' sslmode=require"
    )
    assert found == CatalogUrl(
        "postgresql",
        host="db",
        port=5433,
        database="lake",
        user="the owner",
        password=r"it's \ x",
        options={"sslmode": "require"},
    )


@pytest.mark.parametrize("key", ["db", "database", "dbname"])
def test_settings_as_duckdb_writes_them_for_mysql_are_understood(key: str) -> None:
    found = parse_url(f"ducklake:mysql:{key}=lake host=h port=0 user=me passwd=p socket=/run/my.sock")
    assert found == CatalogUrl(
        "mysql", host="h", database="lake", user="me", password="p", options={"unix_socket": "/run/my.sock"}
    )


def test_duckdbs_postgres_takes_a_url_as_well() -> None:
    assert parse_url("ducklake:postgres:postgresql://u:p@h/d") == parse_url("postgresql://u:p@h/d")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("ducklake:", "empty"),
        ("oracle://h/d", "no catalog database called 'oracle'"),
        ("http://h/lake", "no catalog database called 'http'"),
        ("md:lake", "no catalog database called 'md'"),
        ("://h/d", "no kind of database"),
        ("sqlite://lake.db", "names a host"),
        ("sqlite://", "names no file"),
        ("sqlite:///", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("duckdb:///f?access_mode=x", "has options"),
        ("postgresql://u:hunter2@h:port/d", "wrong host, port or option"),
        ("postgresql://u:hunter2@h:99999/d", "wrong host, port or option"),
        ("postgresql://u:hunter2/x@h/d", "wrong host, port or option"),
        ("postgresql://u:hunter2#x@h/d", "a # in it"),
        ("postgresql://u:[hunter2@h/d", "wrong host, port or option"),
        ("postgresql://u:hunter2@h/d/e", "more than one /"),
        ("mysql://u:hunter2@h/d?x", "wrong host, port or option"),
        ("ducklake:postgres:dbname=x password=hunter2 oops", "not a list of key=value"),
        ("ducklake:postgres:dbname=x password='hunter2", "not a list of key=value"),
        ("ducklake:mysql:db=x port=hunter2", "not a number"),
    ],
)
def test_a_wrong_url_says_what_to_write_and_never_repeats_a_password(text: str, says: str) -> None:
    with pytest.raises(InvalidInputError, match=says) as caught:
        parse_url(text)
    assert caught.value.hint
    assert "hunter2" not in f"{caught.value}{caught.value.__cause__}{caught.value.__context__}"


def test_neither_display_nor_repr_shows_a_secret() -> None:
    found = parse_url("postgresql://me:hunter2@h:5/d?sslpassword=hunter3&sslmode=require")
    assert found.display == "postgresql://me@h:5/d"
    assert found.secrets == ("hunter2", "hunter3")
    assert "hunter" not in repr(found)
    assert parse_url("sqlite:///a/b.db").display == "sqlite:///a/b.db"
    assert parse_url("mysql:///d").display == "mysql:///d"


@pytest.mark.parametrize(
    ("text", "secrets", "expected"),
    [
        ("could not open hunter2 today", ("hunter2",), "could not open *** today"),
        ("postgresql://me:other@h/d", (), "postgresql://me:***@h/d"),
        ("dbname=x password=other host=y", (), "dbname=x password=*** host=y"),
        ("password='a b' host=y", (), "password=*** host=y"),
        ("a cat sat", ("a",), "*** cat sat"),
        ("nothing here", (), "nothing here"),
    ],
)
def test_secrets_are_taken_out_of_a_text(text: str, secrets: tuple[str, ...], expected: str) -> None:
    assert scrub(text, secrets) == expected


def test_to_look_at_a_file_does_not_break_the_lock_that_this_process_has_on_it(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("CREATE TABLE t (i)")
    connection.execute("BEGIN IMMEDIATE")
    assert parse_url(str(path)).kind == "sqlite"
    program = f"import sqlite3; sqlite3.connect({str(path)!r}, timeout=0).execute('BEGIN IMMEDIATE')"
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "database is locked" in other.stderr
    connection.close()
