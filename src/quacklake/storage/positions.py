"""Which rows of a data file are dead at a snapshot, from everything that can say so."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from quacklake.errors import StorageError
from quacklake.plan.changes import MortalFile
from quacklake.plan.scan import DeleteFile, ScanFile
from quacklake.storage.footers import decode_key
from quacklake.storage.puffin import decode_vectors
from quacklake.storage.stores import Stores, duckdb_path

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

_POSITION = "pos"
_SNAPSHOT = "_ducklake_internal_snapshot_id"
_CACHED_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Deletes:
    """What one delete file says."""

    positions: NDArray[np.int64]
    snapshots: NDArray[np.int64] | None
    """The snapshot that killed each position; without it, all were dead when the file was written."""

    def at(self, snapshot_id: int) -> NDArray[np.int64]:
        return self.positions if self.snapshots is None else self.positions[self.snapshots <= snapshot_id]

    @property
    def size(self) -> int:
        return self.positions.nbytes + (0 if self.snapshots is None else self.snapshots.nbytes)


_cache: OrderedDict[tuple[str, int | None], _Deletes] = OrderedDict()
_lock = threading.Lock()


def read_positions(file: ScanFile, snapshot_id: int, stores: Stores) -> NDArray[np.int64]:
    """The positions of the rows of a file that are dead at a snapshot, sorted, each once.

    Raises:
        StorageError: When a delete file is missing or damaged; the message names it.
    """
    import numpy as np

    parts = [_read(delete, stores).at(snapshot_id) for delete in file.delete_files]
    if file.deleted_positions:
        parts.append(np.asarray(file.deleted_positions, np.int64))
    if not parts:
        return np.empty(0, np.int64)
    if len(parts) == 1 and not file.deleted_positions:
        return parts[0]
    # The same position may come from several places: a set, not a sum.
    return np.unique(np.concatenate(parts))


def read_history(delete: DeleteFile, stores: Stores) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every position in a delete file, and the snapshot that deleted each."""
    import numpy as np

    found = _read(delete, stores)
    if found.snapshots is not None:
        return found.positions, found.snapshots
    return found.positions, np.full(len(found.positions), delete.begin_snapshot, np.int64)


def read_stamps(delete: DeleteFile, stores: Stores) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """Every position in a delete file, and the snapshots that the file itself names for them, if it does."""
    found = _read(delete, stores)
    return found.positions, found.snapshots


def settle_births(files: Iterable[ScanFile], stores: Stores) -> tuple[ScanFile, ...]:
    """Files as their own snapshots showed them, with the rows that were dead already named one by one."""
    return tuple(_settled(file, stores) if file.delete_files else file for file in files)


def _settled(file: ScanFile, stores: Stores) -> ScanFile:
    gone = read_positions(file, file.begin_snapshot, stores)
    return replace(file, delete_files=(), deleted_positions=tuple(gone.tolist()))


def read_deaths(mortal: MortalFile, stores: Stores) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The positions of all rows of a file that were deleted one by one, sorted, and the snapshot in which each died."""
    import numpy as np

    parts = [read_history(delete, stores) for delete in mortal.file.delete_files]
    if mortal.deletions:
        noted = np.asarray(mortal.deletions, np.int64)
        parts.append((noted[:, 0], noted[:, 1]))
    if not parts:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    positions, snapshots = (np.concatenate(each) for each in zip(*parts, strict=True))
    # A later delete file repeats what an earlier one says, and the first to say it is right.
    order = np.lexsort((snapshots, positions))
    first, index = np.unique(positions[order], return_index=True)
    return first, snapshots[order][index]


def forget() -> None:
    """Forget every delete file that was read."""
    with _lock:
        _cache.clear()


def _read(delete: DeleteFile, stores: Stores) -> _Deletes:
    key = (delete.path, delete.size)
    with _lock:
        if key in _cache:
            _cache.move_to_end(key)
            return _cache[key]
    found = _decode_puffin(delete, stores) if delete.format == "puffin" else _decode_parquet(delete, stores)
    with _lock:
        _cache[key] = found
        while sum(each.size for each in _cache.values()) > _CACHED_BYTES:
            _cache.popitem(last=False)
    return found


def _decode_puffin(delete: DeleteFile, stores: Stores) -> _Deletes:
    import numpy as np

    vectors = decode_vectors(delete.path, stores.read(delete.path))
    if not vectors:
        return _Deletes(np.empty(0, np.int64), None)
    if vectors[0].snapshot_id is None:
        return _Deletes(np.unique(np.concatenate([each.positions for each in vectors])), None)
    # Each vector holds all that was dead at its snapshot, so the first that has a position says when it died.
    ordered = sorted(vectors, key=lambda each: each.snapshot_id or 0)
    positions = np.concatenate([each.positions for each in ordered])
    snapshots = np.concatenate([np.full(len(each.positions), each.snapshot_id, np.int64) for each in ordered])
    first, index = np.unique(positions, return_index=True)
    return _Deletes(first, snapshots[index])


def _decode_parquet(delete: DeleteFile, stores: Stores) -> _Deletes:
    import numpy as np

    table = _read_plain(delete, stores) if delete.encryption_key is None else _read_encrypted(delete, stores)
    if _POSITION not in table.column_names:
        raise StorageError(f"the delete file {delete.path} has no column {_POSITION!r}")
    positions = _whole_numbers(delete, table, _POSITION)
    if len(positions) and (positions[0] < 0 or bool(np.any(np.diff(positions) <= 0))):
        raise StorageError(f"the delete file {delete.path} is damaged: its positions do not increase")
    return _Deletes(positions, _whole_numbers(delete, table, _SNAPSHOT) if _SNAPSHOT in table.column_names else None)


def _whole_numbers(delete: DeleteFile, table: pa.Table, name: str) -> NDArray[np.int64]:
    import numpy as np
    import pyarrow as pa

    column = table.column(name)
    if column.null_count:
        raise StorageError(f"the delete file {delete.path} is damaged: {name!r} has NULLs")
    if not pa.types.is_integer(column.type):
        raise StorageError(f"the delete file {delete.path} is damaged: {name!r} is {column.type}, not a whole number")
    return column.to_numpy().astype(np.int64, copy=False)


def _read_plain(delete: DeleteFile, stores: Stores) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(stores.read(delete.path)))
        present = [name for name in file.schema_arrow.names if name in (_POSITION, _SNAPSHOT)]
        return file.read(columns=present, use_threads=False)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, StorageError):
            raise
        raise StorageError(f"the delete file {delete.path} is damaged: {error}") from error


def _read_encrypted(delete: DeleteFile, stores: Stores) -> pa.Table:
    import duckdb

    assert delete.encryption_key is not None
    key = decode_key(delete.path, delete.encryption_key)
    with stores.cursor(delete.path) as cursor:
        try:
            # Several threads read the file, in no order of their own; the order inside it is to be checked.
            return cursor.execute(
                "SELECT COLUMNS(name -> name IN ($3, $4)) "
                "FROM read_parquet($1, encryption_config = {footer_key_value: $2}, file_row_number = true) "
                "ORDER BY file_row_number",
                [duckdb_path(delete.path), key, _POSITION, _SNAPSHOT],
            ).to_arrow_table()
        except duckdb.Error as error:
            raise StorageError(f"cannot read the encrypted delete file {delete.path}: {error}") from error
