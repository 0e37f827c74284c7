"""The tables of a database that many catalogs share.

They are those of the format, and ten of them say with each row which catalog it belongs to. What hangs on a table or
a file belongs to whom that belongs, for ids are given out once in the whole database.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from quacklake.catalog.tables import LAYOUT, TYPES, CatalogTables, build_table, build_tables, of_own_tables, prepared

OWNED = (
    "snapshot",
    "snapshot_changes",
    "schema",
    "table",
    "view",
    "macro",
    "table_stats",
    "partition_info",
    "schema_versions",
    "files_scheduled_for_deletion",
)
"""The tables, without prefix, whose rows say to which catalog they belong."""

CATALOG = sa.bindparam("quacklake_catalog", type_=sa.BigInteger(), required=True)
"""The catalog whose rows a statement is about. A connection that is bound to one gives it to every statement."""
IS_OWNED, IS_SETTINGS, HANGS_ON = "quacklake_owned", "quacklake_settings", "quacklake_hangs_on"
"""Noted at tables, for whoever turns statements into text. The last says which rows may be changed, where they belong
to whom a table belongs."""
KINDS = ("catalog", "snapshot", "entry", "file")
"""What has ids of its own: catalogs; snapshots; namespaces, tables and the like; files and name mappings."""
LONGEST_NAME = 255


@dataclass(frozen=True, slots=True, eq=False)
class SharedTables:
    """What a shared database has besides the tables of the format."""

    catalog: sa.Table
    """The catalogs and their names."""
    tenant: sa.Table
    """What we need to know of each catalog."""
    counter: sa.Table
    """The next ids, where the database has no sequences."""
    holder: sa.Table
    """Files that more than one needs, and who does."""
    moved: sa.Table
    """Which id becomes which, while a catalog is copied."""


@lru_cache(maxsize=64)
def build_shared_tables(sql_schema: str | None = None) -> CatalogTables:
    """The tables of a shared database in an SQL schema, the same objects every time."""
    registry = sa.MetaData(schema=sql_schema)
    made: dict[str, Any] = {name: build_table(name, registry) for name in LAYOUT if name not in OWNED}
    made["metadata"].info[IS_SETTINGS] = sql_schema
    for name in OWNED:
        made[name] = _owned_table(name, registry)
    tables = replace(build_tables(sql_schema), **made, shared=_build_extra(registry), prepared={})
    for name in LAYOUT:
        if name not in OWNED and "table_id" in made[name].c:
            made[name].info[HANGS_ON] = of_own_tables(tables, made[name].c.table_id)[0]
    objects = sa.union_all(sa.select(tables.table.c.table_id), sa.select(tables.view.c.view_id))
    tables.tag.info[HANGS_ON] = tables.tag.c.object_id.in_(objects)
    return tables


def unbound(table: sa.Table) -> sa.TableClause:
    """A table to read with the rows of all catalogs in it, for those who look after them."""
    columns: list[sa.ColumnClause[Any]] = [sa.column(column.name, column.type) for column in table.c]
    return sa.table(table.name, *columns, schema=table.schema)


@prepared
def only_own(tables: CatalogTables) -> CatalogTables:
    """The tables to read, with what hangs on tables of other catalogs left out too: as if the catalog were alone."""
    if tables.shared is None:
        return tables
    shown: dict[str, Any] = {}
    for name in LAYOUT:
        table: sa.Table = getattr(tables, name)
        if name not in OWNED and "table_id" in table.c:
            own = sa.select(table).where(*of_own_tables(tables, table.c.table_id))
            shown[name] = own.subquery(table.name)
    return replace(tables, **shown, prepared={})


def _owned_table(name: str, registry: sa.MetaData) -> sa.Table:
    plain = build_table(name, sa.MetaData())
    owner = sa.Column("catalog_id", sa.BigInteger(), nullable=False, autoincrement=False, default=CATALOG)
    columns = [_renamed(column) for column in plain.columns]
    return sa.Table(plain.name, registry, owner, *columns, info={IS_OWNED: True})


def _renamed(column: sa.Column[Any]) -> sa.Column[Any]:
    # Where there are catalogs with ids, the next id of an entry needs another name. Statements know it by the old one.
    name = "next_entry_id" if column.name == "next_catalog_id" else column.name
    return sa.Column(
        name,
        column.type,
        key=column.name,
        primary_key=column.primary_key,
        nullable=column.nullable,
        autoincrement=False,
    )


def _build_extra(registry: sa.MetaData) -> SharedTables:
    def number(name: str, **settings: Any) -> sa.Column[int]:
        return sa.Column(name, sa.BigInteger(), autoincrement=False, **settings)

    # In the order of its bytes everywhere, so that those with a prefix are found by an index.
    name = sa.String(LONGEST_NAME).with_variant(sa.String(LONGEST_NAME, collation="C"), "postgresql")
    return SharedTables(
        catalog=sa.Table(
            "ducklake_catalog",
            registry,
            number("catalog_id", primary_key=True),
            sa.Column("catalog_name", name, unique=True),
            number("created_snapshot"),
        ),
        tenant=sa.Table(
            "quacklake_tenant",
            registry,
            number("catalog_id", primary_key=True),
            # Names that differ in nothing but case would share a folder on some disks.
            sa.Column("name_key", name, nullable=False, unique=True),
            sa.Column("path", TYPES["text"], nullable=False),
            sa.Column("path_is_relative", TYPES["flag"], nullable=False),
            sa.Column("path_key", sa.String(64), nullable=False, unique=True),
            sa.Column("created_at", TYPES["moment"]),
            number("expired_snapshot"),
        ),
        counter=sa.Table(
            "quacklake_counter",
            registry,
            sa.Column("name", sa.String(16), primary_key=True),
            number("next_id", nullable=False),
        ),
        holder=sa.Table(
            "quacklake_file_holder",
            registry,
            sa.Column("path_key", sa.String(64), nullable=False),
            sa.Column("path", TYPES["text"], nullable=False),
            number("catalog_id", nullable=False),
        ),
        moved=sa.Table(
            "quacklake_moved_id",
            registry,
            number("catalog_id", nullable=False),
            sa.Column("kind", sa.String(16), nullable=False),
            number("old_id", nullable=False),
            number("new_id", nullable=False),
        ),
    )
