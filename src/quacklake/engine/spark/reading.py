"""Reads of Spark's Parquet reader, worked out in full before Spark hears of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as spark

from quacklake.engine.local.groups import row_id_starts
from quacklake.engine.spark.hadoop import Doors
from quacklake.engine.spark.literals import Literals, nullable
from quacklake.engine.spark.lookup import Lookup
from quacklake.engine.spark.native import NativeGroup
from quacklake.engine.spark.paths import known_path
from quacklake.engine.spark.types import arrow_type, spark_type
from quacklake.names import fold
from quacklake.plan.scan import ScanFile, ScanPlan
from quacklake.plan.sources import Constant
from quacklake.predicates.spark import quote_name
from quacklake.schema import Column

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_ROWS = 64 << 20
"""Files with dead rows in one read have at most so many rows, a bit for each: every task gets the bits of its read."""


@dataclass(frozen=True, slots=True)
class NativeRead:
    """One read of Spark's, ready to be run."""

    schema: spark.StructType
    paths: tuple[str, ...]
    columns: tuple[str, ...]
    """SQL of what comes out: the address, the row id and the snapshot id where they are wanted, then the columns."""
    metadata: tuple[str, ...] = ()
    """SQL of what is needed besides the columns of the file."""
    lookup: pa.Table | None = None
    """A row to look things up in, each of its values to be put in scope under its name."""
    condition: str | None = None
    """SQL of which rows are alive."""


def build_reads(
    native: NativeGroup,
    plan: ScanPlan,
    columns: Sequence[Column],
    literals: Literals,
    doors: Doors,
    *,
    addresses: bool = False,
) -> list[NativeRead]:
    """The reads for a group of files; several when a path is twice, or when very many rows may be dead."""
    return [_Builder(part, plan, columns, literals, doors).build(addresses) for part in _divide(native, plan)]


def _divide(native: NativeGroup, plan: ScanPlan) -> Iterator[NativeGroup]:
    if not native.group.has_dead and None not in native.columns and not plan.row_ids:
        # Nothing is looked up by path, so a path that is twice is simply read twice.
        yield native
        return
    parts: list[NativeGroup] = []
    taken: list[set[str]] = []
    rows: list[int] = []
    for group, index in native.files:
        path = group.files[index].path
        more = group.rows[index] if group.has_dead else 0
        fitting = (at for at in range(len(parts)) if path not in taken[at] and rows[at] + more <= _MOST_ROWS)
        place = next(fitting, len(parts))
        if place == len(parts):
            parts.append(replace(native, files=[]))
            taken.append(set())
            rows.append(0)
        parts[place].files.append((group, index))
        taken[place].add(path)
        rows[place] += more
    yield from parts


class _Builder:
    """Builds one read."""

    def __init__(
        self, native: NativeGroup, plan: ScanPlan, columns: Sequence[Column], literals: Literals, doors: Doors
    ) -> None:
        self._native = native
        self._plan = plan
        self._columns = columns
        self._literals = literals
        self._files: list[ScanFile] = [group.files[index] for group, index in native.files]
        self._paths = tuple(path for file in self._files if (path := doors.reader_path(file.path)) is not None)
        names = {fold(each.name) for each in native.fields}
        self._row, self._path, self._value, self._anywhere = (
            _free(f"_quacklake_{name}", names) for name in ("row", "path", "files", "dead")
        )
        self._lookup: Lookup | None = None
        self._uses_row = False

    def build(self, addresses: bool) -> NativeRead:
        outputs = [
            *(self._address() if addresses else ()),
            *self._lineage(),
            *map(self._column, range(len(self._columns))),
        ]
        conditions = [*self._alive(), *self._in_time()]
        schema = spark.StructType(list(self._native.fields))
        condition = " AND ".join(f"({each})" for each in conditions) or None
        metadata = [f"_metadata.row_index AS {self._row}"] if self._uses_row else []
        if self._lookup is not None and len(self._paths) > 1:
            metadata.append(f"_metadata.file_path AS {self._path}")
        table = self._lookup.table() if self._lookup is not None else None
        return NativeRead(schema, self._paths, tuple(outputs), tuple(metadata), table, condition)

    def _column(self, place: int) -> str:
        found = self._native.columns[place]
        if found is not None:
            return found
        sources = [group.sources[index][place] for group, index in self._native.files]
        values = [self._literals.value(each) for each in sources if isinstance(each, Constant)]
        return self._per_file(values, spark_type(self._columns[place].type))

    def _address(self) -> Iterator[str]:
        self._uses_row = True
        yield nullable(self._number([file.file_id for file in self._files]))
        yield nullable(self._row)
        yield "CAST(NULL AS BIGINT)"

    def _lineage(self) -> Iterator[str]:
        if not self._plan.row_ids:
            return
        layout = self._native.group.layout
        if layout.row_id is not None:
            yield nullable(quote_name(layout.row_id.name))
        else:
            self._uses_row = True
            yield nullable(f"{self._number(row_id_starts(self._files))} + {self._row}")
        if layout.snapshot_id is not None:
            yield nullable(quote_name(layout.snapshot_id.name))
        else:
            yield nullable(self._number([file.begin_snapshot for file in self._files]))

    def _alive(self) -> Iterator[str]:
        if self._native.group.has_dead:
            self._uses_row = True
            dead = [group.dead[index] for group, index in self._native.files]
            rows = [group.rows[index] for group, index in self._native.files]
            yield self._looking_up().add_dead(dead, rows)

    def _in_time(self) -> Iterator[str]:
        snapshots = self._native.group.layout.snapshot_id
        if self._native.group.is_partial and snapshots is not None:
            yield f"{quote_name(snapshots.name)} <= {self._plan.snapshot_id}"

    def _number(self, values: Sequence[int]) -> str:
        import pyarrow as pa

        if len(set(values)) == 1:
            return f"CAST({values[0]} AS BIGINT)"
        return self._looking_up().add(pa.array(values, pa.int64()))

    def _per_file(self, values: Sequence[pa.Scalar[Any]], type_: spark.DataType) -> str:
        import pyarrow as pa

        return self._looking_up().add(pa.array(values, arrow_type(type_)))

    def _looking_up(self) -> Lookup:
        if self._lookup is None:
            paths = [known_path(path) for path in self._paths]
            self._lookup = Lookup(paths, self._value, self._anywhere, self._path, self._row)
        return self._lookup


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
