"""The columns of a Parquet file as DuckDB sees them, from a footer that pyarrow has read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from quacklake.plan.layout import FileColumn

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import ColumnSchema, FileMetaData, ParquetSchema

_PHYSICAL = {
    "BOOLEAN": "BOOLEAN",
    "INT32": "INTEGER",
    "INT64": "BIGINT",
    "INT96": "TIMESTAMP",
    "FLOAT": "FLOAT",
    "DOUBLE": "DOUBLE",
    "BYTE_ARRAY": "BLOB",
    "FIXED_LEN_BYTE_ARRAY": "BLOB",
}
_INTEGERS = {8: "TINYINT", 16: "SMALLINT", 32: "INTEGER", 64: "BIGINT"}
_LOGICAL = {
    "String": "VARCHAR",
    "Enum": "VARCHAR",
    "UUID": "UUID",
    "Date": "DATE",
    "Interval": "INTERVAL",
    "JSON": "JSON",
    "Float16": "FLOAT",
    "Geometry": "GEOMETRY",
    "Geography": "GEOMETRY",
}


def read_columns(metadata: FileMetaData) -> tuple[FileColumn, ...]:
    """The columns of a file, each with its field id and the type DuckDB reads it as."""
    schema = metadata.schema
    leaves = (schema.column(index) for index in range(len(schema)))
    shape = _Shape(schema, leaves)
    geometries = _geo_columns(metadata)
    return tuple(
        replace(column, type="GEOMETRY") if column.name in geometries else column
        for column in map(shape.column, schema.to_arrow_schema())
    )


class _Shape:
    """Walks pyarrow's view of the columns (which undoes every layout of lists and maps) along with the leaves."""

    def __init__(self, schema: ParquetSchema, leaves: Iterator[ColumnSchema]) -> None:
        self._schema = schema
        self._leaves = leaves

    def column(self, field: pa.Field[Any]) -> FileColumn:
        import pyarrow as pa

        type_: Any = _storage(field.type)
        field_id = _field_id(field)
        if pa.types.is_struct(type_):
            return self._struct(field.name, field_id, [type_.field(index) for index in range(type_.num_fields)])
        if pa.types.is_map(type_):
            children = (self.column(type_.key_field), self.column(type_.item_field))
            return FileColumn(field.name, field_id, "map", children=children)
        if _is_list(type_):
            return FileColumn(field.name, field_id, "list", children=(self._element(type_.value_field),))
        leaf = next(self._leaves)
        logical: dict[str, Any] = json.loads(leaf.logical_type.to_json())
        type_text = leaf_type(leaf.physical_type, logical)
        return FileColumn(field.name, field_id, "leaf", type_text, leaf.physical_type, _logical_name(logical))

    def _struct(self, name: str, field_id: int | None, fields: list[pa.Field[Any]]) -> FileColumn:
        children = tuple(self.column(field) for field in fields)
        if _looks_like_variant(fields) and self._is_variant(name, field_id):
            return FileColumn(name, field_id, "leaf", "VARIANT")
        return FileColumn(name, field_id, "struct", children=children)

    def _is_variant(self, name: str, field_id: int | None) -> bool:
        # pyarrow tells what a group stands for only in the text of the schema.
        number = -1 if field_id is None else field_id
        mark = rf"group field_id={number} {re.escape(name)} \(Variant\("
        return re.search(mark, str(self._schema)) is not None

    def _element(self, field: pa.Field[Any]) -> FileColumn:
        element = self.column(field)
        is_legacy = field.name == "array" or field.name.endswith("_tuple")
        if element.kind == "struct" and len(element.children) == 1 and is_legacy:
            # A repeated group of one field: pyarrow makes it a struct, DuckDB the field itself.
            return element.children[0]
        return element


def _logical_name(logical: Mapping[str, Any]) -> str:
    name: str = logical["Type"]
    unit = logical.get("timeUnit")
    return f"{name} {unit}" if unit else name.replace("None", "")


def leaf_type(physical: str, logical: Mapping[str, Any]) -> str:
    """What DuckDB makes of a leaf, in its own words.

    Args:
        physical: The physical type.
        logical: The logical type, as pyarrow's JSON for it.
    """
    match logical["Type"]:
        case "Int":
            name = _INTEGERS[logical["bitWidth"]]
            return name if logical["isSigned"] else "U" + name
        case "Decimal":
            return f"DECIMAL({logical['precision']},{logical['scale']})"
        case "Timestamp":
            if logical["isAdjustedToUTC"]:
                return "TIMESTAMP WITH TIME ZONE"
            return "TIMESTAMP_NS" if logical["timeUnit"] == "nanoseconds" else "TIMESTAMP"
        case "Time":
            return "TIME WITH TIME ZONE" if logical["isAdjustedToUTC"] else "TIME"
        case other:
            return _LOGICAL.get(other) or _PHYSICAL[physical]


def _looks_like_variant(fields: list[pa.Field[Any]]) -> bool:
    names = [field.name for field in fields]
    return names in (["metadata", "value"], ["metadata", "value", "typed_value"]) and not fields[0].nullable


def _is_list(type_: pa.DataType) -> bool:
    import pyarrow as pa

    return (
        pa.types.is_list(type_)
        or pa.types.is_large_list(type_)
        or pa.types.is_fixed_size_list(type_)
        or pa.types.is_list_view(type_)
        or pa.types.is_large_list_view(type_)
    )


def _storage(type_: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    while isinstance(type_, pa.BaseExtensionType):
        type_ = type_.storage_type
    return type_


def _geo_columns(metadata: FileMetaData) -> frozenset[str]:
    """The columns that GeoParquet, an older convention than Parquet's own type, declares to be geometries."""
    text = (metadata.metadata or {}).get(b"geo")
    try:
        columns = json.loads(text)["columns"] if text else {}
    except (ValueError, KeyError, TypeError):
        return frozenset()
    return frozenset(name for name, about in columns.items() if about.get("encoding") == "WKB")


def _field_id(field: pa.Field[Any]) -> int | None:
    text = (field.metadata or {}).get(b"PARQUET:field_id")
    return None if text is None or int(text) < 0 else int(text)
