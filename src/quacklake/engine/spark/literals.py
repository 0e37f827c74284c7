"""SQL of Spark for values that no file holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import types as spark

from quacklake.engine.local.expressions import read_sql
from quacklake.engine.local.failures import duckdb_errors
from quacklake.engine.spark.types import arrow_type, export_sql, spark_type, sql_type
from quacklake.plan.scan import ScanPlan
from quacklake.plan.sources import Constant
from quacklake.predicates.spark import quote_name
from quacklake.storage.stores import Stores

if TYPE_CHECKING:
    import pyarrow as pa


class Literals:
    """Turns constants, which the catalog keeps as DuckDB's text, into values and literals of Spark.

    Args:
        plan: The plan they are for.
        stores: Whose DuckDB reads the text.
    """

    def __init__(self, plan: ScanPlan, stores: Stores) -> None:
        self._plan = plan
        self._stores = stores
        self._known: dict[Constant, pa.Scalar[Any]] = {}

    def value(self, constant: Constant) -> pa.Scalar[Any]:
        """The value, as Arrow holds what is Spark's type.

        Raises:
            StorageError: When the text is no value of the column.
        """
        if constant not in self._known:
            self._known[constant] = self._evaluate(constant)
        return self._known[constant]

    def sql(self, constant: Constant) -> str:
        """The value as a literal that Spark takes for one that could be NULL, so that no schema depends on it."""
        type_ = spark_type(constant.column.type)
        if constant.text is None:
            return f"CAST(NULL AS {sql_type(type_)})"
        return nullable(literal_sql(self.value(constant), type_))

    def _evaluate(self, constant: Constant) -> pa.Scalar[Any]:
        import pyarrow as pa

        column = constant.column
        target = arrow_type(spark_type(column.type))
        if constant.text is None:
            return pa.scalar(None, target)
        value = export_sql(column.type, read_sql(constant, ""))
        with duckdb_errors(self._plan, self._stores), self._stores.cursor() as cursor:
            return cursor.execute(f"SELECT {value}").to_arrow_table().column(0).cast(target)[0]


def nullable(sql: str) -> str:
    """The same value, which Spark's analysis takes for one that could be NULL."""
    return f"if(FALSE, NULL, {sql})"


def literal_sql(value: pa.Scalar[Any], type_: spark.DataType) -> str:
    """A value as SQL of exactly the type."""
    return f"CAST({_bare(value, type_)} AS {sql_type(type_)})" if value.is_valid else f"CAST(NULL AS {sql_type(type_)})"


def _bare(value: Any, type_: spark.DataType) -> str:
    match type_:
        case spark.StructType():
            parts = zip(value.values(), type_.fields, strict=True)
            fields = [f"{literal_sql(part, field.dataType)} AS {quote_name(field.name)}" for part, field in parts]
            return f"struct({', '.join(fields)})"
        case spark.ArrayType():
            return f"array({', '.join(literal_sql(item, type_.elementType) for item in value.values)})"
        case spark.MapType():
            keys, values = value.values.field(0), value.values.field(1)
            pairs = [
                f"{literal_sql(key, type_.keyType)}, {literal_sql(below, type_.valueType)}"
                for key, below in zip(keys, values, strict=True)
            ]
            return f"map({', '.join(pairs)})"
        case spark.StringType():
            # A text as bytes means the same whatever the session takes a backslash for.
            return f"X'{value.as_py().encode().hex()}'"
        case spark.BinaryType():
            return f"X'{value.as_py().hex()}'"
        case spark.DateType():
            return f"date_from_unix_date({value.value})"
        case spark.TimestampType():
            return f"timestamp_micros({value.value})"
        case spark.TimestampNTZType():
            return f"timestampadd(MICROSECOND, {value.value}, TIMESTAMP_NTZ '1970-01-01 00:00:00')"
        case spark.BooleanType():
            return "TRUE" if value.as_py() else "FALSE"
        case _:
            return f"'{value.as_py()}'"
