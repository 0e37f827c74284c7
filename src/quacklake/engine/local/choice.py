"""Which hand reads what: Polars where it gives exactly what DuckDB gives, DuckDB for the rest."""

from __future__ import annotations

from quacklake.engine.local.conditions import Condition, leaves
from quacklake.engine.local.groups import FileGroup
from quacklake.engine.local.types import duckdb_type
from quacklake.plan.layout import FileColumn
from quacklake.plan.scan import ScanPlan
from quacklake.plan.sources import Constant, FromFile, Source
from quacklake.types import Decimal, ListOf, Primitive, Struct, is_nested

# Where a predicate picks rows, a file is read in one go, and every row of it may match.
MOST_ROWS_AT_ONCE = 4 << 20
MOST_BYTES_AT_ONCE = 256 << 20
_WHOLE = "INT32 INT64".split()
# What a column of the lake must be in the file: the physical types, and the logical ones where they matter.
_LEAVES: dict[str, tuple[tuple[str, ...], tuple[str, ...] | None]] = {
    "boolean": (("BOOLEAN",), None),
    **{name: (tuple(_WHOLE), None) for name in "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()},
    "float32": (("FLOAT",), None),
    "float64": (("DOUBLE",), None),
    "varchar": (("BYTE_ARRAY",), ("String",)),
    "json": (("BYTE_ARRAY",), ("JSON",)),
    "blob": (("BYTE_ARRAY",), ("",)),
    "date": (("INT32",), ("Date",)),
    "timestamp": (("INT64",), ("Timestamp microseconds",)),
    "timestamp_ms": (("INT64",), ("Timestamp milliseconds",)),
    "timestamp_ns": (("INT64",), ("Timestamp nanoseconds",)),
    "timestamptz": (("INT64",), ("Timestamp microseconds",)),
}
# DuckDB reads milliseconds as microseconds; the numbers in the file are the column's own.
_READ_AS = {"timestamp_ms": "TIMESTAMP"}


def why_not_polars(plan: ScanPlan, group: FileGroup, condition: Condition | None) -> str | None:
    """Why Polars cannot read a group of files for a plan, or None when it can.

    Args:
        plan: What to read.
        group: The files.
        condition: The plan's predicate, when it is a simple one.
    """
    if plan.where is not None and condition is None:
        return "the predicate is DuckDB's to judge: what NaN, text and casts mean differs"
    if plan.where is not None and not _fits_at_once(group):
        return "a file is too large to hold all that may match"
    if plan.limit is not None:
        return "DuckDB stops as soon as it has enough rows"
    if group.encryption_key is not None:
        return "the files are encrypted"
    names = [column.name for column in group.columns]
    if len(set(names)) < len(names):
        return "two columns of a file have one name"
    for source in group.sources[0]:
        reason = _why_not_column(source)
        if reason is not None:
            return f"column {source.column.name!r} {reason}"
    used = {leaf.column for leaf in leaves(condition)} if condition is not None else set()
    if any(isinstance(source, Constant) and source.column.name in used for source in group.sources[0]):
        return "the predicate uses a column that the files do not have"
    return None


def _fits_at_once(group: FileGroup) -> bool:
    largest = max((file.size or 0 for file in group.files), default=0)
    return max(group.rows, default=0) <= MOST_ROWS_AT_ONCE and largest <= MOST_BYTES_AT_ONCE


def _why_not_column(source: Source) -> str | None:
    if isinstance(source, Constant):
        is_repeated = source.text is None or not is_nested(source.column.type)
        return None if is_repeated else "has a default with parts, which Arrow does not repeat"
    if not source.is_identity:
        return "has another shape or other names inside than in the file"
    match source.column.type:
        case Struct() | ListOf():
            return next((reason for reason in map(_why_not_column, source.children) if reason is not None), None)
        case Primitive(name) if name in _LEAVES:
            return None if _is_held_exactly(name, source) else f"is {source.source.type} in the file"
        case Decimal():
            same = source.source.type == duckdb_type(source.column.type) and source.source.physical != "BYTE_ARRAY"
            return None if same else f"is {source.source.type} in the file"
        case other:
            return f"is of type {other}, which Polars does not hold exactly"


def _is_held_exactly(name: str, source: FromFile) -> bool:
    found: FileColumn = source.source
    physical, logical = _LEAVES[name]
    read_as = _READ_AS.get(name, duckdb_type(source.column.type))
    return found.type == read_as and found.physical in physical and (logical is None or found.logical in logical)
