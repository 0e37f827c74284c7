"""Write a DataFrame as data files of a table with Spark's own Parquet writer.

Tasks write into a folder that nobody else has; when the job is done the driver looks at what is there, reads the
footers and says what was written. A task that failed or ran twice leaves nothing behind: Spark's committer moves
only the files of the attempt that counts into the folder.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote as url_quote
from urllib.parse import unquote

from quacklake.engine.local.types import duckdb_type
from quacklake.engine.spark.buckets import bucket_of
from quacklake.engine.spark.folders import clear, sweep, sweeping
from quacklake.engine.spark.hadoop import Doors
from quacklake.engine.spark.incoming import TEXT_FORMS, stored_field
from quacklake.engine.spark.sessions import is_connect
from quacklake.errors import UnsupportedError
from quacklake.plan.layout import ROW_ID_FIELD
from quacklake.plan.scan import MappedName
from quacklake.plan.sources import HIVE_NULL
from quacklake.plan.write import ColumnStats, PartitionField, WritePlan, WrittenFile
from quacklake.schema import Column
from quacklake.storage.placement import list_files, move_in, removing_on_failure
from quacklake.storage.statistics import FileFacts, read_facts
from quacklake.storage.stores import Stores, duckdb_path, is_remote, local_path
from quacklake.types import ListOf, MapOf, children, is_nested

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

ROW_ID_COLUMN = "_ducklake_internal_row_id"
_SETTINGS = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.fieldId.write.enabled": "true",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    # Spark shows the options of a write in its logs and its interface, and takes some keys for harmless.
    "spark.sql.redaction.options.regex": "(?i)url|secret|password|token|key|sas|email|credential",
}


def write_frame(plan: WritePlan, frame: DataFrame, stores: Stores, *, row_ids: bool = False) -> tuple[WrittenFile, ...]:
    """Write the rows of a frame, complete and in their place.

    Args:
        plan: How files of the table look.
        frame: The table's columns in order, as Spark stores them; with `row_ids`, the row ids behind them.
        stores: Where files go.
        row_ids: Keep the row ids inside the files; not for tables with lists or maps.

    Raises:
        UnsupportedError: When Spark cannot spread the rows as the table wants it.
    """
    folder = f"{plan.path}{uuid.uuid4()}/"
    fields = [stored_field(column) for column in plan.schema]
    kept: list[str] = []
    try:
        with sweeping(folder, stores, frame.sparkSession), in_writing_session(frame) as session_frame:
            shaped = _with_ids(session_frame, fields, row_ids)
            keyed = with_keys(plan, shaped)
            doors = Doors(stores.secrets)
            place = doors.writer_path(folder)
            writer = keyed.write.mode("error").options(**doors.writing([place]), **_options(plan))
            if plan.partition:
                writer = writer.partitionBy(*(_key_name(field) for field in plan.partition))
            writer.parquet(place)
        with removing_on_failure(stores) as placed:
            files = _collect(plan, folder, stores, row_ids, placed)
        kept += [file.path for file in files]
        if not files:
            sweep(folder, stores, frame.sparkSession)
        return files
    finally:
        clear(folder, stores, kept)


def _options(plan: WritePlan) -> dict[str, str]:
    options: dict[str, str] = {"compression": "lz4_raw" if plan.compression == "lz4" else plan.compression}
    if plan.compression == "zstd" and plan.compression_level is not None:
        options["parquet.compression.codec.zstd.level"] = str(plan.compression_level)
    if plan.row_group_bytes is not None:
        options["parquet.block.size"] = str(plan.row_group_bytes)
    if plan.parquet_version == "V2":
        options["parquet.writer.version"] = "v2"
    return options


@contextmanager
def in_writing_session(frame: DataFrame) -> Iterator[DataFrame]:
    """The frame in a session whose settings write what DuckDB reads right; the user's own stay as they are."""
    session = frame.sparkSession
    if all(session.conf.get(key, None) == value for key, value in _SETTINGS.items()):
        yield frame
    elif hasattr(session, "newSession") and not is_connect(session):
        sibling = session.newSession()
        for key, value in _SETTINGS.items():
            sibling.conf.set(key, value)
        # What is written obeys the settings of the session that the left side was made in.
        yield sibling.createDataFrame([], frame.schema).unionAll(frame)
    else:
        before = {key: session.conf.get(key, None) for key in _SETTINGS}
        try:
            for key, value in _SETTINGS.items():
                session.conf.set(key, value)
            yield frame
        finally:
            for key, old in before.items():
                session.conf.set(key, old) if old is not None else session.conf.unset(key)


def _with_ids(frame: DataFrame, fields: Sequence[Any], row_ids: bool) -> DataFrame:
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    wanted = list(fields)
    if row_ids:
        wanted.append(T.StructField(ROW_ID_COLUMN, T.LongType(), True, {"parquet.field.id": ROW_ID_FIELD}))
    shaped = frame.to(T.StructType(wanted))
    # Spark forgets the ids of columns that need no cast, unless they come with a name of their own.
    return shaped.select(*(F.col(_quoted(each.name)).alias(each.name, metadata=each.metadata) for each in wanted))


def _key_name(field: PartitionField) -> str:
    return f"_quacklake_key_{field.key_index}"


def with_keys(plan: WritePlan, frame: DataFrame) -> DataFrame:
    """The frame with what its rows are spread by and in the order that the table asks for."""
    from pyspark.sql import functions as F

    keys = [_key_name(field) for field in plan.partition]
    for field in plan.partition:
        value = transformed(field).cast("string")
        # Spark takes an empty text for NULL in the name of a folder: say which it is.
        frame = frame.withColumn(_key_name(field), F.when(value.isNull(), "n").otherwise(F.concat(F.lit("v"), value)))
    if keys:
        frame = frame.hint("rebalance", *keys)
    order = [_sort_key(field) for field in plan.sort]
    if order or keys:
        frame = frame.sortWithinPartitions(*keys, *order)
    return frame


def transformed(field: PartitionField) -> SparkColumn:
    """The value that rows are spread by.

    Raises:
        UnsupportedError: For buckets of a type whose hash Spark cannot compute.
    """
    from pyspark.sql import functions as F

    value = F.col(_quoted(field.column.name))
    kind = str(field.column.type)
    if field.buckets is not None:
        return bucket_of(value, field.column, field.buckets)
    if kind == "timestamptz":
        # As a moment of UTC, whatever the session's zone is: in that one an hour may be there twice, or not at all.
        value = F.timestamp_add("MICROSECOND", F.unix_micros(value), F.lit("1970-01-01").cast("timestamp_ntz"))
    if field.transform == "identity":
        return F.hex(value) if kind == "blob" else value
    return {"year": F.year, "month": F.month, "day": F.dayofmonth, "hour": F.hour}[field.transform](value)


def _sort_key(field: Any) -> SparkColumn:
    from pyspark.sql import functions as F

    # Expressions of DuckDB that are plain columns mean the same here; for others the order is only a matter of speed.
    column = F.col(_quoted(field.expression.strip('"').replace('""', '"')))
    if field.descending:
        return column.desc_nulls_first() if field.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if field.nulls_first else column.asc_nulls_last()


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _collect(plan: WritePlan, folder: str, stores: Stores, row_ids: bool, placed: list[str]) -> tuple[WrittenFile, ...]:
    found = [path for path in list_files(folder, stores) if path.endswith(".parquet")]
    leaves: list[Column | None] = [leaf for column in plan.schema for leaf in _leaves(column)]
    if row_ids:
        leaves.append(None)
    types = {leaf.id: duckdb_type(leaf.type) for leaf in leaves if leaf is not None}
    facts = read_facts(found, leaves, types, stores)
    # DuckDB finds no row ids in a file with a mapping.
    mapping = None if row_ids else name_mapping(plan.schema.columns)
    if mapping is None:
        _require_ids(plan, found, stores)
    written = []
    for path in found:
        if not facts[path].record_count:
            continue
        stats = tuple(_exact(plan, each) for each in facts[path].stats)
        values = tuple(_key_value(plan, field, path, stats, facts[path]) for field in plan.partition)
        placed.append(_place(plan, path, values, stores))
        written.append(
            WrittenFile(
                path=placed[-1],
                record_count=facts[path].record_count,
                size=facts[path].size,
                footer_size=facts[path].footer_size,
                stats=stats,
                partition_id=plan.partition_id if plan.partition else None,
                partition_values=values,
                name_mapping=mapping,
                has_row_ids=row_ids,
            )
        )
    return tuple(written)


def _require_ids(plan: WritePlan, paths: Sequence[str], stores: Stores) -> None:
    """Refuse files in which a column has no id: DuckDB would find columns by their position, right or wrong."""
    if not paths:
        return
    with stores.cursor(*paths) as cursor:
        row = cursor.execute(
            "SELECT file_name FROM parquet_schema($paths) WHERE field_id IS NULL GROUP BY ALL HAVING count(*) > 1",
            {"paths": [duckdb_path(path) for path in paths]},
        ).fetchone()
    if row is not None:
        raise UnsupportedError(f"Spark wrote columns of {plan.table} without their field ids")


def has_unnamed_parts(columns: Sequence[Column]) -> bool:
    """Whether a column has a list or a map in it: Spark gives no ids to what is inside."""
    return any(isinstance(each.type, ListOf | MapOf) for column in columns for each in column.walk())


def _leaves(column: Column) -> list[Column]:
    below = children(column.type)
    return [leaf for child in below for leaf in _leaves(child)] if below else [column]


def _exact(plan: WritePlan, stats: ColumnStats) -> ColumnStats:
    """Without bounds that are the order of a text and not of the values it stands for."""
    from dataclasses import replace

    kinds = {str(leaf.type) for column in plan.schema for leaf in _leaves(column) if leaf.id == stats.column_id}
    if kinds & (set(TEXT_FORMS) - {"uuid"}):
        return replace(stats, min=None, max=None)
    return stats


def _key_value(
    plan: WritePlan, field: PartitionField, path: str, stats: Sequence[ColumnStats], facts: FileFacts
) -> str | None:
    parts = dict(part.split("=", 1) for part in PurePosixPath(path).parts if "=" in part)
    text = unquote(parts[_key_name(field)])
    if text == "n":
        return None
    if field.transform == "identity":
        # All rows of the file have one value, and the footer has it in DuckDB's words.
        known = next((each for each in stats if each.column_id == field.column.id), None)
        if known is not None and known.min is not None and known.min == known.max:
            return known.min
    return text[1:]


def _place(plan: WritePlan, path: str, values: Sequence[str | None], stores: Stores) -> str:
    """Move a file out of the job's folder; on an object store, where that is a copy, it stays."""
    if is_remote(path):
        return path
    folder = ""
    if plan.hive_paths:
        for field, value in zip(plan.partition, values, strict=True):
            text = HIVE_NULL if value is None else url_quote(value, safe="")
            folder += f"{url_quote(field.folder, safe='')}={text}/"
    target = f"{plan.path}{folder}ducklake-{uuid.uuid4()}.parquet"
    move_in(Path(local_path(path)), target, stores)
    return target


def name_mapping(columns: Sequence[Column]) -> tuple[MappedName, ...] | None:
    """How readers find the columns in a file of Spark's; None when field ids say it all.

    Spark cannot give ids to what is inside a list or a map, and DuckDB reads such a file as if nothing were there.
    """
    if not any(is_nested(column.type) for column in columns):
        return None
    return tuple(_mapped(column, column.name) for column in columns)


def _mapped(column: Column, name: str) -> MappedName:
    match column.type:
        case ListOf(element):
            below: tuple[MappedName, ...] = (_mapped(element, "list"),)
        case MapOf(key, value):
            below = (_mapped(key, "key"), _mapped(value, "value"))
        case _:
            below = tuple(_mapped(child, child.name) for child in children(column.type))
    return MappedName(name, column.id, children=below)
