"""The history of a catalog is as if it were alone, though another one is changed all the time.

A catalog beside it and a lake that has a database for itself get the same changes. Whatever can be told of them
afterwards, and every row that they left, is the same, but for the gaps in ids.
"""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import quacklake as ql
from tests.servers import Server
from tests.tenants.crowd.conftest import Crowd
from tests.tenants.histories import tell_history, tell_rows
from tests.tenants.test_interleaving import STEPS_BY_NAME, run_step

STEPS = 25


@pytest.fixture(scope="module", autouse=True)
def inside() -> None:
    """Lakes are lakes here."""


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int32()), "v": [f"v{id_}" for id_ in ids]})


def change_rows(session: ql.Session) -> None:
    """Every verb that changes rows, in files and in the catalog."""
    table = session.create_table("t", "id INT, v STRING")
    table.append(rows(*range(60)))
    table.append(rows(100, 101))
    table.delete("id < 15")
    table.delete("id = 100")
    table.update({"v": "upper(v)"}, "id BETWEEN 20 AND 45")
    table.merge(rows(40, 41, 200), on="id")
    table.overwrite(rows(*range(300, 330)), where="id < 30")
    parted = session.create_table("parted", "id INT, v STRING", partition_by=["bucket(2, id)"])
    parted.append(rows(*range(40)))
    parted.overwrite_partitions(rows(*range(7, 30)))
    parted.truncate()


def change_tables(session: ql.Session) -> None:
    """Every verb that changes what a lake consists of, and a setting of each kind."""
    session.create_namespace("n")
    made = session.create_table("n.made", "id INT, s STRUCT<a: INT>", comment="made")
    made.add_column("s.b", "string", default="x")
    made.add_column("z", "int", default=7)
    made.append(pa.table({"id": pa.array([1], pa.int32()), "z": pa.array([2], pa.int32())}))
    made.alter_column("z", "bigint", comment="wide")
    made.rename_column("z", "y")
    made.set_sort_by(["id desc"])
    made.rename("renamed")
    session.set_option("target_file_size", "3MB", table="n.renamed")
    session.set_option("parquet_compression", "zstd", namespace="n")
    session.create_view("v", "SELECT id FROM t")
    session.rename_view("v", "w")
    session.set_view_comment("w", "seen")
    session.create_table("gone", "id INT, v STRING").append(rows(1))
    session.drop_table("gone")
    session.create_table("t2", "id INT, v STRING").append(rows(5))
    session.create_table("t2", "id BIGINT", or_replace=True)


def transact(session: ql.Session) -> None:
    """A transaction that another writer overtakes, one that it stops, and one that is given up."""
    with session.transaction(author="etl", message="nightly", extra="{}") as tx:
        tx.table("t").append(rows(400))
        tx.table("t").update({"v": "'late'"}, "id = 400")
        tx.create_table("within", "id INT, v STRING").append(rows(*range(20)))
        session.table("t2").append(pa.table({"id": [9]}))
    stopped = session.transaction()
    stopped.table("t").append(rows(500))
    session.table("t").add_column("extra", "int")
    with pytest.raises(ql.ConflictError):
        stopped.commit()
    given_up = session.transaction()
    given_up.table("within").delete("id < 5")
    given_up.rollback()


def live(session: ql.Session) -> list[object]:
    """A whole life; what was said of each change that is drawn at random."""
    change_rows(session)
    change_tables(session)
    transact(session)
    for number in range(3):
        session.create_table(f"t{number}", "id INT, v STRING", or_replace=True).append(rows(*range(50)))
    chance, told = random.Random(11), list[object]()
    for _ in range(STEPS):
        step = chance.choice((*STEPS_BY_NAME, "transaction"))
        told.append((step, run_step(session, step, chance.randrange(1 << 30))))
    return told


def test_a_catalog_beside_the_noise_has_the_history_of_a_lake(
    crowd: Crowd, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{tmp_path}/alone.db"
    if crowd.kind != "sqlite":
        server: Server = request.getfixturevalue(f"{'mysql' if crowd.kind == 'mysql' else 'postgresql'}_server")
        url = server.url(server.create_database())
    with (
        ql.connect(crowd.url, catalog="beside", engine="local") as shared,
        ql.connect(url, f"{tmp_path}/alone", engine="local") as alone,
    ):
        first = shared.current_snapshot
        assert live(shared) == live(alone)
        assert tell_history(shared) == tell_history(alone)
        assert tell_rows(shared) == tell_rows(alone)
        # Others did take ids meanwhile.
        assert shared.current_snapshot - first > len(shared.snapshots())
        kept = [session.snapshots()[-12:] for session in (shared, alone)]
        for session, (oldest, *_) in zip((shared, alone), kept, strict=True):
            gone = [each.snapshot_id for each in session.snapshots() if each.snapshot_id < oldest.snapshot_id]
            assert session.maintain.expire(versions=gone).snapshots == tuple(gone)
        assert tell_history(shared) == tell_history(alone)
        assert tell_rows(shared) == tell_rows(alone)
        assert shared.maintain.cleanup(timedelta(0)).files == alone.maintain.cleanup(timedelta(0)).files
        assert tell_rows(shared) == tell_rows(alone)
        assert shared.check() == alone.check() == []
