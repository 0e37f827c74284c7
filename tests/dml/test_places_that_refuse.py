"""A disk that is full and a bucket that says no: a named error, no snapshot, and no file that was not there before."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pyarrow as pa
import pytest

import quacklake as ql
from tests.disks import noise
from tests.storage.object_store import ObjectStore

Act = Callable[[ql.Table], object]


LARGE: dict[str, Act] = {
    "append": lambda table: table.append(noise(20_000, 1_000)),
    "append of a stream": lambda table: table.append(noise(20_000, 1_000).to_reader(2_000)),
    "overwrite": lambda table: table.overwrite(noise(20_000, 1_000)),
    "merge": lambda table: table.merge(noise(20_000, 500), on="id"),
}


@pytest.mark.parametrize("act", LARGE)
def test_a_full_disk_is_named_and_nothing_stays(act: str, small_disk: Path, tmp_path: Path) -> None:
    with ql.connect(f"sqlite:///{tmp_path}/catalog.db", f"{small_disk}/", engine="local", inline_rows=0) as session:
        table = session.create_table("t", "id BIGINT, v BINARY")
        table.append(noise(1_000))
        before = sorted(path for path in small_disk.rglob("*") if path.is_file())
        snapshot = session.current_snapshot
        with pytest.raises(ql.StorageError, match=str(small_disk)):
            LARGE[act](table)
        assert session.current_snapshot == snapshot
        assert sorted(path for path in small_disk.rglob("*") if path.is_file()) == before
        assert table.append(noise(10, 5_000)).rows_inserted == 10
        assert table.count() == 1_010
        assert not session.check()


@contextmanager
def strict_door(endpoint: str, *, lets_read: bool = True) -> Iterator[str]:
    """The address of a store that at most lets read, and denies everything else, as S3 does."""

    class Door(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = {name: value for name, value in self.headers.items() if name.lower() != "host"}
            try:
                found = urlopen(Request(endpoint + self.path, headers=asked, method=self.command))
            except HTTPError as error:
                # What is not there is not there behind the door either.
                found = error
            with found:
                body = found.read()
                self.send_response(found.status)
                for name in ("Content-Type", "ETag", "Last-Modified", "Content-Range"):
                    if name in found.headers:
                        self.send_header(name, found.headers[name])
                self.send_header("Content-Length", found.headers.get("Content-Length", str(len(body))))
                self.end_headers()
                self.wfile.write(body)

        def do_PUT(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
            self.send_response(403)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_DELETE = do_PUT
        if not lets_read:
            do_GET = do_PUT
        do_HEAD = do_GET

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


CHANGES: dict[str, Act] = {
    "append": lambda table: table.append(noise(50, 1_000)),
    "update": lambda table: table.update({"id": "id + 1000"}),
    "delete": lambda table: table.delete("id < 500"),
    "merge": lambda table: table.merge(noise(50, 980), on="id"),
    "overwrite": lambda table: table.overwrite(noise(50)),
}


@pytest.mark.parametrize("act", CHANGES)
def test_a_bucket_that_denies_writing_is_named_and_nothing_changes(
    act: str, object_store: ObjectStore, tmp_path: Path
) -> None:
    url, place = f"sqlite:///{tmp_path}/catalog.db", f"{object_store.url}/{tmp_path.name}/"
    with ql.connect(url, place, engine="local", inline_rows=0, storage_options=object_store.options) as session:
        session.create_table("t", "id BIGINT, v BINARY").append(noise(1_000))
        snapshot, present = session.current_snapshot, keys(object_store, tmp_path.name)
    with strict_door(object_store.options["aws_endpoint"]) as endpoint:
        denied = {**object_store.options, "aws_endpoint": endpoint}
        with ql.connect(url, engine="local", inline_rows=0, storage_options=denied) as session:
            assert session.table("t").count() == 1_000
            with pytest.raises(ql.AuthError, match="no permission to write s3://"):
                CHANGES[act](session.table("t"))
            assert session.current_snapshot == snapshot
    assert keys(object_store, tmp_path.name) == present


@pytest.mark.parametrize("act", ["update", "delete", "merge"])
def test_a_bucket_that_denies_reading_is_named(act: str, object_store: ObjectStore, tmp_path: Path) -> None:
    url, place = f"sqlite:///{tmp_path}/catalog.db", f"{object_store.url}/{tmp_path.name}/"
    with ql.connect(url, place, engine="local", inline_rows=0, storage_options=object_store.options) as session:
        session.create_table("t", "id BIGINT, v BINARY").append(noise(1_000))
    with strict_door(object_store.options["aws_endpoint"], lets_read=False) as endpoint:
        denied = {**object_store.options, "aws_endpoint": endpoint}
        with ql.connect(url, engine="local", inline_rows=0, storage_options=denied) as session:
            with pytest.raises(ql.AuthError, match=f"no permission to read {place}"):
                CHANGES[act](session.table("t"))
            assert session.current_snapshot == 2


def keys(store: ObjectStore, folder: str) -> list[str]:
    found = store.client.list_objects_v2(Bucket=store.url.removeprefix("s3://"), Prefix=folder)
    return [each["Key"] for each in found.get("Contents", [])]


def test_a_whole_life_of_a_lake_in_a_bucket(object_store: ObjectStore, tmp_path: Path) -> None:
    url, place = f"sqlite:///{tmp_path}/catalog.db", f"{object_store.url}/{tmp_path.name}/"
    with ql.connect(url, place, engine="local", inline_rows=0, storage_options=object_store.options) as session:
        table = session.create_table("t", "id BIGINT, v STRING", partition_by=["bucket(2, id)"])
        table.append(pa.table({"id": pa.array(range(100), pa.int64()), "v": ["a"] * 100}))
        table.update({"v": "'b'"}, "id % 10 = 0")
        table.delete("id < 5")
        table.merge(pa.table({"id": pa.array(range(95, 110), pa.int64()), "v": ["c"] * 15}), on="id")
        with session.transaction() as tx:
            tx.table("t").append(pa.table({"id": pa.array([999], pa.int64()), "v": ["gone"]}))
            tx.rollback()
        found = {row["id"]: row["v"] for row in table.to_arrow().to_pylist()}
        assert found == {id_: "c" if id_ >= 95 else "b" if id_ % 10 == 0 else "a" for id_ in range(5, 110)}
        assert session.table("t", at=2).count() == 100
        assert not session.check()
        every = (session.table("t", at=each.snapshot_id).scan().files() for each in session.snapshots()[2:])
        known = {file.path for files in every for file in files}
    stored = {key for key in keys(object_store, tmp_path.name) if not key.endswith("-delete.parquet")}
    assert stored == {path.removeprefix(f"{object_store.url}/") for path in known}
