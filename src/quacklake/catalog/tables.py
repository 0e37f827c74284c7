"""The tables of DuckLake 1.0 as SQLAlchemy Core tables.

The order of the columns is part of the format: DuckDB inserts by position. Names here are the format's own,
everywhere else in the project the words of ARCHITECTURE.md are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa

from quacklake.catalog.columns import TEXT, Flag, Moment, Uuid

if TYPE_CHECKING:
    from quacklake.catalog.shared.layout import SharedTables

# table -> its columns in order; "!" marks a primary key, "*" a column that is NOT NULL.
LAYOUT: Mapping[str, str] = {
    "metadata": "key:text* value:text* scope:text scope_id:int",
    "snapshot": "snapshot_id:int! snapshot_time:moment schema_version:int next_catalog_id:int next_file_id:int",
    "snapshot_changes": "snapshot_id:int! changes_made:text author:text commit_message:text commit_extra_info:text",
    "schema": (
        "schema_id:int! schema_uuid:uuid begin_snapshot:int end_snapshot:int schema_name:text path:text "
        "path_is_relative:flag"
    ),
    "table": (
        "table_id:int table_uuid:uuid begin_snapshot:int end_snapshot:int schema_id:int table_name:text "
        "path:text path_is_relative:flag"
    ),
    "view": (
        "view_id:int view_uuid:uuid begin_snapshot:int end_snapshot:int schema_id:int view_name:text "
        "dialect:text sql:text column_aliases:text"
    ),
    "tag": "object_id:int begin_snapshot:int end_snapshot:int key:text value:text",
    "column_tag": "table_id:int column_id:int begin_snapshot:int end_snapshot:int key:text value:text",
    "data_file": (
        "data_file_id:int! table_id:int begin_snapshot:int end_snapshot:int file_order:int path:text "
        "path_is_relative:flag file_format:text record_count:int file_size_bytes:int footer_size:int "
        "row_id_start:int partition_id:int encryption_key:text mapping_id:int partial_max:int"
    ),
    "file_column_stats": (
        "data_file_id:int table_id:int column_id:int column_size_bytes:int value_count:int null_count:int "
        "min_value:text max_value:text contains_nan:flag extra_stats:text"
    ),
    "file_variant_stats": (
        "data_file_id:int table_id:int column_id:int variant_path:text shredded_type:text "
        "column_size_bytes:int value_count:int null_count:int min_value:text max_value:text contains_nan:flag "
        "extra_stats:text"
    ),
    "delete_file": (
        "delete_file_id:int! table_id:int begin_snapshot:int end_snapshot:int data_file_id:int path:text "
        "path_is_relative:flag format:text delete_count:int file_size_bytes:int footer_size:int "
        "encryption_key:text partial_max:int"
    ),
    "column": (
        "column_id:int begin_snapshot:int end_snapshot:int table_id:int column_order:int column_name:text "
        "column_type:text initial_default:text default_value:text nulls_allowed:flag parent_column:int "
        "default_value_type:text default_value_dialect:text"
    ),
    "table_stats": "table_id:int record_count:int next_row_id:int file_size_bytes:int",
    "table_column_stats": (
        "table_id:int column_id:int contains_null:flag contains_nan:flag min_value:text max_value:text extra_stats:text"
    ),
    "partition_info": "partition_id:int table_id:int begin_snapshot:int end_snapshot:int",
    "partition_column": "partition_id:int table_id:int partition_key_index:int column_id:int transform:text",
    "file_partition_value": "data_file_id:int table_id:int partition_key_index:int partition_value:text",
    "files_scheduled_for_deletion": "data_file_id:int path:text path_is_relative:flag schedule_start:moment",
    "inlined_data_tables": "table_id:int table_name:text schema_version:int",
    "column_mapping": "mapping_id:int table_id:int type:text",
    "name_mapping": (
        "mapping_id:int column_id:int source_name:text target_field_id:int parent_column:int is_partition:flag"
    ),
    "schema_versions": "begin_snapshot:int schema_version:int table_id:int",
    "macro": "schema_id:int macro_id:int macro_name:text begin_snapshot:int end_snapshot:int",
    "macro_impl": "macro_id:int impl_id:int dialect:text sql:text type:text",
    "macro_parameters": (
        "macro_id:int impl_id:int column_id:int parameter_name:text parameter_type:text default_value:text "
        "default_value_type:text"
    ),
    "sort_info": "sort_id:int table_id:int begin_snapshot:int end_snapshot:int",
    "sort_expression": (
        "sort_id:int table_id:int sort_key_index:int expression:text dialect:text sort_direction:text null_order:text"
    ),
}
"""The tables by their names without prefix, each with its columns in order."""

TYPES: Mapping[str, sa.types.TypeEngine[Any]] = {
    "int": sa.BigInteger(),
    "text": TEXT,
    "flag": Flag(),
    "moment": Moment(),
    "uuid": Uuid(),
}


S = TypeVar("S")

SNAPSHOT = sa.bindparam("snapshot", type_=sa.BigInteger())
"""The snapshot that a prepared statement asks for; of several, the last."""
START = sa.bindparam("start", type_=sa.BigInteger())
"""The first of several snapshots that a prepared statement asks for."""


@dataclass(frozen=True, slots=True, eq=False)
class CatalogTables:
    """The 28 tables in one SQL schema, under the names of the format without their `ducklake_` prefix."""

    metadata: sa.Table
    snapshot: sa.Table
    snapshot_changes: sa.Table
    schema: sa.Table
    table: sa.Table
    view: sa.Table
    tag: sa.Table
    column_tag: sa.Table
    data_file: sa.Table
    file_column_stats: sa.Table
    file_variant_stats: sa.Table
    delete_file: sa.Table
    column: sa.Table
    table_stats: sa.Table
    table_column_stats: sa.Table
    partition_info: sa.Table
    partition_column: sa.Table
    file_partition_value: sa.Table
    files_scheduled_for_deletion: sa.Table
    inlined_data_tables: sa.Table
    column_mapping: sa.Table
    name_mapping: sa.Table
    schema_versions: sa.Table
    macro: sa.Table
    macro_impl: sa.Table
    macro_parameters: sa.Table
    sort_info: sa.Table
    sort_expression: sa.Table
    sql_schema: str | None = None
    """The SQL schema that holds the tables; inlined rows live there as well."""
    split_files: sa.Table | None = None
    """Where an old catalog keeps which rows of a merged file each snapshot shows; None where there is no such thing."""
    shared: SharedTables | None = None
    """What there is besides in a database that many catalogs share; None where a lake is alone."""
    prepared: dict[Any, Any] = field(default_factory=dict, repr=False)
    """Statements on these tables that have been built already."""

    def __iter__(self) -> Iterator[sa.Table]:
        return (getattr(self, name) for name in LAYOUT)


def prepared(build: Callable[[CatalogTables], S]) -> Callable[[CatalogTables], S]:
    """Build a statement once for a set of tables: to build one takes longer than to run it."""

    @wraps(build)
    def get(tables: CatalogTables) -> S:
        found: S | None = tables.prepared.get(build)
        if found is None:
            found = tables.prepared[build] = build(tables)
        return found

    return get


@lru_cache(maxsize=64)
def build_tables(sql_schema: str | None = None) -> CatalogTables:
    """The tables of the format in an SQL schema, the same objects every time: statements are cached by them."""
    registry = sa.MetaData(schema=sql_schema)
    tables: dict[str, Any] = {name: build_table(name, registry) for name in LAYOUT}
    return CatalogTables(**tables, sql_schema=sql_schema)


def build_table(name: str, registry: sa.MetaData) -> sa.Table:
    """One table of the format, by its name without prefix."""
    columns = []
    for word in LAYOUT[name].split():
        column, kind = word.rstrip("!*").split(":")
        columns.append(
            sa.Column(
                column,
                TYPES[kind],
                primary_key=word.endswith("!"),
                nullable=not word.endswith(("!", "*")),
                # Ids come from the snapshot, never from the database.
                autoincrement=False,
            )
        )
    return sa.Table(f"ducklake_{name}", registry, *columns)


def of_own_tables(tables: CatalogTables, table_id: sa.ColumnElement[int]) -> Sequence[sa.ColumnElement[bool]]:
    """The condition that keeps to what belongs to tables of the lake; where it is alone, all does."""
    return () if tables.shared is None else (table_id.in_(sa.select(tables.table.c.table_id)),)


def visible(table: sa.FromClause, snapshot_id: int | sa.ColumnElement[int] = SNAPSHOT) -> sa.ColumnElement[bool]:
    """The rows of a versioned table that a snapshot shows."""
    return sa.and_(
        table.c.begin_snapshot <= snapshot_id,
        sa.or_(table.c.end_snapshot.is_(None), table.c.end_snapshot > snapshot_id),
    )


def optional(table: sa.FromClause, column: str) -> sa.ColumnElement[Any]:
    """The column, or NULL under its name where an older version of the format has none."""
    found = table.c.get(column)
    return sa.null().label(column) if found is None else found
