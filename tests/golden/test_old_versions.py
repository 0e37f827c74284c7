"""Lakes that older releases of DuckLake wrote: read as they are, and migrated, and compared with what DuckDB shows."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlalchemy as sa

import quacklake as ql
from quacklake.catalog.migrations import migrate_lake, v01
from quacklake.catalog.migrations.editor import CatalogEditor
from quacklake.catalog.open import open_backend
from quacklake.catalog.url import parse_url
from tests.conftest import Duck
from tests.golden.stock import CURRENT_COLUMNS, NAMES, ROOT, WITH_FILES, copy_to, data_path_of, unpack
from tests.lakes import Place, answers, as_text, attached, difference, quoted

pytestmark = pytest.mark.skipif(not ROOT.is_dir(), reason=f"the golden lakes are not in {ROOT}")

Shown = dict[int, dict[str, tuple[tuple[str, str], ...]]]
"""By snapshot, the tables with the names and types of their columns."""
ALL = [*("sqlite", "duckdb"), *(pytest.param(name, marks=pytest.mark.server) for name in ("postgresql", "mysql"))]


TYPICAL = [f"old_ducklake/{name}" for name in ("v01_partitioned", "compacted_files", "v03_types", "v04-dev1")]


def current_columns(url: str) -> dict[str, list[str]]:
    """The tables of the format in a catalog, with their columns in order."""
    backend = open_backend(parse_url(url))
    with backend.read() as connection:
        found = backend.columns(connection)
    backend.close()
    return {name: list(columns) for name, columns in found.items() if name in CURRENT_COLUMNS}


def shown_by(session: ql.Session) -> Shown:
    return {
        snapshot.snapshot_id: {
            str(table.name): tuple((column.name, str(column.type)) for column in table.schema)
            for table in session._catalog.view(snapshot.snapshot_id).tables
        }
        for snapshot in session.snapshots()
    }


def migrated_by_duckdb(catalog: Path, data_path: str) -> Place:
    """A copy of the catalog that DuckDB's own extension has migrated."""
    copy = catalog.with_name("theirs.db")
    shutil.copy(catalog, copy)
    place = Place("duckdb", str(copy), f"duckdb:///{copy}", data_path)
    try:
        with attached(place, "OVERRIDE_DATA_PATH true, AUTOMATIC_MIGRATION true"):
            return place
    except duckdb.BinderException as error:
        # It expects a column that not all lakes of 0.4-dev1 have any more; ours looks first.
        if "partial_file_info" not in str(error):
            raise
        pytest.skip("DuckDB's own migration fails on this lake")


def seen_by_duckdb(con: duckdb.DuckDBPyConnection) -> dict[int, dict[str, tuple[str, ...]]]:
    """By snapshot, the tables with the names of their columns, asked of the extension itself."""
    seen: dict[int, dict[str, tuple[str, ...]]] = {}
    for (snapshot,) in con.execute("SELECT snapshot_id FROM ducklake_snapshots('lk')").fetchall():
        names = con.execute(
            "SELECT s.schema_name, t.table_name FROM __ducklake_metadata_lk.ducklake_table t"
            " JOIN __ducklake_metadata_lk.ducklake_schema s USING (schema_id)"
            " WHERE t.begin_snapshot <= ? AND (t.end_snapshot IS NULL OR ? < t.end_snapshot)",
            [snapshot, snapshot],
        ).fetchall()
        seen[snapshot] = {}
        for namespace, table in names:
            source = f"lk.{quoted(namespace)}.{quoted(table)} AT (VERSION => {snapshot})"
            described = con.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
            seen[snapshot][f"{namespace}.{table}"] = tuple(row[0] for row in described)
    return seen


@pytest.mark.parametrize("name", NAMES)
def test_it_opens_as_it_is_and_shows_what_duckdb_shows_after_its_migration(name: str, tmp_path: Path) -> None:
    catalog = unpack(name, tmp_path)
    before = catalog.read_bytes()
    with ql.connect(f"duckdb:///{catalog}", create=False, read_only=True) as session:
        ours = shown_by(session)
        times = [snapshot.time for snapshot in session.snapshots()]
        assert session.tables() == list(ours[session.current_snapshot])
    assert catalog.read_bytes() == before
    theirs = migrated_by_duckdb(catalog, data_path_of(name, tmp_path))
    with attached(theirs, "OVERRIDE_DATA_PATH true") as con:
        assert {
            snapshot: {table: tuple(column for column, _ in columns) for table, columns in tables.items()}
            for snapshot, tables in ours.items()
        } == seen_by_duckdb(con)
        stored = con.execute("SELECT snapshot_time FROM lk.snapshots() ORDER BY ALL").fetchall()
        assert times == [row[0] for row in stored]


@pytest.mark.parametrize("name", NAMES)
def test_after_our_migration_duckdb_reads_and_writes_it(name: str, tmp_path: Path, duck: Duck) -> None:
    catalog = unpack(name, tmp_path)
    with ql.connect(f"duckdb:///{catalog}", create=False) as session:
        before = shown_by(session)
    with ql.connect(f"duckdb:///{catalog}", create=False, migrate=True) as session:
        assert session._catalog.version == "1.0"
        assert shown_by(session) == before
    assert current_columns(f"duckdb:///{catalog}") == CURRENT_COLUMNS
    place = Place("duckdb", str(catalog), f"duckdb:///{catalog}", data_path_of(name, tmp_path))
    with duck(place, "OVERRIDE_DATA_PATH true") as con:
        theirs = {table for tables in seen_by_duckdb(con).values() for table in tables}
        assert theirs == {table for tables in before.values() for table in tables}
        con.execute("CREATE TABLE fresh AS SELECT range AS i FROM range(100)")
        con.execute("UPDATE fresh SET i = -1 WHERE i = 5")
        assert con.execute("SELECT count(*), sum(i) FROM fresh").fetchall() == [(100, 4944)]
    with ql.connect(f"duckdb:///{catalog}", create=False) as session:
        assert "main.fresh" in session.tables()


# DuckDB's own migration of compacted_files forgets which rows are younger, and shows them at older snapshots.
@pytest.mark.parametrize("name", [name for name in NAMES if "compacted" not in name])
def test_our_migration_and_duckdbs_come_to_the_same(name: str, tmp_path: Path) -> None:
    catalog = unpack(name, tmp_path)
    theirs = migrated_by_duckdb(catalog, data_path_of(name, tmp_path))
    ql.connect(f"duckdb:///{catalog}", create=False, migrate=True).close()
    con = duckdb.connect()
    con.execute(f"ATTACH '{catalog}' AS ours")
    con.execute(f"ATTACH '{theirs.attach}' AS theirs")
    for table in CURRENT_COLUMNS:
        different = con.execute(
            f"(FROM ours.{table} EXCEPT ALL FROM theirs.{table}) UNION ALL"
            f" (FROM theirs.{table} EXCEPT ALL FROM ours.{table})"
        ).fetchall()
        assert different == [], table
    con.close()


@pytest.mark.parametrize("name", TYPICAL)
@pytest.mark.parametrize("database", ALL)
def test_it_is_the_same_lake_in_every_database(
    name: str, database: str, tmp_path: Path, new_place: Callable[[str], Place]
) -> None:
    catalog = unpack(name, tmp_path)
    with ql.connect(f"duckdb:///{catalog}", create=False) as session:
        expected = shown_by(session)
        partitions = {table: session.table(table).partition_by for table in session.tables()}
    place = new_place(database)
    copy_to(catalog, place)
    for migrate in (False, True, False):
        with ql.connect(place.url, create=False, migrate=migrate) as session:
            assert shown_by(session) == expected
            assert {table: session.table(table).partition_by for table in session.tables()} == partitions
            for table in session.tables():
                session.table(table).scan().plan()
    assert current_columns(place.url) == CURRENT_COLUMNS


def test_rows_of_a_merged_file_that_are_younger_than_the_snapshot_are_left_out(tmp_path: Path) -> None:
    catalog = unpack("old_ducklake/compacted_files", tmp_path)

    def plans(session: ql.Session) -> dict[int, list[tuple[int, int | None, int]]]:
        return {
            id_: [
                (file.file_id, file.partial_max, file.record_count - len(file.deleted_positions))
                for file in session.table("t1", at=id_).scan().plan().files
            ]
            for id_ in (2, 5, 6, 10)
        }

    with ql.connect(f"duckdb:///{catalog}", create=False) as session:
        assert plans(session) == {
            2: [(6, None, 4)],
            5: [(6, None, 4)],
            6: [(6, None, 7)],
            10: [(6, None, 7), (8, 9, 1)],
        }
    with ql.connect(f"duckdb:///{catalog}", create=False, migrate=True) as session:
        # From now on the file says that some of its rows are younger, and engines ask it which.
        assert plans(session)[2] == [(6, 6, 7)]
        assert plans(session)[10] == [(6, 6, 7), (8, 9, 1)]


def test_partitions_of_the_first_version_name_their_columns_by_id(tmp_path: Path) -> None:
    catalog = unpack("old_ducklake/v01_partitioned", tmp_path)
    for migrate in (False, True):
        with ql.connect(f"duckdb:///{catalog}", create=False, migrate=migrate) as session:
            assert session.table("partitioned_tbl").partition_by == ["part_key"]
            assert session.table("other_partitioned_tbl").partition_by == ["other_part_key"]
            assert session.table("partitioned_tbl", at=1).partition_by == []


@pytest.mark.parametrize("database", ALL)
def test_version_0_2_opens_as_well(database: str, tmp_path: Path, new_place: Callable[[str], Place]) -> None:
    # None of the golden lakes is of this version: the one called so is already on its way to 0.3.
    place = new_place(database)
    copy_to(unpack("old_ducklake/v01_partitioned", tmp_path), place)
    with ql.connect(place.url, create=False) as session:
        expected = shown_by(session)
    backend = open_backend(parse_url(place.url))
    with backend.write() as connection, backend.exclusive(connection):
        assert v01.upgrade(CatalogEditor(backend, connection)) == "0.2"
    backend.close()
    for migrate, version in ((False, "0.2"), (True, "1.0")):
        with ql.connect(place.url, create=False, migrate=migrate) as session:
            assert session._catalog.version == version
            assert shown_by(session) == expected
            assert session.table("partitioned_tbl").partition_by == ["part_key"]


@pytest.mark.parametrize("database", ALL)
def test_a_migration_that_fails_can_be_run_again(
    database: str, tmp_path: Path, new_place: Callable[[str], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(Exception):
        pass

    place = new_place(database)
    copy_to(unpack("old_ducklake/v01_partitioned", tmp_path), place)
    with ql.connect(place.url, create=False) as session:
        expected = shown_by(session)
    steps = 0

    def interrupt_at(limit: int, run: Callable[..., Any]) -> Callable[..., Any]:
        def counted(self: CatalogEditor, statement: str) -> None:
            nonlocal steps
            steps += 1
            if steps == limit:
                raise Interrupted
            run(self, statement)

        return counted

    # In MySQL each attempt gets a little further; elsewhere each starts from the beginning.
    for limit in (3,) * 12 if database == "mysql" else (3, 8, 12, 20, 23):
        steps = 0
        with monkeypatch.context() as patched, suppress(Interrupted):
            patched.setattr(CatalogEditor, "_run", interrupt_at(limit, CatalogEditor._run))
            ql.connect(place.url, create=False, migrate=True).close()
        with ql.connect(place.url, create=False) as session:
            assert shown_by(session) == expected
            assert database == "mysql" or session._catalog.version == "0.1"
    with ql.connect(place.url, create=False, migrate=True) as session:
        assert session._catalog.version == "1.0"
        assert shown_by(session) == expected
        assert session.table("partitioned_tbl").partition_by == ["part_key"]


def test_an_old_lake_is_not_written(tmp_path: Path) -> None:
    catalog = unpack("old_ducklake/v03", tmp_path)
    with ql.connect(f"duckdb:///{catalog}", create=False) as session, pytest.raises(ql.VersionError) as caught:
        session._catalog.check_writable()
    assert "migrate=True" in str(caught.value.hint)


def test_a_session_that_only_reads_does_not_migrate(tmp_path: Path) -> None:
    catalog = unpack("old_ducklake/v03", tmp_path)
    for settings in ({"read_only": True}, {"at": 1}):
        with pytest.raises(ql.ReadOnlyError):
            ql.connect(f"duckdb:///{catalog}", migrate=True, **settings)


def test_to_migrate_a_current_lake_changes_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/lake.db"
    ql.connect(url).close()
    before = (tmp_path / "lake.db").read_bytes()
    ql.connect(url, migrate=True).close()
    backend = open_backend(parse_url(url))
    migrate_lake(backend)
    backend.close()
    assert (tmp_path / "lake.db").read_bytes() == before


@pytest.mark.parametrize("migrate", [False, True])
def test_rows_are_those_that_duckdb_reads_after_its_migration(tmp_path: Path, migrate: bool) -> None:
    catalog = unpack(WITH_FILES, tmp_path)
    data_path = data_path_of(WITH_FILES, tmp_path)
    with attached(migrated_by_duckdb(catalog, data_path), "OVERRIDE_DATA_PATH true") as con:
        expected = answers(con)
    settings = {"data_path": data_path, "override_data_path": True, "engine": "local", "migrate": migrate}
    with ql.connect(f"duckdb:///{catalog}", create=False, **settings) as session:  # type: ignore[arg-type]
        for answer in expected:
            assert answer.error is None
            scan = session.table(answer.name, at=answer.snapshot_id).scan(row_ids=answer.shows_ids)
            assert difference(as_text(scan.to_arrow(), answer.all_types), answer.rows) is None, str(answer)
    assert sum(sum(answer.rows.values()) for answer in expected) > 100


@pytest.mark.parametrize("version", ["v01", "v02", "v03-dev1", "v03", "v04-dev1", "v04"])
def test_rows_that_duckdb_adds_after_our_migration_are_read(version: str, tmp_path: Path, duck: Duck) -> None:
    name = f"old_ducklake/{version}"
    catalog = unpack(name, tmp_path)
    ql.connect(f"duckdb:///{catalog}", create=False, migrate=True).close()
    place = Place("duckdb", str(catalog), f"duckdb:///{catalog}", data_path_of(name, tmp_path))
    with duck(place, "OVERRIDE_DATA_PATH true, DATA_INLINING_ROW_LIMIT 0") as con:
        con.execute("INSERT INTO test SELECT range FROM range(50)")
        con.execute("DELETE FROM test WHERE i % 7 = 0")
        expected = answers(con)
    settings = {"data_path": place.data_path, "override_data_path": True, "engine": "local"}
    with ql.connect(place.url, create=False, **settings) as session:  # type: ignore[arg-type]
        for answer in expected:
            scan = session.table(answer.name, at=answer.snapshot_id).scan(row_ids=answer.shows_ids)
            assert difference(as_text(scan.to_arrow(), answer.all_types), answer.rows) is None, str(answer)


def test_an_option_of_the_first_version_has_no_scope(tmp_path: Path) -> None:
    catalog = unpack("old_ducklake/v01", tmp_path)
    with ql.connect(f"duckdb:///{catalog}", create=False) as session:
        assert {option.scope for option in session.options()} == {None}


def test_tables_and_columns_that_are_not_there_behave_as_empty(tmp_path: Path) -> None:
    catalog = unpack("old_ducklake/v01", tmp_path)
    with ql.connect(f"duckdb:///{catalog}", create=False) as session:
        tables = session._catalog.tables
        with session._catalog.backend.read() as connection:
            for table in tables:
                rows = connection.execute(sa.select(table)).mappings().all()
                assert all(set(row) == set(CURRENT_COLUMNS[name]) for row in rows for name in [_name_of(tables, table)])


def _name_of(tables: Any, wanted: Any) -> str:
    return next(f"ducklake_{name}" for name in tables.__slots__ if getattr(tables, name) is wanted)


def test_a_feed_takes_merged_files_of_old_versions_apart(tmp_path: Path) -> None:
    catalog = unpack("old_ducklake/compacted_files", tmp_path)
    with ql.connect(f"duckdb:///{catalog}", create=False, read_only=True, engine="local") as session:

        def born(start: int, end: int) -> list[tuple[int, int]]:
            plan: Any = session.table("t1").changes(start, end).plan()
            return [
                (file.begin_snapshot, file.record_count - len(file.deleted_positions)) for file in plan.changes.births
            ]

        # The catalog says `2:4|6:7`: four rows up to snapshot 2, seven up to snapshot 6.
        assert born(0, 10) == [(2, 4), (6, 3), (9, 1)]
        assert born(3, 6) == [(6, 3)]
        assert born(3, 5) == born(7, 8) == []
        assert born(1, 2) == [(2, 4)]
        parts: Any = session.table("t1").changes(3, 6).plan()
        assert parts.changes.births[0].deleted_positions == (0, 1, 2, 3)
