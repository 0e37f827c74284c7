"""Catalogs as things: made, listed page by page, measured, renamed, dropped, cleaned up after."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import quacklake as ql
from tests.lakes import Place


def rows(count: int) -> pa.Table:
    return pa.table({"a": pa.array(range(count), pa.int32())})


@pytest.fixture
def tenants(backend: Place) -> Iterator[ql.Tenants]:
    with ql.tenants(backend.url, backend.data_path) as tenants:
        yield tenants


def files(place: Place) -> set[Path]:
    return {path for path in Path(place.data_path).rglob("*") if path.is_file()}


def test_catalogs_are_made_and_listed_page_by_page(tenants: ql.Tenants) -> None:
    names = sorted(["b_2", "a", "b_1", "B", "b'", "b_\U0010ffff", "c", "ü"])
    made = [tenants.create(name) for name in names]
    assert len({each.catalog_id for each in made}) == len(names)
    assert [each.name for each in tenants.list()] == [each.name for each in tenants] == names
    assert all(abs(each.created - datetime.now(UTC)) < timedelta(minutes=5) for each in tenants.list() if each.created)
    assert [each.name for each in tenants.list(limit=3)] == names[:3]
    assert [each.name for each in tenants.list(after=names[2], limit=3)] == names[3:6]
    assert [each.name for each in tenants.list(prefix="b")] == ["b'", "b_1", "b_2", "b_\U0010ffff"]
    assert [each.name for each in tenants.list(prefix="b_", after="b_1")] == ["b_2", "b_\U0010ffff"]
    assert [each.name for each in tenants.list(prefix="b_\U0010ffff")] == ["b_\U0010ffff"]
    with pytest.raises(ql.AlreadyExistsError):
        tenants.create("a")
    assert tenants.create("a", if_not_exists=True).catalog_id == made[names.index("a")].catalog_id
    with pytest.raises(ql.InvalidInputError):
        tenants.list(limit=0)


def test_sizes_are_what_the_newest_snapshot_shows(tenants: ql.Tenants, backend: Place) -> None:
    tenants.create("empty")
    for name in ("one", "two"):
        with ql.connect(backend.url, catalog=name, engine="local") as session:
            table = session.create_table("t", "a INT")
            table.append(rows(100))
            table.append(rows(3))
            table.delete("a BETWEEN 10 AND 40")
            table.delete("a IN (50, 51, 1)")
            table.append(pa.table({"a": pa.array(range(1000, 1030), pa.int32())}))
            # First some rows of a file, then the file: its deletes stay behind.
            table.delete("a BETWEEN 1000 AND 1015")
            table.delete("a >= 1016")
            session.create_table("gone", "a INT").append(rows(50))
            session.drop_table("gone")
            held = session.table("t").scan().plan().files
            counts = (session.table("t").count(), 2, sum(file.size or 0 for file in held))
            size = counts[2] + sum(each.size or 0 for file in held for each in file.delete_files)
    listed = {each.name: each for each in tenants.list(sizes=True)}
    assert (listed["empty"].rows, listed["empty"].files, listed["empty"].bytes) == (0, 0, 0)
    for name in ("one", "two"):
        assert (listed[name].rows, listed[name].files, listed[name].bytes) == (*counts[:2], size)
    assert tenants.get("one", sizes=True) == listed["one"]
    assert tenants.list()[0].rows is None


def test_a_new_name_leaves_files_and_sessions_alone(tenants: ql.Tenants, backend: Place) -> None:
    with ql.connect(backend.url, catalog="old", engine="local") as session:
        session.create_table("t", "a INT").append(rows(30))
        tenants.rename("old", "new")
        session.table("t").append(rows(20))
    with pytest.raises(ql.NotFoundError):
        ql.connect(backend.url, catalog="old", engine="local", create=False)
    with ql.connect(backend.url, catalog="new", engine="local") as session:
        assert session.table("t").to_arrow().num_rows == 50
        assert {path.parts[len(Path(backend.data_path).parts)] for path in files(backend)} == {"old"}
    # The folder of the old name is taken, the name is not.
    with ql.connect(backend.url, catalog="old", engine="local") as session:
        session.create_table("t", "a INT").append(rows(30))
        assert not session._catalog.data_path.endswith("/old/")
        assert session.check() == []
    with pytest.raises(ql.AlreadyExistsError):
        tenants.rename("old", "new")
    with pytest.raises(ql.NotFoundError):
        tenants.rename("nobody", "x")
    assert tenants.rename("new", "NEW").name == "NEW"


def test_a_catalog_that_is_dropped_takes_its_rows_along_and_leaves_its_files_to_the_clean_up(
    tenants: ql.Tenants, backend: Place
) -> None:
    before = _counts(tenants)
    tenants.create("stays")
    with ql.connect(backend.url, catalog="goes", engine="local") as session:
        table = session.create_table("t", "a INT", partition_by=["a"], sort_by=["a"], comment="c")
        table.append(rows(3))
        table.append(rows(30))
        table.delete("a < 12")
        table.set_partition_by([])
        table.append(rows(40))
        table.delete("a = 39")
        for limit in (20, 32):
            table.delete(f"a < {limit}")
        table.alter_column("a", comment="hi")
        session.create_view("v", "SELECT 1 AS x")
        session.set_option("target_file_size", "1MB")
        session.set_option("target_file_size", "1MB", table="t")
        tenants.drop("goes")
        with pytest.raises(ql.NotFoundError, match="the catalog is gone"):
            table.append(rows(1))
    tenants.drop("stays")
    after = _counts(tenants)
    scheduled = after.pop("ducklake_files_scheduled_for_deletion")
    assert after == {name: before[name] for name in after}
    known = files(backend)
    assert scheduled == len(known) > 0
    assert {Path(path) for path in tenants.cleanup(dry_run=True)} == known == files(backend)
    assert tenants.cleanup(older_than=datetime.now(UTC) - timedelta(days=1)) == []
    assert {Path(path) for path in tenants.cleanup()} == known
    assert files(backend) == set()
    assert tenants.cleanup() == []
    with pytest.raises(ql.NotFoundError):
        tenants.drop("goes")
    tenants.drop("goes", if_exists=True)


def _counts(tenants: ql.Tenants) -> dict[str, int]:
    """How many rows each table has that is there for good, and the names of those for inlined rows with one each."""
    backend = tenants._backend
    with backend.read() as connection:
        names = [*backend.columns(connection)]
        place = f'"{backend.sql_schema}".' if backend.name == "postgresql" else ""
        return {name: connection.exec_driver_sql(f"SELECT count(*) FROM {place}{name}").scalar_one() for name in names}


def test_a_setting_for_all_catalogs_holds_where_one_has_none_of_its_own(tenants: ql.Tenants, backend: Place) -> None:
    tenants.set_option("data_inlining_row_limit", 5)
    tenants.set_option("data_inlining_row_limit", 0)
    with (
        ql.connect(backend.url, catalog="a", engine="local") as a,
        ql.connect(backend.url, catalog="b", engine="local") as b,
    ):
        b.set_option("data_inlining_row_limit", 20)
        found = {
            name: [option.value for option in session.options() if option.name == "data_inlining_row_limit"]
            for name, session in (("a", a), ("b", b))
        }
        assert found == {"a": ["0"], "b": ["20"]}
        for session, files in ((a, 1), (b, 0)):
            session.create_table("t", "a INT").append(rows(3))
            assert len(session.table("t").scan().plan().files) == files
    with pytest.raises(ql.InvalidInputError, match="fixed when a lake is made"):
        tenants.set_option("version", "2")


def test_a_lake_that_is_alone_has_no_tenants(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/alone.db"
    ql.connect(url, engine="local").close()
    with pytest.raises(ql.InvalidInputError, match="for itself"):
        ql.tenants(url)
    with pytest.raises(ql.NotInitializedError):
        ql.tenants(f"sqlite:///{tmp_path}/none.db", create=False)
    with ql.tenants(f"sqlite:///{tmp_path}/shared.db", tmp_path / "data") as tenants:
        assert tenants.data_path == f"{tmp_path}/data/"
    with pytest.raises(ql.InvalidInputError, match="keep their files in"):
        ql.tenants(f"sqlite:///{tmp_path}/shared.db", tmp_path / "other")


@pytest.mark.server
@pytest.mark.parametrize("schema", ["odd %", 'a"b %s'])
def test_catalogs_live_in_an_sql_schema_with_an_odd_name(new_place: Callable[[str], Place], schema: str) -> None:
    place = new_place("postgresql")
    with ql.connect(place.url, place.data_path, catalog="a", metadata_schema=schema, engine="local") as session:
        table = session.create_table("t", "id BIGINT")
        table.append(pa.table({"id": [1, 2, 3]}))
        table.append(pa.table({"id": list(range(100))}))
        table.delete("id = 2")
        assert table.scan().count() == 101
        assert session.check() == []
    with ql.tenants(place.url, metadata_schema=schema) as tenants:
        tenants.rename("a", "b")
        assert [(each.name, each.rows) for each in tenants.list(sizes=True)] == [("b", 101)]
        tenants.drop("b")
        assert tenants.list() == []
        with tenants._backend.read() as connection:
            left = tenants._backend.columns(connection)
        assert [name for name in left if "inlined_data_" in name and name != "ducklake_inlined_data_tables"] == []
