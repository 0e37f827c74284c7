"""A batch of a stream is committed once, in every database, and the lake is one for DuckDB all the same."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

import quacklake as ql
from quacklake.catalog.stream_batches import load_batch
from quacklake.commit.apply.batches import BatchDone
from quacklake.commit.changes import StreamBatch
from quacklake.session import Session
from quacklake.transaction import Transaction
from tests.conftest import Duck
from tests.lakes import Place, folder_of


def put(session: Session, batch: StreamBatch, value: int) -> None:
    """Append a row as a batch."""
    with Transaction(session, is_single=True, batch=batch) as tx:
        tx.table("t").append(pa.table({"id": [value]}))


def test_a_batch_is_committed_once(backend: Place, duck: Duck) -> None:
    with ql.connect(backend.url, backend.data_path, engine="local") as session:
        table = session.create_table("t", "id BIGINT")
        session.set_option("data_inlining_row_limit", 0)
        uuid = table._entry.uuid or ""
        assert load_batch(session._catalog, "q", uuid) is None
        put(session, StreamBatch("q", uuid, 0), 1)
        put(session, StreamBatch("q", uuid, 1), 2)
        for again in (0, 1):
            with pytest.raises(BatchDone):
                put(session, StreamBatch("q", uuid, again), 99)
        put(session, StreamBatch("another", uuid, 0), 3)
        put(session, StreamBatch("q", "another table", 0), 4)
        assert [load_batch(session._catalog, name, uuid) for name in ("q", "another", "third")] == [1, 0, None]
        assert sorted(row["id"] for row in table.to_arrow().to_pylist()) == [1, 2, 3, 4]
        # What was written for a batch that is there already is gone again.
        assert len(list(folder_of(session).rglob("*.parquet"))) == 4
        assert session.check() == []
    with duck(backend) as con:
        assert con.execute("SELECT sum(id) FROM t").fetchall() == [(10,)]
        if backend.kind != "mysql":  # where DuckDB itself fails at its own statistics
            con.execute("INSERT INTO t VALUES (5)")
    with ql.connect(backend.url, engine="local") as session:
        put(session, StreamBatch("q", uuid, 2), 6)
        assert session.table("t").count() == (5 if backend.kind == "mysql" else 6)


@pytest.mark.parametrize("name", ["sqlite", pytest.param("postgresql", marks=pytest.mark.server)])
def test_of_two_that_commit_one_batch_at_once_one_does(name: str, request: pytest.FixtureRequest) -> None:
    place: Place = request.getfixturevalue("new_place")(name)
    with ql.connect(place.url, place.data_path, engine="local") as session:
        uuid = session.create_table("t", "id BIGINT")._entry.uuid or ""

    def try_one(value: int) -> str:
        with ql.connect(place.url, engine="local") as session:
            load_batch(session._catalog, "q", uuid)
            try:
                put(session, StreamBatch("q", uuid, 7), value)
            except BatchDone:
                return "done already"
        return "done"

    with ThreadPoolExecutor(4) as pool:
        found = sorted(pool.map(try_one, range(4)))
    assert found == ["done", *["done already"] * 3]
    with ql.connect(place.url, engine="local") as session:
        assert session.table("t").count() == 1
