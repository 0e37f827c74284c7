"""Files that can be read together, because they have the same columns and need the same treatment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from quacklake.errors import StorageError
from quacklake.names import fold
from quacklake.plan.layout import FileColumn, FileLayout
from quacklake.plan.scan import ScanFile, ScanPlan
from quacklake.plan.sources import Source, resolve
from quacklake.schema import Column
from quacklake.storage.footers import read_layouts
from quacklake.storage.positions import read_positions
from quacklake.storage.stores import Stores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files with the same columns, key and sources; they differ only in values that are constant in each."""

    columns: tuple[FileColumn, ...]
    encryption_key: str | None
    is_partial: bool
    """Rows of later snapshots than the plan's must be dropped."""
    has_dead: bool
    files: list[ScanFile] = field(default_factory=list)
    sources: list[tuple[Source, ...]] = field(default_factory=list)
    """Per file, one per wanted column."""
    dead: list[NDArray[np.int64]] = field(default_factory=list)
    """Per file, the positions of dead rows; empty when the group has none."""
    rows: list[int] = field(default_factory=list)
    """Per file, how many rows it has, dead ones included."""

    @property
    def layout(self) -> FileLayout:
        """The columns as a layout; the number of rows means nothing."""
        return FileLayout(self.columns, 0)

    @property
    def live_rows(self) -> int:
        """How many rows of the files are not dead."""
        gone = zip(self.dead, self.rows, strict=True) if self.has_dead else ()
        return sum(self.rows) - sum(int((dead < rows).sum()) for dead, rows in gone)

    def index_of(self, column: FileColumn) -> int:
        """The position of a top-level column in the files."""
        return next(index for index, each in enumerate(self.columns) if each is column or each == column)


def wanted_columns(plan: ScanPlan) -> tuple[Column, ...]:
    """The columns that must be read: what comes out and what the predicate looks at, each once."""
    used = {fold(name) for name in plan.where.columns} if plan.where is not None else set()
    chosen = {column.id: column for column in plan.columns}
    for column in plan.schema:
        if fold(column.name) in used:
            chosen.setdefault(column.id, column)
    return tuple(chosen.values())


def group_files(plan: ScanPlan, columns: Sequence[Column], stores: Stores) -> list[FileGroup]:
    """Read what the footers and delete files say, and put files together that can be read together."""
    layouts = read_layouts(plan.files, stores)
    known: dict[tuple[int, int], tuple[Source, ...]] = {}
    found: dict[tuple[object, ...], FileGroup] = {}
    for file in plan.files:
        layout = layouts[file.file_id]
        dead = read_positions(file, plan.snapshot_id, stores) if file.has_deletes else None
        has_dead = dead is not None and len(dead) > 0
        is_partial = _is_partial(file, layout, plan.snapshot_id)
        # Layouts and mappings are shared by the files that have them, so to be the same is to be equal. What they
        # do not decide about the sources are values in the path, of which each file has its own.
        shape = (id(layout.columns), id(file.mapping))
        sources = known.get(shape)
        if sources is None or _looks_into_path(file):
            sources = known[shape] = resolve(file, layout, columns, plan.schema.columns)
        key = (*shape, file.encryption_key, is_partial, has_dead)
        group = found.setdefault(key, FileGroup(layout.columns, file.encryption_key, is_partial, has_dead))
        group.files.append(file)
        group.sources.append(sources)
        group.rows.append(layout.row_count)
        if has_dead and dead is not None:
            group.dead.append(dead)
    return list(found.values())


def _is_partial(file: ScanFile, layout: FileLayout, snapshot_id: int) -> bool:
    if file.partial_max is None or file.partial_max <= snapshot_id:
        return False
    if layout.snapshot_id is None:
        raise StorageError(f"{file.path} holds rows of several snapshots, but does not say which row is of which")
    return True


def _looks_into_path(file: ScanFile) -> bool:
    return file.mapping is not None and any(each.is_partition for each in file.mapping)


def row_id_starts(files: Sequence[ScanFile]) -> list[int]:
    """The first row id of each file.

    Raises:
        StorageError: When a file neither holds row ids nor has a first one in the catalog.
    """
    starts = []
    for file in files:
        if file.row_id_start is None:
            raise StorageError(f"{file.path} has no row ids, neither inside nor in the catalog")
        starts.append(file.row_id_start)
    return starts
