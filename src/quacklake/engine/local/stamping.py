"""Write files anew that name snapshots inside, with other names for them. All else stays: rows, order, field ids."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import duckdb
import numpy as np

from quacklake.engine.local.removal import SNAPSHOT_COLUMN, write_delete_file
from quacklake.errors import StorageError
from quacklake.names import quote
from quacklake.plan.layout import SNAPSHOT_ID_FIELD, FileColumn, FileLayout
from quacklake.plan.scan import DeleteFile, ScanFile
from quacklake.plan.write import WritePlan
from quacklake.schema import Schema
from quacklake.storage.encryption import encryption_option
from quacklake.storage.footers import decode_key
from quacklake.storage.placement import move_in, staging_root
from quacklake.storage.positions import read_stamps
from quacklake.storage.stores import Stores, duckdb_path

Rename = Callable[[int], int]


@dataclass(frozen=True, slots=True)
class StampedFile:
    """A file that was written anew."""

    path: str
    size: int
    footer_size: int
    stamps: frozenset[int]
    """The snapshots that the old one names."""


def stamp_data_file(
    file: ScanFile,
    layout: FileLayout,
    splits: Sequence[tuple[int, int]],
    rename: Rename,
    folder: str,
    stores: Stores,
) -> StampedFile:
    """A copy of a data file in which each row says its snapshot under the new name.

    Args:
        file: The file.
        layout: What is inside.
        splits: Up to which snapshot how many of its rows exist, where the catalog says that and not the file.
        rename: The new name of a snapshot.
        folder: Where the copy goes.
        stores: What opens files.
    """
    with stores.cursor(file.path) as cursor:
        source, parameters = _source(file, layout)
        stamp, stamps = _old_stamps(cursor, layout, source, parameters, splits)
        cursor.execute("CREATE OR REPLACE TEMP TABLE _quacklake_stamps(old BIGINT, new BIGINT)")
        cursor.executemany("INSERT INTO _quacklake_stamps VALUES (?, ?)", [[each, rename(each)] for each in stamps])
        columns = [
            f"_s.new AS {quote(column.name)}"
            if column.field_id == SNAPSHOT_ID_FIELD
            else f"_f._c{index} AS {quote(column.name)}"
            for index, column in enumerate(layout.columns)
        ]
        described = list(layout.columns)
        if layout.snapshot_id is None:
            columns.append(f"_s.new AS {SNAPSHOT_COLUMN}")
            described.append(FileColumn(SNAPSHOT_COLUMN, SNAPSHOT_ID_FIELD, "leaf"))
        query = (
            f"SELECT {', '.join(columns)} FROM {source} JOIN _quacklake_stamps AS _s ON _s.old = {stamp}"
            " ORDER BY _f.file_row_number"
        )
        options = ["FORMAT parquet", "RETURN_STATS", "COMPRESSION snappy", f"FIELD_IDS {_field_ids(described)}"]
        if file.encryption_key is not None:
            options.append(encryption_option(cursor, file.encryption_key))
        return _write(cursor, query, parameters, options, folder, file, frozenset(stamps), stores)


def _source(file: ScanFile, layout: FileLayout) -> tuple[str, dict[str, object]]:
    parameters: dict[str, object] = {"path": duckdb_path(file.path)}
    options = "hive_partitioning = false, file_row_number = true"
    if file.encryption_key is not None:
        parameters["key"] = decode_key(file.path, file.encryption_key)
        options += ", encryption_config = {footer_key_value: $key}"
    names = ", ".join([*(f"_c{index}" for index in range(len(layout.columns))), "file_row_number"])
    return f"read_parquet($path, {options}) AS _f({names})", parameters


def _old_stamps(
    cursor: duckdb.DuckDBPyConnection,
    layout: FileLayout,
    source: str,
    parameters: dict[str, object],
    splits: Sequence[tuple[int, int]],
) -> tuple[str, list[int]]:
    """SQL of the snapshot of a row as the file names it, and all of them."""
    if splits:
        parts = " ".join(f"WHEN _f.file_row_number < {rows} THEN {snapshot}" for snapshot, rows in splits)
        return f"(CASE {parts} ELSE {splits[-1][0]} END)", [snapshot for snapshot, _ in splits]
    named = layout.snapshot_id
    assert named is not None
    stamp = f"_f._c{layout.columns.index(named)}"
    found = cursor.execute(f"SELECT DISTINCT {stamp} FROM {source}", parameters).fetchall()
    return stamp, sorted(row[0] for row in found)


def _write(
    cursor: duckdb.DuckDBPyConnection,
    query: str,
    parameters: dict[str, object],
    options: Sequence[str],
    folder: str,
    file: ScanFile,
    stamps: frozenset[int],
    stores: Stores,
) -> StampedFile:
    staging = staging_root(folder)
    staging.mkdir(parents=True, exist_ok=True)
    name = f"ducklake-{uuid.uuid4()}.parquet"
    made = staging / f".staging-{name}"
    target = str(made).replace("'", "''")
    try:
        row = cursor.execute(f"COPY ({query}) TO '{target}' ({', '.join(options)})", parameters).fetchone()
        assert row is not None
        if row[1] != file.record_count:
            raise StorageError(f"{file.path} has {row[1]} rows, the catalog says {file.record_count}")
        move_in(made, folder + name, stores)
    except duckdb.Error as error:
        raise StorageError(f"cannot write {file.path} anew: {error}") from error
    finally:
        made.unlink(missing_ok=True)
    return StampedFile(folder + name, int(row[2]), int(row[3]), stamps)


def _field_ids(columns: Sequence[FileColumn]) -> str:
    return "{" + ", ".join(f"{quote(each.name)}: {_field_id(each)}" for each in columns if _has_ids(each)) + "}"


def _has_ids(column: FileColumn) -> bool:
    return any(each.field_id is not None for each in column.walk())


def _field_id(column: FileColumn) -> str:
    if not column.children:
        return str(column.field_id)
    names = {"list": ("element",), "map": ("key", "value")}.get(
        column.kind, tuple(each.name for each in column.children)
    )
    inner = [
        f"{quote(name)}: {_field_id(child)}"
        for name, child in zip(names, column.children, strict=True)
        if _has_ids(child)
    ]
    own = [] if column.field_id is None else [f"__duckdb_field_id: {column.field_id}"]
    return "{" + ", ".join([*own, *inner]) + "}"


def stamp_delete_file(delete: DeleteFile, data_file: str, rename: Rename, folder: str, stores: Stores) -> StampedFile:
    """A copy of a delete file that names snapshots anew.

    Args:
        delete: The file.
        data_file: The path of the file whose rows are dead.
        rename: The new name of a snapshot.
        folder: Where the copy goes.
        stores: What opens files.
    """
    positions, stamps = read_stamps(delete, stores)
    assert stamps is not None, "the file names snapshots"
    old, places = np.unique(stamps, return_inverse=True)
    new = np.asarray([rename(int(each)) for each in old], np.int64)
    plan = WritePlan("", 0, folder, Schema(()), encryption_key=delete.encryption_key)
    file = ScanFile(0, data_file, 0, None, 0)
    with stores.cursor() as cursor:
        written = write_delete_file(cursor, file, plan, stores, positions, new[places])
    return StampedFile(written.path, written.size, written.footer_size or 0, frozenset(old.tolist()))
