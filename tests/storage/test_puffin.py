"""Deletion vectors, bare and in Puffin containers, good and damaged."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping
from zlib import crc32

import pytest
from pyroaring import BitMap64

from quacklake.errors import StorageError, UnsupportedError
from quacklake.storage.puffin import decode_vectors


def vector(positions: Iterable[int]) -> bytes:
    """A bare deletion vector."""
    body = b"\xd1\xd3\x39\x64" + BitMap64(positions).serialize()
    return struct.pack(">I", len(body)) + body + struct.pack(">I", crc32(body))


def container(
    blobs: Iterable[tuple[int | None, bytes]], flags: int = 0, more: Mapping[str, str] | None = None
) -> bytes:
    """A Puffin file with vectors, each with the snapshot it belongs to."""
    data, about = b"PFA1", []
    for snapshot, blob in blobs:
        properties = {"cardinality": "1"} | ({} if snapshot is None else {"ducklake-snapshot-id": str(snapshot)})
        entry = {"type": "deletion-vector-v1", "fields": [], "offset": len(data), "length": len(blob)}
        about.append({**entry, "snapshot-id": -1, "sequence-number": -1, "properties": properties, **(more or {})})
        data += blob
    payload = json.dumps({"blobs": about}).encode()
    return data + b"PFA1" + payload + struct.pack("<II", len(payload), flags) + b"PFA1"


def test_a_bare_vector_gives_its_positions_in_order() -> None:
    (found,) = decode_vectors("x", vector([5, 1, 70_000, 3_000_000_000, 2**33 + 1]))
    assert found.positions.tolist() == [1, 5, 70_000, 3_000_000_000, 2**33 + 1]
    assert found.snapshot_id is None


def test_an_empty_vector_is_no_position() -> None:
    (found,) = decode_vectors("x", vector([]))
    assert found.positions.tolist() == []


def test_a_container_gives_one_vector_per_snapshot() -> None:
    found = decode_vectors("x", container([(10, vector([1])), (20, vector([1, 2]))]))
    assert [(each.snapshot_id, each.positions.tolist()) for each in found] == [(10, [1]), (20, [1, 2])]


def test_a_container_in_which_only_some_vectors_say_their_snapshot_is_refused() -> None:
    with pytest.raises(StorageError, match="only some"):
        decode_vectors("x", container([(10, vector([1])), (None, vector([2]))]))


GOOD = vector([1, 2, 3])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "0 bytes"),
        (GOOD[:10], "10 bytes"),
        (GOOD[:-1], "should have"),
        (GOOD + b"x", "should have"),
        (GOOD[:4] + b"abcd" + GOOD[8:], "does not begin"),
        (GOOD[:-6] + b"\x00" + GOOD[-5:], "checksum"),
        (GOOD[:-4] + b"\x00\x00\x00\x00", "checksum"),
        (container([(1, GOOD)])[:-1], "does not end"),
        (container([(1, GOOD[:-1])]), "should have"),
        (b"PFA1" + b"x" * 8 + struct.pack("<II", 2, 0) + b"PFA1", "footer does not fit"),
        (b"PFA1PFA1[]" + struct.pack("<II", 2, 0) + b"PFA1", "not that of a Puffin file"),
    ],
)
def test_a_damaged_vector_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(StorageError, match=said):
        decode_vectors("dv.puffin", data)


def test_a_bitmap_that_does_not_decode_is_refused() -> None:
    body = b"\xd1\xd3\x39\x64" + struct.pack("<Q", 3) + b"\x00" * 12
    data = struct.pack(">I", len(body)) + body + struct.pack(">I", crc32(body))
    with pytest.raises(StorageError, match="cannot be decoded"):
        decode_vectors("dv.puffin", data)


def test_what_is_compressed_or_no_deletion_vector_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="compressed"):
        decode_vectors("x", container([(1, GOOD)], flags=1))
    with pytest.raises(UnsupportedError, match="not a plain deletion vector"):
        decode_vectors("x", container([(1, GOOD)], more={"compression-codec": "zstd"}))
    with pytest.raises(UnsupportedError, match="theta"):
        decode_vectors("x", container([(1, GOOD)], more={"type": "theta"}))
