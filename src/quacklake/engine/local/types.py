"""What each type of a lake is in DuckDB and in Arrow.

DuckDB holds every type of the format. Arrow does not, so on the way out (`export_sql`) these change:

| in the lake | in Arrow | why |
|---|---|---|
| `int128` | `decimal128(38, 0)` | a value of 39 digits is refused |
| `uint128` | text | it has 39 digits |
| `timetz`, `interval` | text as DuckDB writes it | Arrow has no time with a zone; Polars has no interval |
| `uuid`, `json` | text | as DuckDB does |
| `variant` | JSON in Arrow's own `arrow.json` type | what reads it back sees an object, not a text |
| `geometry` | WKB, marked `geoarrow.wkb` | as DuckDB does |

All others are Arrow's type of the same name; a timestamp with zone is in UTC. `infinity` of a date or timestamp is
the largest (smallest) number the type has, in DuckDB as in Arrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any

from quacklake.errors import UnsupportedError
from quacklake.names import quote
from quacklake.plan.scan import ROW_ID, SNAPSHOT_ID, ScanPlan
from quacklake.schema import Column
from quacklake.types import DataType, Decimal, ListOf, MapOf, Primitive, Struct, children

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

_DUCKDB = {
    "boolean": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "int128": "HUGEINT",
    "uint8": "UTINYINT",
    "uint16": "USMALLINT",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
    "uint128": "UHUGEINT",
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "time": "TIME",
    "time_ns": "TIME_NS",
    "timetz": "TIME WITH TIME ZONE",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamp_ms": "TIMESTAMP_MS",
    "timestamp_ns": "TIMESTAMP_NS",
    "timestamp_s": "TIMESTAMP_S",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
    "interval": "INTERVAL",
    "varchar": "VARCHAR",
    "blob": "BLOB",
    "uuid": "UUID",
    "json": "JSON",
    "variant": "VARIANT",
    "geometry": "GEOMETRY",
}
_CHANGED = frozenset(("int128", "uint128", "timetz", "interval", "variant"))
"""What DuckDB cannot hand to Arrow as it is."""
GEOMETRY_METADATA = {"ARROW:extension:name": "geoarrow.wkb", "ARROW:extension:metadata": "{}"}


@lru_cache(maxsize=4096)
def duckdb_type(type_: DataType) -> str:
    """The type in DuckDB's SQL.

    Raises:
        UnsupportedError: For a type that no column of a table can have.
    """
    match type_:
        case Struct(fields):
            return "STRUCT(" + ", ".join(f"{quote(each.name)} {duckdb_type(each.type)}" for each in fields) + ")"
        case ListOf(element):
            return f"{duckdb_type(element.type)}[]"
        case MapOf(key, value):
            return f"MAP({duckdb_type(key.type)}, {duckdb_type(value.type)})"
        case Decimal(precision, scale):
            return f"DECIMAL({precision},{scale})"
        case Primitive(name):
            if name in _DUCKDB:
                return _DUCKDB[name]
            raise UnsupportedError(f"a column of type {name!r} cannot be read")


def arrow_type(type_: DataType) -> pa.DataType:
    """The type that the values have when they leave."""
    import pyarrow as pa

    match type_:
        case Struct(fields):
            return pa.struct([arrow_field(each) for each in fields])
        case ListOf(element):
            return pa.list_(arrow_field(element, "element"))
        case MapOf(key, value):
            # The stubs know no fields here, which are needed to pass on their marks.
            map_type: Any = pa.map_
            found: pa.DataType = map_type(arrow_field(key, "key", nullable=False), arrow_field(value, "value"))
            return found
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case Primitive(name):
            return _arrow_primitives()[name]


def arrow_field(column: Column, name: str | None = None, *, nullable: bool = True) -> pa.Field[Any]:
    """The column as an Arrow field."""
    import pyarrow as pa

    marks = GEOMETRY_METADATA if column.type == Primitive("geometry") else None
    return pa.field(column.name if name is None else name, arrow_type(column.type), nullable, marks)


def output_schema(plan: ScanPlan) -> pa.Schema:
    """The columns that a plan gives, which depend on nothing but the plan."""
    import pyarrow as pa

    hidden = [pa.field(name, pa.int64()) for name in (ROW_ID, SNAPSHOT_ID)] if plan.row_ids else []
    return pa.schema([*hidden, *(arrow_field(column) for column in plan.columns)])


def in_views(schema: pa.Schema) -> pa.Schema:
    """The schema with texts and bytes as Polars holds them, which saves a copy of each on the way there."""
    import pyarrow as pa

    views: dict[Any, Any] = {pa.string(): pa.string_view(), pa.binary(): pa.binary_view()}
    return pa.schema([field.with_type(views.get(field.type, field.type)) for field in schema])


@lru_cache(maxsize=1)
def _arrow_primitives() -> dict[str, pa.DataType]:
    import pyarrow as pa

    return {
        "boolean": pa.bool_(),
        "int8": pa.int8(),
        "int16": pa.int16(),
        "int32": pa.int32(),
        "int64": pa.int64(),
        "int128": pa.decimal128(38, 0),
        "uint8": pa.uint8(),
        "uint16": pa.uint16(),
        "uint32": pa.uint32(),
        "uint64": pa.uint64(),
        "uint128": pa.string(),
        "float32": pa.float32(),
        "float64": pa.float64(),
        "time": pa.time64("us"),
        "time_ns": pa.time64("ns"),
        "timetz": pa.string(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us"),
        "timestamp_ms": pa.timestamp("ms"),
        "timestamp_ns": pa.timestamp("ns"),
        "timestamp_s": pa.timestamp("s"),
        "timestamptz": pa.timestamp("us", tz="UTC"),
        "interval": pa.string(),
        "varchar": pa.string(),
        "blob": pa.binary(),
        "uuid": pa.string(),
        "json": pa.string(),
        "variant": pa.json_(pa.utf8()),
        "geometry": pa.binary(),
    }


def polars_type(type_: DataType) -> pl.DataType:
    """The type in Polars, for those types that it holds exactly."""
    import polars as pl

    match type_:
        case Struct(fields):
            return pl.Struct([pl.Field(each.name, polars_type(each.type)) for each in fields])
        case ListOf(element):
            return pl.List(polars_type(element.type))
        case Decimal(precision, scale):
            return pl.Decimal(precision, scale)
        case Primitive(name) if name in _polars_primitives():
            return _polars_primitives()[name]
        case _:
            raise UnsupportedError(f"Polars does not hold {type_} exactly")


@lru_cache(maxsize=1)
def _polars_primitives() -> dict[str, pl.DataType]:
    import polars as pl

    return {
        "boolean": pl.Boolean(),
        "int8": pl.Int8(),
        "int16": pl.Int16(),
        "int32": pl.Int32(),
        "int64": pl.Int64(),
        "uint8": pl.UInt8(),
        "uint16": pl.UInt16(),
        "uint32": pl.UInt32(),
        "uint64": pl.UInt64(),
        "float32": pl.Float32(),
        "float64": pl.Float64(),
        "varchar": pl.String(),
        "json": pl.String(),
        "blob": pl.Binary(),
        "date": pl.Date(),
        "timestamp": pl.Datetime("us"),
        "timestamp_ms": pl.Datetime("ms"),
        "timestamp_ns": pl.Datetime("ns"),
        "timestamptz": pl.Datetime("us", "UTC"),
    }


def is_exported_as_is(type_: DataType) -> bool:
    """Whether DuckDB hands the type to Arrow unchanged, at every depth."""
    if isinstance(type_, Primitive):
        return type_.name not in _CHANGED
    return all(is_exported_as_is(child.type) for child in children(type_))


def export_sql(type_: DataType, value: str) -> str:
    """SQL that makes of a DuckDB value of the type what goes into Arrow; NULL stays NULL at every level."""
    names = (f"_e{number}" for number in count())

    def build(type_: DataType, value: str) -> str:
        if is_exported_as_is(type_):
            return value
        match type_:
            case Struct(fields):
                parts = [(each.name, build(each.type, f"{value}.{quote(each.name)}")) for each in fields]
                return struct_sql(value, parts)
            case ListOf(element):
                item = next(names)
                return f"list_transform({value}, lambda {item}: {build(element.type, item)})"
            case MapOf(key, below):
                item = next(names)
                return map_sql(value, item, build(key.type, f"{item}.key"), build(below.type, f"{item}.value"))
            case Primitive("int128"):
                return f"CAST({value} AS DECIMAL(38,0))"
            case Primitive("variant"):
                # NULL would become the JSON text `null`.
                return f"CASE WHEN {value} IS NULL THEN NULL ELSE CAST(CAST({value} AS JSON) AS VARCHAR) END"
            case _:
                return f"CAST({value} AS VARCHAR)"

    return build(type_, value)


def struct_sql(value: str, fields: Sequence[tuple[str, str]]) -> str:
    """A struct with these fields, NULL where `value` is."""
    packed = ", ".join(f"{quote(name)} := {field}" for name, field in fields)
    return f"CASE WHEN {value} IS NULL THEN NULL ELSE struct_pack({packed}) END"


def map_sql(value: str, item: str, key: str, below: str) -> str:
    """A map whose entries are made from those of `value`, which are called `item`; NULL where `value` is."""
    entries = f"list_transform(map_entries({value}), lambda {item}: {{'key': {key}, 'value': {below}}})"
    return f"CASE WHEN {value} IS NULL THEN NULL ELSE map_from_entries({entries}) END"
