"""A session holds several lakes: names of three parts, reads of several, writes to one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pyarrow as pa
import pytest

import quacklake as ql
from tests.engine.spark.conftest import spark as spark
from tests.lakes import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENGINES = ["local", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.slow])]


def ids(*numbers: int) -> pa.Table:
    return pa.table({"id": pa.array(numbers, pa.int64())})


def found(session: Any, text: str) -> list[tuple[Any, ...]]:
    return sorted(session.sql(text))


@pytest.fixture(params=["sqlite", *(pytest.param(name, marks=pytest.mark.server) for name in ("postgresql", "mysql"))])
def other(request: pytest.FixtureRequest, tmp_path: Path, new_place: Callable[[str], Place]) -> str:
    """Another lake, with a table and a view, in each kind of database."""
    place = new_place(request.param)
    url, data_path = (
        (f"sqlite:///{tmp_path}/other.db", None) if request.param == "sqlite" else (place.url, place.data_path)
    )
    with ql.connect(url, data_path, engine="local") as session:
        session.create_namespace("Odd ns")
        session.create_table("u", "id BIGINT").append(ids(1, 2))
        session.create_table('"Odd ns"."a.b"', "id BIGINT").append(ids(7))
        session.create_table("t", "id BIGINT").append(ids(100))
        session.create_view("v", "SELECT id + 1 AS id FROM u")
    return url


@pytest.fixture
def session(tmp_path: Path, other: str) -> Iterator[ql.Session]:
    with ql.connect(f"sqlite:///{tmp_path}/own.db", engine="local") as session:
        session.create_namespace("shop")
        session.create_table("t", "id BIGINT").append(ids(1, 3))
        session.attach(other, "other")
        yield session


def test_names_of_three_parts_are_found_in_any_case(session: ql.Session) -> None:
    table = session.table("OTHER.Main.U")
    assert table.name == "other.main.u"
    assert table.to_arrow().to_pydict() == {"id": [1, 2]}
    assert session.table('other."Odd ns".`a.b`').name == 'other."Odd ns"."a.b"'
    assert session.table(session.table('other."Odd ns".`a.b`').name).count() == 1
    assert session.table("lake.main.t").name == "main.t"
    assert session.table("Lake.Main.T").count() == 2


def test_catalogs_and_what_is_in_them_are_listed(session: ql.Session) -> None:
    assert session.catalogs() == ["lake", "other"]
    assert session.namespaces("other") == ["main", "Odd ns"]
    assert session.namespaces("lake") == ["main", "shop"]
    assert session.tables() == ["main.t"]
    assert sorted(session.tables("other.main")) == ["other.main.t", "other.main.u"]
    assert session.tables('other."odd ns"') == ['other."Odd ns"."a.b"']
    assert len(session.tables(catalog="other")) == 3
    assert session.views("other.main") == ["other.main.v"]
    assert session.views() == []
    for ask in (session.tables, session.views):
        with pytest.raises(ql.NotFoundError, match=r"there is no catalog 'nobody'.*lake, other"):
            ask("nobody.main")
        with pytest.raises(ql.NotFoundError, match="there is no namespace 'nowhere'"):
            ask("other.nowhere")
        with pytest.raises(ql.InvalidInputError, match="3 parts"):
            ask("a.b.c")


def test_the_own_lake_can_have_another_name(tmp_path: Path, other: str) -> None:
    with ql.connect(f"sqlite:///{tmp_path}/own.db", engine="local", name="home") as session:
        session.create_table("home.main.t", "id BIGINT")
        session.attach(other, "lake")
        assert session.catalogs() == ["home", "lake"]
        assert session.tables() == ["main.t"]
        assert found(session, "SELECT * FROM lake.main.u LEFT ANTI JOIN home.main.t USING (id)") == [(1,), (2,)]


def test_a_name_of_two_parts_is_never_one_of_an_attached_lake(session: ql.Session) -> None:
    with pytest.raises(ql.NotFoundError, match=r"no namespace 'other'.*write other\.main\.u"):
        session.table("other.u")
    with pytest.raises(ql.NotFoundError, match=r"write other\.main\.u"):
        session.sql("SELECT * FROM other.u")
    session.create_namespace("other")
    session.create_table("other.u", "id BIGINT").append(ids(99))
    assert session.table("other.u").to_arrow().to_pydict() == {"id": [99]}
    assert found(session, "SELECT a.id, b.id FROM other.u a, other.main.u b") == [(99, 1), (99, 2)]
    assert found(session, "SELECT * FROM lake.other.u") == [(99,)]
    assert session.tables("other") == ["other.u"]
    assert sorted(session.tables("other.main")) == ["other.main.t", "other.main.u"]
    with pytest.raises(ql.NotFoundError, match=r"no table other\.t .*write other\.main\.t"):
        session.table("other.t")
    session.sql("DELETE FROM other.u")
    assert session.table("other.main.u").count() == 2


@pytest.mark.parametrize("engine", ENGINES)
def test_one_query_joins_several_lakes(engine: str, tmp_path: Path, other: str, request: pytest.FixtureRequest) -> None:
    given: SparkSession | None = request.getfixturevalue("spark") if engine == "spark" else None
    url = f"duckdb:///{tmp_path}/own.duckdb"
    with ql.connect(url, engine=engine, spark=given) as session:  # type: ignore[arg-type]
        session.create_table("t", "id BIGINT").append(ids(1, 3))
        session.attach(other, "other")
        session.attach(url, "past", at=1)
        query = "SELECT t.id, u.id FROM main.t LEFT JOIN other.main.u ON t.id = u.id"
        assert set(session.sql(query)) == {(1, 1), (3, None)}
        assert found(session, "SELECT id FROM t UNION ALL SELECT id FROM other.main.t") == [(1,), (3,), (100,)]
        assert found(session, "SELECT main.t.id, other.main.t.id FROM t, other.main.t") == [(1, 100), (3, 100)]
        assert found(session, "SELECT v.id FROM other.main.v JOIN t ON other.main.v.id = t.id") == [(3,)]
        assert found(session, "SELECT count(*) FROM past.main.t") == [(0,)]
        assert found(session, "SELECT id FROM other.main.u VERSION AS OF 2") == []
        done = session.sql("INSERT INTO other.main.u SELECT id + 10 FROM t").commit
        assert done is not None
        assert done.snapshot_id is not None
        assert done.rows_inserted == 2
        assert found(session, "SELECT id FROM other.main.u") == [(1,), (2,), (11,), (13,)]
        session.sql("MERGE INTO other.main.u AS x USING main.t AS y ON x.id = y.id WHEN MATCHED THEN DELETE")
        session.sql("CREATE TABLE other.main.made AS SELECT a.id FROM t a JOIN other.main.t b ON a.id < b.id")
        assert found(session, "SELECT id FROM other.main.u") == [(2,), (11,), (13,)]
        assert found(session, "SELECT id FROM other.main.made") == [(1,), (3,)]
        assert found(session, "SELECT snapshot_id FROM snapshots('other')")[-1] == (done.snapshot_id + 2,)
        changed = "SELECT change_type, id FROM table_changes('other.main.u', :v) WHERE id = 1"
        assert list(session.sql(changed, {"v": done.snapshot_id})) == [("delete", 1)]
        assert session.table("t").count() == 2
    with ql.connect(other, engine="local") as session:
        assert sorted(session.tables("main")) == ["main.made", "main.t", "main.u"]
        assert not session.check()


def test_every_verb_reaches_an_attached_lake(session: ql.Session, other: str) -> None:
    session.create_namespace("other.more")
    table = session.create_table("other.more.x", "id BIGINT, name STRING", comment="new")
    assert table.name == "other.more.x"
    table.append(pa.table({"id": [1, 2], "name": ["a", "b"]}))
    table.update({"name": "upper(name)"}, where="id = 1")
    table.add_column("n", "INT", default=5)
    table.rename("other.more.y")
    assert table.name == "other.more.y"
    assert table.scan(where="n = 5 AND name = 'A'").to_arrow().to_pylist() == [{"id": 1, "name": "A", "n": 5}]
    table.merge(pa.table({"id": [2], "name": ["z"], "n": [1]}), on="id")
    assert len(table.history()) == 5
    session.create_view("other.more.w", "SELECT id FROM more.y")
    session.rename_view("other.more.w", "other.more.ww")
    assert session.views("other.more") == ["other.more.ww"]
    assert found(session, "SELECT * FROM other.more.ww") == [(1,), (2,)]
    session.set_option("target_file_size", "1MB", table="other.more.y")
    session.set_option("target_file_size", "2MB", namespace="other.more")
    session.set_option("target_file_size", "3MB", catalog="other")
    assert not session.options()[4:]
    session.drop_view("other.more.ww")
    with pytest.raises(ql.InvalidInputError, match="not empty"):
        session.drop_namespace("other.more")
    session.drop_table("other.more.y")
    session.drop_namespace("other.more")
    with ql.connect(other, engine="local") as alone:
        assert alone.namespaces() == ["main", "Odd ns"]
        assert {(each.value, each.scope) for each in alone.options() if each.name == "target_file_size"} >= {
            ("3000000", None)
        }
    assert session.tables() == ["main.t"]


def test_a_transaction_writes_to_one_lake_and_reads_all(session: ql.Session) -> None:
    with session.transaction() as tx:
        tx.table("t").append(ids(5))
        assert tx.table("other.main.u").count() == 2
        for act in (
            lambda: tx.table("other.main.u").append(ids(1)),
            lambda: tx.create_table("other.main.x", "id BIGINT"),
            lambda: tx.sql("INSERT INTO other.main.u SELECT id FROM t"),
            lambda: tx.sql("DROP TABLE other.main.u"),
            lambda: tx.drop_namespace('other."Odd ns"', cascade=True),
        ):
            with pytest.raises(ql.UnsupportedError, match="writes to the lake 'lake' and cannot write to 'other'"):
                act()
    assert session.table("t").count() == 3
    with session.transaction(message="there") as tx:
        tx.table("other.main.u").append(ids(9))
        tx.sql("DELETE FROM other.main.u WHERE id = 1")
        assert found(tx, "SELECT u.id, t.id FROM other.main.u LEFT JOIN t ON u.id = t.id + 6") == [(2, None), (9, 3)]
        with pytest.raises(ql.UnsupportedError, match="writes to the lake 'other' and cannot write to 'lake'"):
            tx.table("t").truncate()
        assert session.table("other.main.u").count() == 2
    assert tx.done.rows_inserted == 1
    assert tx.done.rows_deleted == 1
    assert found(session, "SELECT id FROM other.main.u") == [(2,), (9,)]
    assert session._attached["other"].snapshots()[-1].message == "there"


def test_a_transaction_in_sql_spans_lakes(session: ql.Session, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*.parquet"))
    session.sql("BEGIN")
    session.sql("INSERT INTO other.main.u SELECT id FROM range(5000)")
    assert found(session, "SELECT count(*) FROM other.main.u") == [(5002,)]
    with pytest.raises(ql.UnsupportedError, match="cannot write to 'lake'"):
        session.sql("INSERT INTO t SELECT id FROM other.main.u")
    with pytest.raises(ql.InvalidInputError, match="a transaction is open on 'other'"):
        session.detach("other")
    session.sql("ROLLBACK")
    assert found(session, "SELECT count(*) FROM other.main.u") == [(2,)]
    assert sorted(tmp_path.rglob("*.parquet")) == before
    session.detach("other")


def test_a_transaction_sees_one_snapshot_of_every_lake(session: ql.Session, other: str) -> None:
    with ql.connect(other, engine="local") as beside, session.transaction() as tx:
        assert tx.table("other.main.u").count() == 2
        beside.table("u").append(ids(3))
        assert tx.table("other.main.u").count() == 2
        assert session.table("other.main.u").count() == 3


def test_a_lake_that_is_only_read_feeds_another(tmp_path: Path, other: str) -> None:
    url = f"sqlite:///{tmp_path}/own.db"
    with ql.connect(url, engine="local") as session:
        session.create_table("t", "id BIGINT").append(ids(1, 3))
    with ql.connect(url, engine="local", read_only=True) as session:
        session.attach(other, "other")
        session.sql("INSERT INTO other.main.u SELECT id + 50 FROM t")
        assert found(session, "SELECT max(id) FROM other.main.u") == [(53,)]
        for statement in ("DELETE FROM t", "CREATE TABLE x AS SELECT * FROM other.main.u", "CREATE SCHEMA x"):
            with pytest.raises(ql.ReadOnlyError, match="the session only reads"):
                session.sql(statement)
        with pytest.raises(ql.ReadOnlyError):
            session.table("t").append(ids(1))
        session.attach(url, "mine", read_only=True)
        session.attach(url, "then", at=1)
        for name, why in {"mine": "lake 'mine' only reads", "then": "lake 'then' reads snapshot 1"}.items():
            with pytest.raises(ql.ReadOnlyError, match=name):
                session.table(f"{name}.main.t").append(ids(1))
            with session.transaction() as tx:
                assert tx.table(f"{name}.main.t").count() == (2 if name == "mine" else 0)
                with pytest.raises(ql.ReadOnlyError, match=why):
                    tx.sql(f"DELETE FROM {name}.main.t")


def test_what_is_attached_is_let_go(session: ql.Session, other: str) -> None:
    with pytest.raises(ql.AlreadyExistsError, match="'OTHER' already"):
        session.attach(other, "OTHER")
    with pytest.raises(ql.AlreadyExistsError, match="'Lake' already"):
        session.attach(other, "Lake")
    with pytest.raises(ql.NotFoundError, match="there is no catalog 'nobody'"):
        session.detach("nobody")
    with pytest.raises(ql.InvalidInputError, match="the session's own lake"):
        session.detach("lake")
    session.detach("Other")
    assert session.catalogs() == ["lake"]
    with pytest.raises(ql.NotFoundError, match="there is no catalog 'other'"):
        session.table("other.main.u")
    session.attach(other)
    # Without a name of its own, it has that of its file or database.
    name = Path(urlsplit(other).path).stem
    assert session.catalogs() == ["lake", name]
    attached = session._attached[name]
    session.close()
    assert not session._attached
    assert not attached._engines


def test_a_lake_is_only_made_when_that_is_asked_for(session: ql.Session, tmp_path: Path) -> None:
    with pytest.raises(ql.NotInitializedError):
        session.attach(f"sqlite:///{tmp_path}/new.db", "new")
    assert not (tmp_path / "new.db").exists()
    session.attach(f"sqlite:///{tmp_path}/new.db", "new", create=True, data_path=tmp_path / "elsewhere")
    session.create_table("new.main.t", "id BIGINT")
    assert session.tables("new.main") == ["new.main.t"]


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("thrift://host:9083", {}),
        ("glue://eu-central-1", {"profile": "prod"}),
        ("dataproc://project/region/service", {}),
        ("onelake://workspace/lakehouse", {"secret": "azure"}),
        ("delta:/lake/tables", {"allow_destructive": False}),
        ("iceberg:sqlite:///ice.db", {"warehouse": "w"}),
    ],
)
def test_what_is_no_lake_is_refused_by_name(session: ql.Session, url: str, options: dict[str, Any]) -> None:
    with pytest.raises(ql.UnsupportedError, match=url.partition(":")[0]):
        session.attach(url, "x", **options)
    assert session.catalogs() == ["lake", "other"]


def test_what_an_attached_lake_cannot_take_is_refused(session: ql.Session, other: str) -> None:
    with pytest.raises(ql.InvalidInputError, match="takes no option 'engine'"):
        session.attach(other, "x", engine="spark")
    for name in ("", " x", "a\0b"):
        with pytest.raises(ql.InvalidInputError, match="no name for a catalog"):
            session.attach(other, name)
    with pytest.raises(ql.InvalidInputError, match="nobody"):
        session.attach(other, "x", storage_options={"nobody": 1})
    with pytest.raises(ql.NotFoundError):
        session.attach(other, "x", at=12345)
    assert session.catalogs() == ["lake", "other"]


def test_settings_of_an_attached_lake_are_for_its_bucket_only(session: ql.Session, tmp_path: Path) -> None:
    session.attach(
        f"sqlite:///{tmp_path}/far.db",
        "far",
        create=True,
        data_path="s3://bucket/lake/",
        storage_options={"key_id": "someone", "secret": "hushhush"},
    )
    assert [(each.type, each.scope) for each in session.secrets()] == [("s3", "s3://bucket")]
    session.detach("far")
    assert session.secrets() == []


def test_lakes_come_and_go_in_sql(session: ql.Session, other: str, tmp_path: Path) -> None:
    session.detach("other")
    session.sql("ATTACH :u AS `Far Away` (READ_ONLY, TYPE ducklake)", {"u": other})
    session.sql(f"ATTACH '{other}' AS past (SNAPSHOT_VERSION 2)")
    session.sql(f"ATTACH IF NOT EXISTS '{other}' AS past")
    with pytest.raises(ql.AlreadyExistsError, match="'past' already"):
        session.sql(f"ATTACH '{other}' AS past")
    assert list(session.sql("SHOW CATALOGS")) == [("lake",), ("Far Away",), ("past",)]
    assert list(session.sql("SHOW SCHEMAS IN `Far Away`")) == [("main",), ("Odd ns",)]
    assert list(session.sql("SHOW TABLES IN `far away`.`odd ns`")) == [("Odd ns", "a.b")]
    assert list(session.sql("SHOW VIEWS IN `Far Away`.main")) == [("main", "v")]
    assert found(session, "SELECT `Far Away`.main.u.id FROM `Far Away`.main.u") == [(1,), (2,)]
    assert found(session, "SELECT count(*) FROM past.main.u") == [(0,)]
    with pytest.raises(ql.ReadOnlyError, match="'Far Away' only reads"):
        session.sql("DELETE FROM `Far Away`.main.u")
    session.sql("USE `far away`.main")
    assert found(session, "SELECT u.id, t.id FROM u, lake.main.t WHERE u.id = t.id") == [(1, 1)]
    assert found(session, "SELECT id FROM `Odd ns`.`a.b`") == [(7,)]
    assert session.table("t").count() == 2
    with pytest.raises(ql.InvalidInputError, match="in use"):
        session.sql("DETACH `Far Away`")
    session.sql("USE CATALOG lake")
    session.sql("DETACH `Far Away`")
    session.sql("DETACH IF EXISTS `Far Away`")
    session.sql(f"ATTACH 'sqlite:///{tmp_path}/fresh.db' (CREATE true, DATA_INLINING_ROW_LIMIT 0)")
    session.sql("CREATE SCHEMA fresh.s")
    session.sql("CREATE TABLE fresh.s.t (id BIGINT) PARTITIONED BY (id)")
    session.sql("INSERT INTO fresh.s.t VALUES (1)")
    session.sql("ALTER TABLE fresh.s.t ADD COLUMN n INT")
    session.sql("COMMENT ON COLUMN fresh.s.t.n IS 'how many'")
    session.sql("CREATE VIEW fresh.s.v AS SELECT id FROM fresh.s.t")
    ((statement,),) = session.sql("SHOW CREATE TABLE fresh.s.t")
    assert statement.startswith("CREATE TABLE fresh.s.t (")
    assert found(session, "SELECT id FROM fresh.s.v") == [(1,)]
    with pytest.raises(ql.UnsupportedError, match=r"cannot read main\.t, which is another lake"):
        session.sql("CREATE VIEW fresh.s.w AS SELECT id FROM t")
    session.sql("DROP SCHEMA fresh.s CASCADE")
    assert session.namespaces("fresh") == ["main"]


def test_a_table_is_made_again_by_the_statement_that_shows_it(session: ql.Session) -> None:
    session.create_table(
        "shop.every",
        "id BIGINT NOT NULL, `odd `` name` DECIMAL(9, 2) DEFAULT 1.5 COMMENT 'it\\'s', at TIMESTAMP, "
        "wall TIMESTAMP_NTZ, big HUGEINT, tags ARRAY<STRUCT<a: INT, b: MAP<STRING, BINARY>>>, u UUID, "
        "t STRING DEFAULT 'x'",
        partition_by=["month(at)", "bucket(4, id)"],
        sort_by=["id desc"],
        comment="all \\ of it's",
    )
    ((statement,),) = session.sql("SHOW CREATE TABLE shop.every")
    before = session.table("shop.every")
    session.sql(statement.replace("shop.every", "other.main.again", 1))
    after = session.table("other.main.again")
    assert after.schema == before.schema
    assert (after.partition_by, after.sort_by, after.comment) == (before.partition_by, before.sort_by, before.comment)


def test_secrets_are_made_and_dropped_in_sql(session: ql.Session) -> None:
    session.sql("CREATE SECRET s (TYPE s3, KEY_ID 'someone', SECRET :hush, SCOPE 's3://bucket')", {"hush": "hushhush"})
    assert list(session.sql("SHOW SECRETS")) == [("s", "s3", "s3://bucket")]
    session.sql("CREATE SECRET IF NOT EXISTS s (TYPE gcs)")
    session.sql("CREATE OR REPLACE SECRET s (TYPE azure, ACCOUNT_NAME 'a')")
    assert [(each.name, each.type) for each in session.secrets()] == [("s", "azure")]
    session.sql("DROP SECRET s")
    with pytest.raises(ql.NotFoundError):
        session.sql("DROP SECRET s")
    session.sql("DROP SECRET IF EXISTS s")


def test_a_setting_is_no_part_of_a_transaction(session: ql.Session) -> None:
    session.sql("SET target_file_size = '12MB'")
    assert ("target_file_size", "12000000", None) in list(session.sql("SET"))
    session.sql("BEGIN")
    with pytest.raises(ql.InvalidInputError, match="no part of a transaction"):
        session.sql("SET target_file_size = '13MB'")
    session.sql("ROLLBACK")
    with pytest.raises(ql.InvalidInputError):
        session.sql("SET target_file_size = nonsense")


def test_lakes_are_maintained_in_sql(session: ql.Session) -> None:
    def called(text: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        return session.sql(text, params).to_arrow().to_pylist()[0]

    before = session.current_snapshot
    assert called("CALL expire_snapshots(versions => array(1, 2), dry_run => true)")["snapshots"] == "[1, 2]"
    assert called("CALL lake.expire(versions => :v)", {"v": [1]})["snapshots"] == "[1]"
    assert called("CALL other.expire_snapshots(versions => array(1))")["dry_run"] == "false"
    assert [each.snapshot_id for each in session.snapshots()][:2] == [0, 2]
    assert [each.snapshot_id for each in session._attached["other"].snapshots()][:2] == [0, 2]
    assert called("CALL cleanup_old_files(older_than => '7 days')")["files"] == "0"
    assert called("CALL delete_orphaned_files(older_than => INTERVAL 7 DAYS, dry_run => true)")["files"] == "0"
    assert session.current_snapshot == before
    for text, error in {
        "CALL nonsense()": ql.UnsupportedError,
        "CALL expire_snapshots(nonsense => 1)": ql.InvalidInputError,
        "CALL expire_snapshots(1)": ql.InvalidInputError,
        "CALL nobody.expire_snapshots(versions => array(1))": ql.NotFoundError,
        "CALL merge_adjacent_files()": ql.UnsupportedError,
    }.items():
        with pytest.raises(error):
            session.sql(text)
    session.sql("BEGIN")
    with pytest.raises(ql.InvalidInputError, match="no part of a transaction"):
        session.sql("CALL cleanup_old_files()")
    session.sql("ROLLBACK")
