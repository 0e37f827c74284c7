"""What a lake consists of: its own rows in every table of the format, and the ids in them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import sqlalchemy as sa

from quacklake.catalog.audit import load_roots
from quacklake.catalog.files import inlined_deletes
from quacklake.catalog.inlined_columns import describe
from quacklake.catalog.lake import Catalog
from quacklake.catalog.moving.ids import IdKind, id_columns, ids_in_changes
from quacklake.catalog.shared.expired import NONE, load_expired
from quacklake.catalog.shared.layout import only_own, unbound
from quacklake.catalog.tables import LAYOUT, CatalogTables
from quacklake.storage.paths import join

AT_ONCE = 1000
"""Rows on their way at a time."""


class Source:
    """A lake, read in one state of its database.

    Args:
        catalog: The lake.
        connection: To its database, in one state as long as the copy takes.
        writes: Whether the same connection writes meanwhile: then nothing is read bit by bit.
    """

    def __init__(self, catalog: Catalog, connection: sa.Connection, *, writes: bool = False) -> None:
        self.catalog = catalog
        self.connection = connection
        self._writes = writes
        self.tables: CatalogTables = only_own(catalog.tables)
        self.roots = load_roots(connection, catalog.tables, catalog.data_path)
        """The folder of each table."""

    def query(self, name: str) -> sa.Select[Any]:
        """The lake's own rows of a table, with the columns of the format under their names."""
        table: sa.Table = getattr(self.tables, name)
        columns = [table.c[word.partition(":")[0]] for word in LAYOUT[name].split()]
        query = sa.select(*(column.label(column.key) for column in columns))
        if self.tables.shared is None:
            return query
        tables = self.tables
        if name == "tag":
            own = sa.union_all(sa.select(tables.table.c.table_id), sa.select(tables.view.c.view_id))
            return query.where(table.c.object_id.in_(own))
        if name == "name_mapping":
            return query.where(table.c.mapping_id.in_(sa.select(tables.column_mapping.c.mapping_id)))
        if name in ("macro_impl", "macro_parameters"):
            return query.where(table.c.macro_id.in_(sa.select(tables.macro.c.macro_id)))
        return query

    def rows(self, name: str) -> Iterator[list[dict[str, Any]]]:
        """The rows of a table, some at a time."""
        result = self.connection.execute(self.query(name), execution_options={"stream_results": not self._writes})
        if self._writes:
            found = result.mappings().all()
            yield from ([dict(row) for row in found[at : at + AT_ONCE]] for at in range(0, len(found), AT_ONCE))
            return
        for part in result.mappings().partitions(AT_ONCE):
            yield [dict(row) for row in part]

    def path(self, table_id: int, path: str | None, is_relative: bool | None) -> str:
        """The full path of a file of a table."""
        return join(self.roots.get(table_id, self.catalog.data_path), path, is_relative)

    def table_ids(self) -> list[int]:
        """Every table that any snapshot shows."""
        return sorted(self.roots)

    def inlined_tables(self) -> list[tuple[int, str, int]]:
        """The tables of inlined rows: the table they are of, their name and their schema version."""
        table = self.tables.inlined_data_tables.c
        query = sa.select(table.table_id, table.table_name, table.schema_version)
        return [(row[0], row[1], row[2]) for row in self.connection.execute(query.order_by(*query.selected_columns))]

    def inlined_deletes(self, table_id: int) -> sa.TableClause | None:
        """The table that notes deleted rows of files of a table, if there is one."""
        return inlined_deletes(self.connection, self.catalog.tables, self.catalog.backend, table_id)

    def load_inherited(self) -> set[str]:
        """The settings that a shared database has for all of its catalogs, and this one has no value of its own for."""
        settings = unbound(self.catalog.tables.metadata).c
        own = sa.and_(settings.scope == "catalog", settings.scope_id == self.catalog.catalog_id)
        of_all = sa.and_(settings.scope.is_(None), settings.scope_id.is_(None))
        query = sa.select(settings.key).where(sa.or_(own, of_all)).group_by(settings.key)
        return set(self.connection.execute(query.having(sa.func.count(settings.scope) == 0)).scalars())

    def snapshot_ids(self) -> list[int]:
        """The snapshots there are, oldest first."""
        ids = self.connection.execute(sa.select(self.tables.snapshot.c.snapshot_id)).scalars()
        return sorted(ids)


def load_newest_gone(source: Source) -> int | None:
    """The newest snapshot that has expired, if any has."""
    noted = load_expired(source.connection, source.catalog.tables)
    if noted is not None:
        return None if noted == NONE else noted
    there = source.snapshot_ids()
    known = set(there)
    # A lake that is alone counts without gaps.
    return next((id_ for id_ in range(there[-1] - 1, -1, -1) if id_ not in known), None)


def collect_ids(source: Source) -> dict[IdKind, set[int]]:
    """Every id that a row of the lake has or leads to, whether or not it still leads somewhere."""
    columns: dict[IdKind, list[sa.Select[Any]]] = {"snapshot": [], "entry": [], "file": []}
    for name in LAYOUT:
        rows = source.query(name).subquery().c
        for column, kind in id_columns(name).items():
            columns[kind].append(sa.select(rows[column]).where(rows[column].is_not(None)))
    found: dict[IdKind, set[int]] = {
        kind: set(source.connection.execute(sa.union(*each)).scalars()) for kind, each in columns.items()
    }
    counters = source.query("snapshot").subquery().c
    for entries, files in source.connection.execute(sa.select(counters.next_catalog_id, counters.next_file_id)):
        # As many steps as before, for DuckDB tells by them that something was added.
        found["entry"].update([entries - 1] if entries else [])
        found["file"].update([files - 1] if files else [])
    changes = source.tables.snapshot_changes.c.changes_made
    for text in source.connection.execute(sa.select(changes)).scalars():
        found["entry"].update(ids_in_changes(text))
    for _, scope_id in _scopes(source):
        found["entry"].add(scope_id)
    gone = load_newest_gone(source)
    found["snapshot"].update([] if gone is None else [gone])
    for ids in load_turns(source).values():
        found["snapshot"] |= ids
    for table_id in source.table_ids():
        deletes = source.inlined_deletes(table_id)
        if deletes is not None:
            found["file"].update(source.connection.execute(sa.select(deletes.c.file_id).distinct()).scalars())
    return found


def _scopes(source: Source) -> Iterator[tuple[str, int]]:
    settings = source.tables.metadata.c
    for scope, scope_id in source.connection.execute(sa.select(settings.scope, settings.scope_id)).all():
        if scope is not None and scope_id is not None:
            yield scope, scope_id


def load_turns(source: Source) -> Mapping[int, set[int]]:
    """By table, the snapshots in which its rows or columns changed, as far as rows of the catalog say so."""
    found: defaultdict[int, set[int]] = defaultdict(set)
    parts = []
    for name in ("table", "column", "data_file", "delete_file"):
        rows = source.query(name).subquery().c
        for moment in (rows.begin_snapshot, rows.end_snapshot):
            parts.append(sa.select(rows.table_id, moment).where(moment.is_not(None)))
    for table_id, snapshot_id in source.connection.execute(sa.union(*parts)):
        found[table_id].add(snapshot_id)
    for table_id, name, _ in source.inlined_tables():
        stored = describe(source.connection, name, source.tables.sql_schema)
        for column, _ in stored.columns[1:3]:
            value = stored.source.c[column]
            query = sa.select(value).distinct().where(value.is_not(None))
            found[table_id].update(source.connection.execute(query).scalars())
    for table_id in source.table_ids():
        deletes = source.inlined_deletes(table_id)
        if deletes is not None:
            found[table_id].update(source.connection.execute(sa.select(deletes.c.begin_snapshot).distinct()).scalars())
    return found
