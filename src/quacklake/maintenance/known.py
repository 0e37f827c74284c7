"""Which files the rows of the catalog lead to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

import sqlalchemy as sa

from quacklake.catalog.audit import load_roots
from quacklake.catalog.lake import Catalog
from quacklake.catalog.shared import holders
from quacklake.catalog.shared.layout import only_own
from quacklake.storage.paths import join
from quacklake.storage.stores import is_remote, local_path, store_url

PAGE = 5_000
_NOWHERE = "nowhere://"
"""Where files of a table are that the catalog does not have: it is damaged, and its name alone protects a file."""


class KnownFiles:
    """The data files and delete files of every snapshot, remembered by 64 bits of their names.

    Of catalogs that share a database, those of one: what others need besides is noted where all can see it. Two
    names that happen to share these bits make a file look known that is not: it stays. The other way round there is
    no mistake.

    Args:
        catalog: The lake.
        with_paths: Remember whole paths too, and those of files that are scheduled for deletion.
    """

    def __init__(self, catalog: Catalog, *, with_paths: bool = False) -> None:
        self._catalog = catalog
        self._with_paths = with_paths
        self._marks = {"data_file": -1, "delete_file": -1}
        self._names: set[int] = set()
        self._shared: set[int] = set()
        """Names that several rows have."""
        self._paths: set[int] = set()
        self._folders: dict[str, str] = {}

    def look(self, connection: sa.Connection) -> None:
        """Take up what was added since the last look. Ids only grow, so that is cheap."""
        for name, after in self._marks.items():
            for id_, full, is_foreign in self._files(connection, name, after):
                self._marks[name] = id_
                for each in _spellings(full, is_foreign):
                    self._take_name(_name(each))
                    if self._with_paths:
                        self._paths.add(hash(self._place(each)))
        if self._with_paths:
            scheduled = self._catalog.tables.files_scheduled_for_deletion.c
            for path, is_relative in connection.execute(sa.select(scheduled.path, scheduled.path_is_relative)):
                self._paths.add(hash(self._place(join(self._catalog.data_path, path, is_relative))))

    def knows(self, path: str) -> bool:
        """Whether a row leads to that very path, or schedules it for deletion, as far as was looked."""
        return hash(self._place(path)) in self._paths

    def find_held(self, connection: sa.Connection, paths: Sequence[str], *, had_rows: bool = False) -> frozenset[str]:
        """Which of the files somebody is holding: they must not be deleted, whoever asks.

        This is the one place that says so. A file is held when any row of the catalog leads to it, of whatever
        snapshot and however the path is spelled, or when it is noted that another catalog, or a lake that shows the
        same files, needs it.

        Args:
            connection: In the transaction that is about to let go of the files.
            paths: The files.
            had_rows: Whether each of them had a row of its own that was deleted in this transaction.
        """
        used = self._find_used(connection, paths, had_rows)
        if self._catalog.catalog_id is None:
            return used
        return used | holders.find_held(connection, self._catalog.tables, self._catalog.catalog_id, paths)

    def let_go(self, connection: sa.Connection, paths: Sequence[str], *, had_rows: bool = False) -> frozenset[str]:
        """The same as `find_held`; and where the catalog itself holds a file no more, note that for the others."""
        used = self._find_used(connection, paths, had_rows)
        if self._catalog.catalog_id is None:
            return used
        free = [path for path in paths if path not in used]
        return used | holders.let_go(connection, self._catalog.tables, self._catalog.catalog_id, free)

    def _find_used(self, connection: sa.Connection, paths: Sequence[str], had_rows: bool) -> frozenset[str]:
        """Which of the files rows lead to."""
        if not paths:
            return frozenset()
        self.look(connection)
        names = self._shared if had_rows else self._names
        wanted: dict[str, list[str]] = {}
        for path in paths:
            for name in {_name(each) for each in _spellings(path, is_foreign=True)}:
                if hash(name) in names:
                    wanted.setdefault(name, []).append(path)
        return frozenset(self._led_to(connection, wanted) if wanted else ())

    def _led_to(self, connection: sa.Connection, wanted: Mapping[str, list[str]]) -> Iterator[str]:
        for table in self._marks:
            for _, full, is_foreign in self._files(connection, table, -1):
                for name in {_name(each) for each in _spellings(full, is_foreign)}:
                    yield from (path for path in wanted.get(name, ()) if _may_be_same(full, path))

    def _files(self, connection: sa.Connection, name: str, after: int) -> Iterator[tuple[int, str, bool]]:
        """Id and path of files, and whether they may be links that others made."""
        tables = self._catalog.tables
        roots: dict[int, str] | None = None
        table: sa.Table = getattr(only_own(tables), name)
        id_ = table.c[f"{name}_id"]
        mapping = table.c.get("mapping_id")
        added = sa.null() if mapping is None else mapping
        query = (
            sa.select(id_, table.c.table_id, table.c.path, table.c.path_is_relative, added).order_by(id_).limit(PAGE)
        )
        while rows := connection.execute(query.where(id_ > after).limit(PAGE)).all():
            roots = roots or load_roots(connection, tables, self._catalog.data_path)
            for file_id, table_id, path, is_relative, mapping_id in rows:
                root = roots.get(table_id, _NOWHERE)
                yield file_id, join(root, path, is_relative), mapping_id is not None or not is_relative
            after = rows[-1][0]

    def _take_name(self, name: str) -> None:
        key = hash(name)
        if key in self._names:
            self._shared.add(key)
        self._names.add(key)

    def _place(self, path: str) -> str:
        """The one spelling of a path: links in the names of its folders are followed."""
        if is_remote(path):
            return store_url(path)
        folder, name = os.path.split(local_path(path))
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder)
        return f"{self._folders[folder]}/{name}"


def _may_be_same(known: str, path: str) -> bool:
    return known.startswith(_NOWHERE) or is_same_file(known, path)


def is_same_file(one: str, other: str) -> bool:
    """Whether two paths lead to one file, by whatever links."""
    if is_remote(one) or is_remote(other):
        return is_remote(one) and is_remote(other) and store_url(one) == store_url(other)
    left, right = local_path(one), local_path(other)
    if os.path.realpath(left) == os.path.realpath(right):
        return True
    try:
        # Where the disk does not tell upper case from lower.
        return os.path.samefile(left, right)  # noqa: PTH121 - two texts
    except OSError:
        return False


def _spellings(path: str, is_foreign: bool) -> Iterable[str]:
    """The path, and where it leads when it is a link. Files that DuckDB and we write are none."""
    if is_foreign and not is_remote(path) and os.path.islink(local_path(path)):  # noqa: PTH114 - runs for every file
        return path, os.path.realpath(local_path(path))
    return (path,)


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1].lower()
