"""Catalogs of old versions, seen as if they were of the current one.

Each table of the format becomes a subquery that has the columns of today: what an old version lacks is NULL, a
table it does not have is empty, and what it kept in another shape is turned into today's. So nothing that reads
the catalog has to know versions, and nothing in the old catalog is changed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import sqlalchemy as sa

from quacklake.catalog.tables import LAYOUT, SNAPSHOT, TYPES, CatalogTables, build_tables, prepared, visible
from quacklake.plan.scan import ScanFile

if TYPE_CHECKING:
    from quacklake.catalog.queries import Query

_FORMER_NAMES = {"file_column_stats": "ducklake_file_column_statistics"}
_PARTIAL_MAX = "partial_max:"


def old_tables(
    version: str, found: Mapping[str, Collection[str]], sql_schema: str | None, dialect: sa.Dialect
) -> CatalogTables:
    """The tables of an old catalog under today's names and columns.

    Args:
        version: What the catalog says it is.
        found: The tables that are there, with the names of their columns.
        sql_schema: Where they are.
        dialect: Of the database; strict ones want a type for NULL.
    """
    bridge = _Bridge(version, found, sql_schema, dialect)
    today = build_tables(sql_schema)
    shown: dict[str, Any] = {name: bridge.show(name) for name in LAYOUT}
    files = bridge.real("data_file")
    has_splits = files is not None and "partial_file_info" in files.c
    return replace(today, **shown, split_files=cast(sa.Table, files) if has_splits else None, prepared={})


class _Bridge:
    def __init__(
        self, version: str, found: Mapping[str, Collection[str]], sql_schema: str | None, dialect: sa.Dialect
    ) -> None:
        self._version = version
        self._found = found
        self._sql_schema = sql_schema
        # SQLite and MySQL have no types for NULL, and MySQL none for some casts.
        self._typed_nulls = dialect.name in ("postgresql", "duckdb")

    def real(self, name: str) -> sa.TableClause | None:
        """The table as it is, or None."""
        known = dict(word.rstrip("!*").split(":") for word in LAYOUT[name].split())
        for stored in (f"ducklake_{name}", _FORMER_NAMES.get(name, "")):
            if stored in self._found:
                columns: list[sa.ColumnClause[Any]] = [
                    sa.column(column, TYPES[known.get(column, "text")]) for column in self._found[stored]
                ]
                return sa.table(stored, *columns, schema=self._sql_schema)
        return None

    def _needed(self, name: str) -> sa.TableClause:
        table = self.real(name)
        assert table is not None, f"every version has ducklake_{name}"
        return table

    def show(self, name: str) -> sa.Subquery:
        """The table as it would be today."""
        if name == "schema_versions":
            return self._schema_versions()
        if name == "partition_column" and self._version == "0.1":
            return self._partition_columns()
        table = self.real(name)
        if table is None:
            return (
                sa.select(*self._columns(name, None)).select_from(self._needed("snapshot")).where(sa.false()).subquery()
            )
        return sa.select(*self._columns(name, table)).select_from(table).subquery()

    def _columns(self, name: str, table: sa.TableClause | None) -> list[sa.ColumnElement[Any]]:
        shown: list[sa.ColumnElement[Any]] = []
        for word in LAYOUT[name].split():
            column, kind = word.rstrip("!*").split(":")
            if name == "data_file" and column == "partial_max" and table is not None:
                shown.append(self._partial_max(table).label(column))
            elif table is not None and column in table.c:
                shown.append(table.c[column])
            else:
                shown.append(self._null(kind).label(column))
        return shown

    def _null(self, kind: str) -> sa.ColumnElement[Any]:
        type_ = TYPES[kind]
        return sa.cast(sa.null(), type_) if self._typed_nulls else sa.type_coerce(sa.null(), type_)

    def _partial_max(self, files: sa.TableClause) -> sa.ColumnElement[Any]:
        stored: sa.ColumnElement[Any] = files.c.get("partial_max", self._null("int"))
        if "partial_file_info" not in files.c:
            return stored
        info = files.c.partial_file_info
        number = sa.cast(sa.func.substr(info, len(_PARTIAL_MAX) + 1), sa.BigInteger())
        from_text = sa.case((info.startswith(_PARTIAL_MAX, autoescape=True), number), else_=self._null("int"))
        return sa.func.coalesce(stored, from_text, type_=sa.BigInteger())

    def _schema_versions(self) -> sa.Subquery:
        versions, snapshot, table = self.real("schema_versions"), self._needed("snapshot"), self._needed("table")
        if versions is not None and "table_id" in versions.c:
            return sa.select(*self._columns("schema_versions", versions)).subquery()
        if versions is not None:
            lake = sa.select(versions.c.begin_snapshot, versions.c.schema_version).subquery()
        else:
            began = sa.func.min(snapshot.c.snapshot_id).label("begin_snapshot")
            lake = sa.select(began, snapshot.c.schema_version).group_by(snapshot.c.schema_version).subquery()
        # Versions were counted for the whole lake: each is one of every table that was there.
        there = sa.and_(
            table.c.begin_snapshot <= lake.c.begin_snapshot,
            sa.or_(table.c.end_snapshot.is_(None), table.c.end_snapshot > lake.c.begin_snapshot),
        )
        return (
            sa.select(lake.c.begin_snapshot, lake.c.schema_version, table.c.table_id)
            .select_from(lake.join(table, there))
            .subquery()
        )

    def _partition_columns(self) -> sa.Subquery:
        # The first version stored the place of the column among the live ones, not its id.
        keys, columns = self._needed("partition_column"), self._needed("column")
        place = sa.func.row_number().over(partition_by=columns.c.table_id, order_by=columns.c.column_order) - 1
        live = (
            sa.select(columns.c.table_id, columns.c.column_id, place.label("place"))
            .where(columns.c.parent_column.is_(None), columns.c.end_snapshot.is_(None))
            .subquery()
        )
        same = sa.and_(live.c.table_id == keys.c.table_id, live.c.place == keys.c.column_id)
        shown = [each for each in self._columns("partition_column", keys) if each.key != "column_id"]
        return sa.select(*shown, live.c.column_id).select_from(keys.join(live, same)).subquery()


def parse_splits(text: str | None) -> list[tuple[int, int]] | None:
    """What old versions say of a merged file: `2:4|6:7`, up to which snapshot how many of its rows exist."""
    if not text or text.startswith(_PARTIAL_MAX):
        return None
    return [(int(snapshot), int(rows)) for snapshot, _, rows in (part.partition(":") for part in text.split("|"))]


@prepared
def _all_splits(tables: CatalogTables) -> Query:
    files = tables.split_files
    assert files is not None
    return sa.select(files.c.data_file_id, files.c.partial_file_info).where(
        files.c.table_id == sa.bindparam("table", type_=sa.BigInteger()), files.c.partial_file_info.is_not(None)
    )


@prepared
def _splits_of_table(tables: CatalogTables) -> Query:
    files = tables.split_files
    assert files is not None
    return _all_splits(tables).where(visible(files, SNAPSHOT))


def cut_split_files(
    connection: sa.Connection, tables: CatalogTables, table_id: int, snapshot_id: int, files: tuple[ScanFile, ...]
) -> tuple[ScanFile, ...]:
    """Take from merged files of old versions the rows that are younger than the snapshot."""
    if tables.split_files is None or not files:
        return files
    rows = connection.execute(_splits_of_table(tables), {"snapshot": snapshot_id, "table": table_id})
    splits = {file_id: parse_splits(text) for file_id, text in rows}
    return tuple(_cut(file, splits.get(file.file_id), snapshot_id) for file in files)


def _cut(file: ScanFile, splits: list[tuple[int, int]] | None, snapshot_id: int) -> ScanFile:
    if splits is None:
        return file
    shown = max((rows for snapshot, rows in splits if snapshot <= snapshot_id), default=0)
    hidden = range(shown, file.record_count)
    return replace(file, deleted_positions=tuple(sorted({*file.deleted_positions, *hidden}))) if hidden else file


def split_births(
    connection: sa.Connection, tables: CatalogTables, table_id: int, start: int, end: int, files: list[ScanFile]
) -> list[ScanFile]:
    """The files, but merged ones of old versions once for every snapshot of a range in which rows of them were born."""
    if tables.split_files is None or not files:
        return files
    rows = connection.execute(_all_splits(tables), {"table": table_id})
    splits = {file_id: parse_splits(text) for file_id, text in rows}
    found: list[ScanFile] = []
    for file in files:
        parts = splits.get(file.file_id)
        found += [file] if parts is None else _born_in(file, parts, start, end)
    return found


def _born_in(file: ScanFile, splits: list[tuple[int, int]], start: int, end: int) -> list[ScanFile]:
    parts = []
    before = 0
    for snapshot, rows in sorted(splits):
        if start <= snapshot <= end:
            others = (*range(before), *range(rows, file.record_count))
            parts.append(replace(file, begin_snapshot=snapshot, deleted_positions=others))
        before = rows
    return parts
