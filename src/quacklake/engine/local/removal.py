"""Turn the addresses of dead rows into the cheapest change of the lake that says the same."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import replace
from os import SEEK_END
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from quacklake.plan.layout import SNAPSHOT_ID_FIELD
from quacklake.plan.scan import ScanFile, ScanPlan
from quacklake.plan.write import (
    InlinedFileDeletes,
    InlinedRowDeletes,
    RemovedFile,
    WritePlan,
    WriteResult,
    WrittenDeletes,
)
from quacklake.storage.encryption import encryption_option
from quacklake.storage.placement import move_in, staging_root
from quacklake.storage.positions import read_history, read_positions
from quacklake.storage.stores import Stores

Positions = NDArray[np.int64]

FILE_PATH_FIELD, POSITION_FIELD = 2147483646, 2147483645
"""The field ids of a delete file's columns."""
SNAPSHOT_COLUMN = "_ducklake_internal_snapshot_id"


def remove_rows(
    cursor: duckdb.DuckDBPyConnection, addresses: str, scan: ScanPlan, plan: WritePlan, stores: Stores
) -> WriteResult:
    """What must be written so that the rows at these addresses are gone.

    Args:
        cursor: Holds the addresses.
        addresses: SQL of a relation with the columns of `query.ADDRESS`, each row once.
        scan: Where the rows were found.
        plan: How files of the table look.
        stores: Where files go.
    """
    files = {file.file_id: file for file in scan.files}
    changes = [
        remove_from_file(cursor, files[file_id], dead, scan.snapshot_id, plan, stores)
        for file_id, dead in _by_file(cursor, addresses)
    ]
    return WriteResult(
        removed=tuple(each for each in changes if isinstance(each, RemovedFile)),
        deletes=tuple(each for each in changes if isinstance(each, WrittenDeletes)),
        inlined_rows=tuple(_inlined_rows(cursor, addresses)),
        inlined_positions=tuple(each for each in changes if isinstance(each, InlinedFileDeletes)),
    )


def remove_from_file(
    cursor: duckdb.DuckDBPyConnection,
    file: ScanFile,
    dead: Positions,
    snapshot_id: int,
    plan: WritePlan,
    stores: Stores,
) -> RemovedFile | InlinedFileDeletes | WrittenDeletes:
    """What must be written so that rows of one file are gone.

    Args:
        cursor: Writes a delete file, if it comes to that.
        file: The file.
        dead: The positions of the rows, in order, each once; all of them were alive.
        snapshot_id: Where the rows were found.
        plan: How files of the table look.
        stores: Where files go.
    """
    live = file.record_count - len(read_positions(file, snapshot_id, stores))
    if len(dead) >= live:
        return RemovedFile(file.file_id, live)
    if len(dead) <= plan.inline_limit:
        return InlinedFileDeletes(file.file_id, tuple(dead.tolist()))
    return _write_deletes(cursor, file, dead, snapshot_id, plan, stores)


def _by_file(cursor: duckdb.DuckDBPyConnection, addresses: str) -> Iterable[tuple[int, Positions]]:
    query = (
        f"SELECT _quacklake_file, list(_quacklake_position ORDER BY _quacklake_position) FROM ({addresses}) "
        "WHERE _quacklake_file IS NOT NULL GROUP BY 1 ORDER BY 1"
    )
    for batch in cursor.execute(query).to_arrow_reader(64):
        for index in range(batch.num_rows):
            dead: Any = batch.column(1)[index]
            yield int(str(batch.column(0)[index])), dead.values.to_numpy()


def _inlined_rows(cursor: duckdb.DuckDBPyConnection, addresses: str) -> Iterable[InlinedRowDeletes]:
    query = (
        f"SELECT _quacklake_layout, list(_quacklake_position ORDER BY _quacklake_position) FROM ({addresses}) "
        "WHERE _quacklake_file IS NULL GROUP BY 1 ORDER BY 1"
    )
    for layout, row_ids in cursor.execute(query).fetchall():
        yield InlinedRowDeletes(layout, tuple(row_ids))


def _write_deletes(
    cursor: duckdb.DuckDBPyConnection,
    file: ScanFile,
    dead: Positions,
    snapshot_id: int,
    plan: WritePlan,
    stores: Stores,
) -> WrittenDeletes:
    # Positions that the catalog itself notes stay there: in both places DuckDB would count them twice.
    if not file.delete_files:
        return write_delete_file(cursor, file, plan, stores, dead)
    earlier, snapshots = read_history(file.delete_files[0], stores)
    # The snapshot that this becomes when nobody else commits before.
    stamp = snapshot_id + 1 if plan.snapshot_id is None else plan.snapshot_id
    positions = np.concatenate([earlier, dead])
    stamps = np.concatenate([snapshots, np.full(len(dead), stamp, np.int64)])
    order = np.argsort(positions, kind="stable")
    written = write_delete_file(cursor, file, plan, stores, positions[order], stamps[order])
    return replace(
        written,
        replaces=file.delete_files[0].file_id,
        stamp=stamp,
        begin_snapshot=int(stamps.min()),
    )


def write_delete_file(
    cursor: duckdb.DuckDBPyConnection,
    file: ScanFile,
    plan: WritePlan,
    stores: Stores,
    positions: Positions,
    stamps: Positions | None = None,
) -> WrittenDeletes:
    """Write one delete file, complete and in its place.

    Args:
        cursor: Writes it.
        file: Whose rows are dead.
        plan: Where delete files go and how they look.
        stores: Where files go.
        positions: All of them, in order, each once.
        stamps: The snapshot that deleted each, where there are several.
    """
    rows = _rows(file.path, positions, stamps)
    staging = staging_root(plan.path)
    staging.mkdir(parents=True, exist_ok=True)
    name = f"ducklake-{uuid.uuid4()}-delete.parquet"
    made = staging / f".staging-{name}"
    try:
        if plan.encryption_key is None:
            size, footer = _write_plain(rows, made)
        else:
            size, footer = _write_encrypted(cursor, rows, made, plan.encryption_key)
        move_in(made, plan.path + name, stores)
    finally:
        made.unlink(missing_ok=True)
    return WrittenDeletes(
        data_file_id=file.file_id,
        path=plan.path + name,
        count=len(positions),
        size=size,
        footer_size=footer,
        encryption_key=plan.encryption_key,
    )


def _rows(data_file: str, positions: Positions, stamps: Positions | None) -> pa.Table:
    """What a delete file says, under the ids of its columns."""
    every = np.zeros(len(positions), np.int32)
    columns: list[pa.Array[Any]] = [pa.DictionaryArray.from_arrays(every, pa.array([data_file])), pa.array(positions)]
    names = {"file_path": FILE_PATH_FIELD, "pos": POSITION_FIELD}
    if stamps is not None:
        columns.append(pa.array(stamps))
        names[SNAPSHOT_COLUMN] = SNAPSHOT_ID_FIELD
    fields = [
        pa.field(name, column.type, metadata={b"PARQUET:field_id": str(id_).encode()})
        for (name, id_), column in zip(names.items(), columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _write_plain(rows: pa.Table, target: Path) -> tuple[int, int]:
    """Write a delete file; how large it is, and its footer."""
    # The steps from one position to the next are small numbers; the other columns have hardly more than one value.
    repeated: Any = [name for name in rows.column_names if name != "pos"]
    steps = {"pos": "DELTA_BINARY_PACKED"}
    pq.write_table(rows, target, compression="none", use_dictionary=repeated, column_encoding=steps, store_schema=False)
    with target.open("rb") as file:
        size = file.seek(-8, SEEK_END) + 8
        return size, int.from_bytes(file.read(4), "little")


def _write_encrypted(cursor: duckdb.DuckDBPyConnection, rows: pa.Table, target: Path, key: str) -> tuple[int, int]:
    ids = ", ".join(f"{field.name}: {(field.metadata or {})[b'PARQUET:field_id'].decode()}" for field in rows.schema)
    options = f"FORMAT parquet, RETURN_STATS, FIELD_IDS {{{ids}}}, {encryption_option(cursor, key)}"
    place = str(target).replace("'", "''")
    cursor.register("_quacklake_dead", rows)
    try:
        row = cursor.execute(
            f"COPY (SELECT * REPLACE (file_path::VARCHAR AS file_path) FROM _quacklake_dead ORDER BY pos) "
            f"TO '{place}' ({options})"
        ).fetchone()
    finally:
        cursor.unregister("_quacklake_dead")
    assert row is not None
    return int(row[2]), int(row[3])
