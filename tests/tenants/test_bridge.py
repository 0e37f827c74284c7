"""Stock DuckDB reads one of many catalogs through its bridge, sees nothing of the others, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
import pytest

import quacklake as ql
from tests.conftest import Duck
from tests.differential.comparison import faults
from tests.lakes import Place, answers, without_repeats
from tests.servers import PASSWORD, Server
from tests.tenants.test_layout import change, live

REFUSED = "this catalog is read-only for DuckDB: write through quacklake"
COLUMNS = (
    "i INT, l BIGINT, f DOUBLE, b BOOLEAN, d DECIMAL(9, 2), s STRING, y BINARY, day DATE, ts TIMESTAMP,"
    " n TIMESTAMP_NTZ, a ARRAY<INT>, m MAP<STRING, INT>, r STRUCT<x: INT, `y z`: STRING>"
)

pytestmark = pytest.mark.server


@pytest.fixture
def place(new_place: Callable[[str], Place]) -> Place:
    return new_place("postgresql")


@pytest.fixture
def tenants(place: Place) -> Iterator[ql.Tenants]:
    with ql.tenants(place.url, place.data_path) as tenants:
        yield tenants


def open_(place: Place, name: str, **settings: Any) -> ql.Session:
    return ql.connect(place.url, catalog=name, engine="local", **settings)


def through(place: Place, schema: str, name: str, options: str = "") -> Place:
    """The catalog as a lake of its own, for DuckDB."""
    more = f", {options}" if options else ""
    return replace(place, data_path=f"{place.data_path}{name}/", options=f"METADATA_SCHEMA '{schema}'{more}")


def values(count: int, start: int = 0) -> pa.Table:
    """Rows of every type, some of them NULL."""
    ids = range(start, start + count)

    def some(make: Callable[[int], object], type_: pa.DataType) -> pa.Array[Any]:
        return pa.array([None if id_ % 7 == 3 else make(id_) for id_ in ids], type_)

    fields = pa.struct([("x", pa.int32()), ("y z", pa.string())])
    return pa.table(
        {
            "i": pa.array(ids, pa.int32()),
            "l": some(lambda id_: id_ * 2**40, pa.int64()),
            "f": some(lambda id_: id_ / 3, pa.float64()),
            "b": some(lambda id_: id_ % 2 == 0, pa.bool_()),
            "d": some(lambda id_: Decimal(id_) / 4, pa.decimal128(9, 2)),
            "s": some(lambda id_: f'it\'s {id_} \\ "ü"', pa.string()),
            "y": some(lambda id_: bytes([id_ % 256, 0, 39]), pa.binary()),
            "day": some(lambda id_: date(2024, 1, 1 + id_ % 28), pa.date32()),
            "ts": some(lambda id_: datetime(2024, 1, 1, id_ % 24, tzinfo=UTC), pa.timestamp("us", "UTC")),
            "n": some(lambda id_: datetime(2024, 1, 1, id_ % 24), pa.timestamp("us")),
            "a": some(lambda id_: [id_, None], pa.list_(pa.int32())),
            "m": some(lambda id_: [("k", id_)], pa.map_(pa.string(), pa.int32())),
            "r": some(lambda id_: {"x": id_, "y z": "'"}, fields),
        }
    )


def fill(session: ql.Session, shift: int) -> None:
    """A life with something of everything, and other rows in each catalog."""
    live(session)
    table = session.create_table("types", COLUMNS)
    table.append(values(30, shift))
    table.append(values(5, shift + 100))
    table.delete(f"i IN ({shift + 1}, {shift + 101})")
    table.delete(f"i BETWEEN {shift + 5} AND {shift + 20}")
    table.rename_column("l", "long")
    table.append(values(3, shift + 200).rename_columns(["i", "long", *values(0).column_names[2:]]))
    parts = session.create_table("parts", "k STRING, i INT", partition_by=["k", "bucket(4, i)"])
    parts.append(pa.table({"k": ["a", "b", None] * 10, "i": pa.array(range(shift, shift + 30), pa.int32())}))
    session.create_view("seen", "SELECT i FROM types")
    table.alter_column("i", comment="number")


def settings(con: duckdb.DuckDBPyConnection, schema: str) -> dict[str, str]:
    found = con.execute(
        f"SELECT key, value FROM __ducklake_metadata_lk.{schema}.ducklake_metadata WHERE scope IS NULL"
    ).fetchall()
    return dict(found)


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])
def test_duckdb_reads_at_every_snapshot_what_we_read(
    tenants: ql.Tenants, place: Place, duck: Duck, encrypted: bool
) -> None:
    tenants.create("other")
    with open_(place, "a", encrypted=encrypted) as a, open_(place, "b") as b:
        for _, session, shift in ((0, b, 5000), (1, a, 0)):
            fill(session, shift)
            open_(place, "other").close()
        change(b)
        schema = tenants.bridge("a")
        with duck(through(place, schema, "a")) as con:
            found = answers(con, probes=0 if encrypted else 1, metadata_schema=schema)
            assert len({answer.name for answer in found}) == 5
            assert len({answer.snapshot_id for answer in found}) > 20
            assert faults(a, "local", without_repeats(found), only_rows=encrypted) == []
            ids = [row[0] for row in con.execute("SELECT snapshot_id FROM lk.snapshots()").fetchall()]
            assert ids == [each.snapshot_id for each in a.snapshots()]
            assert ids != list(range(ids[0], ids[0] + len(ids)))
            told = settings(con, schema)
            assert told["version"] == "1.0"
            assert told["encrypted"] == str(encrypted).lower()
            assert told["target_file_size"] == "1000000"
            assert told["data_path"] == f"{place.data_path}a/"
            for name in ("t", "types"):
                theirs = con.execute(f"SELECT rowid, change_type FROM lk.table_changes('{name}', {ids[2]}, {ids[-1]})")
                ours = a.table(name).changes(ids[2], ids[-1]).to_arrow().to_pylist()
                assert sorted(theirs.fetchall()) == sorted((row["rowid"], row["change_type"]) for row in ours)
            con.execute("SELECT count(*), min(i), max(i), count(s) FROM lk.types")
            assert con.fetchall() == [
                tuple(a.sql("SELECT count(*), min(i), max(i), count(s) FROM types").to_arrow().to_pylist()[0].values())
            ]
            assert con.execute("SELECT count(*) FROM lk.seen").fetchall() == [(a.table("types").count(),)]


def test_a_duckdb_that_is_attached_sees_what_we_commit(tenants: ql.Tenants, place: Place, duck: Duck) -> None:
    with open_(place, "a") as a, open_(place, "b") as b:
        for session in (a, b):
            session.create_table("first", "i INT").append(pa.table({"i": pa.array(range(20), pa.int32())}))
        with duck(through(place, tenants.bridge("a"), "a")) as con:
            assert con.execute("SELECT count(*), max(i) FROM lk.first").fetchall() == [(20, 19)]
            for step in (
                _small,
                _large,
                _few_deletes,
                _many_deletes,
                _column,
                _small_again,
                _fresh,
                _renamed,
                _dropped,
            ):
                step(a)
                step(b)
                tables = sorted(row[0] for row in con.execute("SHOW TABLES").fetchall())
                assert [f"main.{name}" for name in tables] == sorted(str(name) for name in a.tables())
                for name in tables:
                    asked = f"SELECT count(*), min(i), max(i), sum(i) FROM lk.{name}"
                    ours = a.sql(asked.replace("lk.", "")).to_arrow().to_pylist()[0]
                    assert con.execute(asked).fetchall() == [tuple(ours.values())], step
                    assert [row[0] for row in con.execute(f"DESCRIBE lk.{name}").fetchall()] == [
                        column.name for column in a.table(name).schema
                    ]


def _add(session: ql.Session, name: str, start: int, count: int) -> None:
    schema = {column.name for column in session.table(name).schema}
    numbers = pa.array(range(start, start + count), pa.int32())
    session.table(name).append(pa.table(dict.fromkeys(sorted(schema), numbers)))


def _small(session: ql.Session) -> None:
    _add(session, "first", 100, 2)


def _large(session: ql.Session) -> None:
    _add(session, "first", 200, 30)


def _few_deletes(session: ql.Session) -> None:
    session.table("first").delete("i IN (3, 101, 229)")


def _many_deletes(session: ql.Session) -> None:
    session.table("first").delete("i BETWEEN 200 AND 220")


def _column(session: ql.Session) -> None:
    session.table("first").add_column("w", "int", default=7)


def _small_again(session: ql.Session) -> None:
    _add(session, "first", 300, 2)


def _fresh(session: ql.Session) -> None:
    session.create_table("fresh", "i INT")
    _add(session, "fresh", 0, 3)
    session.table("fresh").delete("i = 1")


def _renamed(session: ql.Session) -> None:
    session.table("fresh").rename("older")
    _add(session, "older", 10, 40)
    session.table("older").delete("i = 30")


def _dropped(session: ql.Session) -> None:
    session.drop_table("first")


WRITES = (
    "INSERT INTO lk.t VALUES (1, 'a')",
    "INSERT INTO lk.t SELECT range::INT, 'x' FROM range(100)",
    "DELETE FROM lk.t WHERE id = 1",
    "DELETE FROM lk.t WHERE id < 20",
    "DELETE FROM lk.t WHERE id = 100",
    "UPDATE lk.t SET v = 'x'",
    "MERGE INTO lk.t USING (SELECT 1 AS id) AS s ON t.id = s.id WHEN MATCHED THEN DELETE",
    "TRUNCATE lk.t",
    "CREATE TABLE lk.z(i INT)",
    "CREATE TABLE lk.z AS SELECT 1 AS i",
    "DROP TABLE lk.t",
    "CREATE SCHEMA lk.s",
    "DROP SCHEMA lk.main CASCADE",
    "CREATE VIEW lk.vv AS SELECT 1",
    "CREATE MACRO lk.plus(a) AS a + 1",
    "COMMENT ON TABLE lk.t IS 'x'",
    "ALTER TABLE lk.t ADD COLUMN q INT",
    "ALTER TABLE lk.t RENAME TO q",
    "ALTER TABLE lk.t SET PARTITIONED BY (id)",
    "CALL lk.set_option('target_file_size', '1MB')",
    "CALL ducklake_add_data_files('lk', 't', '$file')",
    "CALL ducklake_cleanup_old_files('lk', cleanup_all => true)",
    "CALL ducklake_delete_orphaned_files('lk', cleanup_all => true)",
)
COMPACTIONS = (
    "CALL ducklake_rewrite_data_files('lk', 't', delete_threshold => 0.0)",
    "CALL ducklake_merge_adjacent_files('lk')",
)
"""DuckDB forgets the file that it has written when such a commit fails, wherever the catalog is."""
UNNAMED = (
    "CALL ducklake_expire_snapshots('lk', older_than => now())",
    "CALL ducklake_flush_inlined_data('lk')",
    "CHECKPOINT lk",
)
"""DuckDB asks PostgreSQL where the rows are before it deletes them, and views have no such place."""


def state(tenants: ql.Tenants, place: Place) -> tuple[dict[str, Any], set[Path]]:
    """Every table of the database with its rows, and every file."""
    with tenants._backend.read() as connection:
        query = "SELECT oid::regclass::text FROM pg_class WHERE relkind IN ('r', 'v', 'S') AND relnamespace >= 16384"
        names = connection.exec_driver_sql(
            f"{query} OR relnamespace = 'public'::regnamespace AND relkind = 'r'"
        ).scalars()
        rows = {
            name: sorted(map(repr, connection.exec_driver_sql(f"SELECT * FROM {name}").fetchall()))
            for name in sorted(names)
            if "scheduled" not in name
        }
    return rows, {path for path in Path(place.data_path).rglob("*") if path.is_file()}


@pytest.mark.parametrize("who", ["superuser", "owner", "reader"])
def test_whatever_would_change_something_is_refused_and_leaves_nothing(
    place: Place, postgresql_server: Server, duck: Duck, who: str
) -> None:
    database = place.url.rpartition("/")[2]
    roles = {name: f"{name}_{database}" for name in ("owner", "reader")}
    for role in roles.values():
        postgresql_server.run(f"CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}'")
    user = {} if who == "superuser" else {"user": roles[who]}
    if who == "owner":
        postgresql_server.run(f"ALTER DATABASE {database} OWNER TO {roles['owner']}")
        place = replace(place, url=postgresql_server.url(database, roles["owner"]))
    with ql.tenants(place.url, place.data_path) as tenants, open_(place, "a") as a, open_(place, "b") as b:
        for session in (a, b):
            table = session.create_table("t", "id INT, v STRING")
            for start in (0, 50, 200):
                numbers = range(start, start + 30)
                table.append(pa.table({"id": pa.array(numbers, pa.int32()), "v": [str(each) for each in numbers]}))
            table.append(pa.table({"id": pa.array([100], pa.int32()), "v": ["x"]}))
            table.delete("id = 3")
            table.delete("id BETWEEN 5 AND 22")
        schema = tenants.bridge("a", reader=roles["reader"] if who == "reader" else None)
        before = state(tenants, place)
        file = next(path for path in before[1] if "/b/" in str(path) and "-delete" not in path.name)
        theirs = replace(place, attach=f"postgres:{postgresql_server.settings(database, **user)}")
        with duck(through(theirs, schema, "a")) as con:
            for statement in (*WRITES, *UNNAMED, *COMPACTIONS):
                with pytest.raises(duckdb.Error) as refused:
                    con.execute(statement.replace("$file", str(file))).fetchall()
                said = str(refused.value)
                assert REFUSED in said or "permission denied" in said or statement in UNNAMED, statement
                rows, files = state(tenants, place)
                assert rows == before[0], statement
                assert files == before[1] or (statement in COMPACTIONS and files > before[1]), statement
            assert con.execute("SELECT count(*) FROM lk.t").fetchall() == [(a.table("t").count(),)]
        before = state(tenants, place)
        with duck(through(theirs, schema, "a", "READ_ONLY")) as con:
            for statement in (*WRITES[:2], *UNNAMED):
                with pytest.raises(duckdb.Error, match="read-only"):
                    con.execute(statement)
        with psycopg.connect(postgresql_server.url(database, **user), autocommit=True) as raw:
            _refuse_raw(raw, schema, who)
        assert state(tenants, place) == before
        assert a.check() == b.check() == []


def _refuse_raw(raw: psycopg.Connection[Any], schema: str, who: str) -> None:
    found = raw.execute("SELECT viewname FROM pg_views WHERE schemaname = %s", (schema,)).fetchall()
    names = [name for (name,) in found]
    assert len(names) == 30
    for name in names:
        column = raw.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = %s AND table_name = %s LIMIT 1",
            (schema, name),
        ).fetchall()[0][0]
        for statement in (
            f"INSERT INTO {schema}.{name} DEFAULT VALUES",
            f'UPDATE {schema}.{name} SET "{column}" = NULL WHERE false',
            f"DELETE FROM {schema}.{name} WHERE false",
        ):
            with pytest.raises(psycopg.Error, match=REFUSED if who != "reader" else "permission denied"):
                raw.execute(statement.encode())
    if who != "superuser":
        with pytest.raises(psycopg.Error, match="permission denied for schema"):
            raw.execute(f"CREATE TABLE {schema}.ducklake_inlined_delete_99(i INT)".encode())
    if who == "reader":
        for table in ("ducklake_table", "quacklake_tenant", "ducklake_catalog"):
            with pytest.raises(psycopg.Error, match="permission denied"):
                raw.execute(f"SELECT * FROM public.{table}".encode())


def test_nothing_of_other_catalogs_shows_through_a_bridge(tenants: ql.Tenants, place: Place) -> None:
    with open_(place, "a") as a, open_(place, "b") as b:
        fill(b, 5000)
        fill(a, 0)
        change(b)
        schemas = {name: tenants.bridge(name) for name in ("a", "b")}
    with tenants._backend.read() as connection:
        shown: dict[str, dict[str, set[str]]] = {}
        for name, schema in schemas.items():
            query = f"SELECT viewname FROM pg_views WHERE schemaname = '{schema}' AND viewname NOT LIKE '%%scheduled%%'"
            shown[name] = {
                view: {repr(row) for row in connection.exec_driver_sql(f"SELECT * FROM {schema}.{view}")}
                for view in connection.exec_driver_sql(query).scalars()
            }
        assert {view for view in shown["a"] if "inlined" not in view} == {
            view for view in shown["b"] if "inlined" not in view
        }
        # What is nobody's own: which version that is, who made it, and statistics that happen to be the same.
        for view in shown["a"].keys() & shown["b"].keys() - {"ducklake_metadata"}:
            assert not shown["a"][view] & shown["b"][view], view
            both = connection.exec_driver_sql(f"SELECT count(*) FROM public.{view}").scalar_one()
            assert len(shown["a"][view]) + len(shown["b"][view]) == both or "name_mapping" in view, view


def test_the_bridge_stays_with_a_new_name_and_goes_with_the_catalog(
    tenants: ql.Tenants, place: Place, duck: Duck
) -> None:
    with open_(place, "old") as session, open_(place, "other") as other:
        for each in (session, other):
            each.create_table("t", "i INT").append(pa.table({"i": pa.array([1, 2], pa.int32())}))
        schema = tenants.bridge("old")
        kept = tenants.bridge("other")
        tenants.rename("old", "new")
        assert tenants.bridge("new") == schema
        with duck(replace(through(place, schema, "old"))) as con:
            session.table("t").delete("i = 1")
            assert con.execute("SELECT i FROM lk.t").fetchall() == [(2,)]
        tenants.drop("new")
        with tenants._backend.read() as connection:
            known = connection.exec_driver_sql(
                "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'quack%%'"
            ).scalars()
            assert [*known] == [kept]
        with pytest.raises(ql.NotFoundError):
            tenants.bridge("new")
        other.table("t").append(pa.table({"i": pa.array([3], pa.int32())}))
        with duck(through(place, kept, "other")) as con:
            assert con.execute("SELECT count(*) FROM lk.t").fetchall() == [(3,)]


def test_bridges_are_built_while_others_write(tenants: ql.Tenants, place: Place) -> None:
    names = [f"w{number}" for number in range(3)]
    for name in names:
        tenants.create(name)

    def write(name: str) -> None:
        with open_(place, name) as session:
            for number in range(8):
                table = session.create_table(f"t{number}", "i INT")
                table.append(pa.table({"i": pa.array(range(20), pa.int32())}))
                table.append(pa.table({"i": pa.array([1], pa.int32())}))
                table.delete("i = 5")

    def build(name: str) -> None:
        for _ in range(4):
            with ql.tenants(place.url) as own:
                own.bridge(name)

    with ThreadPoolExecutor(6) as pool:
        for done in [pool.submit(act, name) for name in names for act in (write, build)]:
            done.result(120)
    with tenants._backend.read() as connection:
        query = "SELECT schemaname, count(*) FROM pg_views WHERE viewname LIKE 'ducklake_inlined_d%%_%%' GROUP BY 1"
        found = connection.exec_driver_sql(query).fetchall()
        # Of each bridge: the list of those tables, and two for each of eight.
        assert sorted(row[1] for row in found) == [17, 17, 17]


def test_bridges_of_databases_in_other_schemas_and_of_odd_names(place: Place, duck: Duck) -> None:
    with ql.tenants(place.url, place.data_path, metadata_schema='we"ird s') as tenants:
        schema = tenants.bridge(tenants.create("it's").name)
        with ql.connect(place.url, catalog="it's", engine="local", metadata_schema='we"ird s') as session:
            session.create_table("t", 'i INT, `a "b" %s` INT').append(
                pa.table({"i": pa.array([1], pa.int32()), 'a "b" %s': pa.array([2], pa.int32())})
            )
            session.table("t").append(
                pa.table({"i": pa.array(range(30), pa.int32()), 'a "b" %s': pa.array(range(30), pa.int32())})
            )
            session.table("t").delete("i = 7")
        with tenants._backend.read() as connection:
            views = connection.exec_driver_sql(
                "SELECT viewname FROM pg_views WHERE schemaname = %s", (schema,)
            ).scalars()
            assert len([name for name in views if "inlined_d" in name]) == 3
        with psycopg.connect(place.url) as raw:
            raw.execute("CREATE SCHEMA quacklake_bridge_0")
    with ql.tenants(place.url, place.data_path) as plain:
        assert plain.create("x").catalog_id == 0
        with pytest.raises(ql.AlreadyExistsError, match="no bridge"):
            plain.bridge("x")
        with pytest.raises(ql.NotFoundError, match="role 'nobody'"):
            plain.bridge("x", reader="nobody")


@pytest.mark.parametrize("kind", ["sqlite", "duckdb", "mysql"])
def test_other_databases_have_no_bridges(kind: str, new_place: Callable[[str], Place]) -> None:
    place = new_place(kind)
    with ql.tenants(place.url, place.data_path) as tenants:
        tenants.create("a")
        with pytest.raises(ql.UnsupportedError, match="needs PostgreSQL"):
            tenants.bridge("a")
