"""What a transaction wants done, as net effects: one record per object and kind, however many steps led there.

Objects that the transaction itself makes have negative ids; the commit gives them real ones. Ids of columns are
real from the start: they belong to their table alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from quacklake.catalog.view import PartitionKey, SortKey, TableEntry
from quacklake.names import TableName
from quacklake.plan.write import (
    InlinedFileDeletes,
    InlinedInsert,
    InlinedRowDeletes,
    RemovedFile,
    WrittenDeletes,
    WrittenFile,
)
from quacklake.schema import Schema


@dataclass(frozen=True, slots=True)
class CreateNamespace:
    """A new namespace."""

    namespace_id: int
    name: str
    uuid: str
    path: str
    """Relative to the lake's data path."""


@dataclass(frozen=True, slots=True)
class DropNamespace:
    """A namespace goes; what is in it goes by changes of its own."""

    namespace_id: int
    name: str
    table_ids: tuple[int, ...] = ()
    """The tables that go with it."""


@dataclass(frozen=True, slots=True)
class CreateTable:
    """A new table."""

    table_id: int
    namespace_id: int
    name: TableName
    uuid: str
    path: str
    """Relative to the namespace's."""
    schema: Schema


@dataclass(frozen=True, slots=True)
class DropTable:
    """A table goes, with all that belongs to it."""

    table_id: int
    name: TableName


@dataclass(frozen=True, slots=True)
class RenameTable:
    """A table gets another name; its id, files and path stay."""

    table_id: int
    before: TableName
    after: TableName


@dataclass(frozen=True, slots=True)
class AlterColumns:
    """The columns of a table become others; compared by id."""

    table_id: int
    name: TableName
    before: Schema
    after: Schema
    tightened: bool = False
    """A column no longer takes NULL, which holds only for rows that were looked at."""


@dataclass(frozen=True, slots=True)
class SetPartition:
    """New files of a table are spread differently; no keys for not at all."""

    table_id: int
    name: TableName
    partition_id: int
    keys: tuple[PartitionKey, ...]


@dataclass(frozen=True, slots=True)
class SetSort:
    """New files of a table are ordered differently; no keys for not at all."""

    table_id: int
    name: TableName
    sort_id: int
    keys: tuple[SortKey, ...]


@dataclass(frozen=True, slots=True)
class SetComment:
    """The comment of a table or view; None takes it away."""

    object_id: int
    kind: Literal["table", "view"]
    name: TableName
    text: str | None


@dataclass(frozen=True, slots=True)
class SetColumnComment:
    """The comment of a column; None takes it away."""

    table_id: int
    name: TableName
    column_id: int
    text: str | None


@dataclass(frozen=True, slots=True)
class NewLayout:
    """A table for inlined rows is made, because those there are do not fit the columns any more."""

    table_id: int
    name: TableName
    schema: Schema


@dataclass(frozen=True, slots=True)
class CreateView:
    """A new view."""

    view_id: int
    namespace_id: int
    name: TableName
    uuid: str
    sql: str
    dialect: str = "duckdb"
    column_aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DropView:
    """A view goes."""

    view_id: int
    name: TableName


@dataclass(frozen=True, slots=True)
class RenameView:
    """A view gets another name."""

    view_id: int
    before: TableName
    after: TableName


@dataclass(frozen=True, slots=True)
class DropMacro:
    """A macro goes, with its namespace: macros are kept for DuckDB, never made here."""

    macro_id: int
    kind: Literal["scalar", "table"]
    name: str


@dataclass(frozen=True, slots=True)
class AddFiles:
    """Files with new rows."""

    table_id: int
    name: TableName
    files: tuple[WrittenFile, ...]
    file_ids: tuple[int, ...]
    """Their negative ids, by which deletes of the same transaction know them."""
    row_starts: tuple[int, ...]
    """The first row id of each, as the transaction took it."""


@dataclass(frozen=True, slots=True)
class InlineRows:
    """New rows that the catalog itself holds."""

    table_id: int
    name: TableName
    inserts: tuple[InlinedInsert, ...]
    row_ids: tuple[tuple[int, ...], ...]
    """The row ids of each, as the transaction took or kept them."""


@dataclass(frozen=True, slots=True)
class RemoveFiles:
    """Files whose every row is gone."""

    table_id: int
    name: TableName
    files: tuple[RemovedFile, ...]


@dataclass(frozen=True, slots=True)
class AddDeletes:
    """Delete files; some take the place of older ones."""

    table_id: int
    name: TableName
    deletes: tuple[WrittenDeletes, ...]


@dataclass(frozen=True, slots=True)
class InlineDeletes:
    """Deleted rows that the catalog itself notes: its own, and positions of files."""

    table_id: int
    name: TableName
    rows: tuple[InlinedRowDeletes, ...] = ()
    positions: tuple[InlinedFileDeletes, ...] = ()


CatalogChange = (
    CreateNamespace
    | DropNamespace
    | CreateTable
    | DropTable
    | RenameTable
    | AlterColumns
    | SetPartition
    | SetSort
    | SetComment
    | SetColumnComment
    | CreateView
    | DropView
    | RenameView
    | DropMacro
)
DataChange = AddFiles | InlineRows | RemoveFiles | AddDeletes | InlineDeletes
Change = CatalogChange | DataChange | NewLayout

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class RowIds:
    """The row ids that a transaction took for new rows of a table before it knew what others took."""

    first: int
    count: int
    is_pinned: bool = False
    """A file holds some of them, so they must come true."""


@dataclass(frozen=True, slots=True)
class StreamBatch:
    """Which batch of which stream a commit is: a stream that starts again may ask for its last one twice."""

    query_id: str
    table: str
    """The uuid of the table."""
    batch_id: int


@dataclass(frozen=True, slots=True)
class Intent:
    """All that one commit is to do."""

    base: int
    """The snapshot that the transaction saw."""
    changes: tuple[Change, ...]
    entries: Mapping[int, TableEntry] = field(default_factory=dict)
    """The tables that it touches, as they will be."""
    row_ids: Mapping[int, RowIds] = field(default_factory=dict)
    """By table."""
    inlines: frozenset[int] = frozenset()
    """Tables for which small writes go into the catalog."""
    blind: frozenset[int] = frozenset()
    """Tables that a statement on its own appended to and did nothing else: rows that others delete do not matter."""
    examined: frozenset[int] = frozenset()
    """Tables whose rows decided what was written to them, as in a merge."""
    author: str | None = None
    message: str | None = None
    extra: str | None = None
    batch: StreamBatch | None = None

    def of(self, kind: type[C]) -> list[C]:
        """The changes of one kind, in order."""
        return [change for change in self.changes if isinstance(change, kind)]
