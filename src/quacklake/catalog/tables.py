"""The tables of DuckLake 1.0 as SQLAlchemy Core tables.

The order of the columns is part of the format: DuckDB inserts by position. Names here are the format's own,
everywhere else in the project the words of ARCHITECTURE.md are used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import sqlalchemy as sa

from quacklake.catalog.columns import TEXT, Flag, Moment, Uuid

# table -> its columns in order; "!" marks a primary key, "*" a column that is NOT NULL.
_LAYOUT: Mapping[str, str] = {
    "metadata": "key:text* value:text* scope:text scope_id:int",
    "snapshot": "snapshot_id:int! snapshot_time:moment schema_version:int next_catalog_id:int next_file_id:int",
    "snapshot_changes": "snapshot_id:int! changes_made:text author:text commit_message:text commit_extra_info:text",
    "schema": "schema_id:int! schema_uuid:uuid begin_snapshot:int end_snapshot:int schema_name:text path:text path_is_relative:flag",
    "table": "table_id:int table_uuid:uuid begin_snapshot:int end_snapshot:int schema_id:int table_name:text path:text path_is_relative:flag",
    "view": "view_id:int view_uuid:uuid begin_snapshot:int end_snapshot:int schema_id:int view_name:text dialect:text sql:text column_aliases:text",
    "tag": "object_id:int begin_snapshot:int end_snapshot:int key:text value:text",
    "column_tag": "table_id:int column_id:int begin_snapshot:int end_snapshot:int key:text value:text",
    "data_file": "data_file_id:int! table_id:int begin_snapshot:int end_snapshot:int file_order:int path:text path_is_relative:flag"
    " file_format:text record_count:int file_size_bytes:int footer_size:int row_id_start:int partition_id:int encryption_key:text"
    " mapping_id:int partial_max:int",
    "file_column_stats": "data_file_id:int table_id:int column_id:int column_size_bytes:int value_count:int null_count:int min_value:text"
    " max_value:text contains_nan:flag extra_stats:text",
    "file_variant_stats": "data_file_id:int table_id:int column_id:int variant_path:text shredded_type:text column_size_bytes:int"
    " value_count:int null_count:int min_value:text max_value:text contains_nan:flag extra_stats:text",
    "delete_file": "delete_file_id:int! table_id:int begin_snapshot:int end_snapshot:int data_file_id:int path:text path_is_relative:flag"
    " format:text delete_count:int file_size_bytes:int footer_size:int encryption_key:text partial_max:int",
    "column": "column_id:int begin_snapshot:int end_snapshot:int table_id:int column_order:int column_name:text column_type:text"
    " initial_default:text default_value:text nulls_allowed:flag parent_column:int default_value_type:text default_value_dialect:text",
    "table_stats": "table_id:int record_count:int next_row_id:int file_size_bytes:int",
    "table_column_stats": "table_id:int column_id:int contains_null:flag contains_nan:flag min_value:text max_value:text extra_stats:text",
    "partition_info": "partition_id:int table_id:int begin_snapshot:int end_snapshot:int",
    "partition_column": "partition_id:int table_id:int partition_key_index:int column_id:int transform:text",
    "file_partition_value": "data_file_id:int table_id:int partition_key_index:int partition_value:text",
    "files_scheduled_for_deletion": "data_file_id:int path:text path_is_relative:flag schedule_start:moment",
    "inlined_data_tables": "table_id:int table_name:text schema_version:int",
    "column_mapping": "mapping_id:int table_id:int type:text",
    "name_mapping": "mapping_id:int column_id:int source_name:text target_field_id:int parent_column:int is_partition:flag",
    "schema_versions": "begin_snapshot:int schema_version:int table_id:int",
    "macro": "schema_id:int macro_id:int macro_name:text begin_snapshot:int end_snapshot:int",
    "macro_impl": "macro_id:int impl_id:int dialect:text sql:text type:text",
    "macro_parameters": "macro_id:int impl_id:int column_id:int parameter_name:text parameter_type:text default_value:text default_value_type:text",
    "sort_info": "sort_id:int table_id:int begin_snapshot:int end_snapshot:int",
    "sort_expression": "sort_id:int table_id:int sort_key_index:int expression:text dialect:text sort_direction:text null_order:text",
}
_TYPES: Mapping[str, sa.types.TypeEngine[object]] = {
    "int": sa.BigInteger(),
    "text": TEXT,
    "flag": Flag(),
    "moment": Moment(),
    "uuid": Uuid(),
}


@dataclass(frozen=True, slots=True)
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

    def __iter__(self) -> Iterator[sa.Table]:
        return (getattr(self, field.name) for field in fields(self))

    @property
    def sql_schema(self) -> str | None:
        """The SQL schema that holds the tables; inlined rows live there as well."""
        return self.metadata.schema

    @property
    def registry(self) -> sa.MetaData:
        """What creates them all, in the order DuckDB does."""
        return self.metadata.metadata


def build_tables(sql_schema: str | None = None) -> CatalogTables:
    """The tables of the format in the given SQL schema."""
    registry = sa.MetaData(schema=sql_schema)
    return CatalogTables(**{name: _build(registry, name, layout) for name, layout in _LAYOUT.items()})


def _build(registry: sa.MetaData, name: str, layout: str) -> sa.Table:
    columns = []
    for word in layout.split():
        column, kind = word.rstrip("!*").split(":")
        columns.append(
            sa.Column(
                column,
                _TYPES[kind],
                primary_key=word.endswith("!"),
                nullable=not word.endswith(("!", "*")),
                # Ids come from the snapshot, never from the database.
                autoincrement=False,
            )
        )
    return sa.Table(f"ducklake_{name}", registry, *columns)


def visible(table: sa.Table, snapshot_id: int) -> sa.ColumnElement[bool]:
    """The rows of a versioned table that a snapshot shows."""
    return sa.and_(
        table.c.begin_snapshot <= snapshot_id,
        sa.or_(table.c.end_snapshot.is_(None), table.c.end_snapshot > snapshot_id),
    )


def optional(table: sa.Table, column: str) -> sa.ColumnElement[Any]:
    """The column, or NULL under its name where an older version of the format has none."""
    found = table.c.get(column)
    return sa.null().label(column) if found is None else found
