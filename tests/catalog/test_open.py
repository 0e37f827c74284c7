from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

import quacklake as ql
from quacklake.catalog.open import open_backend
from quacklake.catalog.tables import build_tables
from quacklake.catalog.url import parse_url
from tests.conftest import Duck
from tests.lakes import Place


def change(place: Place, make: Callable[[sa.Connection], object]) -> None:
    """Change rows of a catalog behind everybody's back."""
    backend = open_backend(parse_url(place.url))
    with backend.write() as connection:
        make(connection)
    backend.close()


def set_option(place: Place, key: str, value: str | None, scope: str | None = None) -> None:
    url = parse_url(place.url)
    metadata = build_tables("public" if url.kind == "postgresql" else None).metadata

    def make(connection: sa.Connection) -> None:
        if scope is None:
            connection.execute(metadata.delete().where(metadata.c.key == key))
        if value is not None:
            connection.execute(metadata.insert().values(key=key, value=value, scope=scope, scope_id=scope and 0))

    change(place, make)


def test_a_lake_is_made_where_there_is_none(backend: Place) -> None:
    with ql.connect(backend.url, backend.data_path) as session:
        assert session.namespaces() == ["main"]
        assert session.tables() == session.views() == []
        assert session.current_snapshot == 0
        (snapshot,) = session.snapshots()
        assert snapshot.changes == 'created_schema:"main"'
        assert abs(datetime.now(UTC) - snapshot.time) < timedelta(minutes=5)
        options = {option.name: option.value for option in session.options()}
        assert options["created_by"] == f"Quacklake {ql.__version__}"
        assert {key: options[key] for key in ("version", "data_path", "encrypted")} == {
            "version": "1.0",
            "data_path": backend.data_path,
            "encrypted": "false",
        }


def test_a_lake_is_found_again_without_its_data_path(backend: Place) -> None:
    ql.connect(backend.url, backend.data_path).close()
    with ql.connect(backend.url, create=False) as session:
        assert repr(session).endswith(f"data in {backend.data_path}>")


def test_without_create_an_empty_database_is_refused_and_stays_as_it_is(backend: Place) -> None:
    for settings in ({"create": False}, {"read_only": True}, {"at": 0}):
        with pytest.raises(ql.NotInitializedError, match="there is no lake in") as caught:
            ql.connect(backend.url, backend.data_path, **settings)
        assert caught.value.hint
    path = parse_url(backend.url).path
    assert path is None or not path.exists()


def test_a_given_data_path_may_be_spelled_in_any_way_that_means_the_same(
    backend: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ql.connect(backend.url, "files").close()
    for spelling in ("files", "files/", "./files", f"{tmp_path}/files//", "other/../files", f"file://{tmp_path}/files"):
        with ql.connect(backend.url, spelling) as session:
            assert repr(session).endswith(f"data in {tmp_path}/files/>")
            assert {each.name: each.value for each in session.options()}["data_path"] == "files/"


def test_another_data_path_is_refused_unless_it_overrides(backend: Place) -> None:
    ql.connect(backend.url, backend.data_path).close()
    with pytest.raises(ql.InvalidInputError, match="keeps its files in") as caught:
        ql.connect(backend.url, "/elsewhere")
    assert "override_data_path=True" in str(caught.value.hint)
    with ql.connect(backend.url, "/elsewhere", override_data_path=True) as session:
        assert repr(session).endswith("data in /elsewhere/>")
    with ql.connect(backend.url) as session:
        assert repr(session).endswith(f"data in {backend.data_path}>")


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_beside_a_catalog_that_is_a_file_is_where_its_files_go(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with ql.connect(f"{kind}:///lake.db") as session:
        assert {each.name: each.value for each in session.options()}["data_path"] == "lake.db.files/"
        assert repr(session).endswith(f"data in {tmp_path}/lake.db.files/>")


@pytest.mark.server
@pytest.mark.parametrize("name", ["postgresql", "mysql"])
def test_a_server_needs_a_data_path_once(name: str, new_place: Callable[[str], Place]) -> None:
    place = new_place(name)
    with pytest.raises(ql.InvalidInputError, match="needs to know where its files go") as caught:
        ql.connect(place.url)
    assert "data_path" in str(caught.value.hint)
    ql.connect(place.url, place.data_path).close()
    ql.connect(place.url).close()


def test_encrypted_is_settled_when_the_lake_is_made(backend: Place) -> None:
    with ql.connect(backend.url, backend.data_path, encrypted=True) as session:
        assert session._catalog.encrypted
    with ql.connect(backend.url) as session:
        assert session._catalog.encrypted


def test_a_lake_that_is_not_encrypted_is_not_taken_for_one(backend: Place) -> None:
    ql.connect(backend.url, backend.data_path).close()
    with pytest.raises(ql.InvalidInputError, match="is not encrypted"):
        ql.connect(backend.url, encrypted=True)


def test_a_newer_version_is_refused(backend: Place) -> None:
    ql.connect(backend.url, backend.data_path).close()
    set_option(backend, "version", "7.3")
    with pytest.raises(ql.VersionError, match=r"has version '7\.3'") as caught:
        ql.connect(backend.url)
    assert caught.value.hint == "upgrade quacklake"


def test_a_setting_of_an_unknown_scope_is_refused(backend: Place) -> None:
    ql.connect(backend.url, backend.data_path).close()
    set_option(backend, "auto_compact", "true", scope="galaxy")
    with pytest.raises(ql.VersionError, match="unknown scope 'galaxy'"):
        ql.connect(backend.url)


@pytest.mark.parametrize("missing", ["version", "data_path"])
def test_a_catalog_that_does_not_say_what_it_is_counts_as_damaged(backend: Place, missing: str) -> None:
    ql.connect(backend.url, backend.data_path).close()
    set_option(backend, missing, None)
    with pytest.raises(ql.CatalogError, match=f"does not say its {missing}"):
        ql.connect(backend.url)


@pytest.mark.parametrize("spelling", ["ducklake:{attach}", "{url}"])
def test_what_duckdb_made_opens_in_its_spelling_and_in_ours(backend: Place, duck: Duck, spelling: str) -> None:
    with duck(backend) as con:
        con.execute("CREATE TABLE t (i INTEGER)")
    with ql.connect(spelling.format(attach=backend.attach, url=backend.url), create=False) as session:
        assert session.tables() == ["main.t"]


def test_a_missing_snapshot_or_table_says_what_there_is(backend: Place, duck: Duck) -> None:
    with duck(backend) as con:
        con.execute("CREATE TABLE events (i INTEGER)")
        con.execute("CREATE VIEW summary AS SELECT 1 AS one")
    with ql.connect(backend.url) as session:
        with pytest.raises(ql.NotFoundError, match="no snapshot 99") as caught:
            session.table("events", at=99)
        assert "0 to 2" in str(caught.value.hint)
        with pytest.raises(ql.NotFoundError, match="no snapshot as old as 1999"):
            session.table("events", at=datetime(1999, 1, 1, tzinfo=UTC))
        with pytest.raises(ql.NotFoundError, match=r"no table main\.event at") as caught:
            session.table("event")
        assert "main.events" in str(caught.value.hint)
        with pytest.raises(ql.NotFoundError, match="is a view"):
            session.table("summary")
        with pytest.raises(ql.NotFoundError, match="no namespace 'nowhere'"):
            session.table("nowhere.events")
        with pytest.raises(ql.NotFoundError, match="no table"):
            session.table("events", at=0)
    with pytest.raises(ql.NotFoundError, match="no snapshot 99"):
        ql.connect(backend.url, at=99)


def test_a_moment_finds_the_snapshot_that_was_the_newest_then(backend: Place, duck: Duck) -> None:
    with duck(backend) as con:
        con.execute("CREATE TABLE a (i INTEGER)")
        con.execute("CREATE TABLE b (i INTEGER)")
    early, late = datetime(2020, 1, 1, tzinfo=UTC), datetime(2021, 1, 1, 12, 0, 0, tzinfo=UTC)
    url = parse_url(backend.url)
    snapshot = build_tables("public" if url.kind == "postgresql" else None).snapshot

    def make(connection: sa.Connection) -> None:
        for id_, moment in enumerate((early, late, late + timedelta(days=1))):
            connection.execute(snapshot.update().where(snapshot.c.snapshot_id == id_).values(snapshot_time=moment))

    change(backend, make)
    with ql.connect(backend.url) as session:
        found = session._catalog.snapshot
        assert [found(at).snapshot_id for at in (early, late - timedelta(seconds=1), late)] == [0, 0, 1]
        # The same moment in another zone is the same moment.
        assert found(late.astimezone(datetime.now().astimezone().tzinfo)).snapshot_id == 1
        assert found(datetime.now(UTC)).snapshot_id == 2
    with ql.connect(backend.url, at=late) as session:
        assert session.tables() == ["main.a"]


def test_moments_in_sqlite_are_compared_by_what_they_mean(tmp_path: Path, duck: Duck) -> None:
    place = Place.in_folder("sqlite", tmp_path)
    with duck(place) as con:
        con.execute("CREATE TABLE a (i INTEGER)")
        con.execute("CREATE TABLE b (i INTEGER)")
    spellings = ("2021-01-01T00:00:00Z", "2021-01-01 03:00:00.5+02", "2021-01-01 01:00:01")
    statement = "UPDATE ducklake_snapshot SET snapshot_time = ? WHERE snapshot_id = ?"
    rows = [(text, id_) for id_, text in enumerate(spellings)]
    change(place, lambda connection: connection.exec_driver_sql(statement, rows))
    midnight = datetime(2021, 1, 1, tzinfo=UTC)
    with ql.connect(place.url) as session:
        times = [each.time - midnight for each in session.snapshots()]
        assert times == [timedelta(0), timedelta(hours=1, seconds=0.5), timedelta(hours=1, seconds=1)]
        for seconds, id_ in ((0, 0), (3600.4, 0), (3600.5, 1), (3601, 2)):
            assert session._catalog.snapshot(midnight + timedelta(seconds=seconds)).snapshot_id == id_


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_missing_folder_is_named(kind: str, tmp_path: Path) -> None:
    with pytest.raises(ql.CatalogError, match=r"the folder .*missing does not exist"):
        ql.connect(f"{kind}:///{tmp_path}/missing/lake.db")
    with pytest.raises(ql.NotInitializedError):
        ql.connect(f"{kind}:///{tmp_path}/missing/lake.db", create=False)


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_folder_is_not_a_catalog(kind: str, tmp_path: Path) -> None:
    with pytest.raises(ql.CatalogError, match="is a folder"):
        ql.connect(f"{kind}:///{tmp_path}")


@pytest.mark.parametrize(("kind", "other"), [("sqlite", "duckdb"), ("duckdb", "sqlite")])
def test_a_file_of_another_kind_is_told_apart(kind: str, other: str, tmp_path: Path) -> None:
    ql.connect(f"{other}:///{tmp_path}/lake.db").close()
    with pytest.raises(ql.CatalogError, match="is not a ") as caught:
        ql.connect(f"{kind}:///{tmp_path}/lake.db")
    assert f"{other}:///file" in str(caught.value.hint)


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_file_that_is_no_database_is_left_alone(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("dear diary, " * 1000)
    with pytest.raises(ql.CatalogError, match=r"is not a (SQLite|DuckDB) database"):
        ql.connect(f"{kind}:///{path}")
    assert path.read_text() == "dear diary, " * 1000


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_file_that_may_only_be_read_can_be_read(kind: str, tmp_path: Path) -> None:
    url = f"{kind}:///{tmp_path}/lake.db"
    ql.connect(url).close()
    (tmp_path / "lake.db").chmod(0o444)
    with ql.connect(url, read_only=True) as session:
        assert session.namespaces() == ["main"]


@pytest.mark.server
@pytest.mark.parametrize("name", ["postgresql", "mysql"])
def test_many_lakes_fit_into_one_server_under_their_own_sql_schemas(
    name: str, new_place: Callable[[str], Place], duck: Duck
) -> None:
    place = new_place(name)
    for schema in ("Odd name", "plain"):
        own = f"{schema}_{os.getpid()}"
        with ql.connect(place.url, place.data_path, metadata_schema=own) as session:
            assert session.tables() == []
        if name == "postgresql":
            with duck(place, f"METADATA_SCHEMA '{own}'") as con:
                con.execute(f'CREATE TABLE "in {schema}" (i INTEGER)')
            with ql.connect(place.url, metadata_schema=own) as session:
                assert session.tables() == [f'main."in {schema}"']
    with pytest.raises(ql.NotInitializedError):
        ql.connect(place.url, create=False)


def test_a_duckdb_catalog_can_have_an_sql_schema_of_its_own(tmp_path: Path, duck: Duck) -> None:
    place = Place.in_folder("duckdb", tmp_path)
    ql.connect(place.url, place.data_path, metadata_schema="Meta data").close()
    with duck(place, "METADATA_SCHEMA 'Meta data'") as con:
        con.execute("CREATE TABLE t (i INTEGER)")
    with ql.connect(place.url, metadata_schema="Meta data") as session:
        assert session.tables() == ["main.t"]
    with pytest.raises(ql.NotInitializedError):
        ql.connect(place.url, create=False)


def test_sqlite_has_no_sql_schemas(tmp_path: Path) -> None:
    with pytest.raises(ql.InvalidInputError, match="SQLite has no SQL schemas"):
        ql.connect(f"sqlite:///{tmp_path}/lake.db", metadata_schema="x")
