"""Tell Spark of the format `quacklake`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quacklake.errors import MissingExtraError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Let a session read and write tables by `format("quacklake")`; docs/spark.md has the options.

    Args:
        spark: The session. Its settings stay as they are.

    Raises:
        MissingExtraError: When PySpark is not installed.
    """
    try:
        from quacklake.source.door import QuacklakeSource
    except ImportError as error:
        raise MissingExtraError.for_extra("pyspark", "spark") from error
    spark.dataSource.register(QuacklakeSource)
