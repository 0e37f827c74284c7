"""PostgreSQL itself keeps a role to its catalog: whatever it asks, and in whatever words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import psycopg
import pyarrow as pa
import pytest

import quacklake as ql
from quacklake.catalog.shared.layout import OWNED
from quacklake.catalog.tables import LAYOUT
from tests.conftest import Duck
from tests.lakes import Place
from tests.servers import PASSWORD, Server
from tests.tenants.test_bridge import fill, through
from tests.tenants.test_layout import change, live, rows

pytestmark = pytest.mark.server

SHARED = (*(f"ducklake_{name}" for name in LAYOUT), "ducklake_catalog", "quacklake_tenant")


@dataclass(frozen=True)
class Roles:
    """A shared database that belongs to a role, and two more roles that have no rights yet."""

    owner: Place
    a: Place
    b: Place
    names: dict[str, str]

    def open_(self, who: str, catalog: str, **settings: Any) -> ql.Session:
        place: Place = getattr(self, who)
        return ql.connect(place.url, catalog=catalog, engine="local", **settings)

    def raw(self, who: str) -> psycopg.Connection[Any]:
        place: Place = getattr(self, who)
        return psycopg.connect(place.url, autocommit=True)


@pytest.fixture
def roles(new_place: Callable[[str], Place], postgresql_server: Server) -> Roles:
    place = new_place("postgresql")
    database = place.url.rpartition("/")[2]
    names = {who: f"{who} of {database}" for who in ("owner", "a", "b")}
    for name in names.values():
        postgresql_server.run(f"CREATE ROLE \"{name}\" LOGIN PASSWORD '{PASSWORD}'")
    postgresql_server.run(f'ALTER DATABASE {database} OWNER TO "{names["owner"]}"')
    places = {
        who: replace(
            place,
            url=postgresql_server.url(database, name),
            attach=f"postgres:{postgresql_server.settings(database, chr(39) + name + chr(39))}".replace("'", "''"),
        )
        for who, name in names.items()
    }
    return Roles(places["owner"], places["a"], places["b"], names)


@pytest.fixture
def tenants(roles: Roles) -> Iterator[ql.Tenants]:
    with ql.tenants(roles.owner.url, roles.owner.data_path) as tenants:
        for name in ("a", "b"):
            with roles.open_("owner", name) as session:
                fill(session, 0 if name == "a" else 5000)
        tenants.secure()
        for name in ("a", "b"):
            tenants.grant(name, roles.names[name])
        yield tenants


def ids_of(connection: psycopg.Connection[Any], catalog: str, table: str = "table") -> list[int]:
    query = f"SELECT x.{table}_id FROM ducklake_{table} x JOIN ducklake_catalog c USING (catalog_id)"
    found = connection.execute(f"{query} WHERE c.catalog_name = '{catalog}'".encode()).fetchall()
    return sorted(row[0] for row in found)


def test_a_role_does_everything_in_its_catalog(tenants: ql.Tenants, roles: Roles) -> None:
    with roles.open_("owner", "b") as theirs:
        before = theirs.table("t").to_arrow().to_pylist(), theirs.current_snapshot
    with roles.open_("a", "a", create=False) as a:
        seen = {name: a.table(name).to_arrow().num_rows for name in ("t", "types", "parts")}
        with roles.open_("owner", "a") as same:
            assert seen == {name: same.table(name).to_arrow().num_rows for name in seen}
        change(a)
        a.drop_table("other")
        live(a)
        table = a.create_table("small", "id INT, v STRING, d DECIMAL(9, 2), n ARRAY<INT>, x TIMESTAMP")
        row = pa.table({"id": pa.array([1], pa.int32()), "v": ["x"]})
        table.append(row)
        table.update({"v": "'y'"}, "id = 1")
        table.merge(row, on="id")
        table.delete("id = 1")
        a.table("t").append(rows(*range(1000, 1030)))
        a.table("t").delete("id IN (1001, 1002)")
        a.table("t").set_partition_by(["id"])
        with a.transaction() as tx:
            tx.table("t").append(rows(*range(2000, 2030)))
            tx.create_table("more", "i INT").append(pa.table({"i": pa.array([1], pa.int32())}))
        assert a.check() == []
        assert a.table("t").changes(a.snapshots()[-5].snapshot_id).to_arrow().num_rows
        # What the owner makes, the role sees, and the other way round.
        with roles.open_("owner", "a") as same:
            same.create_table("ours", "id INT, v STRING").append(rows(1, 2))
            same.table("more").append(pa.table({"i": pa.array(range(30), pa.int32())}))
            same.table("more").delete("i = 5")
            assert same.table("t").count() == a.table("t").count()
        assert a.table("ours").count() == 2
        a.table("ours").append(rows(3))
        a.table("more").delete("i = 6")
        assert a.table("more").count() == 29
    with roles.open_("owner", "b") as theirs:
        assert (theirs.table("t").to_arrow().to_pylist(), theirs.current_snapshot) == before
        assert theirs.check() == []
    with roles.open_("b", "b", create=False) as b:
        b.table("t").append(rows(1, 2))


@pytest.mark.parametrize("who", ["owner", "a"])
def test_a_role_maintains_its_catalog(tenants: ql.Tenants, roles: Roles, duck: Duck, who: str) -> None:
    schema = tenants.bridge("a")
    with roles.open_(who, "a", create=False) as a, roles.raw("owner") as all_:
        a.create_table("goes", "id INT, v STRING").append(rows(*range(40)))
        a.table("goes").append(rows(100))
        a.table("goes").delete("id IN (1, 2)")
        query = "SELECT table_id FROM ducklake_table WHERE table_name = 'goes'"
        id_ = all_.execute(query).fetchall()[0][0]
        known = f"SELECT count(*) FROM pg_class WHERE relname ~ '^ducklake_inlined_(data|delete)_{id_}(_|$)'"
        assert all_.execute(known.encode()).fetchall() == [(4,)]
        a.drop_table("goes")
        others = {name: a.table(name).count() for name in ("t", "types", "parts")}
        a.maintain.expire(older_than="0 seconds")
        assert all_.execute(known.encode()).fetchall() == [(0,)]
        assert all_.execute(query).fetchall() == []
        a.maintain.cleanup(older_than="0 seconds")
        a.maintain.remove_orphans(older_than="0 seconds")
        assert a.check() == []
        assert {name: a.table(name).count() for name in others} == others
        with duck(through(replace(roles.owner, attach=roles.a.attach), schema, "a")) as con:
            for name, count in others.items():
                assert con.execute(f"SELECT count(*) FROM lk.{name}").fetchall() == [(count,)]
    with roles.open_("owner", "b") as theirs:
        assert theirs.check() == []


def test_a_role_adds_files_that_have_names_for_columns(tenants: ql.Tenants, roles: Roles, tmp_path: Any) -> None:
    import pyarrow.parquet as pq

    pq.write_table(rows(*range(7000, 7020)), tmp_path / "x.parquet")
    with roles.open_("a", "a", create=False) as a:
        a.create_table("files", "id INT, v STRING").add_files([str(tmp_path / "x.parquet")])
        assert a.table("files").count() == 20
        assert a.check() == []


def test_a_role_sees_no_row_of_another_catalog(tenants: ql.Tenants, roles: Roles) -> None:
    with roles.raw("owner") as all_, roles.raw("a") as a:
        mine, theirs = ids_of(all_, "a"), ids_of(all_, "b")
        assert ids_of(a, "a") == mine
        for table in SHARED:
            everything = all_.execute(f"SELECT count(*) FROM {table}".encode()).fetchall()[0][0]
            own = a.execute(f"SELECT count(*) FROM {table}".encode()).fetchall()[0][0]
            assert own <= everything, table
            if everything and table != "ducklake_metadata":
                assert own < everything, table
        for name in LAYOUT:
            if "table_id" in LAYOUT[name].replace("next", "").split(":")[0] or " table_id:" in LAYOUT[name]:
                found = a.execute(f"SELECT DISTINCT table_id FROM ducklake_{name}".encode()).fetchall()
                assert {row[0] for row in found} <= set(mine), name
        assert a.execute("SELECT catalog_name FROM ducklake_catalog").fetchall() == [("a",)]
        assert a.execute("SELECT DISTINCT role_name FROM quacklake_role").fetchall() == [(roles.names["a"],)]
        leaked = _leak(a, theirs)
        assert leaked == []


def _leak(a: psycopg.Connection[Any], theirs: list[int]) -> list[str]:
    """What a function that costs nothing and tells everything gets to see before the policy."""
    seen: list[str] = []
    a.add_notice_handler(lambda notice: seen.append(notice.message_primary or ""))
    a.execute(
        "CREATE FUNCTION pg_temp.tell(x bigint) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS"
        " $$BEGIN RAISE NOTICE 'saw %', x; RETURN true; END$$"
    )
    for table in ("ducklake_table", "ducklake_column", "ducklake_data_file", "ducklake_file_column_stats"):
        a.execute(f"SELECT count(*) FROM {table} WHERE pg_temp.tell(table_id)".encode())
        a.execute(f"CREATE OR REPLACE TEMP VIEW peek AS SELECT table_id FROM {table}".encode())
        a.execute("SELECT count(*) FROM peek WHERE pg_temp.tell(table_id)")
        a.execute("DROP VIEW peek")
        a.execute(f"SELECT count(*) FROM {table} WHERE 1 / (table_id - {theirs[0]}) IS NOT NULL".encode())
    assert seen
    return [message for message in seen if message in {f"saw {id_}" for id_ in theirs}]


def attacks(mine: int, theirs: int, file: int, own: int, other: int) -> dict[str, str]:
    """Statements of the role of a catalog against another, by what they are up to."""
    return {
        "claim their table": f"INSERT INTO ducklake_table VALUES ({own}, {theirs}, NULL, 0, NULL, 0, 'x', 'x/', true)",
        "make a row theirs": f"UPDATE ducklake_table SET catalog_id = {other}",
        "make a table's id theirs": f"UPDATE ducklake_table SET table_id = {theirs} WHERE table_id = {mine}",
        "insert into their catalog": "INSERT INTO ducklake_table"
        f" VALUES ({other}, 99999, NULL, 0, NULL, 0, 'x', 'x', true)",
        "add a snapshot": f"INSERT INTO ducklake_snapshot VALUES ({other}, 99999, now(), 1, 1, 1)",
        "add a column": f"INSERT INTO ducklake_column(column_id, table_id) VALUES (9, {theirs})",
        "add a file": f"INSERT INTO ducklake_data_file(data_file_id, table_id) VALUES (99999, {theirs})",
        "delete in their file": "INSERT INTO ducklake_delete_file(delete_file_id, table_id, data_file_id)"
        f" VALUES (99999, {mine}, {file})",
        "lie about their file": "INSERT INTO ducklake_file_column_stats(data_file_id, table_id, column_id)"
        f" VALUES ({file}, {mine}, 1)",
        "partition their file": f"INSERT INTO ducklake_file_partition_value VALUES ({file}, {mine}, 0, 'x')",
        "tag their table": f"INSERT INTO ducklake_tag VALUES ({theirs}, 0, NULL, 'comment', 'x')",
        "set for their table": f"INSERT INTO ducklake_metadata VALUES ('k', 'v', 'table', {theirs})",
        "set for their catalog": f"INSERT INTO ducklake_metadata VALUES ('k', 'v', 'catalog', {other})",
        "set for all": "INSERT INTO ducklake_metadata VALUES ('k', 'v', NULL, NULL)",
        "register a table of theirs": "INSERT INTO ducklake_inlined_data_tables"
        f" VALUES ({mine}, 'ducklake_inlined_data_{theirs}_1', 77)",
        "register any table": f"INSERT INTO ducklake_inlined_data_tables VALUES ({mine}, 'ducklake_snapshot', 77)",
        "map names of theirs": "INSERT INTO ducklake_name_mapping VALUES (0, 0, 'x', 1, NULL, false)",
        "bind itself": f"INSERT INTO quacklake_role VALUES (current_user, {other})",
        "take an id": f"UPDATE quacklake_owner SET catalog_id = {own}",
        "read who owns ids": "SELECT * FROM quacklake_owner",
        "make a catalog": "INSERT INTO ducklake_catalog VALUES (99999, 'x', 0)",
        "move its folder": "UPDATE quacklake_tenant SET path = 'b/'",
        "rename itself": "UPDATE ducklake_catalog SET catalog_name = 'b'",
        "truncate": "TRUNCATE ducklake_table",
        "truncate rows": f"TRUNCATE ducklake_inlined_data_{theirs}_1",
        "read rows": f"SELECT * FROM ducklake_inlined_data_{theirs}_1",
        "copy rows": f"COPY ducklake_inlined_data_{theirs}_1 TO STDOUT",
        "delete rows": f"DELETE FROM ducklake_inlined_data_{theirs}_1",
        "ask for a table of theirs": f"SELECT quacklake_store({theirs}, 99, ARRAY['a'], ARRAY['INTEGER'])",
        "ask for more than a table": f"SELECT quacklake_store({mine}, 99, ARRAY['a'], ARRAY['INT); DROP TABLE x; --'])",
        "follow": f"SELECT quacklake_follow({theirs}, 'ducklake_snapshot')",
        "make a table": f"CREATE TABLE public.ducklake_inlined_data_{theirs}_99(i int)",
        "turn it off": "ALTER TABLE ducklake_table DISABLE ROW LEVEL SECURITY",
        "turn off a guard": "ALTER TABLE ducklake_table DISABLE TRIGGER ALL",
        "see past it": "SET row_security = off; SELECT * FROM ducklake_table",
        "set back ids": "SELECT setval('quacklake_snapshot_id', 1)",
        "read a sequence": "SELECT * FROM quacklake_snapshot_id",
        "take ids of catalogs": "SELECT nextval('quacklake_catalog_id')",
        "be another": "SET ROLE pg_read_all_data",
        "write a policy": "CREATE POLICY p ON ducklake_table USING (true)",
        "trigger": "CREATE TRIGGER t AFTER INSERT ON ducklake_table EXECUTE FUNCTION quacklake_claim()",
        "reach their bridge": f"SELECT * FROM quacklake_bridge_{other}.ducklake_table",
    }


def test_a_role_touches_nothing_of_another_catalog(tenants: ql.Tenants, roles: Roles) -> None:
    for name in ("a", "b"):
        tenants.bridge(name)
    with roles.raw("owner") as all_, roles.raw("a") as a:
        before = dump(all_)
        mine, theirs = ids_of(all_, "a")[0], ids_of(all_, "b")[0]
        catalogs = dict(all_.execute("SELECT catalog_name, catalog_id FROM ducklake_catalog").fetchall())
        file = all_.execute("SELECT max(data_file_id) FROM ducklake_data_file WHERE table_id = %s", (theirs,))
        wanted = attacks(mine, theirs, file.fetchall()[0][0], catalogs["a"], catalogs["b"])
        for name, statement in wanted.items():
            with pytest.raises(psycopg.Error) as refused:
                a.execute(statement.encode())
            assert refused.value.sqlstate in ("42501", "0A000"), (name, str(refused.value))
            a.execute("SET row_security = on")
            assert dump(all_) == before, name
        # Those that find nothing.
        for table in (name for name in SHARED if name not in ("ducklake_catalog", "quacklake_tenant")):
            column = "table_id" if "table_id" in LAYOUT[table.removeprefix("ducklake_")] else None
            if column is not None:
                gone = a.execute(f"DELETE FROM {table} WHERE table_id = {theirs}".encode())
                assert gone.rowcount == 0, table
        for name in OWNED:
            assert a.execute(f"DELETE FROM ducklake_{name} WHERE catalog_id = {catalogs['b']}".encode()).rowcount == 0
        assert a.execute("UPDATE ducklake_table SET path = 'x' WHERE table_id = %s", (theirs,)).rowcount == 0
        assert a.execute("SELECT 1 FROM ducklake_catalog WHERE catalog_name = 'b' FOR UPDATE").fetchall() == []
        assert dump(all_) == before
    with pytest.raises(ql.QuacklakeError, match="forbids it"):
        roles.open_("a", "b")
    with pytest.raises(ql.NotFoundError):
        roles.open_("a", "b", create=False)
    with ql.tenants(roles.a.url) as theirs_view:
        assert [each.name for each in theirs_view.list()] == ["a"]
        for act in (theirs_view.drop, theirs_view.create, theirs_view.bridge):
            with pytest.raises(ql.QuacklakeError):
                act("b")
        for act in (theirs_view.drop, theirs_view.bridge):
            with pytest.raises(ql.CatalogError, match="forbids it"):
                act("a")
        with pytest.raises(ql.CatalogError, match="forbids it"):
            theirs_view.secure()
    with roles.open_("owner", "b") as session:
        assert session.check() == []


def dump(connection: psycopg.Connection[Any]) -> dict[str, list[str]]:
    """Every row of every table."""
    query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
    names = [row[0] for row in connection.execute(query).fetchall()]
    return {
        name: sorted(map(repr, connection.execute(f'SELECT * FROM "{name}"'.encode()).fetchall())) for name in names
    }


def test_an_id_that_two_take_at_once_goes_to_one(tenants: ql.Tenants, roles: Roles) -> None:
    with roles.raw("owner") as all_:
        catalogs = dict(all_.execute("SELECT catalog_name, catalog_id FROM ducklake_catalog").fetchall())
    for level in ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"):
        id_ = {"READ COMMITTED": 90001, "REPEATABLE READ": 90002, "SERIALIZABLE": 90003}[level]
        with psycopg.connect(roles.b.url) as b, psycopg.connect(roles.a.url) as a:
            a.execute(f"SET TRANSACTION ISOLATION LEVEL {level}".encode())
            a.execute("SELECT count(*) FROM ducklake_table")
            insert = "INSERT INTO ducklake_table(catalog_id, table_id, table_name) VALUES (%s, %s, 'x')"
            b.execute(insert, (catalogs["b"], id_))
            b.commit()
            with pytest.raises(psycopg.Error):
                a.execute(insert, (catalogs["a"], id_))


def test_a_role_that_is_let_go_sees_nothing(tenants: ql.Tenants, roles: Roles, duck: Duck) -> None:
    schema = tenants.bridge("a")
    with duck(through(replace(roles.owner, attach=roles.a.attach), schema, "a")) as con, roles.open_("a", "a") as a:
        a.table("t").append(rows(1))
        assert con.execute("SELECT count(*) FROM lk.t").fetchall() == [(a.table("t").count(),)]
    tenants.revoke("a", roles.names["a"])
    with roles.raw("a") as a:
        for table in (*SHARED, "quacklake_role", f"{schema}.ducklake_table"):
            with pytest.raises(psycopg.Error, match="permission denied"):
                a.execute(f"SELECT * FROM {table}".encode())
    with pytest.raises(ql.CatalogError, match="forbids it"):
        roles.open_("a", "a", create=False)
    tenants.grant("a", roles.names["a"])
    with roles.open_("a", "a", create=False) as a:
        a.table("t").append(rows(2))
    tenants.grant("b", roles.names["a"])
    with roles.open_("a", "b", create=False) as b:
        b.table("t").append(rows(2))
    tenants.drop("a")
    with pytest.raises(ql.NotFoundError):
        roles.open_("a", "a", create=False)
    tenants.revoke("b", roles.names["a"])
    tenants.secure()


def test_roles_that_no_policy_holds_back_are_refused(roles: Roles, postgresql_server: Server) -> None:
    with ql.tenants(roles.owner.url, roles.owner.data_path) as tenants:
        tenants.create("a")
        with pytest.raises(ql.InvalidInputError, match="not secured"):
            tenants.grant("a", roles.names["a"])
        tenants.secure()
        tenants.secure()
        for missing, error in ((("a", "nobody"), "role 'nobody'"), (("x", roles.names["a"]), "catalog 'x'")):
            with pytest.raises(ql.NotFoundError, match=error):
                tenants.grant(*missing)
        for right in ("BYPASSRLS", "SUPERUSER"):
            postgresql_server.run(f'ALTER ROLE "{roles.names["a"]}" {right}')
            with pytest.raises(ql.InvalidInputError, match="holds back"):
                tenants.grant("a", roles.names["a"])
            postgresql_server.run(f'ALTER ROLE "{roles.names["a"]}" NO{right}')
        with pytest.raises(ql.InvalidInputError, match="holds back"):
            tenants.grant("a", roles.names["owner"])
        with roles.raw("owner") as raw:
            raw.execute("GRANT CREATE ON SCHEMA public TO PUBLIC")
        with pytest.raises(ql.InvalidInputError, match="may make tables"):
            tenants.secure()


@pytest.mark.parametrize("kind", ["sqlite", "mysql"])
def test_other_databases_know_no_such_roles(kind: str, new_place: Callable[[str], Place]) -> None:
    place = new_place(kind)
    with ql.tenants(place.url, place.data_path) as tenants:
        tenants.create("a")
        for act in (tenants.secure, lambda: tenants.grant("a", "x"), lambda: tenants.revoke("a", "x")):
            with pytest.raises(ql.UnsupportedError, match="needs PostgreSQL"):
                act()
