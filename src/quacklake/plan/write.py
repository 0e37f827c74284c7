"""What to write and what was written: the records that pass between the commit layer and the engines.

A `WritePlan` goes to an engine, a `WriteResult` comes back. Everything in them pickles and nothing in them can
reach a catalog: a task on a worker gets the one and returns the other, and the driver commits once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from quacklake.plan.scan import MappedName
from quacklake.schema import Column, Schema

if TYPE_CHECKING:
    import pyarrow as pa

Compression = Literal["uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4", "lz4_raw"]

DEFAULT_ROW_GROUP_SIZE = 122_880
DEFAULT_TARGET_FILE_SIZE = 1 << 29


# --- what an engine is told ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PartitionField:
    """One key of the partitioning that new files must follow."""

    key_index: int
    column: Column
    """A top-level column of the table."""
    transform: str
    """`identity`, `year`, `month`, `day`, `hour` or `bucket(N)`; in UTC for timestamps with zone."""
    folder: str
    """The name before `=` in a hive path: the column, the transform, or `transform_column` where that is taken."""

    @property
    def buckets(self) -> int | None:
        """How many buckets there are, for a bucket key."""
        return int(self.transform[7:-1]) if self.transform.startswith("bucket(") else None


@dataclass(frozen=True, slots=True)
class SortField:
    """One key of the order of rows inside a file."""

    expression: str
    """SQL over the table's columns."""
    descending: bool = False
    nulls_first: bool = False
    dialect: str = "duckdb"


@dataclass(frozen=True, slots=True)
class WritePlan:
    """How new files of one table must look and where they go."""

    table: str
    """For messages."""
    table_id: int
    """Negative while the table is itself new in this transaction."""
    path: str
    """The table's folder, absolute or a URL, with a slash at the end. Data and delete files go below it."""
    schema: Schema
    """The columns with their ids: every level of a file carries these as field ids, or the file has a mapping."""
    partition_id: int | None = None
    partition: tuple[PartitionField, ...] = ()
    """Empty for a table without partitions."""
    sort: tuple[SortField, ...] = ()
    """Empty when there is no order, or when `sort_on_insert` is off."""
    compression: Compression = "snappy"
    compression_level: int | None = None
    parquet_version: Literal["V1", "V2"] = "V1"
    row_group_size: int = DEFAULT_ROW_GROUP_SIZE
    row_group_bytes: int | None = None
    target_file_size: int = DEFAULT_TARGET_FILE_SIZE
    hive_paths: bool = True
    """Put files into `key=value/` folders; else flat into the table's."""
    encryption_key: str | None = None
    """Base64 of a fresh key for every file of this write, when the lake is encrypted; else no encryption."""
    inline_limit: int = 0
    """A write of at most so many rows goes into the catalog instead of a file; 0 never does. Already 0 when a
    column cannot be inlined."""
    delete_format: Literal["parquet", "puffin"] = "parquet"
    snapshot_id: int | None = None
    """The snapshot that this becomes unless others commit before, where that is not the one after the newest."""


# --- what an engine reports ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class VariantStats:
    """Statistics of one shredded path of a variant column."""

    path: str
    shredded_type: str
    size_bytes: int | None = None
    value_count: int | None = None
    null_count: int | None = None
    min: str | None = None
    max: str | None = None
    contains_nan: bool | None = None
    extra: str | None = None


@dataclass(frozen=True, slots=True)
class ColumnStats:
    """Statistics of one leaf column in one file. Each is exact or None: DuckDB answers queries from them."""

    column_id: int
    size_bytes: int | None = 0
    """Compressed size; 0 where it is not known."""
    value_count: int | None = None
    """Values that are not NULL."""
    null_count: int | None = None
    min: str | None = None
    """DuckDB's text of the smallest value; NaN left out; None when not known or when there is no value."""
    max: str | None = None
    contains_nan: bool | None = None
    """For floats only."""
    extra: str | None = None
    """JSON text for geometry and variant columns."""
    variant: tuple[VariantStats, ...] = ()

    def __post_init__(self) -> None:
        # PostgreSQL has no text with a NUL character, and DuckDB takes none for a bound.
        for name in ("min", "max"):
            if "\0" in (getattr(self, name) or ""):
                object.__setattr__(self, name, None)


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """One data file that is complete in storage and not yet part of the lake."""

    path: str
    """Full path or URL, as the plan's `path` begins."""
    record_count: int
    size: int
    footer_size: int | None
    """Length of the Thrift footer (the int32 before the closing magic); None when not known, never a guess."""
    stats: tuple[ColumnStats, ...] = ()
    """At most one per leaf; a leaf without a record counts as unknown."""
    partition_id: int | None = None
    """The plan's, for a file of a partitioned table."""
    partition_values: tuple[str | None, ...] = ()
    """Text of the transformed value by key index; None for NULL."""
    encryption_key: str | None = None
    """Base64, the plan's."""
    name_mapping: tuple[MappedName, ...] | None = None
    """For a file whose columns do not all carry field ids."""
    has_row_ids: bool = False
    """The file holds `_ducklake_internal_row_id`: rows of an update keep their ids. Ids are consumed all the same."""
    is_adopted: bool = False
    """Somebody else wrote the file: it stays where it is when the commit fails."""
    # The rest is for maintenance, which writes rows of older snapshots.
    begin_snapshot: int | None = None
    """The oldest snapshot of its rows; None for the snapshot of the commit."""
    partial_max: int | None = None
    """The newest snapshot of its rows, when each row carries its own."""
    takes_row_ids: bool = True
    """Whether the commit gives it a range of new row ids."""
    row_id_start: int | None = None
    """Stored as it is when `takes_row_ids` is false."""


@dataclass(frozen=True, slots=True)
class WrittenDeletes:
    """One delete file that is complete in storage: all dead positions of one data file, old ones too."""

    data_file_id: int
    path: str
    count: int
    """All positions in it."""
    size: int
    footer_size: int | None
    format: Literal["parquet", "puffin"] = "parquet"
    encryption_key: str | None = None
    replaces: int | None = None
    """The id of the delete file that it takes the place of. The new one holds every position of that one, each with
    the snapshot that deleted it (`_ducklake_internal_snapshot_id`); the catalog forgets the old one."""
    stamp: int | None = None
    """The snapshot id that the file gives its new positions, when it has that column. The commit gets another id when
    others commit in between: then the transaction's `restamp` writes the file anew. Files that replace need it."""
    begin_snapshot: int | None = None
    """With a stamp: the oldest snapshot id in the file."""


@dataclass(frozen=True, slots=True)
class RemovedFile:
    """A data file whose every row is gone."""

    data_file_id: int
    live_rows: int = 0
    """How many rows were alive in it."""


@dataclass(frozen=True, slots=True)
class InlinedInsert:
    """Rows that go into the catalog itself."""

    data: pa.Table
    """One column per top-level column of the table, in order, named and typed as the table's Arrow schema."""
    row_ids: tuple[int | None, ...] | None = None
    """The ids that rows of an update keep; None for a new row, which gets a new one."""
    stats: tuple[ColumnStats, ...] = ()
    """As for a file; they widen the statistics of the table. Several records of one column add up."""


@dataclass(frozen=True, slots=True)
class InlinedRowDeletes:
    """Rows of the catalog itself that are gone."""

    schema_version: int
    """Of the inlined table they are in."""
    row_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class InlinedFileDeletes:
    """Positions of a data file that the catalog itself notes as dead."""

    data_file_id: int
    positions: tuple[int, ...]
    """New ones only."""


@dataclass(frozen=True, slots=True)
class WriteResult:
    """All that one write did to one table; the commit makes it true."""

    files: tuple[WrittenFile, ...] = ()
    inserts: InlinedInsert | None = None
    removed: tuple[RemovedFile, ...] = ()
    deletes: tuple[WrittenDeletes, ...] = ()
    inlined_rows: tuple[InlinedRowDeletes, ...] = ()
    inlined_positions: tuple[InlinedFileDeletes, ...] = ()
    rows_inserted: int = 0
    rows_updated: int = 0
    rows_deleted: int = 0
    properties: Mapping[str, str] = field(default_factory=dict)
    """What an engine wants to tell its caller; never stored."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing happened."""
        return not (
            self.files or self.inserts or self.removed or self.deletes or self.inlined_rows or self.inlined_positions
        )

    @property
    def touched_files(self) -> tuple[int, ...]:
        """The ids of the data files that lost rows, each once."""
        ids = [each.data_file_id for group in (self.removed, self.deletes, self.inlined_positions) for each in group]
        return tuple(dict.fromkeys(ids))

    @property
    def paths(self) -> tuple[str, ...]:
        """Every file that must go when the commit fails."""
        files = (each.path for each in self.files if not each.is_adopted)
        return (*files, *(each.path for each in self.deletes))
