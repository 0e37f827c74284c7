"""Expressions as columns of a table: computed by Spark, checked, in the form in which Spark stores them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from quacklake.engine.spark.incoming import fit_column
from quacklake.engine.spark.where import session_sql
from quacklake.errors import UnsupportedError
from quacklake.plan.write import WritePlan
from quacklake.predicates import Expression
from quacklake.predicates.spark import quote_name
from quacklake.schema import Column

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

Otherwise = Callable[[Column], "SparkColumn"]
"""What a column has to which nothing is assigned."""

_FOREIGN = frozenset(("time", "time_ns", "timetz", "interval", "timestamp_ns", "variant", "geometry", "unknown"))


def refuse_foreign(plan: WritePlan) -> None:
    """Refuse tables whose rows Spark cannot read and write again without loss.

    Raises:
        UnsupportedError: For an encrypted table, and for types that are only a text in Spark.
    """
    if plan.encryption_key is not None:
        raise UnsupportedError(f"Spark cannot write encrypted files of {plan.table}")
    foreign = [column for column in plan.schema.walk() if str(column.type) in _FOREIGN]
    if foreign:
        raise UnsupportedError(f"Spark has no type for {foreign[0].type}, which {foreign[0].name!r} is")


def assign(
    plan: WritePlan, frame: DataFrame, values: Mapping[str, Expression], otherwise: Otherwise
) -> list[SparkColumn]:
    """The columns of a row of the table, in order.

    Args:
        plan: How the table looks.
        frame: What the expressions speak of.
        values: Column -> expression.
        otherwise: For the other columns.

    Raises:
        InvalidInputError: When no value of an expression could be stored in its column.
        UnsupportedError: When an expression means something else in Spark.
    """
    from pyspark.sql import functions as F

    texts = {name: session_sql(frame.sparkSession, expression) for name, expression in values.items()}
    kinds = frame.selectExpr(*(f"{sql} AS _v{index}" for index, sql in enumerate(texts.values()))).schema.fields
    types = dict(zip(texts, (field.dataType for field in kinds), strict=True))
    row = []
    for column in plan.schema:
        if column.name in texts:
            value = fit_column(F.expr(texts[column.name]), types[column.name], column, assign=True)
        else:
            value = otherwise(column)
        row.append(required(value, column, plan.table).alias(column.name))
    return row


def same(frame_alias: str | None = None) -> Otherwise:
    """The value that the row has already."""
    from pyspark.sql import functions as F

    prefix = "" if frame_alias is None else f"{frame_alias}."
    return lambda column: F.col(f"{prefix}{quote_name(column.name)}")


def required(value: SparkColumn, column: Column, table: str) -> SparkColumn:
    """The value, which must be there if the column says so."""
    from pyspark.sql import functions as F

    if column.nullable:
        return value
    fault = F.raise_error(F.lit(f"column {column.name!r} of {table} may not be NULL"))
    return F.when(value.isNotNull(), value).otherwise(fault)
