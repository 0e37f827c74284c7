"""The footers of Parquet files: which columns are in a file and how many rows."""

from __future__ import annotations

import struct
import threading
from base64 import b64decode
from binascii import Error as Base64Error
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from quacklake.errors import MissingExtraError, StorageError
from quacklake.plan.layout import FileColumn, FileLayout
from quacklake.plan.scan import ScanFile
from quacklake.storage.parquet_schema import read_columns
from quacklake.storage.stores import Stores, is_remote

if TYPE_CHECKING:
    from pyarrow.parquet import FileMetaData

_GUESS = 64 * 1024
"""How much of the end of a file to read when the catalog does not say how long the footer is."""
_TRAILER = 8
"""The length of the footer and four letters."""
_CACHED = 20_000
"""Layouts are small and mostly shared: a lake of this many files stays in memory."""

_cache: OrderedDict[tuple[str, int | None], FileLayout] = OrderedDict()
_interned: dict[tuple[FileColumn, ...], tuple[FileColumn, ...]] = {}
_lock = threading.Lock()


def read_layouts(files: Sequence[ScanFile], stores: Stores) -> dict[int, FileLayout]:
    """What is inside each file, by file id. Files of a lake never change, so footers are read once.

    Raises:
        StorageError: When a file is missing or is not a Parquet file; the message names it.
    """
    found: dict[int, FileLayout] = {}
    missing: list[ScanFile] = []
    with _lock:
        for file in files:
            known = _cache.get((file.path, file.size))
            if known is None:
                missing.append(file)
            else:
                _cache.move_to_end((file.path, file.size))
                found[file.file_id] = known
    for file, layout in zip(missing, _read_all(missing, stores), strict=True):
        found[file.file_id] = layout
        _remember(file, layout)
    return found


def read_layout(file: ScanFile, stores: Stores) -> FileLayout:
    """What is inside one file, from its footer."""
    metadata = read_footer(file.path, stores, size=file.size, footer_size=file.footer_size, key=file.encryption_key)
    columns = read_columns(metadata)
    # Most files of a table have the same columns: keep them once, which also makes comparing them cheap.
    return FileLayout(_interned.setdefault(columns, columns), metadata.num_rows)


def read_footer(
    path: str,
    stores: Stores,
    *,
    size: int | None = None,
    footer_size: int | None = None,
    key: str | None = None,
) -> FileMetaData:
    """The footer of a Parquet file, as pyarrow holds it.

    Args:
        path: The file.
        stores: What opens it.
        size: Its size, where it is known.
        footer_size: The length of its footer, where it is known.
        key: The key of an encrypted file, in base64.
    """
    tail = _read_tail(path, stores, size, footer_size)
    if tail[-4:] == b"PARE":
        tail = _decrypt(path, tail, key)
    return _parse(path, tail)


def decode_key(path: str, key: str) -> bytes:
    """The bytes of a key that the catalog stores in base64."""
    try:
        return b64decode(key, validate=True)
    except Base64Error as error:
        raise StorageError(f"the key of the encrypted file {path} is not base64") from error


def forget() -> None:
    """Forget every footer that was read."""
    with _lock:
        _cache.clear()
        _interned.clear()


def _read_all(files: Sequence[ScanFile], stores: Stores) -> list[FileLayout]:
    # A local footer takes less time than handing it to a thread; a remote one is nearly all waiting.
    remote = sum(is_remote(file.path) for file in files)
    if remote < 2:
        return [read_layout(file, stores) for file in files]
    with ThreadPoolExecutor(min(32, remote), "quacklake-footer") as pool:
        return list(pool.map(lambda file: read_layout(file, stores), files))


def _remember(file: ScanFile, layout: FileLayout) -> None:
    with _lock:
        _cache[file.path, file.size] = layout
        while len(_cache) > _CACHED:
            _cache.popitem(last=False)


def _read_tail(path: str, stores: Stores, size: int | None, footer_size: int | None) -> bytes:
    tail = stores.read_tail(path, (footer_size or _GUESS) + _TRAILER, size)
    length = _footer_length(path, tail)
    if length + _TRAILER > len(tail):
        tail = stores.read_tail(path, length + _TRAILER, size)
        if length + _TRAILER > len(tail):
            raise StorageError(f"{path} is damaged: its footer is longer than the file")
    return tail


def _footer_length(path: str, tail: bytes) -> int:
    if len(tail) < _TRAILER or tail[-4:] not in (b"PAR1", b"PARE"):
        raise StorageError(f"{path} is damaged or cut off: it does not end as a Parquet file does")
    length: int = struct.unpack("<I", tail[-_TRAILER:-4])[0]
    return length


def _parse(path: str, tail: bytes) -> FileMetaData:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_metadata(pa.BufferReader(tail))
    except (pa.ArrowException, OSError) as error:
        raise StorageError(f"{path} is damaged: its footer cannot be read ({error})") from error


def _decrypt(path: str, tail: bytes, key: str | None) -> bytes:
    """The same end of the file with the footer in clear."""
    if key is None:
        raise StorageError(f"{path} is encrypted and the catalog has no key for it")
    try:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        raise MissingExtraError.for_extra("cryptography", "encryption") from error
    footer = tail[-_TRAILER - _footer_length(path, tail) : -_TRAILER]
    start = _module_start(path, footer)
    nonce, sealed = footer[start + 4 : start + 16], footer[start + 16 :]
    cipher = AESGCM(decode_key(path, key))
    # DuckDB binds nothing else to the footer; other writers bind the id of the file, which stands before it.
    for bound in (None, *_file_ids(footer[:start])):
        try:
            clear = cipher.decrypt(nonce, sealed, bound)
        except InvalidTag:
            continue
        return b"PAR1" + clear + struct.pack("<I", len(clear)) + b"PAR1"
    raise StorageError(f"{path} cannot be decrypted with the key that the catalog has for it")


def _module_start(path: str, footer: bytes) -> int:
    # Before the sealed footer stands a description of the cipher; the sealed part begins with its own length.
    for start in range(len(footer) - 32):
        if struct.unpack_from("<I", footer, start)[0] == len(footer) - start - 4:
            return start
    raise StorageError(f"{path} is damaged: its footer is not an encrypted one")


def _file_ids(description: bytes) -> list[bytes]:
    """Candidates for what other writers bind to a footer: an id of eight bytes and the number of the footer's kind."""
    return [description[at + 1 : at + 9] + b"\x00" for at in range(len(description) - 8) if description[at] == 8]
