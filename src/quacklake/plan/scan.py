"""What to read: the record that catalogs and formats make and engines run.

Everything in it pickles and nothing in it can reach a catalog.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from quacklake.schema import Column, Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from quacklake.predicates import Predicate

ROW_ID, SNAPSHOT_ID = "rowid", "snapshot_id"
"""The two columns that `row_ids=True` puts first."""


@dataclass(frozen=True, slots=True)
class MappedName:
    """Which column of the table a name in a file stands for."""

    source_name: str
    column_id: int
    is_partition: bool = False
    """The value is not in the file but in its path (`key=value`)."""
    children: tuple[MappedName, ...] = ()


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """A file with the positions of deleted rows of one data file."""

    path: str
    format: Literal["parquet", "puffin"]
    encryption_key: str | None = None
    """Base64, as the catalog stores it."""
    count: int | None = None
    file_id: int | None = None
    begin_snapshot: int = 0
    size: int | None = None


@dataclass(frozen=True, slots=True)
class ScanFile:
    """One data file and everything needed to read it right."""

    file_id: int
    path: str
    """Absolute, or a URL."""
    record_count: int
    size: int | None
    begin_snapshot: int
    footer_size: int | None = None
    row_id_start: int | None = None
    """Row ids are this plus the position, unless the file has a row id column (field id 2147483540)."""
    partial_max: int | None = None
    """The file holds rows of several snapshots, up to this one, each row with its own (field id 2147483539)."""
    encryption_key: str | None = None
    """Base64, as the catalog stores it."""
    mapping: tuple[MappedName, ...] | None = None
    """Find columns by these names; else by field id; else, when the file has no ids, by position."""
    delete_files: tuple[DeleteFile, ...] = ()
    deleted_positions: tuple[int, ...] = ()
    """Positions deleted by rows of the catalog itself. May repeat what delete files say: a set, not a list."""
    partition_id: int | None = None
    partition_values: Mapping[int, str | None] = field(default_factory=dict)
    """By key index."""

    @property
    def has_deletes(self) -> bool:
        """Whether rows of this file may be dead."""
        return bool(self.delete_files or self.deleted_positions)


@dataclass(frozen=True, slots=True)
class InlinedRows:
    """Rows that the catalog itself holds, written under one layout of the table."""

    columns: tuple[Column, ...]
    """The table's columns as they were under that layout; reshape by id to the plan's."""
    data: pa.Table
    """`row_id`, `begin_snapshot`, then one column per layout column, named `c<column id>`. Its leaves are either
    native Arrow values or DuckDB's text for them: cast to the column's type either way."""
    schema_version: int = 0
    """Which of the table's inlined tables they are in; deletes must say so."""


@dataclass(frozen=True, slots=True)
class PruneReport:
    """What planning looked at and what it kept."""

    files_total: int = 0
    files_kept: int = 0
    conditions: tuple[str, ...] = ()
    """The tests that reached the catalog query, in words."""
    ignored: tuple[str, ...] = ()
    """Parts of the predicate that cannot prune, with the reason."""


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """One table at one snapshot: which files, columns and rows, and how they become the answer."""

    table: str
    """For messages and plans."""
    snapshot_id: int
    schema: Schema
    """All columns of the table at the snapshot; the predicate may use any of them."""
    columns: tuple[Column, ...]
    """What comes out, in order."""
    files: tuple[ScanFile, ...]
    inlined: tuple[InlinedRows, ...] = ()
    where: Predicate | None = None
    limit: int | None = None
    row_ids: bool = False
    report: PruneReport = field(default_factory=PruneReport)

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the columns that come out."""
        hidden = (ROW_ID, SNAPSHOT_ID) if self.row_ids else ()
        return (*hidden, *(column.name for column in self.columns))
