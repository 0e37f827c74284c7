"""Maintenance of a lake whose files are in an object store."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from obstore.store import LocalStore

import quacklake as ql
from quacklake.storage.placement import delete_files
from quacklake.storage.stores import Stores
from tests.storage.object_store import ObjectStore
from tests.storage.object_store import object_store as object_store

NOW = timedelta(0)
ODD = ["a/b c=%", "ü", "", None, "x%2Fy", "#?&+", "'\"`", "[*]", "a//b", ".."]
MANY = pa.table({"id": range(40), "word": (ODD * 4)})


def keys(store: ObjectStore, prefix: str) -> set[str]:
    pages: Any = store.client.get_paginator("list_objects_v2").paginate(Bucket="lake-bucket", Prefix=prefix)
    return {each["Key"] for page in pages for each in page.get("Contents", [])}


def test_a_lake_in_s3_is_expired_cleaned_up_and_swept(tmp_path: Path, object_store: ObjectStore) -> None:
    url, data = f"sqlite:///{tmp_path}/lake.db", f"{object_store.url}/maintained lake/"
    with ql.connect(url, data, engine="local", storage_options=object_store.options) as session:
        for name in ("t", "gone"):
            session.create_table(name, "id BIGINT, word STRING", partition_by=["word"]).append(MANY)
            session.table(name).delete("id % 3 = 0 AND id > 2")
        session.drop_table("gone")
        assert session.maintain.remove_orphans(NOW, dry_run=True).paths == ()
        expired = session.maintain.expire(NOW)
        assert expired.files_scheduled >= len(ODD)
        assert session.maintain.remove_orphans(NOW).files == 0
        before = keys(object_store, "maintained lake/")
        (missing, *_) = session.maintain.cleanup(NOW, dry_run=True).paths
        object_store.client.delete_object(Bucket="lake-bucket", Key=missing.split("/", 3)[3])
        done = session.maintain.cleanup(NOW)
        assert (done.files, done.failed) == (expired.files_scheduled, ())
        after = keys(object_store, "maintained lake/")
        assert {f"{object_store.url}/{key}" for key in before - after} == {*done.paths}
        assert not [key for key in after if "/gone/" in key]
        orphans = {
            object_store.put(f"maintained lake/main/t/{folder}ducklake-0.parquet", b"")
            for folder in ("", "word=a%2Fb%20c%3D%25/", "word=ü/", "word=#?&+/")
        }
        object_store.put("maintained lake/mine.parquet", b"")
        object_store.put("maintained lakeside/ducklake-0.parquet", b"")
        assert session.maintain.remove_orphans().files == 0
        assert {*session.maintain.remove_orphans(NOW).paths} == orphans
        assert keys(object_store, "maintained lake") == {
            *after,
            "maintained lake/mine.parquet",
            "maintained lakeside/ducklake-0.parquet",
        }
        assert session.table("t").scan().count() == 27
        assert session.check() == []


def test_a_store_that_does_not_answer_keeps_the_schedule(tmp_path: Path, object_store: ObjectStore) -> None:
    with ql.connect(f"sqlite:///{tmp_path}/lake.db", engine="local", storage_options=object_store.options) as session:
        there, nowhere = object_store.put("there.parquet", b""), "s3://no-such-bucket/x.parquet"
        table = session._catalog.tables.files_scheduled_for_deletion
        with session._catalog.backend.write() as connection:
            rows = [{"data_file_id": 1, "path": path, "path_is_relative": False} for path in (there, nowhere)]
            connection.execute(table.insert(), rows)
        report = session.maintain.cleanup(NOW)
        assert report.paths == (there,)
        assert [each.path for each in report.failed] == [nowhere]
        again = session.maintain.cleanup(NOW)
        assert (again.files, again.files_failed) == (0, 1)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_objects_that_are_not_there_are_deleted_without_a_word(count: int, object_store: ObjectStore) -> None:
    paths = [f"{object_store.url}/nothing/{number}.parquet" for number in range(count)]
    assert delete_files(paths, Stores(object_store.options)) == {}


def test_a_store_that_is_out_of_reach_is_not_asked_for_every_file(object_store: ObjectStore) -> None:
    nowhere = Stores({**object_store.options, "aws_endpoint": "http://127.0.0.1:9"})
    paths = [f"s3://lake-bucket/{number}.parquet" for number in range(1000)]
    failures = delete_files(paths, nowhere)
    assert list(failures) == paths
    assert {len(reason.splitlines()) for reason in failures.values()} == {1}


def test_a_store_that_complains_about_what_is_not_there_is_fine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Google's and Azure's do, of which there is none here: obstore's store on the disk does as well."""
    (tmp_path / "there.parquet").write_bytes(b"")
    store = LocalStore(tmp_path)
    monkeypatch.setattr(Stores, "locate", lambda _, path: (store, path.rpartition("/")[2]))
    assert delete_files(["gs://b/gone.parquet", "gs://b/there.parquet", "gs://b/gone too.parquet"], Stores()) == {}
    assert list(tmp_path.iterdir()) == []
