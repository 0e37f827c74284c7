"""Turn the addresses of dead rows into the cheapest change of the lake that says the same."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
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
    stamp = snapshot_id + 1
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
    held = {"pos": pa.array(positions)}
    if stamps is not None:
        held[SNAPSHOT_COLUMN] = pa.array(stamps)
    cursor.register("_quacklake_dead", pa.table(held))
    staging = staging_root(plan.path)
    staging.mkdir(parents=True, exist_ok=True)
    name = f"ducklake-{uuid.uuid4()}-delete.parquet"
    made = staging / f".staging-{name}"
    try:
        size, footer = _copy(cursor, file.path, made, plan, stamps is not None)
        move_in(made, plan.path + name, stores)
    finally:
        cursor.unregister("_quacklake_dead")
        made.unlink(missing_ok=True)
    return WrittenDeletes(
        data_file_id=file.file_id,
        path=plan.path + name,
        count=len(positions),
        size=size,
        footer_size=footer,
        encryption_key=plan.encryption_key,
    )


def _copy(
    cursor: duckdb.DuckDBPyConnection, data_file: str, target: Path, plan: WritePlan, stamped: bool
) -> tuple[int, int]:
    path = data_file.replace("'", "''")
    ids = f"file_path: {FILE_PATH_FIELD}, pos: {POSITION_FIELD}"
    if stamped:
        ids += f", {SNAPSHOT_COLUMN}: {SNAPSHOT_ID_FIELD}"
    options = f"FORMAT parquet, RETURN_STATS, FIELD_IDS {{{ids}}}"
    if plan.encryption_key is not None:
        options += f", {encryption_option(cursor, plan.encryption_key)}"
    place = str(target).replace("'", "''")
    row = cursor.execute(
        f"COPY (SELECT '{path}' AS file_path, * FROM _quacklake_dead ORDER BY pos) TO '{place}' ({options})"
    ).fetchone()
    assert row is not None
    return int(row[2]), int(row[3])
