"""The lake at one snapshot, as immutable records: what exists and what it looks like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from quacklake.errors import NotFoundError
from quacklake.names import TableName, fold
from quacklake.schema import Schema


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One commit, and the counters the next one starts from."""

    snapshot_id: int
    time: datetime
    schema_version: int
    next_catalog_id: int
    next_file_id: int
    changes: str | None = None
    """What the commit did, in the words of the format (`inserted_into_table:1,…`)."""
    author: str | None = None
    message: str | None = None
    extra: str | None = None


@dataclass(frozen=True, slots=True)
class Namespace:
    """A container of tables and views; SQL calls it a schema."""

    namespace_id: int
    name: str
    path: str
    """Where its tables go: absolute, or a URL."""
    uuid: str | None = None
    begin_snapshot: int = 0


@dataclass(frozen=True, slots=True)
class PartitionKey:
    """One key of a partition spec."""

    column_id: int
    transform: str
    """`identity`, `year`, `month`, `day`, `hour` or `bucket(N)`."""


@dataclass(frozen=True, slots=True)
class PartitionSpec:
    """How the rows of a table are spread over files."""

    partition_id: int
    keys: tuple[PartitionKey, ...]


@dataclass(frozen=True, slots=True)
class SortKey:
    """One key of a sort order."""

    expression: str
    descending: bool = False
    nulls_first: bool = False
    dialect: str = "duckdb"


@dataclass(frozen=True, slots=True)
class SortSpec:
    """The order of the rows inside a file."""

    sort_id: int
    keys: tuple[SortKey, ...]


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A table as the catalog describes it at one snapshot."""

    table_id: int
    name: TableName
    namespace_id: int
    path: str
    """Where its files go: absolute, or a URL."""
    schema: Schema
    uuid: str | None = None
    begin_snapshot: int = 0
    """The snapshot that made this version of the entry; a rename makes a new one."""
    partition: PartitionSpec | None = None
    sort: SortSpec | None = None
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def comment(self) -> str | None:
        """The comment, when there is one."""
        return self.tags.get("comment")


@dataclass(frozen=True, slots=True)
class ViewEntry:
    """A stored query."""

    view_id: int
    name: TableName
    namespace_id: int
    sql: str
    dialect: str
    column_aliases: tuple[str, ...] = ()
    uuid: str | None = None
    begin_snapshot: int = 0
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MacroEntry:
    """A stored macro: kept, never run."""

    macro_id: int
    namespace_id: int
    name: str
    kind: str
    """`scalar` or `table`."""
    implementations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Option:
    """One setting of the lake, of a namespace or of a table."""

    name: str
    value: str
    scope: str | None = None
    """None for the lake, `schema` or `table`."""
    scope_id: int | None = None


E = TypeVar("E", TableEntry, ViewEntry)


@dataclass(frozen=True, slots=True)
class CatalogView:
    """Everything that one snapshot shows."""

    snapshot: Snapshot
    data_path: str
    namespaces: tuple[Namespace, ...]
    tables: tuple[TableEntry, ...]
    views: tuple[ViewEntry, ...] = ()
    macros: tuple[MacroEntry, ...] = ()
    options: tuple[Option, ...] = ()

    def namespace(self, name: str) -> Namespace:
        """The namespace of that name.

        Raises:
            NotFoundError: When the snapshot has none; the hint lists those there are.
        """
        found = next((each for each in self.namespaces if fold(each.name) == fold(name)), None)
        if found is None:
            known = ", ".join(each.name for each in self.namespaces)
            raise NotFoundError(
                f"there is no namespace {name!r} at snapshot {self.snapshot.snapshot_id}", hint=f"there is {known}"
            )
        return found

    def find_table(self, name: TableName) -> TableEntry | None:
        """The table of that name, if the snapshot shows it."""
        return _find(self.tables, name)

    def find_view(self, name: TableName) -> ViewEntry | None:
        """The view of that name, if the snapshot shows it."""
        return _find(self.views, name)

    def table(self, name: TableName) -> TableEntry:
        """The table of that name.

        Raises:
            NotFoundError: When the snapshot does not show it; the hint names similar ones.
        """
        found = self.find_table(name)
        if found is not None:
            return found
        if self.find_view(name) is not None:
            raise NotFoundError(f"{name} is a view, not a table", hint="query it with session.sql")
        self.namespace(name.namespace)
        raise NotFoundError(
            f"there is no table {name} at snapshot {self.snapshot.snapshot_id}",
            hint=_suggest(name, [each.name for each in self.tables]),
        )


def _find(entries: Iterable[E], name: TableName) -> E | None:
    wanted = (fold(name.namespace), fold(name.table))
    return next((each for each in entries if (fold(each.name.namespace), fold(each.name.table)) == wanted), None)


def _suggest(name: TableName, known: list[TableName]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(str(name), [str(each) for each in known], n=3)
    return f"did you mean {' or '.join(close)}?" if close else "session.tables() lists what there is"
