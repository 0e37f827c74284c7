"""Deletion vectors: the positions of dead rows as a compressed bitmap, bare or in a Puffin container."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from zlib import crc32

from quacklake.errors import StorageError, UnsupportedError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CONTAINER = b"PFA1"
_VECTOR = b"\xd1\xd3\x39\x64"
_BLOB_TYPE = "deletion-vector-v1"
_SNAPSHOT_PROPERTY = "ducklake-snapshot-id"


@dataclass(frozen=True, slots=True)
class DeletionVector:
    """Positions of dead rows, and the snapshot that they belong to where the file says so."""

    positions: NDArray[np.int64]
    snapshot_id: int | None = None


def decode_vectors(path: str, data: bytes) -> tuple[DeletionVector, ...]:
    """The deletion vectors in a file.

    Args:
        path: The file, for messages.
        data: What is in it: one bare vector, or a Puffin container with one vector per snapshot.

    Raises:
        StorageError: When a length, a magic number, a checksum or the footer is not right.
    """
    if not data.startswith(_CONTAINER):
        return (DeletionVector(decode_vector(path, data)),)
    found = []
    for blob in _read_blobs(path, data):
        start, length = int(blob["offset"]), int(blob["length"])
        positions = decode_vector(path, data[start : start + length])
        tag = (blob.get("properties") or {}).get(_SNAPSHOT_PROPERTY)
        found.append(DeletionVector(positions, None if tag is None else int(tag)))
    if len({each.snapshot_id is None for each in found}) > 1:
        raise StorageError(f"{path} is damaged: only some of its deletion vectors say their snapshot")
    return tuple(found)


def decode_vector(path: str, blob: bytes) -> NDArray[np.int64]:
    """The positions in one `deletion-vector-v1` blob, sorted."""
    import numpy as np
    from pyroaring import BitMap64

    if len(blob) < 20:
        raise StorageError(f"{path} is damaged: a deletion vector of {len(blob)} bytes")
    (length,) = struct.unpack_from(">I", blob)
    if length != len(blob) - 8:
        raise StorageError(f"{path} is damaged: its deletion vector should have {length + 8} bytes, not {len(blob)}")
    body, (checksum,) = blob[4:-4], struct.unpack(">I", blob[-4:])
    if body[:4] != _VECTOR:
        raise StorageError(f"{path} is damaged: it does not begin as a deletion vector does")
    if crc32(body) != checksum:
        raise StorageError(f"{path} is damaged: the checksum of its deletion vector is wrong")
    try:
        bitmap = BitMap64.deserialize(body[4:])
    except (ValueError, MemoryError) as error:
        raise StorageError(f"{path} is damaged: its deletion vector cannot be decoded ({error})") from error
    return np.fromiter(bitmap, np.int64, len(bitmap))


def _read_blobs(path: str, data: bytes) -> list[dict[str, Any]]:
    if len(data) < 20 or data[-4:] != _CONTAINER:
        raise StorageError(f"{path} is damaged or cut off: it does not end as a Puffin file does")
    size, flags = struct.unpack_from("<II", data, len(data) - 12)
    start = len(data) - 12 - size
    if start < 8 or data[start - 4 : start] != _CONTAINER:
        raise StorageError(f"{path} is damaged: its footer does not fit")
    if flags & 1:
        raise UnsupportedError(f"the footer of {path} is compressed")
    try:
        blobs: list[dict[str, Any]] = json.loads(data[start : start + size])["blobs"]
    except (ValueError, KeyError, TypeError) as error:
        raise StorageError(f"{path} is damaged: its footer is not that of a Puffin file") from error
    for blob in blobs:
        if blob.get("type") != _BLOB_TYPE or blob.get("compression-codec"):
            raise UnsupportedError(f"{path} holds a {blob.get('type')!r} blob that is not a plain deletion vector")
    return blobs
