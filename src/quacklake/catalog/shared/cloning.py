"""Copy the rows of a catalog to another one of the same database, in the database itself.

Which id becomes which is noted in a table for as long as that takes. What has few rows, and more in them than ids,
is copied as from any other lake.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.moving.copying import NewFiles, copy_tables
from quacklake.catalog.moving.ids import IdKind, Ids, id_columns
from quacklake.catalog.moving.inlined import Settle
from quacklake.catalog.moving.source import Source
from quacklake.catalog.moving.target import Target
from quacklake.catalog.shared.layout import OWNED
from quacklake.catalog.shared.ownership import bound_otherwise
from quacklake.catalog.shared.registry import shared_of
from quacklake.catalog.tables import LAYOUT, CatalogTables
from quacklake.errors import CatalogError

_SPECIAL = ("snapshot", "snapshot_changes", "schema", "table")
"""More than ids is different in the copy; what the lake keeps apart, the copy does too."""
_APART = ("metadata", "inlined_data_tables", "files_scheduled_for_deletion")
_FILES = ("data_file", "delete_file")
_AT_ONCE = 1000


@contextmanager
def standing_still(backend: Backend, tables: CatalogTables, catalog_id: int) -> Iterator[None]:
    """Let nobody commit to a catalog meanwhile. In a file, the transaction that copies keeps all others out."""
    if backend.name not in ("postgresql", "mysql"):
        yield
        return
    catalog = shared_of(tables).catalog
    with backend.write() as connection:
        query = sa.select(catalog.c.catalog_id).where(catalog.c.catalog_id == catalog_id)
        connection.execute(query.with_for_update())
        yield


def clone_rows(source: Source, target: Target, ids: Ids, files: NewFiles, settle: Settle) -> None:
    """Copy everything but the files that wait for their deletion.

    Args:
        source: The catalog, on the connection of the target.
        target: The new one.
        ids: Its ids.
        files: Which files are new; all others are those of the catalog.
        settle: What reads inlined values.
    """
    moved = shared_of(target.tables).moved
    own = moved.c.catalog_id == target.catalog_id
    _note(target, ids)
    copy_tables(source, target, ids, _SPECIAL, settle)
    for name in LAYOUT:
        if name not in (*_SPECIAL, *_APART, *_FILES):
            target.connection.execute(_copy(source, target, name, {}))
    for name in _FILES:
        for table_id, root in source.roots.items():
            statement = _copy(source, target, name, _paths(source, name, root), table_id)
            target.connection.execute(statement)
    assert target.catalog_id is not None
    with bound_otherwise(target.connection, target.catalog_id):
        _place(target, "data_file", ids, files.data)
        _place(target, "delete_file", ids, files.deletes)
    target.connection.execute(moved.delete().where(own))


def _note(target: Target, ids: Ids) -> None:
    moved, kinds = (
        shared_of(target.tables).moved,
        dict[IdKind, Any](snapshot=ids.snapshot, entry=ids.entry, file=ids.file),
    )
    for kind, pairs in kinds.items():
        rows = [
            {"catalog_id": target.catalog_id, "kind": kind, "old_id": old, "new_id": new}
            for old, new in zip(pairs.old, pairs.new, strict=True)
        ]
        for start in range(0, len(rows), _AT_ONCE):
            target.connection.execute(moved.insert(), rows[start : start + _AT_ONCE])


def _paths(source: Source, name: str, root: str) -> dict[str, sa.ColumnElement[Any]]:
    table: sa.Table = getattr(source.tables, name)
    path = sa.case((table.c.path_is_relative.is_(sa.true()), sa.literal(root).concat(table.c.path)), else_=table.c.path)
    if source.connection.dialect.name == "sqlite":
        path = sa.case(
            (
                table.c.path_is_relative == sa.literal(True, table.c.path_is_relative.type),
                sa.literal(root).concat(table.c.path),
            ),
            else_=table.c.path,
        )
    return {"path": path, "path_is_relative": sa.literal(False, table.c.path_is_relative.type)}


def _copy(
    source: Source,
    target: Target,
    name: str,
    changed: Mapping[str, sa.ColumnElement[Any]],
    table_id: int | None = None,
) -> sa.Insert:
    """INSERT … SELECT of the rows of one table of the format, those of one table of the lake if it is given."""
    into: sa.Table = getattr(target.tables, name)
    query = source.query(name)
    columns: dict[str, sa.ColumnElement[Any]] = {str(column.key): column for column in query.selected_columns}
    rows: sa.Table = getattr(source.tables, name)
    for column, kind in id_columns(name).items():
        columns[column] = _new_id(target, kind, rows.c[column])
    columns |= changed
    names = list(columns)
    chosen = query.with_only_columns(*(columns[each].label(each) for each in names))
    if table_id is not None:
        chosen = chosen.where(rows.c.table_id == table_id)
    if name in OWNED:
        names = ["catalog_id", *names]
        chosen = chosen.with_only_columns(
            sa.literal(target.catalog_id, sa.BigInteger()).label("owner"),
            *(columns[each].label(each) for each in names[1:]),
        )
    return into.insert().from_select(names, chosen, include_defaults=False)


def _new_id(target: Target, kind: IdKind, old: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    moved = shared_of(target.tables).moved.c
    return (
        sa.select(moved.new_id)
        .where(moved.catalog_id == target.catalog_id, moved.kind == kind, moved.old_id == old)
        .scalar_subquery()
    )


def _place(target: Target, name: str, ids: Ids, files: Mapping[int, Any]) -> None:
    """Put files that were made for the copy into the place of those of the lake."""
    table: sa.Table = getattr(target.tables, name)
    for old, new in files.items():
        values: dict[str, Any] = {
            "path": new.path,
            "path_is_relative": new.path_is_relative,
            "file_size_bytes": new.size,
            "footer_size": new.footer_size,
        }
        if name == "delete_file":
            values["format"] = "parquet"
        changed = target.connection.execute(table.update().where(table.c[f"{name}_id"] == ids.file[old]).values(values))
        if changed.rowcount != 1:
            raise CatalogError(f"the file {new.path} has no row to stand in", hint="this is a mistake of ours")
