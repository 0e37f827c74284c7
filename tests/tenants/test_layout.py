"""The tables that catalogs share: what they look like, who refuses them, and whose rows a statement reaches."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
import sqlalchemy as sa

import quacklake as ql
from quacklake.catalog.create import create_statement
from quacklake.catalog.shared.layout import OWNED, build_shared_tables
from quacklake.catalog.tables import LAYOUT
from tests.conftest import Duck
from tests.lakes import Place
from tests.tenants.statements import unbound, watching


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int32()), "v": [f"v{id_}" for id_ in ids]})


def test_ten_tables_say_whose_rows_they_hold_and_the_others_are_those_of_the_format(backend: Place) -> None:
    ql.connect(backend.url, backend.data_path, catalog="a", engine="local").close()
    with ql.connect(backend.url, catalog="a", engine="local") as session, session._catalog.backend.read() as connection:
        found = session._catalog.backend.columns(connection)
    for name, words in LAYOUT.items():
        columns = [word.rstrip("!*").split(":")[0] for word in words.split()]
        if name in OWNED:
            columns = ["catalog_id", *("next_entry_id" if each == "next_catalog_id" else each for each in columns)]
        assert list(found[f"ducklake_{name}"]) == columns
    assert found["ducklake_catalog"] == ("catalog_id", "catalog_name", "created_snapshot")


def test_duckdb_refuses_a_database_that_catalogs_share(backend: Place, duck: Duck) -> None:
    ql.connect(backend.url, backend.data_path, catalog="a", engine="local").close()
    with pytest.raises(duckdb.Error, match=r"1\.0-shared"), duck(backend):
        pass


def test_the_column_of_the_catalog_may_be_anywhere(tmp_path: Path) -> None:
    place = Place.in_folder("sqlite", tmp_path)
    ql.connect(place.url, place.data_path, catalog="a", engine="local").close()
    # As a migration leaves it that adds the column.
    with sqlite3.connect(tmp_path / "catalog.sqlite") as connection:
        for name in OWNED:
            table: sa.Table = getattr(build_shared_tables(), name)
            last = sa.Table(
                "moved",
                sa.MetaData(),
                *(sa.Column(c.name, c.type) for c in [*table.c][1:]),
                sa.Column("catalog_id", sa.BigInteger),
            )
            names = ", ".join(column.name for column in last.c)
            connection.execute(create_statement(last, sa.create_engine("sqlite://").dialect))
            connection.execute(f"INSERT INTO moved({names}) SELECT {names} FROM ducklake_{name}")
            connection.execute(f"DROP TABLE ducklake_{name}")
            connection.execute(f"ALTER TABLE moved RENAME TO ducklake_{name}")
    connection.close()
    with ql.connect(place.url, catalog="a", engine="local") as session:
        live(session)
        assert session.check() == []


@pytest.mark.parametrize("verb", ["read", "change", "look over"])
def test_no_statement_reaches_rows_of_other_catalogs(backend: Place, verb: str) -> None:
    with ql.connect(backend.url, backend.data_path, catalog="a", engine="local") as session:
        live(session)
        with watching() as seen:
            VERBS[verb](session)
        assert len(seen) > 5
        assert [text for text in seen if unbound(text, backend.kind)] == []


SCANNED = {
    "SCAN ducklake_metadata": "what a catalog gets of the settings, or the first row of all",
    "SCAN newest": "one row",
    "SCAN sqlite_master": "the names of tables",
    "SCAN quacklake_counter": "four rows",
}


def test_no_statement_looks_at_the_rows_of_all_catalogs(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/shared.db"
    for name in ("a", "b"):
        with ql.connect(url, catalog=name, engine="local") as session:
            live(session)
    with watching() as seen, ql.connect(url, catalog="a", engine="local") as session:
        for verb in VERBS.values():
            verb(session)
    database = sqlite3.connect(tmp_path / "shared.db")
    queries = {text for text in seen if re.match(r"\s*(SELECT|UPDATE|DELETE)", text) and "_inlined_" not in text}
    assert len(queries) > 30
    found = {
        line
        for text in queries
        for *_, line in database.execute(f"EXPLAIN QUERY PLAN {text}", [1] * text.count("?"))
        if line.startswith("SCAN")
    }
    database.close()
    assert found <= set(SCANNED)


def test_the_watcher_finds_statements_that_reach_too_far() -> None:
    assert unbound("SELECT * FROM ducklake_table", "sqlite")
    assert unbound("SELECT * FROM (SELECT * FROM ducklake_table) AS t WHERE t.catalog_id = 1", "sqlite")
    assert unbound("UPDATE public.ducklake_view SET end_snapshot = 1 WHERE view_id = 2", "postgres")
    assert unbound("DELETE FROM `ducklake_macro`", "mysql")
    assert unbound("INSERT INTO ducklake_schema (schema_id) VALUES (1)", "sqlite")
    assert not unbound("SELECT * FROM ducklake_column", "sqlite")
    assert not unbound("DELETE FROM ducklake_macro WHERE ducklake_macro.catalog_id = ? AND macro_id = 1", "sqlite")


def test_a_statement_without_a_catalog_is_refused(backend: Place) -> None:
    with ql.connect(backend.url, backend.data_path, catalog="a", engine="local") as session:
        catalog = session._catalog
        with catalog.backend.write() as connection:
            connection.execution_options(quacklake_catalog=None)
            with pytest.raises(sa.exc.StatementError, match="required for bind parameter"):
                connection.execute(sa.select(catalog.tables.snapshot))


def live(session: ql.Session) -> None:
    """Something of everything."""
    table = session.create_table("t", "id INT, v STRING", partition_by=["id"], sort_by=["id"], comment="c")
    table.append(rows(*range(40)))
    table.append(rows(100, 101))
    table.delete("id < 5")
    table.delete("id IN (6, 7, 100)")
    table.set_partition_by([])
    table.append(rows(*range(200, 230)))
    table.delete("id BETWEEN 200 AND 212")
    table.delete("id BETWEEN 213 AND 226")
    table.update({"v": "'new'"}, "id > 226")
    table.add_column("w", "int", default=3)
    session.create_namespace("n")
    session.create_table("n.u", "a INT").rename("x")
    session.create_view("view", "SELECT id FROM t")
    session.set_option("target_file_size", "1MB")
    session.set_option("target_file_size", "2MB", table="t")


def read(session: ql.Session) -> None:
    session.tables()
    session.views()
    session.options()
    for snapshot in session.snapshots():
        if "main.t" in session.tables():
            session.table("t").scan(where="id > 3", at=snapshot.snapshot_id)
    assert session.table("t").scan(where="id > 20 AND v <> 'a'").to_arrow().num_rows
    assert session.table("t").changes(session.snapshots()[2].snapshot_id).to_arrow().num_rows
    session.table("t").history()
    session.table("t", at=session.snapshots()[-1].time).count()


def change(session: ql.Session) -> None:
    table = session.table("t")
    table.append(rows(300))
    table.append(rows(*range(400, 430)))
    table.merge(rows(300, 301), on="id")
    table.delete("id BETWEEN 400 AND 415")
    table.overwrite(rows(1, 2))
    table.rename("other")
    session.rename_view("view", "view2")
    session.drop_view("view2")
    session.drop_namespace("n", cascade=True)
    session.create_table("other", "a INT", or_replace=True)
    with session.transaction() as tx:
        session.create_table("between", "a INT").append(pa.table({"a": pa.array([1], pa.int32())}))
        tx.create_table("made", "a INT")
    session.set_option("target_file_size", "3MB")


VERBS: dict[str, Callable[[ql.Session], object]] = {"read": read, "change": change, "look over": ql.Session.check}
