"""Which columns a table of inlined rows has: those of its schema version, found and checked."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection
from contextlib import closing
from typing import Any

import pytest
import sqlalchemy as sa

from quacklake.catalog.inlined import load_inlined
from quacklake.catalog.open import open_catalog
from quacklake.errors import CatalogError
from quacklake.names import TableName
from quacklake.plan.scan import InlinedRows
from tests.conftest import Duck
from tests.lakes import Place

NewPlace = Callable[[str], Place]
T = TableName("main", "t")
DATABASES = ["sqlite", "duckdb", pytest.param("postgresql", marks=pytest.mark.server)]


def load(place: Place, at: int | None = None, columns: Collection[int] | None = None) -> tuple[InlinedRows, ...]:
    with closing(open_catalog(place.url, create=False, read_only=True)) as lake, lake.backend.read() as connection:
        view = lake.view(at, only=T)
        return load_inlined(connection, lake.tables, lake.backend, view.table(T), view.snapshot.snapshot_id, columns)


def run(duck: Duck, place: Place, *statements: str, options: str = "") -> None:
    with duck(place, options) as con:
        for statement in statements:
            con.execute(statement).fetchall()


def edit(place: Place, *statements: str) -> None:
    """Change a SQLite catalog behind everybody's back."""
    with closing(sqlite3.connect(place.url.removeprefix("sqlite:///"))) as con:
        for statement in statements:
            con.execute(statement)
        con.commit()


def shown(rows: InlinedRows) -> dict[str, list[Any]]:
    return {column.name: rows.data.column(f"c{column.id}").to_pylist() for column in rows.columns}


@pytest.mark.parametrize("name", DATABASES)
def test_every_layout_has_the_columns_it_was_written_under(name: str, new_place: NewPlace, duck: Duck) -> None:
    place = new_place(name)
    run(
        duck,
        place,
        "CREATE TABLE t(a INTEGER, b INTEGER)",
        "INSERT INTO t VALUES (1, 10)",
        "ALTER TABLE t RENAME COLUMN b TO c",
        "INSERT INTO t VALUES (2, 20)",
        "ALTER TABLE t ADD COLUMN b VARCHAR DEFAULT 'new'",
        "INSERT INTO t VALUES (3, 30, 'x')",
        "ALTER TABLE t DROP COLUMN a",
        "ALTER TABLE t ALTER c TYPE BIGINT",
        "INSERT INTO t VALUES (40, 'y')",
    )
    found = load(place)
    assert [[(column.id, column.name, str(column.type)) for column in each.columns] for each in found] == [
        [(1, "a", "int32"), (2, "b", "int32")],
        [(1, "a", "int32"), (2, "c", "int32")],
        [(1, "a", "int32"), (2, "c", "int32"), (3, "b", "varchar")],
        [(2, "c", "int64"), (3, "b", "varchar")],
    ]
    assert [shown(each) for each in found] == [
        {"a": [1], "b": [10]},
        {"a": [2], "c": [20]},
        {"a": [3], "c": [30], "b": ["x"]},
        {"c": [40], "b": ["y"]},
    ]
    assert [shown(each) for each in load(place, 2)] == [{"a": [1], "b": [10]}]


@pytest.mark.parametrize("name", DATABASES)
def test_a_table_of_rows_that_came_after_the_layout_has_the_layout_of_then(
    name: str, new_place: NewPlace, duck: Duck
) -> None:
    place = new_place(name)
    run(
        duck,
        place,
        "CREATE TABLE t(a INTEGER)",
        "ALTER TABLE t ADD COLUMN b INTEGER",
        "ALTER TABLE t RENAME COLUMN a TO c",
        options="DATA_INLINING_ROW_LIMIT 0",
    )
    # Now the table of inlined rows gets a schema version that is listed nowhere.
    run(
        duck,
        place,
        "INSERT INTO t VALUES (1, 2)",
        "ALTER TABLE t ADD COLUMN d INTEGER",
        "INSERT INTO t VALUES (3, 4, 5)",
    )
    assert [shown(each) for each in load(place)] == [{"c": [1], "b": [2]}, {"c": [3], "b": [4], "d": [5]}]


@pytest.mark.parametrize("name", DATABASES)
def test_a_renamed_table_keeps_its_inlined_rows(name: str, new_place: NewPlace, duck: Duck) -> None:
    place = new_place(name)
    run(duck, place, "CREATE TABLE old(a INTEGER)", "INSERT INTO old VALUES (1)", "ALTER TABLE old RENAME TO t")
    run(duck, place, "INSERT INTO t VALUES (2)")
    assert [value for each in load(place) for value in shown(each)["a"]] == [1, 2]


@pytest.mark.parametrize("name", DATABASES)
def test_only_the_wanted_columns_are_read(name: str, new_place: NewPlace, duck: Duck) -> None:
    place = new_place(name)
    run(duck, place, "CREATE TABLE t(a INTEGER, b INTEGER[], c VARCHAR)", "INSERT INTO t VALUES (1, [2], 'x')")
    (rows,) = load(place, columns={4, 1})
    assert rows.data.column_names == ["row_id", "begin_snapshot", "c1", "c4"]
    assert [column.name for column in rows.columns] == ["a", "c"]
    (rows,) = load(place, columns=())
    assert rows.data.to_pydict() == {"row_id": [0], "begin_snapshot": [2]}


ODD_NAMES = (
    "select",
    "A",
    "it's",
    "a b",
    'q"q',
    "c:d",
    "50%",
    "%(p)s",
    "?",
    "`",
    "\\",
    "ä",
    "t",
    "col",
    "ROW ID",
    ":p",
)


@pytest.mark.parametrize("name", DATABASES)
def test_columns_of_any_name_are_read(name: str, new_place: NewPlace, duck: Duck) -> None:
    place = new_place(name)
    columns = ", ".join('"' + each.replace('"', '""') + '" INTEGER[]' for each in ODD_NAMES)
    values = ", ".join(f"[{index}]" for index in range(len(ODD_NAMES)))
    run(duck, place, f"CREATE TABLE t({columns})", f"INSERT INTO t VALUES ({values})")
    (rows,) = load(place)
    assert [[int(item) for item in value[0]] for value in shown(rows).values()] == [[i] for i in range(len(ODD_NAMES))]


def test_the_columns_of_the_format_may_have_a_prefix(new_place: NewPlace, duck: Duck) -> None:
    place = new_place("sqlite")
    run(duck, place, "CREATE TABLE t(a INTEGER)", "INSERT INTO t VALUES (1), (2)", "DELETE FROM t WHERE a = 1")
    stored = "ducklake_inlined_data_1_1"
    edit(
        place,
        *(f"ALTER TABLE {stored} RENAME COLUMN {each} TO _ducklake_{each}" for each in ("row_id", "begin_snapshot")),
        f"ALTER TABLE {stored} RENAME COLUMN end_snapshot TO _ducklake_end_snapshot",
        f"ALTER TABLE {stored} RENAME COLUMN a TO row_id",
        "UPDATE ducklake_column SET column_name = 'row_id'",
        "UPDATE ducklake_metadata SET value = '1.1-dev1' WHERE key = 'version'",
    )
    (rows,) = load(place)
    assert rows.data.column("row_id").to_pylist() == [1]
    assert shown(rows) == {"row_id": [2]}


def test_a_missing_column_is_not_taken_for_a_text(new_place: NewPlace, duck: Duck) -> None:
    # SQLite reads "name" in double quotes as a string when there is no such column.
    place = new_place("sqlite")
    run(duck, place, "CREATE TABLE t(a INTEGER, b VARCHAR)", "INSERT INTO t VALUES (1, 'x')")
    edit(place, "ALTER TABLE ducklake_inlined_data_1_1 RENAME COLUMN b TO other")
    with pytest.raises(
        CatalogError, match=r"columns of ducklake_inlined_data_1_1 are not those of main\.t .* a, other"
    ):
        load(place)


def test_a_column_that_no_layout_has_is_not_dropped(new_place: NewPlace, duck: Duck) -> None:
    place = new_place("sqlite")
    run(duck, place, "CREATE TABLE t(a INTEGER)", "INSERT INTO t VALUES (1)")
    edit(place, "ALTER TABLE ducklake_inlined_data_1_1 ADD COLUMN b INTEGER")
    with pytest.raises(CatalogError, match="a, b"):
        load(place)


def test_without_a_list_of_layouts_the_snapshots_tell(new_place: NewPlace, duck: Duck) -> None:
    place = new_place("sqlite")
    run(
        duck,
        place,
        "CREATE TABLE t(a INTEGER)",
        "INSERT INTO t VALUES (1)",
        "ALTER TABLE t ADD COLUMN b INTEGER",
        "INSERT INTO t VALUES (2, 3)",
    )
    edit(place, "DELETE FROM ducklake_schema_versions")
    assert [shown(each) for each in load(place)] == [{"a": [1]}, {"a": [2], "b": [3]}]


@pytest.mark.parametrize("name", DATABASES)
def test_a_table_of_rows_that_is_gone_is_an_error(name: str, new_place: NewPlace, duck: Duck) -> None:
    place = new_place(name)
    run(duck, place, "CREATE TABLE t(a INTEGER)")
    with closing(open_catalog(place.url, create=False)) as lake, lake.backend.write() as connection:
        prefix = f"{lake.backend.sql_schema}." if lake.backend.sql_schema else ""
        connection.execute(sa.text(f"DROP TABLE {prefix}ducklake_inlined_data_1_1"))
    with pytest.raises(CatalogError, match=r"main\.t are gone: there is no table ducklake_inlined_data_1_1"):
        load(place)


def test_a_value_that_cannot_be_read_names_its_table_and_column(new_place: NewPlace, duck: Duck) -> None:
    place = new_place("sqlite")
    run(duck, place, "CREATE TABLE t(a INTEGER, b INTEGER[])", "INSERT INTO t VALUES (1, [2])")
    edit(place, "UPDATE ducklake_inlined_data_1_1 SET b = '[2'")
    with pytest.raises(CatalogError, match=r"column 'b' of main\.t cannot be read as list<int32>"):
        load(place)
    (rows,) = load(place, columns={1})
    assert shown(rows) == {"a": [1]}


def test_values_of_another_storage_class_are_read_for_what_they_are(new_place: NewPlace, duck: Duck) -> None:
    place = new_place("sqlite")
    run(
        duck,
        place,
        "CREATE TABLE t(i INTEGER, s VARCHAR, b BLOB, f DOUBLE)",
        "INSERT INTO t VALUES (1, 'a', 'x', 1), (2, 'b', 'y', 2), (3, 'c', 'z', 3)",
    )
    stored = "ducklake_inlined_data_1_1"
    edit(
        place,
        f"ALTER TABLE {stored} RENAME TO old",
        # Without affinity SQLite keeps every value as it comes.
        f"CREATE TABLE {stored}(row_id BIGINT, begin_snapshot BIGINT, end_snapshot BIGINT, i, s, b, f)",
        f"INSERT INTO {stored} SELECT * FROM old",
        "DROP TABLE old",
        f"UPDATE {stored} SET i = '1', s = CAST('ä' AS BLOB), b = 'x', f = 0.5 WHERE row_id = 0",
        f"UPDATE {stored} SET f = 7 WHERE row_id = 1",
    )
    (rows,) = load(place)
    assert shown(rows) == {
        "i": ["1", "2", "3"],
        "s": ["ä", "b", "c"],
        "b": [b"x", b"y", b"z"],
        "f": ["0.5", "7", "3.0"],
    }


def test_a_table_without_inlined_rows_costs_one_query(new_place: NewPlace, duck: Duck) -> None:
    place = new_place("sqlite")
    run(duck, place, "CREATE TABLE t(a INTEGER)", options="DATA_INLINING_ROW_LIMIT 0")
    asked: list[str] = []
    with closing(open_catalog(place.url, create=False)) as lake, lake.backend.read() as connection:
        view = lake.view(only=T)
        sa.event.listen(connection, "before_cursor_execute", lambda *args: asked.append(args[2]))
        assert load_inlined(connection, lake.tables, lake.backend, view.table(T), view.snapshot.snapshot_id) == ()
        assert len(asked) == 1
