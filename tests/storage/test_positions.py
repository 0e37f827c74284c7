"""Dead rows of a file at a snapshot, from delete files, deletion vectors and the catalog."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quacklake.errors import StorageError
from quacklake.plan.scan import DeleteFile, ScanFile
from quacklake.storage import positions
from quacklake.storage.positions import read_positions
from quacklake.storage.stores import Stores
from tests.storage.test_puffin import container, vector

KEY = b"0123456789abcdef"


@pytest.fixture
def stores() -> Iterator[Stores]:
    positions.forget()
    opened = Stores()
    yield opened
    opened.close()


def delete_file(path: Path, key: bytes | None = None) -> DeleteFile:
    text = None if key is None else base64.b64encode(key).decode()
    return DeleteFile(str(path), "puffin" if path.suffix == ".puffin" else "parquet", encryption_key=text)


def data_file(*deletes: DeleteFile, positions: tuple[int, ...] = ()) -> ScanFile:
    return ScanFile(1, "/x.parquet", 100, 1, 1, delete_files=deletes, deleted_positions=positions)


def written(path: Path, **columns: Any) -> DeleteFile:
    pq.write_table(pa.table({"file_path": ["/x.parquet"] * len(columns["pos"]), **columns}), path)
    return delete_file(path)


def test_a_file_without_deletes_has_no_dead_rows(stores: Stores) -> None:
    assert read_positions(data_file(), 5, stores).tolist() == []


def test_all_positions_of_a_plain_delete_file_count(stores: Stores, tmp_path: Path) -> None:
    delete = written(tmp_path / "d.parquet", pos=[1, 5, 9])
    assert read_positions(data_file(delete), 0, stores).tolist() == [1, 5, 9]


def test_a_position_counts_from_its_snapshot_on(stores: Stores, tmp_path: Path) -> None:
    delete = written(tmp_path / "d.parquet", pos=[1, 5, 9], _ducklake_internal_snapshot_id=[4, 3, 5])
    found = [read_positions(data_file(delete), snapshot, stores).tolist() for snapshot in (2, 3, 4, 5)]
    assert found == [[], [5], [1, 5], [1, 5, 9]]


def test_a_third_column_of_another_name_is_ignored(stores: Stores, tmp_path: Path) -> None:
    delete = written(tmp_path / "d.parquet", pos=[2, 3], row=[{"a": 99}, {"a": 99}])
    assert read_positions(data_file(delete), 1, stores).tolist() == [2, 3]


def test_the_catalog_and_the_files_are_united_and_never_counted_twice(stores: Stores, tmp_path: Path) -> None:
    delete = written(tmp_path / "d.parquet", pos=[1, 5])
    puffin = tmp_path / "d.puffin"
    puffin.write_bytes(vector([5, 7]))
    file = data_file(delete, delete_file(puffin), positions=(9, 5, 9))
    assert read_positions(file, 1, stores).tolist() == [1, 5, 7, 9]


def test_a_container_says_which_snapshot_killed_a_row(stores: Stores, tmp_path: Path) -> None:
    puffin = tmp_path / "d.puffin"
    puffin.write_bytes(container([(20, vector([1, 2])), (10, vector([1]))]))
    found = [read_positions(data_file(delete_file(puffin)), snapshot, stores).tolist() for snapshot in (9, 10, 20)]
    assert found == [[], [1], [1, 2]]


def test_a_container_without_snapshots_counts_whole(stores: Stores, tmp_path: Path) -> None:
    puffin = tmp_path / "d.puffin"
    puffin.write_bytes(container([(None, vector([4, 1])), (None, vector([2]))]))
    assert read_positions(data_file(delete_file(puffin)), 0, stores).tolist() == [1, 2, 4]


def test_encrypted_delete_files_are_read(stores: Stores, tmp_path: Path) -> None:
    path = tmp_path / "d.parquet"
    with duckdb.connect() as duck:
        duck.execute("SET force_mbedtls_unsafe='true'")
        duck.execute(f"PRAGMA add_parquet_key('k', '{KEY.decode()}')")
        rows = "SELECT 'x' file_path, i pos, i % 2 AS _ducklake_internal_snapshot_id FROM range(20000) r(i)"
        duck.execute(f"COPY ({rows}) TO '{path}' (ENCRYPTION_CONFIG {{footer_key: 'k'}}, ROW_GROUP_SIZE 2048)")
    assert read_positions(data_file(delete_file(path, KEY)), 0, stores).tolist() == list(range(0, 20000, 2))


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"pos": pa.array([1, None])}, "NULLs"),
        ({"pos": [2, 1]}, "do not increase"),
        ({"pos": [1, 1]}, "do not increase"),
        ({"pos": [-1, 1]}, "do not increase"),
        ({"pos": ["1"]}, "not a whole number"),
        ({"pos": [1], "_ducklake_internal_snapshot_id": pa.array([None], pa.int64())}, "NULLs"),
    ],
)
def test_a_damaged_delete_file_is_named(columns: dict[str, Any], said: str, stores: Stores, tmp_path: Path) -> None:
    delete = written(tmp_path / "d.parquet", **columns)
    with pytest.raises(StorageError, match=f"d.parquet.*{said}"):
        read_positions(data_file(delete), 1, stores)


def test_a_delete_file_without_positions_is_named(stores: Stores, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "d.parquet")
    with pytest.raises(StorageError, match=r"d\.parquet has no column 'pos'"):
        read_positions(data_file(delete_file(tmp_path / "d.parquet")), 1, stores)


@pytest.mark.parametrize("name", ["gone.parquet", "gone.puffin"])
def test_a_missing_delete_file_is_named(name: str, stores: Stores, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=f"{name} is missing"):
        read_positions(data_file(delete_file(tmp_path / name)), 1, stores)


def test_a_delete_file_that_is_none_is_named(stores: Stores, tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"no Parquet at all")
    with pytest.raises(StorageError, match=r"bad\.parquet is damaged"):
        read_positions(data_file(delete_file(tmp_path / "bad.parquet")), 1, stores)


def test_an_encrypted_delete_file_with_a_wrong_key_is_named(stores: Stores, tmp_path: Path) -> None:
    written(tmp_path / "d.parquet", pos=[1])
    with pytest.raises(StorageError, match=r"d\.parquet"):
        read_positions(data_file(delete_file(tmp_path / "d.parquet", KEY)), 1, stores)
