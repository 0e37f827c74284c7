"""Files by path and URL: on this disk, in an object store, and out of reach."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quacklake.errors import InvalidInputError, StorageError
from quacklake.plan.scan import ScanFile
from quacklake.storage import footers
from quacklake.storage.footers import read_layouts
from quacklake.storage.stores import Stores, duckdb_path, is_remote, split_url
from tests.storage.object_store import ObjectStore


@pytest.fixture
def stores() -> Iterator[Stores]:
    opened = Stores()
    yield opened
    opened.close()


@pytest.fixture
def remote(object_store: ObjectStore) -> Iterator[Stores]:
    footers.forget()
    opened = Stores(object_store.options)
    yield opened
    opened.close()


def parquet(rows: int) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": list(range(rows))}), sink)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("s3://bucket/a/b%20c", ("s3://bucket", "a/b%20c")),
        ("S3A://bucket/x", ("s3://bucket", "x")),
        ("gcs://bucket/x", ("gs://bucket", "x")),
        ("abfss://c@acc.dfs.core.windows.net/x/y", ("abfss://c@acc.dfs.core.windows.net", "x/y")),
        ("s3://bucket", ("s3://bucket", "")),
    ],
)
def test_a_url_names_a_store_and_a_key(url: str, parts: tuple[str, str]) -> None:
    assert split_url(url) == parts


def test_a_path_may_say_that_it_is_a_file(stores: Stores, tmp_path: Path) -> None:
    (tmp_path / "a%20b").write_bytes(b"12345")
    url = f"file://{tmp_path}/a%20b"
    assert not is_remote(url)
    assert stores.read(url) == b"12345"
    assert stores.read_tail(url, 2) == b"45"
    assert stores.read_tail(url, 100) == b"12345"


@pytest.mark.parametrize(
    "name", ["a*.parquet", "a?.parquet", "[a].parquet", "a[!b].parquet", "k=v%20.parquet", "'.parquet"]
)
def test_wildcards_in_a_name_stand_for_themselves(name: str, stores: Stores, tmp_path: Path) -> None:
    for each in (name, "a.parquet", "ab.parquet", "aXYZ.parquet"):
        pq.write_table(pa.table({"name": [each]}), tmp_path / each)
    path = str(tmp_path / name)
    with stores.cursor() as cursor:
        assert cursor.execute("SELECT name FROM read_parquet($1)", [[duckdb_path(path)]]).fetchall() == [(name,)]
        (tmp_path / name).unlink()
        with pytest.raises(duckdb.IOException):
            cursor.execute("SELECT name FROM read_parquet($1)", [[duckdb_path(path)]])


def test_a_missing_file_a_folder_and_a_file_as_a_folder_are_storage_errors(stores: Stores, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for path, said in ((tmp_path / "gone", "missing"), (tmp_path / "file" / "x", "missing"), (tmp_path, "cannot read")):
        with pytest.raises(StorageError, match=said):
            stores.read(str(path))
        with pytest.raises(StorageError, match=said):
            stores.read_tail(str(path), 10)


def test_cursors_see_the_same_time_zone_and_can_be_had_again_after_close(stores: Stores) -> None:
    for _ in range(2):
        with stores.cursor() as cursor:
            assert cursor.execute("SELECT TIMESTAMPTZ '2024-01-01 12:00:00+02'::VARCHAR").fetchall() == [
                ("2024-01-01 10:00:00+00",)
            ]
        stores.close()


def test_an_object_is_read_whole_and_from_its_end(remote: Stores, object_store: ObjectStore) -> None:
    url = object_store.put("t/a%20b[1]", b"0123456789")
    assert remote.read(url) == b"0123456789"
    assert remote.read_tail(url, 3) == b"789"
    assert remote.read_tail(url, 3, size=10) == b"789"
    assert remote.read_tail(url, 30, size=10) == b"0123456789"


def test_footers_of_many_objects_are_read_side_by_side(remote: Stores, object_store: ObjectStore) -> None:
    files = [
        ScanFile(number, object_store.put(f"many/k={number}%2F/x.parquet", parquet(number)), number, None, 1)
        for number in range(1, 9)
    ]
    assert {number: layout.row_count for number, layout in read_layouts(files, remote).items()} == {
        number: number for number in range(1, 9)
    }


def test_duckdb_reads_objects(remote: Stores, object_store: ObjectStore) -> None:
    paths = [object_store.put(f"duck/{number}%20.parquet", parquet(number)) for number in (3, 4)]
    with remote.cursor(*paths) as cursor:
        paths = [duckdb_path(path) for path in paths]
        assert cursor.execute("SELECT count(*), sum(a) FROM read_parquet($1)", [paths]).fetchall() == [(7, 9)]


def test_a_missing_object_is_named(remote: Stores, object_store: ObjectStore) -> None:
    for size in (None, 10):
        with pytest.raises(StorageError, match="s3://lake-bucket/gone is missing"):
            remote.read_tail(f"{object_store.url}/gone", 5, size)
    with pytest.raises(StorageError, match="gone is missing"):
        remote.read(f"{object_store.url}/gone")


def test_the_way_others_spell_options_is_understood(object_store: ObjectStore) -> None:
    options = dict(object_store.options)
    options["aws_endpoint_url"] = options.pop("aws_endpoint")
    options["aws_allow_http"] = options.pop("allow_http")
    url = object_store.put("spelled", b"x")
    assert Stores(options).read(url) == b"x"


def test_an_unknown_option_or_store_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="'no_such_option'"):
        Stores({"no_such_option": "1"})
    with pytest.raises(InvalidInputError, match="ftp"):
        Stores().read("ftp://host/x")
