from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import quacklake as ql
from quacklake.catalog.view import CatalogView, PartitionKey, SortKey
from quacklake.names import TableName
from quacklake.schema import Default
from tests.conftest import Duck
from tests.golden.stock import copy_to
from tests.lakes import Place, attached

ALL = ["sqlite", "duckdb", *(pytest.param(name, marks=pytest.mark.server) for name in ("postgresql", "mysql"))]
LIFE = (
    "CREATE SCHEMA analytics",
    'CREATE SCHEMA "Odd.name"',
    "CREATE TABLE plain (i INTEGER NOT NULL, s VARCHAR DEFAULT 'it''s', n DECIMAL(10,2) DEFAULT 1.5, u UUID)",
    "CREATE TABLE analytics.nested (a STRUCT(x INT, y STRUCT(z VARCHAR[])), m MAP(VARCHAR, INT[]), l INT[][])",
    'CREATE TABLE "Odd.name"."Täble" (i INTEGER, "sp ace" INTEGER)',
    "CREATE TABLE analytics.plain (other BIGINT)",
    "ALTER TABLE plain SET PARTITIONED BY (i, bucket(8, s))",
    "ALTER TABLE plain SET SORTED BY (s DESC NULLS FIRST, i ASC)",
    "ALTER TABLE analytics.plain SET PARTITIONED BY (other)",
    "ALTER TABLE analytics.plain RESET PARTITIONED BY",
    "COMMENT ON TABLE plain IS 'a table; it''s \"fine\"'",
    "COMMENT ON COLUMN plain.s IS 'a column'",
    "COMMENT ON COLUMN plain.i IS 'gone'",
    "COMMENT ON COLUMN plain.i IS NULL",
    "ALTER TABLE plain ADD COLUMN late DATE DEFAULT '2024-02-29'",
    "ALTER TABLE plain RENAME COLUMN u TO renamed",
    "ALTER TABLE plain DROP COLUMN n",
    "CREATE VIEW analytics.v AS SELECT other AS a FROM plain",
    "COMMENT ON VIEW analytics.v IS 'a view'",
    'CREATE VIEW w("first, one", "sec""ond") AS SELECT 1, 2',
    "CREATE MACRO twice(x) AS x * 2",
    "CREATE TABLE renamed_later (i INTEGER)",
    "ALTER TABLE renamed_later RENAME TO renamed",
    "CREATE TABLE dropped (i INTEGER)",
    "DROP TABLE dropped",
    "CALL lk.set_option('parquet_compression', 'zstd')",
    "CALL lk.set_option('target_file_size', '1MB', table_name => 'plain')",
)


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place.in_folder("duckdb", tmp_path_factory.mktemp("lived"))
    with attached(place, "DATA_INLINING_ROW_LIMIT 0") as con:
        for statement in LIFE:
            con.execute(statement)
    return place


@pytest.fixture
def life(lived: Place, tmp_path: Path) -> Place:
    """A copy of the catalog; none of its tables has rows."""
    copy = tmp_path / "life.duckdb"
    shutil.copy(lived.attach, copy)
    return replace(lived, attach=str(copy), url=f"duckdb:///{copy}")


def views(session: ql.Session) -> list[CatalogView]:
    return [session._catalog.view(each.snapshot_id) for each in session.snapshots()]


@pytest.mark.parametrize("name", [each for each in ALL if each != "duckdb"])
def test_every_database_shows_the_same_lake(
    name: str, life: Place, tmp_path: Path, new_place: Callable[[str], Place]
) -> None:
    with ql.connect(life.url) as session:
        expected = views(session)
    place = new_place(name)
    copy_to(Path(life.attach), place)
    with ql.connect(place.url, create=False) as session:
        for ours, theirs in zip(views(session), expected, strict=True):
            # MySQL stores whole seconds.
            assert abs((ours.snapshot.time - theirs.snapshot.time).total_seconds()) <= (1 if name == "mysql" else 0)
            ours = replace(ours, snapshot=theirs.snapshot, options=tuple(sorted(ours.options, key=repr)))
            assert ours == replace(theirs, options=tuple(sorted(theirs.options, key=repr)))
        only = session._catalog.view(only=TableName("ANALYTICS", "Plain"))
        assert [str(each.name) for each in only.tables] == ["analytics.plain"]
        assert session.table('"odd.NAME"."TäBLE"').name == '"Odd.name".Täble'


def test_a_table_has_all_that_duckdb_gave_it(life: Place) -> None:
    with ql.connect(life.url) as session:
        view = session._catalog.view()
        table = view.table(TableName("main", "plain"))
        assert [(c.name, str(c.type), c.nullable, c.comment) for c in table.schema] == [
            ("i", "int32", False, None),
            ("s", "varchar", True, "a column"),
            ("renamed", "uuid", True, None),
            ("late", "date", True, None),
        ]
        assert table.comment == 'a table; it\'s "fine"'
        assert table.schema.column("s").default == Default("it's")
        assert table.schema.column("late").initial_default == "2024-02-29"
        assert table.schema.column("i").default is None
        assert table.partition is not None
        assert table.partition.keys == (PartitionKey(1, "identity"), PartitionKey(2, "bucket(8)"))
        assert table.sort is not None
        assert table.sort.keys == (SortKey("s", True, True), SortKey("i", False, False))
        assert view.table(TableName("analytics", "plain")).partition is None
        nested = view.table(TableName("analytics", "nested")).schema
        assert [str(column.type) for column in nested] == [
            "struct<x: int32, y: struct<z: list<varchar>>>",
            "map<varchar, list<int32>>",
            "list<list<int32>>",
        ]
        assert [column.id for column in nested.walk()] == list(range(1, 13))


def test_a_path_is_put_together_from_all_levels(life: Place) -> None:
    with ql.connect(life.url) as session:
        view = session._catalog.view()
        assert view.namespace("analytics").path == f"{life.data_path}analytics/"
        assert view.table(TableName("analytics", "plain")).path == f"{life.data_path}analytics/plain/"
        # A rename keeps the path; a name that is no good for a folder gets another one.
        assert view.table(TableName("main", "renamed")).path == f"{life.data_path}main/renamed_later/"
        assert "Odd" not in view.namespace("Odd.name").path


def test_views_macros_and_settings_are_there(life: Place) -> None:
    with ql.connect(life.url) as session:
        view = session._catalog.view()
        by_name = {str(each.name): each for each in view.views}
        assert by_name["main.w"].column_aliases == ("first, one", 'sec"ond')
        assert by_name["analytics.v"].tags == {"comment": "a view"}
        assert by_name["analytics.v"].dialect == "duckdb"
        (macro,) = view.macros
        assert (macro.name, macro.kind, macro.implementations) == ("twice", "scalar", ("(x * 2)",))
        options = {(option.scope, option.name): option.value for option in view.options}
        assert options[None, "parquet_compression"] == "zstd"
        assert options["table", "target_file_size"] == "1000000"


def test_each_snapshot_shows_what_was_there(life: Place) -> None:
    with ql.connect(life.url) as session:
        newest = session.current_snapshot
        assert session._catalog.view(0).tables == ()
        assert session._catalog.view(0).namespaces == tuple(
            each for each in session._catalog.view().namespaces if each.name == "main"
        )
        assert "main.dropped" in [str(each.name) for each in session._catalog.view(newest - 1).tables]
        assert "main.dropped" not in session.tables()


def test_what_is_remembered_of_a_table_follows_the_newest_snapshot(life: Place, duck: Duck) -> None:
    with ql.connect(life.url) as session:
        before = session.table("plain")
        assert session.table("plain").schema is before.schema
        with duck(life) as con:
            con.execute("ALTER TABLE plain ADD COLUMN one_more INTEGER")
        assert session.table("plain").schema.names == (*before.schema.names, "one_more")
        assert session.table("plain", at=session.current_snapshot - 1).schema == before.schema
        # Settings belong to no snapshot: they are read every time.
        with duck(life) as con:
            con.execute("CALL lk.set_option('parquet_compression', 'snappy')")
        view = session._catalog.view(only=TableName("main", "plain"))
        assert {option.name: option.value for option in view.options}["parquet_compression"] == "snappy"
        with duck(life) as con:
            con.execute("DROP TABLE plain")
        with pytest.raises(ql.NotFoundError):
            session.table("plain")


def test_only_so_much_is_remembered(life: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from quacklake.catalog import lake

    monkeypatch.setattr(lake, "REMEMBERED", 2)
    with ql.connect(life.url) as session:
        for name in ("plain", "renamed", "analytics.plain", "analytics.nested", "plain"):
            session.table(name)
            assert len(session._catalog._known) <= 2


def test_a_read_is_done_again_when_a_table_vanishes_under_it(life: Place) -> None:
    with ql.connect(life.url) as session:
        attempts = []

        def work(connection: object) -> str:
            attempts.append(connection)
            if len(attempts) < 3:
                connection.exec_driver_sql("SELECT * FROM ducklake_flushed_just_now")  # type: ignore[attr-defined]
            return "done"

        assert session._catalog._read(work) == "done"
        assert len(attempts) == 3
        attempts.clear()

        def fail(connection: object) -> None:
            attempts.append(connection)
            connection.exec_driver_sql("SELEKT")  # type: ignore[attr-defined]

        with pytest.raises(ql.CatalogError):
            session._catalog._read(fail)
        assert len(attempts) == 1
