"""A file that two need is there for both, however they came to share it and whoever goes first."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa

import quacklake as ql
from quacklake.catalog.shared.layout import build_shared_tables
from quacklake.maintenance.known import KnownFiles
from tests.lakes import Place
from tests.tenants.statements import watching

LATER = datetime.now(UTC) + timedelta(days=1)
ROWS = pa.table({"a": pa.array(range(50), pa.int32())})
TOTAL = sum(range(50))


@pytest.fixture
def tenants(backend: Place) -> Iterator[ql.Tenants]:
    with ql.tenants(backend.url, backend.data_path) as tenants:
        yield tenants


def opened(place: Place, name: str) -> ql.Session:
    return ql.connect(place.url, place.data_path, catalog=name, engine="local", inline_rows=0)


def make_file(folder: Path, name: str = "ducklake-added.parquet") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(ROWS, folder / name)
    return str(folder / name)


def sum_of(session: ql.Session) -> int:
    return sum(row["a"] for row in session.table("t").to_arrow().to_pylist())


def forget_all(session: ql.Session) -> None:
    """Everything that can make a catalog let go of files."""
    session.table("t").truncate()
    session.maintain.expire(older_than=LATER)
    session.maintain.cleanup(older_than=LATER)
    session.maintain.remove_orphans(older_than=LATER)


@pytest.mark.parametrize("how", ["drop", "expire"])
def test_a_file_that_was_added_to_two_catalogs_stays_for_the_other(
    how: str, tenants: ql.Tenants, backend: Place, tmp_path: Path
) -> None:
    path = make_file(tmp_path / "elsewhere")
    for name in ("a", "b"):
        with opened(backend, name) as session:
            session.create_table("t", "a INT").add_files([path])
    for name, other in (("a", "b"), ("b", None)):
        if how == "drop":
            tenants.drop(name)
            tenants.cleanup()
        else:
            with opened(backend, name) as session:
                forget_all(session)
        if other:
            with opened(backend, other) as session:
                assert sum_of(session) == TOTAL
    assert not Path(path).exists()


@pytest.mark.parametrize("how", ["drop", "expire"])
@pytest.mark.parametrize("first", ["a", "b"])
def test_a_file_of_one_catalog_that_another_added_stays_until_both_are_gone(
    first: str, how: str, tenants: ql.Tenants, backend: Place
) -> None:
    with opened(backend, "a") as a, opened(backend, "b") as b:
        a.create_table("t", "a INT").add_files([make_file(Path(a._catalog.data_path) / "main" / "t")])
        (file,) = a.table("t").scan().files()
        b.create_table("t", "a INT").add_files([file.path])
    other = "b" if first == "a" else "a"
    for name in (first, other):
        assert Path(file.path).exists()
        with opened(backend, name) as session:
            assert sum_of(session) == TOTAL
            if how == "expire":
                forget_all(session)
        if how == "drop":
            tenants.drop(name)
            tenants.cleanup()
    assert not Path(file.path).exists()


def test_a_file_of_a_dropped_catalog_that_another_has_added_since_stays(tenants: ql.Tenants, backend: Place) -> None:
    with opened(backend, "a") as a, opened(backend, "b") as b:
        a.create_table("t", "a INT").add_files([make_file(Path(a._catalog.data_path) / "main" / "t")])
        (file,) = a.table("t").scan().files()
        tenants.drop("a")
        b.create_table("t", "a INT").add_files([file.path])
        assert file.path not in tenants.cleanup(dry_run=True)
        tenants.cleanup()
        assert sum_of(b) == TOTAL
        assert tenants.cleanup() == []


def test_a_lake_that_became_two_catalogs_keeps_its_files_when_both_are_gone(
    tenants: ql.Tenants, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/lake.db"
    with ql.connect(url, engine="local", inline_rows=0) as lake:
        lake.create_table("t", "a INT").append(ROWS)
    for name in ("one", "two"):
        tenants.migrate(url, name)
    for name in ("one", "two"):
        tenants.drop(name)
        tenants.cleanup()
    with ql.connect(url, engine="local") as lake:
        assert sum_of(lake) == TOTAL


def test_a_lake_that_was_given_up_for_two_catalogs_keeps_its_files_until_both_are_gone(
    tenants: ql.Tenants, backend: Place, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/lake.db"
    with ql.connect(url, engine="local", inline_rows=0) as lake:
        lake.create_table("t", "a INT").append(ROWS)
    for name in ("one", "two"):
        tenants.migrate(url, name, owns_files=True)
    tenants.drop("one")
    tenants.cleanup()
    with opened(backend, "two") as session:
        assert sum_of(session) == TOTAL
        forget_all(session)
    assert not list((tmp_path / "lake.db.files").rglob("*.parquet"))


@pytest.mark.parametrize("how", ["expire", "drop and make anew"])
def test_files_that_a_lake_was_given_in_place_are_no_orphans(
    how: str, tenants: ql.Tenants, backend: Place, tmp_path: Path
) -> None:
    with opened(backend, "a") as session:
        session.create_table("t", "a INT").append(ROWS)
    url = f"sqlite:///{tmp_path}/lake.db"
    tenants.export("a", url, copy_files=False)
    if how == "expire":
        with opened(backend, "a") as session:
            forget_all(session)
    else:
        tenants.drop("a")
        tenants.cleanup()
        with opened(backend, "a") as session:
            session.create_table("t", "a INT")
            forget_all(session)
    with ql.connect(url, engine="local") as lake:
        assert sum_of(lake) == TOTAL
        assert lake.check() == []


def test_maintenance_reads_the_files_of_one_catalog_and_no_other(tenants: ql.Tenants, backend: Place) -> None:
    for name, files in (("large", 12), ("small", 2)):
        with opened(backend, name) as session:
            table = session.create_table("t", "a INT")
            for _ in range(files):
                table.append(ROWS)
            table.delete("a < 10")
    with opened(backend, "small") as session:
        known = KnownFiles(session._catalog, with_paths=True)
        with session._catalog.backend.read() as connection:
            known.look(connection)
        assert len(known._names) == len(session.table("t").scan().files()) + 2
        session.table("t").truncate()
        with watching() as seen:
            session.maintain.expire(older_than=LATER)
            session.maintain.cleanup(older_than=LATER)
            session.maintain.remove_orphans(older_than=LATER)
    selects = [text for text in seen if text.lstrip().startswith("SELECT") and "path" in text]
    reads = [text for text in selects if "ducklake_data_file" in text or "ducklake_delete_file" in text]
    assert reads
    assert [text for text in reads if "catalog_id" not in text] == []
    with opened(backend, "large") as session:
        assert sum_of(session) == 12 * (TOTAL - sum(range(10)))


def test_what_is_noted_of_a_file_goes_with_the_last_who_needs_it(
    tenants: ql.Tenants, backend: Place, tmp_path: Path
) -> None:
    path = make_file(tmp_path / "elsewhere")
    for name in ("a", "b"):
        with opened(backend, name) as session:
            session.create_table("t", "a INT").add_files([path])
        tenants.drop(name)
    shared = build_shared_tables(tenants._backend.sql_schema).shared
    assert shared is not None
    with tenants._backend.read() as connection:
        assert connection.execute(sa.select(shared.holder)).all() == []
