"""Catalogs that began as copies of others: the same files, histories of their own, and nobody loses a file."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import quacklake as ql
from tests.lakes import Place
from tests.tenants.moving import feed_of, shown_by


def rows(*values: int) -> pa.Table:
    return pa.table({"a": pa.array(values, pa.int32())})


@pytest.fixture
def tenants(backend: Place) -> Iterator[ql.Tenants]:
    with ql.tenants(backend.url, backend.data_path) as tenants:
        tenants.create("first")
        yield tenants


def opened(place: Place, name: str) -> ql.Session:
    return ql.connect(place.url, catalog=name, engine="local", create=False)


def fill(place: Place, name: str, **settings: Any) -> None:
    """A catalog with files, deletes in files and in the catalog, inlined rows, names of all sorts and settings."""
    with ql.connect(place.url, catalog=name, engine="local", **settings) as session:
        table = session.create_table("t", "a INT")
        table.append(rows(*range(100)))
        table.delete("a < 30")
        table.delete("a BETWEEN 40 AND 70")
        table.delete("a = 80")
        table.append(rows(1000, 1001))
        table.update({"a": "a + 1"}, where="a = 1000")
        session.create_namespace("n")
        session.sql("CREATE TABLE n.p (k INT, v STRING) PARTITIONED BY (k)")
        session.sql("INSERT INTO n.p SELECT id % 3, 'x' FROM range(60)")
        session.create_view("v", "SELECT a FROM t")
        session.sql("COMMENT ON TABLE t IS 'a table, \"quoted\":1'")
        session.set_option("parquet_compression", "zstd")
        session.set_option("parquet_compression", "gzip", table="t")
        session.set_option("parquet_compression", "snappy", namespace="n")
        session.create_table("gone", "a INT").append(rows(*range(50)))
        session.drop_table("gone")


def settings_of(session: ql.Session) -> list[tuple[str, str, str | None]]:
    return sorted((each.name, each.value, each.scope or "") for each in session.options() if each.name != "data_path")


def test_a_clone_shows_what_the_first_shows_and_goes_its_own_way(tenants: ql.Tenants, backend: Place) -> None:
    fill(backend, "a")
    with opened(backend, "a") as session:
        expected, feed, settings = shown_by(session), feed_of(session, "t"), settings_of(session)
    before = set(Path(backend.data_path).rglob("*.parquet"))
    made = tenants.clone("a", "b")
    assert made.name == "b"
    # Nothing but the delete file that says when each row died was written.
    assert [
        path.name.endswith("-delete.parquet") for path in set(Path(backend.data_path).rglob("*.parquet")) - before
    ] == [True]
    with opened(backend, "a") as first, opened(backend, "b") as second:
        for session in (first, second):
            assert shown_by(session) == expected
            assert feed_of(session, "t") == feed
            assert settings_of(session) == settings
            assert session.check() == []
        first.table("t").delete("a > 90")
        second.table("t").append(rows(5, 6))
        second.table("t").delete("a = 71")
        second.create_table("mine", "a INT")
        assert "main.mine" not in first.tables()
        assert sorted(row["a"] for row in first.table("t").to_arrow().to_pylist())[-1] == 90
        values = sorted(row["a"] for row in second.table("t").to_arrow().to_pylist())
        assert values[:2] == [5, 6]
        assert values[-1] == 1001
        assert 71 not in values
        assert first.check() == second.check() == []
    with pytest.raises(ql.AlreadyExistsError):
        tenants.clone("a", "b")
    with pytest.raises(ql.NotFoundError):
        tenants.clone("nobody", "c")


@pytest.mark.parametrize("order", [("a", "b", "c"), ("b", "a", "c"), ("c", "b", "a")])
def test_a_file_stays_until_the_last_who_shows_it_is_gone(
    tenants: ql.Tenants, backend: Place, order: tuple[str, str, str]
) -> None:
    fill(backend, "a")
    tenants.clone("a", "b")
    tenants.clone("b", "c")
    with opened(backend, order[2]) as session:
        expected = shown_by(session)
    for name in order[:2]:
        tenants.drop(name)
        tenants.cleanup()
        with opened(backend, order[2]) as session:
            assert shown_by(session) == expected
            assert session.check() == []
    tenants.drop(order[2])
    tenants.cleanup()
    assert list(Path(backend.data_path).rglob("*.parquet")) == []


@pytest.mark.parametrize("first", ["a", "b"])
def test_what_expires_in_one_stays_for_the_other(tenants: ql.Tenants, backend: Place, first: str) -> None:
    fill(backend, "a")
    tenants.clone("a", "b")
    second = "b" if first == "a" else "a"
    with opened(backend, second) as session:
        expected = shown_by(session)
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    for name in (first, second):
        with opened(backend, name) as session:
            session.table("t").truncate()
            session.table("n.p").delete("k = 0")
            session.maintain.expire(older_than=tomorrow)
            session.maintain.cleanup(older_than=tomorrow)
            session.maintain.remove_orphans(older_than=tomorrow)
            assert session.check() == []
            assert session.table("n.p").count() == 40
        if name == first:
            with opened(backend, second) as session:
                assert shown_by(session) == expected
    # Two partitions are left, and what both have shown before is gone.
    left = {path.parent.name for path in Path(backend.data_path).rglob("*.parquet")}
    assert left == {"k=1", "k=2"}


def test_writers_of_the_first_go_on_while_it_is_cloned(tenants: ql.Tenants, backend: Place) -> None:
    fill(backend, "a")
    done, failures = threading.Event(), list[BaseException]()

    def write() -> None:
        try:
            with opened(backend, "a") as session:
                number = 0
                while not done.is_set() or number < 3:
                    # Two tables in one commit: whoever sees one of them without the other sees half a commit.
                    with session.transaction() as tx:
                        tx.table("t").append(rows(*range(5000, 5040)))
                        tx.table("n.p").append(pa.table({"k": pa.array([9] * 40, pa.int32()), "v": ["w"] * 40}))
                    number += 1
        except BaseException as error:  # noqa: BLE001 - told to the test
            failures.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        names = [tenants.clone("a", f"b{number}").name for number in range(2)]
    finally:
        done.set()
        writer.join()
    assert failures == []
    for name in names:
        with opened(backend, name) as session:
            assert session.check() == []
            assert (
                session.table("t").scan(where="a >= 5000").count() == session.table("n.p").scan(where="k = 9").count()
            )


def test_what_holds_for_all_holds_for_a_clone_also_when_it_changes(tenants: ql.Tenants, backend: Place) -> None:
    tenants.set_option("target_file_size", "1 MiB")
    tenants.set_option("parquet_compression", "gzip")
    with opened(backend, "first") as first:
        first.set_option("parquet_compression", "zstd")
    tenants.clone("first", "second")
    tenants.set_option("target_file_size", "2 MiB")
    tenants.set_option("parquet_compression", "snappy")
    with opened(backend, "second") as second:
        found = {each.name: each.value for each in second.options()}
    assert (found["target_file_size"], found["parquet_compression"]) == ("2097152", "zstd")
