"""Copy the rows of a lake, table by table, under new ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from quacklake.catalog.inlined_write import inlined_name
from quacklake.catalog.moving.ids import IdMap, Ids, id_columns, move_changes
from quacklake.catalog.moving.inlined import Settle, load_stored
from quacklake.catalog.moving.source import Source
from quacklake.catalog.moving.target import Target
from quacklake.catalog.stream_batches import batch_key, build_batches, make_batches, of_catalog
from quacklake.catalog.tables import LAYOUT
from quacklake.storage.paths import join

Row = dict[str, Any]
OF_DATABASE = ("version", "created_by", "data_path")
"""Settings that say something about the database and not about the lake."""
_APART = ("metadata", "inlined_data_tables", "files_scheduled_for_deletion")


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file that was made for the copy and takes the place of the lake's own."""

    path: str
    path_is_relative: bool = False
    size: int | None = None
    """Unless nothing but the place is new: its size and the length of its footer."""
    footer_size: int | None = None
    partial_max: int | None = None
    """The newest snapshot in it, as the copy calls it, where the lake itself does not say."""


@dataclass(frozen=True, slots=True)
class NewFiles:
    """Files in other places than the lake has them, by the ids that they have there."""

    data: Mapping[int, NewFile] = field(default_factory=dict)
    deletes: Mapping[int, NewFile] = field(default_factory=dict)


def copy_lake(source: Source, target: Target, ids: Ids, files: NewFiles, settle: Settle) -> None:
    """Copy everything but the files that wait for their deletion.

    Args:
        source: What to copy.
        target: Where to.
        ids: The ids of the copy.
        files: Which files are new; all others stay where they are.
        settle: What reads inlined values.
    """
    names = [name for name in LAYOUT if name not in _APART]
    copy_tables(source, target, ids, names, settle, files)


def copy_tables(
    source: Source, target: Target, ids: Ids, names: Sequence[str], settle: Settle, files: NewFiles | None = None
) -> None:
    """Copy some tables of the format, and with them settings and inlined rows, row by row."""
    convert = _Converter(source, ids, files or NewFiles())
    for name in names:
        for rows in source.rows(name):
            target.insert(name, [convert(name, row) for row in rows])
    _copy_settings(source, target, ids)
    _copy_inlined(source, target, ids, settle)
    _copy_batches(source, target, ids)


def copy_scheduled(source: Source, target: Target, ids: Ids) -> None:
    """Copy which files wait for their deletion."""
    convert = _Converter(source, ids, NewFiles())
    for rows in source.rows("files_scheduled_for_deletion"):
        target.insert("files_scheduled_for_deletion", [convert("files_scheduled_for_deletion", row) for row in rows])


def plan_folders(source: Source, ids: Ids, root: str) -> dict[int, str]:
    """By table of the lake, the folder that its files have in the copy, below that of the copy."""
    convert = _Converter(source, ids, NewFiles())
    above: dict[int, str] = {}
    for rows in source.rows("schema"):
        above.update((row["schema_id"], join(root, *_place(convert("schema", row)))) for row in rows)
    found: dict[int, str] = {}
    for rows in source.rows("table"):
        for row in rows:
            found[row["table_id"]] = join(above.get(row["schema_id"], root), *_place(convert("table", row)))
    return found


def _place(row: Row) -> tuple[str | None, bool | None]:
    return row["path"], row["path_is_relative"]


class _Converter:
    """Makes of a row of the lake one of the copy."""

    def __init__(self, source: Source, ids: Ids, files: NewFiles) -> None:
        self._source = source
        self._ids = ids
        self._files = files
        self._columns = {name: [(column, ids.of(kind)) for column, kind in id_columns(name).items()] for name in LAYOUT}
        self._special: Mapping[str, Callable[[Row, Row], Row]] = {
            "snapshot": self._snapshot,
            "snapshot_changes": self._changes,
            "schema": self._folder,
            "table": self._folder,
            "data_file": self._data_file,
            "delete_file": self._delete_file,
            "files_scheduled_for_deletion": self._scheduled,
            # What old versions do not say is what these words mean.
            "column": lambda row, _: {"default_value_type": row["default_value_type"] or "literal"},
            "name_mapping": lambda row, _: {"is_partition": bool(row["is_partition"])},
        }

    def __call__(self, name: str, row: Row) -> Row:
        moved = dict(row)
        for column, ids in self._columns[name]:
            if moved[column] is not None:
                moved[column] = ids[moved[column]]
        special = self._special.get(name)
        return moved if special is None else {**moved, **special(row, moved)}

    def _snapshot(self, row: Row, moved: Row) -> Row:
        entries, files = row["next_catalog_id"], row["next_file_id"]
        return {"next_catalog_id": self._ids.entry.after(entries), "next_file_id": self._ids.file.after(files)}

    def _changes(self, row: Row, moved: Row) -> Row:
        return {"changes_made": move_changes(row["changes_made"], self._ids.entry)}

    def _folder(self, row: Row, moved: Row) -> Row:
        if row["path_is_relative"] or not row["path"]:
            # The first version of the format had no folders, and DuckDB wants to be told.
            return {"path": row["path"] or "", "path_is_relative": True}
        # What is new goes below the folder of the copy, not into a place of the lake that it came from.
        return {"path": f"{moved.get('table_id') or moved['schema_id']}/", "path_is_relative": True}

    def _data_file(self, row: Row, moved: Row) -> Row:
        return self._file(row, self._files.data.get(row["data_file_id"]))

    def _delete_file(self, row: Row, moved: Row) -> Row:
        new = self._files.deletes.get(row["delete_file_id"])
        return {**self._file(row, new), **({"format": "parquet"} if new is not None and new.size is not None else {})}

    def _file(self, row: Row, new: NewFile | None) -> Row:
        if new is None:
            path = self._source.path(row["table_id"], row["path"], row["path_is_relative"])
            return {"path": path, "path_is_relative": False}
        place: Row = {"path": new.path, "path_is_relative": new.path_is_relative}
        if new.size is None:
            return place
        return {
            **place,
            "file_size_bytes": new.size,
            "footer_size": new.footer_size,
            **({} if new.partial_max is None else {"partial_max": new.partial_max}),
        }

    def _scheduled(self, row: Row, moved: Row) -> Row:
        path = join(self._source.catalog.data_path, row["path"], row["path_is_relative"])
        return {"path": path, "path_is_relative": False}


def _copy_settings(source: Source, target: Target, ids: Ids) -> None:
    # A catalog beside that of the lake has what holds for all from where the lake has it, also when that changes.
    stays = {*OF_DATABASE, *(source.load_inherited() if source.connection is target.connection else ())}
    rows = []
    for part in source.rows("metadata"):
        for row in part:
            if row["scope"] is None and row["key"] in stays:
                continue
            scope_id = row["scope_id"] if row["scope_id"] is None else ids.entry[row["scope_id"]]
            rows.append(target.setting(row["key"], row["value"], row["scope"], scope_id))
    target.insert("metadata", rows)


def _copy_inlined(source: Source, target: Target, ids: Ids, settle: Settle) -> None:
    for stored in load_stored(source):
        rows, version, moved = stored.rows, stored.version, ids.entry[stored.table_id]
        heads = rows.data.select(["row_id", "begin_snapshot", "end_snapshot"])
        for index, column in ((1, "begin_snapshot"), (2, "end_snapshot")):
            heads = heads.set_column(index, column, _move(heads.column(column), ids.snapshot))
        target.insert_inlined(str(stored.name), moved, version, rows.columns, heads, settle(rows))
        target.insert(
            "inlined_data_tables",
            [{"table_id": moved, "table_name": inlined_name(moved, version), "schema_version": version}],
        )
    for table_id in source.table_ids():
        deletes = source.inlined_deletes(table_id)
        if deletes is not None:
            found = source.connection.execute(sa.select(*deletes.c)).all()
            noted = [
                {"file_id": ids.file[file_id], "row_id": row_id, "begin_snapshot": ids.snapshot[begin]}
                for file_id, row_id, begin in found
            ]
            target.insert_deletes(ids.entry[table_id], noted)


def _copy_batches(source: Source, target: Target, ids: Ids) -> None:
    """What streams have brought is in the copy too, and must not come to it again."""
    lake, old = source.catalog, build_batches(source.tables.sql_schema)
    if not lake.backend.has_table(source.connection, old.name):
        return
    query = sa.select(old) if lake.catalog_id is None else sa.select(old).where(of_catalog(old, lake.catalog_id))
    before = batch_key(lake.catalog_id, "")
    rows = [
        {
            **row,
            "table_uuid": batch_key(target.catalog_id, row["table_uuid"].removeprefix(before)),
            "snapshot_id": ids.snapshot.at_least(row["snapshot_id"]),
        }
        for row in source.connection.execute(query).mappings().all()
    ]
    if rows:
        make_batches(target.connection, target.tables.sql_schema)
        target.connection.execute(build_batches(target.tables.sql_schema).insert(), rows)


def _move(values: Any, ids: IdMap) -> Any:
    import pyarrow as pa

    return pa.array([None if value is None else ids[value] for value in values.to_pylist()], pa.int64())
