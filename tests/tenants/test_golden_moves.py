"""Lakes that older releases of DuckLake wrote go into a shared database and out again, and are the same in each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import quacklake as ql
from tests.golden.stock import NAMES, ROOT, WITH_FILES, data_path_of, unpack
from tests.golden.test_old_versions import migrated_by_duckdb
from tests.lakes import Place, answers, attached, difference
from tests.tenants.moving import feed_of, make_files, shown_by

pytestmark = pytest.mark.skipif(not ROOT.is_dir(), reason=f"the golden lakes are not in {ROOT}")

SERVERS = [
    pytest.param("old_ducklake/compacted_files", each, marks=pytest.mark.server) for each in ("postgresql", "mysql")
]


def make_shared(place: Place) -> ql.Tenants:
    """A shared database in which somebody else has taken some ids already."""
    tenants = ql.tenants(place.url, place.data_path)
    with ql.connect(place.url, catalog="somebody", engine="local") as session:
        for name in ("a", "b", "c"):
            session.sql(f"CREATE TABLE {name} AS SELECT 1 AS x")
    return tenants


@pytest.mark.parametrize(("name", "database"), [*((name, "sqlite") for name in NAMES), *SERVERS])
def test_it_is_the_same_lake_in_a_shared_database_and_out_of_it_again(
    name: str, database: str, tmp_path: Path, new_place: Callable[[str], Place]
) -> None:
    catalog, data_path = unpack(name, tmp_path), data_path_of(name, tmp_path)
    make_files(catalog, data_path)
    before = catalog.read_bytes()
    # Of a file that an old version has merged, the catalog alone knows the snapshots of the rows.
    stamps = "compacted" not in name
    # The catalog of this one does not know the size of its delete file.
    faults = int(name == WITH_FILES)
    url, place = f"duckdb:///{catalog}", new_place(database)
    settings = {"data_path": data_path, "override_data_path": True}
    with ql.connect(url, create=False, read_only=True, engine="local", **settings) as session:  # type: ignore[arg-type]
        expected = shown_by(session, stamps=stamps)
        feeds = {table: feed_of(session, table) for table in session.tables()}
        said = [(each.time.replace(microsecond=0), each.author, each.message) for each in session.snapshots()]
    with make_shared(place) as tenants:
        move = tenants.migrate(url, "old", **settings)  # type: ignore[arg-type]
        assert (move.snapshots, move.problems) == (len(expected), ())
        assert catalog.read_bytes() == before
        with ql.connect(place.url, catalog="old", engine="local") as session:
            assert shown_by(session, stamps=stamps) == expected
            assert {table: feed_of(session, table) for table in session.tables()} == feeds
            exact = shown_by(session)
            assert [
                (each.time.replace(microsecond=0), each.author, each.message) for each in session.snapshots()
            ] == said
            assert len(session.check()) == faults
            assert session.snapshots()[0].snapshot_id > 3
        target = tmp_path / "back.db"
        tenants.export("old", f"duckdb:///{target}")
    with ql.connect(f"duckdb:///{target}", create=False, engine="local") as session:
        assert shown_by(session) == exact
        assert {table: feed_of(session, table) for table in session.tables()} == feeds
        assert len(session.check()) == faults
    _compare_in_duckdb(name, catalog, data_path, target)


def _compare_in_duckdb(name: str, catalog: Path, data_path: str, target: Path) -> None:
    back = Place("duckdb", str(target), f"duckdb:///{target}", f"{target}.files/")
    with attached(back) as con:
        got = answers(con)
        con.execute("CREATE TABLE fresh AS SELECT range AS i FROM range(100)")
        con.execute("DELETE FROM fresh WHERE i < 50")
        assert con.execute("SELECT count(*), sum(i) FROM fresh").fetchall() == [(50, 3725)]
    if "compacted" in name:
        # DuckDB's own migration forgets which rows are younger, and shows them at older snapshots.
        return
    with attached(migrated_by_duckdb(catalog, data_path), "OVERRIDE_DATA_PATH true") as con:
        want = answers(con)
    assert [(each.snapshot_id, each.name, each.types) for each in got] == [
        (each.snapshot_id, each.name, each.types) for each in want
    ]
    for ours, theirs in zip(got, want, strict=True):
        assert ours.error == theirs.error is None
        assert difference(ours.rows, theirs.rows) is None, str(ours)
