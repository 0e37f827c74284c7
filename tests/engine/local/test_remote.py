"""Lakes whose files are in an object store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import quacklake as ql
from quacklake.engine.local.engine import LocalEngine
from quacklake.plan.scan import DeleteFile, ScanFile, ScanPlan
from quacklake.storage import footers, positions
from tests.engine.local.hands import FILES_ONLY, Hand, make, opened, read
from tests.storage.object_store import ObjectStore

BOTH: tuple[Hand, ...] = ("polars", "duckdb")
STEPS = (
    FILES_ONLY,
    "CREATE TABLE t (i BIGINT, p VARCHAR)",
    "ALTER TABLE t SET PARTITIONED BY (p)",
    "INSERT INTO t SELECT i, ['a b', 'x/y', NULL][i % 3 + 1] FROM range(300) r(i)",
    "DELETE FROM t WHERE i % 7 = 0",
)


@pytest.fixture
def local(tmp_path: Path) -> ScanPlan:
    footers.forget()
    positions.forget()
    place = make(tmp_path, STEPS)
    with opened(place) as session:
        return session.table("t").scan(row_ids=True).plan()


@pytest.fixture
def remote(local: ScanPlan, object_store: ObjectStore) -> ScanPlan:
    """The same plan, its files put into the object store."""

    def put(path: str) -> str:
        return object_store.put(path.removeprefix("/"), Path(path).read_bytes())

    def moved(file: ScanFile) -> ScanFile:
        deletes: tuple[DeleteFile, ...] = tuple(replace(each, path=put(each.path)) for each in file.delete_files)
        return replace(file, path=put(file.path), delete_files=deletes)

    return replace(local, files=tuple(moved(file) for file in local.files))


@pytest.fixture(params=BOTH)
def engine(request: pytest.FixtureRequest, object_store: ObjectStore) -> Iterator[LocalEngine]:
    opened = LocalEngine(object_store.options, hand=request.param)
    yield opened
    opened.close()


def test_objects_are_read_as_files_are(local: ScanPlan, remote: ScanPlan, engine: LocalEngine) -> None:
    want = read(local).sort_by("rowid")
    assert engine.read(remote).read_all().sort_by("rowid").equals(want)
    assert engine.count(remote) == want.num_rows == 257


def test_another_name_for_the_same_kind_of_store_is_as_good(remote: ScanPlan, engine: LocalEngine) -> None:
    files = tuple(replace(file, path=file.path.replace("s3://", "s3a://")) for file in remote.files)
    assert engine.read(replace(remote, files=files)).read_all().num_rows == 257


def test_a_missing_object_is_named(remote: ScanPlan, object_store: ObjectStore, engine: LocalEngine) -> None:
    gone = remote.files[1].path
    key = gone.removeprefix(f"{object_store.url}/")
    engine.read(remote).read_all()
    object_store.client.delete_object(Bucket="lake-bucket", Key=key)
    with pytest.raises(ql.StorageError, match="is missing"):
        engine.read(remote).read_all()
    footers.forget()
    with pytest.raises(ql.StorageError, match="is missing"):
        engine.read(remote)


def test_a_store_that_does_not_answer_is_a_storage_error(
    remote: ScanPlan, object_store: ObjectStore, engine: LocalEngine
) -> None:
    engine.read(remote).read_all()
    nobody = {**object_store.options, "aws_endpoint": "http://127.0.0.1:9", "timeout": "2s", "connect_timeout": "1s"}
    unheard = LocalEngine({**nobody, "aws_access_key_id": "x"}, hand=engine._hand)
    with pytest.raises(ql.StorageError):
        unheard.read(remote).read_all()
    unheard.close()
