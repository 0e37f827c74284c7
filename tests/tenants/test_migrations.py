"""Lakes become catalogs of a shared database, or nothing happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import quacklake as ql
from quacklake.catalog.moving.target import Target
from quacklake.tenancy import verifying
from tests.lakes import Place, answers, attached, difference
from tests.tenants.moving import feed_of, shown_by


@pytest.fixture
def lake(tmp_path: Path) -> Place:
    """A lake in which DuckDB has left something of every kind."""
    place = Place("sqlite", f"sqlite:{tmp_path}/old.db", f"sqlite:///{tmp_path}/old.db", f"{tmp_path}/old.files/")
    with attached(place) as con:
        for statement in (
            "CREATE TABLE t(i INT, s VARCHAR, l INT[], f DOUBLE)",
            "INSERT INTO t SELECT range, 'x' || range, [range, NULL], range / 2 FROM range(100)",
            "INSERT INTO t VALUES (1000, 'in,li\"ned', [1], 'nan')",
            "DELETE FROM t WHERE i % 3 = 0",
            "DELETE FROM t WHERE i % 5 = 0",
            "DELETE FROM t WHERE i = 7",
            "ALTER TABLE t ADD COLUMN z TIMESTAMP DEFAULT '2020-01-01'",
            "INSERT INTO t VALUES (1001, 'zz', [1], NULL, '2021-02-03')",
            "CALL ducklake_flush_inlined_data('lk')",
            "UPDATE t SET s = 'new' WHERE i = 1000",
            "INSERT INTO t VALUES (1002, 'zz', [1], 0.5, NULL)",
            "CREATE VIEW v AS SELECT i FROM t",
            "CREATE MACRO m(a) AS a + 1",
            "COMMENT ON TABLE t IS 'hey, \"t\":7'",
            "CREATE TABLE gone AS SELECT 1 AS x",
            "DROP TABLE gone",
        ):
            con.execute(statement).fetchall()
    return place


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[ql.Tenants]:
    with ql.tenants(f"sqlite:///{tmp_path}/shared.db") as tenants:
        with ql.connect(f"sqlite:///{tmp_path}/shared.db", catalog="other", engine="local") as session:
            for name in "abc":
                session.create_table(name, "x INT")
        yield tenants


def opened(tmp_path: Path, name: str = "wb") -> ql.Session:
    return ql.connect(f"sqlite:///{tmp_path}/shared.db", catalog=name, engine="local", create=False)


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def test_duckdb_reads_what_came_back_as_it_reads_the_lake(lake: Place, shared: ql.Tenants, tmp_path: Path) -> None:
    with ql.connect(lake.url, engine="local", create=False) as session:
        expected, feed = shown_by(session), feed_of(session, "t")
    told = shared.migrate(lake.url, "wb", dry_run=True)
    assert [each.name for each in shared.list()] == ["other"]
    made = shared.migrate(lake.url, "wb")
    assert (made.tables, made.snapshots, made.files, made.bytes) == (2, told.snapshots, told.files, told.bytes)
    assert made.compared > 5
    assert told.written_files == made.written_files > 1
    with opened(tmp_path) as session:
        assert shown_by(session) == expected
        assert feed_of(session, "t") == feed
        assert session.check() == []
        session.table("t").delete("i = 1002")
    with ql.connect(lake.url, engine="local", create=False) as session:
        assert shown_by(session) == expected
    shared.export("wb", f"sqlite:///{tmp_path}/back.db")
    back = Place("sqlite", f"sqlite:{tmp_path}/back.db", "", f"{tmp_path}/back.db.files/")
    with attached(lake) as con:
        want = answers(con)
    with attached(back) as con:
        got = answers(con)
        assert con.execute("SELECT count(*) FROM v").fetchall() == con.execute("SELECT count(*) FROM t").fetchall()
        assert con.execute("SELECT m(1)").fetchall() == [(2,)]
        con.execute("INSERT INTO t SELECT range, 'y', NULL, NULL, NULL FROM range(50)").fetchall()
        con.execute("DELETE FROM t WHERE i = 49").fetchall()
    newest = max(each.snapshot_id for each in got)
    for ours, theirs in zip([each for each in got if each.snapshot_id < newest], want, strict=True):
        assert difference(ours.rows, theirs.rows) is None, str(ours)
    with pytest.raises(ql.AlreadyExistsError):
        shared.export("wb", f"sqlite:///{tmp_path}/back.db")


@pytest.mark.parametrize("owns_files", [False, True])
def test_files_of_the_lake_are_its_own_unless_it_is_given_up(
    lake: Place, shared: ql.Tenants, tmp_path: Path, owns_files: bool
) -> None:
    before = files(Path(lake.data_path))
    shared.migrate(lake.url, "wb", owns_files=owns_files)
    shared.clone("wb", "copy")
    for name in ("wb", "copy"):
        shared.drop(name)
        shared.cleanup()
    assert (files(Path(lake.data_path)) == before) is not owns_files
    assert not files(tmp_path / "shared.db.files" / "wb")


def leftovers(tmp_path: Path) -> list[tuple[str, int]]:
    """How many rows the tables of the shared database hold, and which tables there are."""
    with duckdb.connect() as con:
        con.execute("LOAD sqlite")
        con.execute(f"ATTACH '{tmp_path}/shared.db' AS s (TYPE sqlite, READ_ONLY)")
        names = [
            row[0] for row in con.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 's'").fetchall()
        ]
        counts = [con.execute(f'SELECT count(*) FROM s."{name}"').fetchall()[0][0] for name in sorted(names)]
        return list(zip(sorted(names), counts, strict=True))


def test_what_fails_half_way_leaves_nothing(
    lake: Place, shared: ql.Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, placed = leftovers(tmp_path), files(tmp_path)

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("stop")

    for owner, name in ((Target, "insert_deletes"), (Target, "insert_inlined"), (verifying, "_compare_rows")):
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, fail)
            with pytest.raises(RuntimeError, match="stop"):
                shared.migrate(lake.url, "wb")
        assert leftovers(tmp_path) == before
        assert files(tmp_path) == placed
    shared.migrate(lake.url, "wb")


def test_a_copy_that_differs_is_refused(
    lake: Place, shared: ql.Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, insert = leftovers(tmp_path), Target.insert_inlined

    def lose_a_row(
        self: Target, table: str, id_: int, version: int, columns: object, data: pa.Table, rows: pa.Table
    ) -> None:
        insert(self, table, id_, version, columns, data.slice(0, data.num_rows - 1), rows.slice(0, rows.num_rows - 1))  # type: ignore[arg-type]

    monkeypatch.setattr(Target, "insert_inlined", lose_a_row)
    with pytest.raises(ql.CatalogError, match=r"main\.t at snapshot"):
        shared.migrate(lake.url, "wb")
    assert leftovers(tmp_path) == before


def test_a_missing_file_is_said_before_anything_is_copied(lake: Place, shared: ql.Tenants, tmp_path: Path) -> None:
    victim = max(Path(lake.data_path).rglob("*.parquet"), key=lambda path: path.stat().st_size)
    victim.unlink()
    before = leftovers(tmp_path)
    assert victim.name in shared.migrate(lake.url, "wb", dry_run=True).problems[0]
    with pytest.raises(ql.StorageError, match=victim.name):
        shared.migrate(lake.url, "wb")
    assert leftovers(tmp_path) == before


@pytest.mark.server
@pytest.mark.parametrize("name", ["postgresql", "mysql"])
def test_rows_that_a_database_cannot_hold_are_named_before_and_refused(
    name: str, new_place: Callable[[str], Place], tmp_path: Path
) -> None:
    lake, place, long = Place.in_folder("sqlite", tmp_path), new_place(name), "c" * 70
    with ql.connect(lake.url, lake.data_path, engine="local") as session:
        session.create_namespace("n")
        session.create_table("n.wide", f"{long} INT").append(pa.table({long: pa.array([1], pa.int32())}))
        session.create_table("fits", "id INT").append(pa.table({"id": pa.array([1], pa.int32())}))
        session.table("n.wide").rename("w")
    with ql.tenants(place.url, place.data_path) as tenants:
        (problem,) = tenants.migrate(lake.url, "wb", dry_run=True).problems
        assert problem.startswith(f"inlined rows of n.w cannot be kept in {name}: the name")
        with pytest.raises(ql.UnsupportedError, match=r"inlined rows of n\.w cannot be kept in") as refused:
            tenants.migrate(lake.url, "wb")
        assert "ducklake_flush_inlined_data" in str(refused.value)
        assert tenants.list() == []
    # In a file there is room for every name, in both directions.
    with ql.tenants(f"sqlite:///{tmp_path}/shared.db", f"{tmp_path}/shared/") as tenants:
        assert tenants.migrate(lake.url, "wb", dry_run=True).problems == ()
        tenants.migrate(lake.url, "wb")
        new = new_place(name)
        assert tenants.export("wb", new.url, new.data_path, dry_run=True).problems == (problem,)


def test_a_name_that_is_taken_stays_with_whom_has_it(lake: Place, shared: ql.Tenants, tmp_path: Path) -> None:
    before = leftovers(tmp_path)
    for name in ("other", "OTHER"):
        with pytest.raises(ql.AlreadyExistsError):
            shared.migrate(lake.url, name)
    assert leftovers(tmp_path) == before
