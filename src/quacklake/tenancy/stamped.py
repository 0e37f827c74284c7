"""The files of a lake that name snapshots inside: a copy, whose snapshots have other ids, needs files of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from quacklake.catalog.moving.copying import NewFile
from quacklake.catalog.moving.files import Splits, load_data_files, load_delete_files, load_splits
from quacklake.catalog.moving.ids import IdMap
from quacklake.catalog.moving.source import Source
from quacklake.errors import QuacklakeError
from quacklake.plan.layout import FileLayout
from quacklake.plan.scan import DeleteFile, ScanFile
from quacklake.storage.footers import read_layouts
from quacklake.storage.positions import read_stamps
from quacklake.storage.stores import Stores


@dataclass(slots=True)
class Stamped:
    """What a look at every file of a lake found."""

    files: int = 0
    bytes: int = 0
    data: list[tuple[int, ScanFile, FileLayout, Splits]] = field(default_factory=list)
    deletes: list[tuple[int, int, DeleteFile]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def written_bytes(self) -> int:
        """The size of all that has to be written anew."""
        sizes = [file.size for _, file, *_ in self.data] + [file.size for *_, file in self.deletes]
        return sum(size or 0 for size in sizes)


def find_stamped(source: Source, stores: Stores, *, every: bool = True) -> Stamped:
    """Look into every file of a lake. What cannot be read is a problem and no error.

    Args:
        source: The lake.
        stores: What opens files.
        every: Look into data files that were written in one go, too. DuckDB and we put no snapshots into those, but
            others might.
    """
    found = Stamped()
    splits = load_splits(source)
    for files in load_data_files(source):
        doubtful = [file for _, file in files if every or file.partial_max is not None or file.row_id_start is None]
        layouts = _layouts(doubtful, stores, found.problems)
        for table_id, file in files:
            found.files += 1
            found.bytes += file.size or 0
            layout = layouts.get(file.file_id)
            if layout is not None and (layout.snapshot_id is not None or file.file_id in splits):
                found.data.append((table_id, file, layout, splits.get(file.file_id, [])))
    for deletes in load_delete_files(source):
        for table_id, data_file_id, delete in deletes:
            found.files += 1
            found.bytes += delete.size or 0
            try:
                if read_stamps(delete, stores)[1] is not None:
                    found.deletes.append((table_id, data_file_id, delete))
            except QuacklakeError as error:
                found.problems.append(str(error))
    return found


def _layouts(files: list[ScanFile], stores: Stores, problems: list[str]) -> Mapping[int, FileLayout]:
    try:
        return read_layouts(files, stores)
    except QuacklakeError:
        # One at a time, to say of each what is wrong with it.
        layouts: dict[int, FileLayout] = {}
        for file in files:
            try:
                layouts |= read_layouts([file], stores)
            except QuacklakeError as error:
                problems.append(str(error))
        return layouts


@dataclass(slots=True)
class Written:
    """Files that were made for a copy, by the ids that the old ones have in the lake."""

    data: dict[int, NewFile] = field(default_factory=dict)
    deletes: dict[int, NewFile] = field(default_factory=dict)
    turns: dict[int, set[int]] = field(default_factory=dict)
    """By table, the snapshots that the old files name."""
    placed: list[str] = field(default_factory=list)
    """Their full paths."""
    names: set[str] = field(default_factory=set)
    """The same, to look them up."""

    def forget(self) -> None:
        """Begin anew."""
        for each in (self.data, self.deletes, self.turns, self.placed, self.names):
            each.clear()

    def take(self, path: str, folder: str) -> str:
        """Take up a file below a folder; its path from there."""
        self.placed.append(path)
        self.names.add(path)
        return path.removeprefix(folder)


def write_stamped(
    stamped: Stamped, snapshots: IdMap, folders: Mapping[int, str], stores: Stores, into: Written
) -> None:
    """Write the files anew with the snapshots of the copy.

    Args:
        stamped: Which ones.
        snapshots: The ids of the copy.
        folders: By table, where its files go.
        stores: What opens files.
        into: Takes up each as soon as it is there.
    """
    from quacklake.engine.local.stamping import stamp_data_file, stamp_delete_file

    paths: dict[int, str] = {}
    for table_id, file, layout, splits in stamped.data:
        folder = folders[table_id]
        made = stamp_data_file(file, layout, splits, snapshots.at_least, folder, stores)
        newest = snapshots.at_least(splits[-1][0]) if splits else None
        path = into.take(made.path, folder)
        into.data[file.file_id] = NewFile(path, True, made.size, made.footer_size, newest)
        into.turns.setdefault(table_id, set()).update(made.stamps)
        paths[file.file_id] = made.path
    for table_id, data_file_id, delete in stamped.deletes:
        folder = folders[table_id]
        made = stamp_delete_file(delete, paths.get(data_file_id, ""), snapshots.at_least, folder, stores)
        assert delete.file_id is not None
        into.deletes[delete.file_id] = NewFile(into.take(made.path, folder), True, made.size, made.footer_size)
        into.turns.setdefault(table_id, set()).update(made.stamps)
