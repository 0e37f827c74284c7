"""Which ids a lake uses, and which it gets where it is copied to.

Ids of snapshots, of entries (namespaces, tables, views and the like) and of files are counted by whoever holds the
lake. A copy gets fresh ones in the same order, so that every comparison of two ids comes out as before.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from quacklake.catalog.tables import LAYOUT
from quacklake.errors import CatalogError

IdKind = Literal["snapshot", "entry", "file"]

KINDS_BY_COLUMN: Mapping[str, IdKind] = {
    **dict.fromkeys(("snapshot_id", "begin_snapshot", "end_snapshot", "partial_max"), "snapshot"),
    **dict.fromkeys(
        ("schema_id", "table_id", "view_id", "macro_id", "partition_id", "sort_id", "object_id"),
        "entry",
    ),
    **dict.fromkeys(("data_file_id", "delete_file_id", "mapping_id"), "file"),
}
"""Columns of the format that hold ids; they are called the same in every table."""

# A name in quotes, which may hold anything, or the number behind a colon.
_WORD = re.compile(r'"(?:[^"]|"")*"|:(\d+)')


def id_columns(name: str) -> dict[str, IdKind]:
    """The columns of a table of the format that hold ids."""
    columns = (word.partition(":")[0] for word in LAYOUT[name].split())
    return {column: KINDS_BY_COLUMN[column] for column in columns if column in KINDS_BY_COLUMN}


@dataclass(frozen=True, slots=True)
class IdMap:
    """The new id of each old one; both in order."""

    old: Sequence[int]
    new: Sequence[int]
    by_old: Mapping[int, int]

    @classmethod
    def pair(cls, old: Iterable[int], new: Iterable[int]) -> IdMap:
        """Old ids with as many new ones, the smallest with the smallest."""
        left, right = sorted(old), sorted(new)
        return cls(left, right, dict(zip(left, right, strict=True)))

    def __getitem__(self, old: int) -> int:
        found = self.by_old.get(old)
        if found is None:
            raise CatalogError(f"the id {old} is used by something that was not there before", hint="try again")
        return found

    def after(self, next_id: int) -> int:
        """The new next id in the place of an old one: behind all that were given out by then."""
        if next_id > 0:
            return self[next_id - 1] + 1
        return self.new[0] if self.new else 0

    def at_least(self, old: int) -> int:
        """The new id of the first known one that is not smaller: what a snapshot that nobody knows any more is like."""
        place = bisect_left(self.old, old)
        if place == len(self.old):
            raise CatalogError(f"the snapshot {old} is newer than the lake", hint="the catalog is damaged")
        return self.new[place]


@dataclass(frozen=True, slots=True)
class Ids:
    """The new ids of a lake that is copied."""

    snapshot: IdMap
    entry: IdMap
    file: IdMap

    def of(self, kind: IdKind) -> IdMap:
        """Those of a kind."""
        found: IdMap = getattr(self, kind)
        return found


def ids_in_changes(text: str | None) -> Iterator[int]:
    """The ids of entries in what a snapshot says of itself (`inserted_into_table:1,created_table:"main"."t"`)."""
    return (int(match[1]) for match in _WORD.finditer(text or "") if match[1])


def move_changes(text: str | None, entries: IdMap) -> str | None:
    """The same text with new ids."""
    if not text:
        return text
    return _WORD.sub(lambda match: f":{entries[int(match[1])]}" if match[1] else match[0], text)
