"""What each type of a lake is in Spark, and how DuckDB and Arrow say the same on the way there.

Spark has no type for some of the format's. Those become numbers wide enough, or DuckDB's text for the value, which a
cast in DuckDB turns back into it. `docs/types.md` has the table with the reasons.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from pyspark.sql import types as spark

from quacklake.engine.local.types import duckdb_type
from quacklake.names import quote
from quacklake.plan.changes import FEED
from quacklake.plan.scan import ROW_ID, SNAPSHOT_ID, ScanPlan
from quacklake.predicates.spark import quote_name
from quacklake.schema import Column
from quacklake.types import DataType, Decimal, ListOf, MapOf, Primitive, Struct

if TYPE_CHECKING:
    import pyarrow as pa

_WHOLE = ("DECIMAL(38,0)", spark.DecimalType(38, 0))
_TEXT = ("VARCHAR", spark.StringType())

# By the name in the format: what DuckDB casts it to, and what it then is in Spark.
_PRIMITIVES: dict[str, tuple[str, spark.DataType]] = {
    "boolean": ("BOOLEAN", spark.BooleanType()),
    "int8": ("TINYINT", spark.ByteType()),
    "int16": ("SMALLINT", spark.ShortType()),
    "int32": ("INTEGER", spark.IntegerType()),
    "int64": ("BIGINT", spark.LongType()),
    "int128": _WHOLE,
    "uint8": ("SMALLINT", spark.ShortType()),
    "uint16": ("INTEGER", spark.IntegerType()),
    "uint32": ("BIGINT", spark.LongType()),
    "uint64": ("DECIMAL(20,0)", spark.DecimalType(20, 0)),
    "uint128": _WHOLE,
    "float32": ("FLOAT", spark.FloatType()),
    "float64": ("DOUBLE", spark.DoubleType()),
    "date": ("DATE", spark.DateType()),
    "timestamp": ("TIMESTAMP", spark.TimestampNTZType()),
    "timestamp_s": ("TIMESTAMP", spark.TimestampNTZType()),
    "timestamp_ms": ("TIMESTAMP", spark.TimestampNTZType()),
    "timestamptz": ("TIMESTAMP WITH TIME ZONE", spark.TimestampType()),
    "varchar": _TEXT,
    "blob": ("BLOB", spark.BinaryType()),
    **dict.fromkeys(("json", "uuid", "time", "time_ns", "timetz", "timestamp_ns"), _TEXT),
    **dict.fromkeys(("interval", "variant", "geometry"), _TEXT),
}


def spark_type(type_: DataType) -> spark.DataType:
    """The type in Spark; everything in it may be NULL.

    Raises:
        UnsupportedError: For a type that no column of a table can have.
    """
    match type_:
        case Struct(fields):
            return spark.StructType([spark.StructField(each.name, spark_type(each.type)) for each in fields])
        case ListOf(element):
            return spark.ArrayType(spark_type(element.type))
        case MapOf(key, value):
            return spark.MapType(spark_type(key.type), spark_type(value.type))
        case Decimal(precision, scale):
            return spark.DecimalType(precision, scale)
        case Primitive(name):
            duckdb_type(type_)  # refuses what cannot be read at all
            return _PRIMITIVES[name][1]


@lru_cache(maxsize=4096)
def stand_in(type_: DataType) -> str:
    """The type, in DuckDB's SQL, to which a value is cast before it goes to Spark."""
    match type_:
        case Struct(fields):
            return "STRUCT(" + ", ".join(f"{quote(each.name)} {stand_in(each.type)}" for each in fields) + ")"
        case ListOf(element):
            return f"{stand_in(element.type)}[]"
        case MapOf(key, value):
            return f"MAP({stand_in(key.type)}, {stand_in(value.type)})"
        case Decimal():
            return duckdb_type(type_)
        case Primitive(name):
            return _PRIMITIVES[name][0]


def sql_type(type_: spark.DataType) -> str:
    """The type in Spark's SQL; unlike Spark's own text for it, names of fields are quoted."""
    match type_:
        case spark.StructType():
            fields = ", ".join(f"{quote_name(each.name)}: {sql_type(each.dataType)}" for each in type_.fields)
            return f"STRUCT<{fields}>"
        case spark.ArrayType():
            return f"ARRAY<{sql_type(type_.elementType)}>"
        case spark.MapType():
            return f"MAP<{sql_type(type_.keyType)}, {sql_type(type_.valueType)}>"
        case spark.TimestampType():
            return "TIMESTAMP_LTZ"  # the plain word means what the session says
        case _:
            return type_.simpleString().upper()


def export_sql(type_: DataType, value: str) -> str:
    """SQL that makes of a DuckDB value of the type what goes to Spark."""
    target = stand_in(type_)
    return value if target == duckdb_type(type_) else f"CAST({value} AS {target})"


def arrow_type(type_: spark.DataType) -> pa.DataType:
    """How Arrow holds values of a type of Spark."""
    import pyarrow as pa

    match type_:
        case spark.StructType():
            return pa.struct([pa.field(each.name, arrow_type(each.dataType)) for each in type_.fields])
        case spark.ArrayType():
            return pa.list_(pa.field("element", arrow_type(type_.elementType)))
        case spark.MapType():
            return pa.map_(arrow_type(type_.keyType), arrow_type(type_.valueType))
        case spark.DecimalType():
            return pa.decimal128(type_.precision, type_.scale)
        case _:
            return _arrow_leaves()[type_.typeName()]


@lru_cache(maxsize=1)
def _arrow_leaves() -> dict[str, pa.DataType]:
    import pyarrow as pa

    return {
        "boolean": pa.bool_(),
        "byte": pa.int8(),
        "short": pa.int16(),
        "integer": pa.int32(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "timestamp_ntz": pa.timestamp("us"),
        "string": pa.string(),
        "binary": pa.binary(),
    }


def arrow_schema(schema: spark.StructType) -> pa.Schema:
    """How Arrow holds rows of a schema of Spark."""
    import pyarrow as pa

    return pa.schema([pa.field(each.name, arrow_type(each.dataType)) for each in schema.fields])


def row_schema(columns: tuple[Column, ...], hidden: tuple[str, ...] = ()) -> spark.StructType:
    """The schema of rows with these columns, whole numbers under the hidden names first."""
    fields = [spark.StructField(name, spark.LongType()) for name in hidden]
    return spark.StructType(fields + [spark.StructField(each.name, spark_type(each.type)) for each in columns])


def feed_schema(columns: tuple[Column, ...]) -> spark.StructType:
    """The schema of a change feed of these columns."""
    return row_schema((*FEED, *columns))


def output_schema(plan: ScanPlan) -> spark.StructType:
    """The columns that a plan gives, which depend on nothing but the plan."""
    return row_schema(plan.columns, (ROW_ID, SNAPSHOT_ID) if plan.row_ids else ())
