"""Which batches of a stream a catalog has got is its own affair, goes with its copies, and is gone when it is."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
import sqlalchemy as sa

import quacklake as ql
from quacklake.catalog.stream_batches import build_batches, load_batch
from quacklake.commit.apply.batches import BatchDone
from quacklake.commit.changes import StreamBatch
from quacklake.transaction import Transaction
from tests.lakes import Place


def put(session: ql.Session, number: int) -> None:
    """Append a row as a batch of the one stream there is."""
    uuid = session.table("t")._entry.uuid or ""
    load_batch(session._catalog, "stream", uuid)
    with Transaction(session, is_single=True, batch=StreamBatch("stream", uuid, number)) as tx:
        tx.table("t").append(pa.table({"id": [number]}))


def ids(session: ql.Session) -> list[int]:
    return sorted(row["id"] for row in session.table("t").to_arrow().to_pylist())


def test_a_copy_has_the_batches_up_to_then_and_gets_its_own_from_then_on(backend: Place, tmp_path: Path) -> None:
    lake = f"sqlite:///{tmp_path}/lake.db"
    with ql.connect(lake, engine="local") as session:
        session.create_table("t", "id BIGINT")
        put(session, 0)
    with ql.tenants(backend.url, backend.data_path) as tenants:
        tenants.migrate(lake, "a")
        tenants.clone("a", "b")
        tenants.export("b", f"sqlite:///{tmp_path}/back.db")
        with (
            ql.connect(backend.url, catalog="a", engine="local") as a,
            ql.connect(backend.url, catalog="b", engine="local") as b,
            ql.connect(f"sqlite:///{tmp_path}/back.db", engine="local") as back,
        ):
            for session in (a, b, back):
                with pytest.raises(BatchDone):
                    put(session, 0)
                put(session, 1)
                with pytest.raises(BatchDone):
                    put(session, 1)
            put(a, 2)
            put(b, 2)
            assert [ids(each) for each in (a, b, back)] == [[0, 1, 2], [0, 1, 2], [0, 1]]
        tenants.drop("a")
        with tenants._backend.read() as connection:
            left = connection.execute(sa.select(build_batches(tenants._backend.sql_schema))).all()
        assert [row.batch_id for row in left] == [2]
        with ql.connect(backend.url, catalog="b", engine="local") as b, pytest.raises(BatchDone):
            put(b, 2)
        tenants.drop("b")
        with tenants._backend.read() as connection:
            assert connection.execute(sa.select(build_batches(tenants._backend.sql_schema))).all() == []
