"""Several catalogs of one database in one session, and streams of a catalog whose snapshots have gaps."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

import quacklake as ql
from tests.lakes import Place
from tests.source.test_stream_reading import Stream


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


@pytest.fixture
def session(backend: Place) -> Iterator[ql.Session]:
    with ql.connect(backend.url, backend.data_path, catalog="a", engine="local") as own:
        own.create_table("t", "id BIGINT").append(rows(1, 2, 3))
        own.attach(backend.url, "other", catalog="b", create=True)
        own.create_table("other.main.u", "id BIGINT").append(rows(2, 3, 4))
        yield own


def test_one_query_joins_two_catalogs_of_one_database(session: ql.Session) -> None:
    joined = session.sql("SELECT t.id FROM main.t JOIN other.main.u ON t.id = u.id ORDER BY 1")
    assert list(joined) == [(2,), (3,)]


def test_a_statement_reads_one_catalog_and_writes_the_other(session: ql.Session) -> None:
    session.sql("INSERT INTO other.main.u SELECT id + 10 FROM t")
    assert list(session.sql("SELECT count(*), max(id) FROM other.main.u")) == [(6, 13)]
    assert list(session.sql("SELECT count(*), max(id) FROM t")) == [(3, 3)]


def test_a_transaction_writes_one_catalog_and_leaves_the_other_alone(session: ql.Session) -> None:
    def write_both() -> None:
        with session.transaction() as tx:
            tx.table("t").append(rows(5))
            tx.table("other.main.u").append(rows(5))

    with pytest.raises(ql.UnsupportedError, match="other"):
        write_both()
    assert session.table("t").scan().count() == 3
    assert session.table("other.main.u").scan().count() == 3


def test_a_stream_reads_each_row_once_though_others_commit_in_between(session: ql.Session, backend: Place) -> None:
    stream = Stream(backend.url, catalog="a", maxSnapshotsPerTrigger=1)
    assert [row["id"] for row in stream.batch() or ()] == [1, 2, 3]
    for number in (10, 11, 12):
        session.table("other.main.u").append(rows(number))
        session.table("t").append(rows(number))
    found = [row["id"] for _ in range(3) for row in stream.batch() or ()]
    assert found == [10, 11, 12]
    assert stream.batch() is None


def test_a_stream_of_changes_reads_each_once_though_others_commit_in_between(
    session: ql.Session, backend: Place
) -> None:
    stream = Stream(backend.url, catalog="a", readChanges=True)
    assert [row["id"] for row in stream.batch() or ()] == [1, 2, 3]
    table, seen = session.table("t"), session.current_snapshot
    for number in (10, 11):
        session.table("other.main.u").append(rows(number))
        table.append(rows(number))
    session.table("other.main.u").delete("id = 10")
    table.delete("id = 10")
    found = sorted((row["change_type"], row["id"]) for row in stream.batch() or ())
    assert found == [("delete", 10), ("insert", 10), ("insert", 11)]
    assert stream.batch() is None
    # Three of its own, and others between them.
    assert session.current_snapshot - seen > 5


def test_a_stream_says_that_a_snapshot_of_its_catalog_has_expired(session: ql.Session, backend: Place) -> None:
    stream = Stream(backend.url, catalog="a")
    stream.batch()
    session.table("t").append(rows(10))
    gone = session.current_snapshot
    session.table("t").append(rows(11))
    session.maintain.expire(versions=[gone])
    with pytest.raises(ql.NotFoundError, match=f"snapshot {gone} has expired"):
        stream.batch()
