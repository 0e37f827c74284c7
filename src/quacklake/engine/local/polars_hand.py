"""Reads plain files with Polars: whole columns as they are in the file, dead rows masked out by position."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from quacklake.engine.local.batches import LARGEST_BATCH, rows_per_batch, shape_batch
from quacklake.engine.local.conditions import Condition, polars_condition
from quacklake.engine.local.failures import explain_file
from quacklake.engine.local.groups import FileGroup, row_id_starts
from quacklake.engine.local.types import arrow_type, polars_type
from quacklake.errors import StorageError
from quacklake.plan.layout import FileColumn
from quacklake.plan.scan import ScanFile, ScanPlan
from quacklake.plan.sources import Constant, FromFile
from quacklake.storage.stores import Stores, is_remote, local_path, store_url

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    import pyarrow as pa
    from numpy.typing import NDArray

_PART_ROWS = 1 << 20
"""At most so many rows of a file are in memory at once."""

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class _Part:
    """Some rows of one file."""

    group: FileGroup
    index: int
    """Which file of the group."""
    offset: int
    length: int


def read_batches(
    plan: ScanPlan,
    groups: Sequence[FileGroup],
    condition: Condition | None,
    constants: Callable[[Constant], Any],
    stores: Stores,
    schema: pa.Schema,
) -> Iterator[pa.RecordBatch]:
    """The rows of files that Polars reads exactly, as they come.

    Args:
        plan: What to read; it has no limit.
        groups: The files.
        condition: The plan's predicate, if it has one.
        constants: The value of a column that the files do not have.
        stores: Where the files are.
        schema: What comes out; texts may be views in it.
    """
    parts = list(_parts(groups, whole=condition is not None))
    # Polars has a thread for each core; one more here shapes rows meanwhile.
    workers = min(_cores() + 1, 8)
    reader = _Reader(plan, condition, constants, stores, schema, alone=len(parts) < workers)
    for batches in _in_parallel(reader.read, parts, workers):
        yield from batches


def _parts(groups: Sequence[FileGroup], *, whole: bool) -> Iterator[_Part]:
    for group in groups:
        for index, (file, rows) in enumerate(zip(group.files, group.rows, strict=True)):
            most = max(rows, 1) if whole else rows_per_batch([file], _PART_ROWS)
            for offset in range(0, rows, most):
                yield _Part(group, index, offset, min(most, rows - offset))


def _cores() -> int:
    """How many cores this process may use, and two at least: one reads while the other waits for the disk."""
    return max(2, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def _in_parallel(work: Callable[[T], R], items: Sequence[T], workers: int) -> Iterator[R]:
    """Results in order, a few ahead of the one who takes them and no more."""
    if len(items) < 2:
        yield from map(work, items)
        return
    waiting: deque[Future[R]] = deque()
    with ThreadPoolExecutor(workers, "quacklake-read") as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


class _Reader:
    def __init__(
        self,
        plan: ScanPlan,
        condition: Condition | None,
        constants: Callable[[Constant], Any],
        stores: Stores,
        schema: pa.Schema,
        *,
        alone: bool,
    ) -> None:
        self._plan = plan
        self._condition = condition
        self._constants = constants
        self._stores = stores
        self._alone = alone
        self._schema = schema

    def read(self, part: _Part) -> list[pa.RecordBatch]:
        """The live rows of one part, in the shape that the plan promises."""
        frame = self._numbered(part) if self._condition is None else self._matching(part, self._condition)
        live = self._live(part, frame)
        if live is not None:
            frame = frame.filter(live)
        batches = (batch for each in _split(frame) for batch in self._table(part, each).to_batches())
        return [shape_batch(batch, self._schema) for batch in batches if batch.num_rows]

    def _numbered(self, part: _Part) -> pl.DataFrame:
        """All rows of a part, with their positions in the file where somebody needs them."""
        import numpy as np
        import polars as pl

        names = self._needed(part)
        if names and not self._counts(part):
            return self._load(part, names)
        # Without any column of the file, the positions also say how many rows there are.
        numbers = np.arange(part.offset, part.offset + part.length, dtype=np.int64)
        positions = pl.Series(_position_name(part.group), numbers)
        return self._load(part, names).with_columns(positions) if names else positions.to_frame()

    def _load(self, part: _Part, names: Sequence[str]) -> pl.DataFrame:
        file = part.group.files[part.index]
        with self._stores.secrets.hiding(), _polars_errors(file):
            scan = self._scan(part, use_statistics=False).select(names)
            if part.length < part.group.rows[part.index]:
                scan = scan.slice(part.offset, part.length)
            frame = self._typed(part, scan.collect(engine="in-memory"))
        if frame.height != part.length:
            raise StorageError(f"{file.path} has changed since its footer was read")
        return frame

    def _typed(self, part: _Part, frame: pl.DataFrame) -> pl.DataFrame:
        """The frame in the types of the table.

        Arrow leaves a note in its files (a dictionary for texts, another zone for times) which Polars follows.
        """
        sources = (each for each in part.group.sources[part.index] if isinstance(each, FromFile))
        wanted = {each.source.name: polars_type(each.column.type) for each in sources}
        differ = {name: type_ for name, type_ in frame.schema.items() if wanted.get(name, type_) != type_}
        return frame.cast({name: wanted[name] for name in differ}) if differ else frame

    def _matching(self, part: _Part, condition: Condition) -> pl.DataFrame:
        """The rows of a file for which the condition holds, with their positions."""
        import polars as pl

        position = _position_name(part.group)
        with self._stores.secrets.hiding(), _polars_errors(part.group.files[part.index]):
            scan = self._scan(part, use_statistics=True, row_index_name=position)
            held, fields = scan.collect_schema(), {}
            for source in part.group.sources[part.index]:
                if isinstance(source, FromFile):
                    field, type_ = pl.col(source.source.name), polars_type(source.column.type)
                    # Only a column as it is lets Polars skip parts of the file.
                    fields[source.column.name] = field if held[source.source.name] == type_ else field.cast(type_)
            found = scan.filter(polars_condition(condition, fields, self._plan.schema))
            wanted = [*self._needed(part), pl.col(position).cast(pl.Int64)]
            return self._typed(part, found.select(wanted).collect(engine="in-memory"))

    def _scan(self, part: _Part, **options: Any) -> pl.LazyFrame:
        import polars as pl

        path = part.group.files[part.index].path
        return pl.scan_parquet(
            store_url(path) if is_remote(path) else local_path(path),
            # Parts are read side by side: more threads for each would only stand in the way of the others.
            parallel="auto" if self._alone else "none",
            hive_partitioning=False,
            glob=False,
            **self._stores.polars_options(path),
            **options,
        )

    def _counts(self, part: _Part) -> bool:
        """Whether row ids follow from the positions of the rows."""
        return self._plan.row_ids and part.group.layout.row_id is None

    def _needed(self, part: _Part) -> list[str]:
        """The columns of the file that come out or are looked at afterwards, each once."""
        layout, chosen = part.group.layout, {column.id for column in self._plan.columns}
        needed: list[FileColumn | None] = [
            each.source
            for each in part.group.sources[part.index]
            if isinstance(each, FromFile) and each.column.id in chosen
        ]
        if self._plan.row_ids:
            needed.append(layout.row_id)
        if self._plan.row_ids or part.group.is_partial:
            needed.append(layout.snapshot_id)
        return list(dict.fromkeys(each.name for each in needed if each is not None))

    def _live(self, part: _Part, frame: pl.DataFrame) -> NDArray[np.bool_] | None:
        """Which rows of a frame live; None when all do."""
        import numpy as np

        group, snapshots = part.group, part.group.layout.snapshot_id
        live: NDArray[np.bool_] | None = None
        if group.is_partial and snapshots is not None:
            live = (frame[snapshots.name] <= self._plan.snapshot_id).fill_null(False).to_numpy(writable=True)
        if group.has_dead:
            dead = group.dead[part.index]
            live = np.ones(frame.height, np.bool_) if live is None else live
            if self._condition is None:
                first, last = np.searchsorted(dead, (part.offset, part.offset + part.length))
                live[dead[first:last] - part.offset] = False
            else:
                positions = frame[_position_name(group)].to_numpy()
                # The dead are in order, so that a position has one place among them.
                places = np.searchsorted(dead, positions)
                live &= dead[np.minimum(places, len(dead) - 1)] != positions
        return live

    def _table(self, part: _Part, frame: pl.DataFrame) -> pa.Table:
        import polars as pl
        import pyarrow as pa

        table = frame.to_arrow(compat_level=pl.CompatLevel.newest())
        held = dict(zip(frame.columns, table.columns, strict=True))
        arrays = self._lineage(part, held, frame.height) if self._plan.row_ids else []
        by_id = {source.column.id: source for source in part.group.sources[part.index]}
        for column in self._plan.columns:
            source = by_id[column.id]
            if isinstance(source, FromFile):
                arrays.append(held[source.source.name])
            else:
                arrays.append(pa.chunked_array([self._constant(source, frame.height)]))
        return pa.Table.from_arrays(arrays, [str(index) for index in range(len(arrays))])

    def _constant(self, source: Constant, rows: int) -> Any:
        import pyarrow as pa

        if source.text is None:
            # Nested types of which Arrow repeats no value can still be NULL.
            type_: Any = arrow_type(source.column.type)
            return pa.nulls(rows, type_)
        return pa.repeat(self._constants(source), rows)

    def _lineage(self, part: _Part, held: dict[str, pa.ChunkedArray[Any]], rows: int) -> list[pa.ChunkedArray[Any]]:
        import pyarrow as pa
        import pyarrow.compute as pc

        layout, file = part.group.layout, part.group.files[part.index]
        if layout.row_id is not None:
            row_ids: Any = held[layout.row_id.name]
        else:
            row_ids = pc.add(held[_position_name(part.group)], row_id_starts([file])[0])
        if layout.snapshot_id is not None:
            return [row_ids, held[layout.snapshot_id.name]]
        begin = pa.scalar(file.begin_snapshot, pa.int64())
        return [row_ids, pa.chunked_array([pa.repeat(begin, rows)])]


def _position_name(group: FileGroup) -> str:
    """A name for the positions that is no column's of the files."""
    return "_" + max((column.name for column in group.columns), key=len, default="")


@contextmanager
def _polars_errors(file: ScanFile) -> Iterator[None]:
    """Turn what Polars raises about a file into our errors."""
    import polars as pl

    try:
        yield
    except FileNotFoundError as error:
        raise StorageError(f"the file {file.path} is missing", hint="was it removed from outside?") from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise explain_file(file.path, str(error)) from error


def _split(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The frame in parts whose texts fit into one batch."""
    if frame.height < 2 or all(column.estimated_size() <= LARGEST_BATCH for column in frame):
        yield frame
        return
    half = frame.height // 2
    yield from _split(frame[:half])
    yield from _split(frame[half:])
