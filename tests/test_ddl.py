"""Namespaces, tables, columns and views: what the verbs do, in each of the four databases."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

import quacklake as ql
from quacklake.schema import Default
from tests.conftest import Duck
from tests.lakes import Place, snapshot_ids


@pytest.fixture
def session(backend: Place) -> Iterator[ql.Session]:
    with ql.connect(backend.url, backend.data_path, engine="local") as session:
        yield session


def shown(table: ql.Table) -> list[tuple[int, str, str, bool]]:
    return [(column.id, column.name, str(column.type), column.nullable) for column in table.schema]


def test_a_table_is_what_was_asked_for(session: ql.Session) -> None:
    table = session.create_table(
        "events",
        "id BIGINT NOT NULL COMMENT 'the key', tags ARRAY<STRING>, place STRUCT<x: DOUBLE, y: DOUBLE>,"
        " ts TIMESTAMP DEFAULT '2020-01-01 00:00:00+00', n HUGEINT DEFAULT 0",
        partition_by=["month(ts)", "bucket(16, id)"],
        sort_by=["ts desc", "id"],
        comment="what happened",
    )
    assert shown(table) == [
        (1, "id", "int64", False),
        (2, "tags", "list<varchar>", True),
        (4, "place", "struct<x: float64, y: float64>", True),
        (7, "ts", "timestamptz", True),
        (8, "n", "int128", True),
    ]
    assert table.partition_by == ["month(ts)", "bucket(16, id)"]
    assert table.sort_by == ["ts desc", "id asc"]
    assert table.comment == "what happened"
    assert table.schema.column("id").comment == "the key"
    assert table.schema.column("ts").default == Default("2020-01-01 00:00:00+00")
    assert table.schema.column("n").initial_default == "0"
    assert session.tables() == ["main.events"]


def test_duckdb_writes_to_what_we_made_and_we_read_it(session: ql.Session, backend: Place, duck: Duck) -> None:
    if backend.kind == "mysql":
        pytest.skip("DuckDB cannot write a second time to a lake in MySQL")
    session.create_namespace("n")
    table = session.create_table("n.t", "id INT, s STRUCT<a: INT>, l ARRAY<INT>")
    table.add_column("s.b", "string", default="x")
    table.add_column("z", "int", default=7)
    table.rename("u")
    session.close()
    with duck(backend) as con:
        con.execute("INSERT INTO n.u VALUES (1, {'a': 1, 'b': 'y'}, [1, 2], 3)").fetchall()
        con.execute("INSERT INTO n.u(id) SELECT i FROM range(20) r(i)").fetchall()
        con.execute("ALTER TABLE n.u DROP COLUMN l").fetchall()
    with ql.connect(backend.url, engine="local") as again:
        found = again.table("n.u").to_arrow().to_pylist()
        assert len(found) == 21
        assert {"id": 1, "s": {"a": 1, "b": "y"}, "z": 3} in found
        assert {"id": 5, "s": None, "z": 7} in found


def test_columns_come_and_go_and_old_rows_show_their_defaults(session: ql.Session) -> None:
    table = session.create_table("t", "id INT, s STRUCT<a: INT>")
    table.append(pa.table({"id": pa.array([1], pa.int32()), "s": [{"a": 5}]}, schema=_schema()))
    table.add_column("z", "int", default=7, comment="zed")
    table.add_column("s.b", "string", default="x")
    table.add_column("m", "map<string, struct<k: int>>")
    table.add_column("m.value.j", "int")
    assert table.to_arrow().to_pylist() == [{"id": 1, "s": {"a": 5, "b": "x"}, "z": 7, "m": None}]
    table.rename_column("s.b", "c")
    table.alter_column("z", "bigint", default=9, comment=None)
    table.drop_column("m")
    assert table.to_arrow().to_pylist() == [{"id": 1, "s": {"a": 5, "c": "x"}, "z": 7}]
    assert shown(table) == [
        (1, "id", "int32", True),
        (2, "s", "struct<a: int32, c: varchar>", True),
        (4, "z", "int64", True),
    ]
    assert table.schema.column("z").default == Default("9")
    table.add_column("m", "int")
    assert table.schema.column("m").id == 11


def _schema() -> pa.Schema:
    return pa.schema([("id", pa.int32()), ("s", pa.struct([("a", pa.int32())]))])


def test_null_is_forbidden_only_where_there_is_none(session: ql.Session) -> None:
    table = session.create_table("t", "id INT, v STRING")
    table.alter_column("id", nullable=False)
    assert not table.schema.column("id").nullable
    table.append(pa.table({"id": pa.array(range(30), pa.int32()), "v": [None, *("x" for _ in range(29))]}))
    with pytest.raises(ql.InvalidInputError, match="NULL in 1 rows"):
        table.alter_column("v", nullable=False)
    table.delete("v IS NULL")
    table.alter_column("v", nullable=False)
    assert not session.table("t").schema.column("v").nullable
    table.alter_column("v", nullable=True)
    assert session.table("t").schema.column("v").nullable
    table.add_column("late", "int")
    with pytest.raises(ql.InvalidInputError, match="NULL in 29 rows"):
        table.alter_column("late", nullable=False)


def test_views_come_and_go(session: ql.Session, backend: Place, duck: Duck) -> None:
    session.create_table("t", "id INT, v STRING")
    session.create_view("v", "SELECT id, nvl(v, 'none') AS w FROM t", comment="c")
    session.create_view("v", "SELECT id FROM t", or_replace=True)
    session.rename_view("v", "w")
    session.create_view("x", "SELECT id, v FROM main.t", columns=["a", "b c"])
    assert session.views() == ["main.w", "main.x"]
    session.close()
    with duck(backend) as con:
        assert con.execute("SELECT * FROM w").fetchall() == []
        assert [row[0] for row in con.execute("DESCRIBE x").fetchall()] == ["a", "b c"]
    with ql.connect(backend.url, engine="local") as again:
        again.drop_view("w")
        again.drop_view("w", if_exists=True)
        assert again.views() == ["main.x"]


def test_namespaces_come_and_go(session: ql.Session) -> None:
    session.create_namespace("a")
    session.create_namespace("A", if_not_exists=True)
    session.create_table("a.t", "id INT")
    session.create_view("a.v", "SELECT 1 AS one")
    with pytest.raises(ql.InvalidInputError, match="not empty"):
        session.drop_namespace("a")
    session.drop_namespace("a", cascade=True)
    session.drop_namespace("a", if_exists=True)
    assert (session.namespaces(), session.tables(), session.views()) == (["main"], [], [])
    session.create_namespace("a")
    session.create_table("a.t", "other INT")
    assert session.table("a.t").schema.names == ("other",)


def test_settings_hold_for_the_lake_a_namespace_or_a_table(session: ql.Session) -> None:
    before = snapshot_ids(session)
    made = session.create_table("t", "id INT")._entry
    session.set_option("parquet_compression", "zstd")
    session.set_option("parquet_compression", "ZSTD")
    session.set_option("target_file_size", "1.5 MiB", namespace="main")
    session.set_option("data_inlining_row_limit", 0, table="t")
    found = {(option.name, option.scope, option.scope_id): option.value for option in session.options()}
    assert len(found) == len(session.options())
    assert found["parquet_compression", None, None] == "zstd"
    assert found["target_file_size", "schema", session._catalog.view().namespace("main").namespace_id] == "1572864"
    assert found["data_inlining_row_limit", "table", made.table_id] == "0"
    assert snapshot_ids(session) == [*before, session.current_snapshot]
    with session.transaction() as tx:
        plan = tx.write_plan(tx.table("t")._entry)
    assert (plan.compression, plan.target_file_size, plan.inline_limit) == ("zstd", 1572864, 0)


def test_names_of_every_kind_survive(session: ql.Session, backend: Place, duck: Duck) -> None:
    name, column = 'we"ird, "näme".%s', 'o\'dd "cöl" %(x)s'
    quoted = '"' + name.replace('"', '""') + '"'
    session.create_namespace(quoted)
    table = session.create_table(f"{quoted}.{quoted}", pa.schema([(column, pa.int32())]), comment="it's; -- \\ %s")
    table.rename_column(f'"{column.replace(chr(34), chr(34) * 2)}"', '"new, %s"')
    assert session.namespaces() == ["main", name]
    again = session.table(f"{quoted}.{quoted}")
    assert again.schema.names == ("new, %s",)
    assert again.comment == "it's; -- \\ %s"
    session.close()
    with duck(backend) as con:
        assert con.execute(f"DESCRIBE {quoted}.{quoted}").fetchall()[0][0] == "new, %s"


def test_case_of_names_is_kept_and_does_not_matter(session: ql.Session) -> None:
    table = session.create_table("Events", "Id INT")
    assert session.tables() == ["main.Events"]
    with pytest.raises(ql.AlreadyExistsError):
        session.create_table("EVENTS", "a INT")
    table.rename_column("ID", "iD")
    table.rename("eVENTS")
    assert session.tables() == ["main.eVENTS"]
    assert session.table("EVENTS").schema.names == ("iD",)
