"""Statements that PostgreSQL gets as one do what they would do one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa

import quacklake as ql
from quacklake.catalog.backends import bundle
from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.open import open_backend
from quacklake.catalog.tables import CatalogTables, build_tables
from quacklake.catalog.url import parse_url
from tests.lakes import Place

pytestmark = pytest.mark.server
PLACE = "odd % VALUES (name)"


@pytest.fixture
def place(new_place: Callable[[str], Place]) -> Place:
    found = new_place("postgresql")
    ql.connect(found.url, found.data_path, metadata_schema=PLACE).close()
    return found


@pytest.fixture
def database(place: Place) -> Iterator[Backend]:
    found = open_backend(parse_url(place.url), PLACE)
    yield found
    found.close()


@pytest.fixture
def tables() -> CatalogTables:
    return build_tables(PLACE)


def tag(number: int, **changes: Any) -> dict[str, Any]:
    return {"object_id": number, "begin_snapshot": 0, "end_snapshot": None, "key": "k", "value": None, **changes}


def stats(number: int, **changes: Any) -> dict[str, Any]:
    row = {"table_id": 1, "column_id": number, "contains_null": None, "contains_nan": None, "min_value": None}
    return {**row, "max_value": None, "extra_stats": None, **changes}


def rows(database: Backend, table: sa.Table) -> set[tuple[Any, ...]]:
    with database.read() as connection:
        return {tuple(row) for row in connection.execute(table.select())}


def test_inserts_of_several_tables_and_updates_are_one_statement(database: Backend, tables: CatalogTables) -> None:
    tags, columns = tables.tag, tables.table_column_stats
    insert_tag, insert_column = tags.insert(), columns.insert()
    update = (
        columns.update()
        .where(columns.c.column_id == sa.bindparam("which", type_=sa.BigInteger()))
        .values(min_value=sa.bindparam("new", type_=columns.c.min_value.type))
    )
    with database.write() as connection:
        connection.execute(insert_column, [stats(7), stats(8)])
    with database.write() as connection, database.together(connection) as collected:
        assert collected is not None
        collected.add(insert_tag, [tag(1), tag(2, value="100 % of $1 'x'"), tag(3, end_snapshot=9)])
        collected.add(update, [{"which": 7, "new": "a%"}, {"which": 8, "new": None}])
        collected.add(insert_column, [stats(9, contains_null=True, contains_nan=False), stats(10)])
    assert rows(database, tags) == {
        (1, 0, None, "k", None),
        (2, 0, None, "k", "100 % of $1 'x'"),
        (3, 0, 9, "k", None),
    }
    assert rows(database, columns) == {
        (1, 7, None, None, "a%", None, None),
        (1, 8, None, None, None, None, None),
        (1, 9, True, False, None, None, None),
        (1, 10, None, None, None, None, None),
    }


def test_one_that_fails_leaves_nothing_of_the_others(database: Backend, tables: CatalogTables) -> None:
    snapshots = tables.snapshot
    twice = {"snapshot_id": 0, "snapshot_time": None, "schema_version": 0, "next_catalog_id": 0, "next_file_id": 0}

    def collide() -> None:
        with database.write() as connection, database.together(connection) as collected:
            assert collected is not None
            collected.add(tables.tag.insert(), [tag(1)])
            collected.add(snapshots.insert(), [twice])

    with pytest.raises(sa.exc.DBAPIError) as raised:
        collide()
    assert database.classify(raised.value) == "unique"
    assert not rows(database, tables.tag)


def test_very_many_rows_go_by_themselves(
    database: Backend, tables: CatalogTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle, "_MOST_VALUES", 12)
    insert = tables.tag.insert()
    with database.write() as connection, database.together(connection) as collected:
        assert collected is not None
        collected.add(insert, [tag(1), tag(2)])
        collected.add(insert, [tag(3)])
    assert {row[0] for row in rows(database, tables.tag)} == {1, 2, 3}


def test_a_block_that_ends_badly_runs_nothing(database: Backend, tables: CatalogTables) -> None:
    def interrupt() -> None:
        with database.write() as connection, database.together(connection) as collected:
            assert collected is not None
            collected.add(tables.tag.insert(), [tag(1)])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert not rows(database, tables.tag)


@pytest.mark.parametrize("inline_rows", [0, 10])
def test_a_lake_lives_in_an_sql_schema_with_an_odd_name(place: Place, inline_rows: int) -> None:
    with ql.connect(place.url, metadata_schema=PLACE, engine="local", inline_rows=inline_rows) as session:
        table = session.create_table("t", "id BIGINT, name STRING")
        for number in range(3):
            table.append(pa.table({"id": [number, 10 + number], "name": ["100 %", None]}))
        table.delete("id = 11")
        assert set(table.to_arrow().column("id").to_pylist()) == {0, 1, 2, 10, 12}
        assert table.count() == 5
        assert not session.check()
