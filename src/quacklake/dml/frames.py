"""What kind of frame the data is, and what columns it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from quacklake.ddl.frames import read_arrow, read_spark
from quacklake.schema import Schema

EngineName = Literal["spark", "local"]


@dataclass(frozen=True, slots=True)
class Incoming:
    """Data on its way into a table."""

    data: Any
    """A Spark DataFrame, an Arrow table, or a stream of Arrow batches."""
    engine: EngineName
    """Who moves it: Spark what Spark holds, the local engine everything else."""
    schema: Schema
    """Its columns; their ids mean nothing."""


def read_frame(data: Any) -> Incoming:
    """Take a frame in.

    Raises:
        InvalidInputError: When the object is no frame.
        UnsupportedError: When a column has a type that no table can hold.
    """
    if _is_spark(data):
        return Incoming(data, "spark", Schema(read_spark(data.schema)))
    from quacklake.engine.local.frames import as_reader, as_table

    table = as_table(data)
    rows = as_reader(data) if table is None else table
    return Incoming(rows, "local", Schema(read_arrow(rows.schema)))


def _is_spark(data: Any) -> bool:
    return type(data).__module__.split(".")[0] == "pyspark" and hasattr(data, "sparkSession")
