"""Files that Spark's own Parquet reader reads: which go together, and how their columns become the table's.

The reader finds columns by the names that the files have, so files with other names are read apart. It also compares
filters with a file's statistics by these names. Finding columns by field id would need a setting of the session, and
would still compare filters by name: after two columns have swapped their names, that loses rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pyspark.sql import types as spark

from quacklake.engine.local.groups import FileGroup
from quacklake.engine.spark.literals import Literals
from quacklake.engine.spark.paths import reader_path
from quacklake.engine.spark.shapes import Reader, has_clear_names
from quacklake.names import fold
from quacklake.plan.layout import FileColumn
from quacklake.plan.scan import ScanFile, ScanPlan
from quacklake.plan.sources import Constant
from quacklake.predicates.spark import quote_name
from quacklake.schema import Column


@dataclass(slots=True)
class NativeGroup:
    """Files that go together."""

    group: FileGroup
    """The first of the local engine's groups that is in here; the others differ in columns that nobody reads."""
    fields: tuple[spark.StructField, ...]
    columns: tuple[str | None, ...]
    """SQL of each wanted column, or None where it is a constant that differs from file to file."""
    files: list[tuple[FileGroup, int]] = field(default_factory=list)
    """Each file by its group and its place in it."""

    @property
    def rows(self) -> int:
        """How many rows the files have."""
        return sum(group.rows[index] for group, index in self.files)


class NativeGroups:
    """Sorts groups of files into those that Spark's reader reads exactly and those that it does not.

    Args:
        plan: The plan.
        columns: The columns that must be read.
        literals: Makes SQL of constants.
    """

    def __init__(self, plan: ScanPlan, columns: Sequence[Column], literals: Literals) -> None:
        self._plan = plan
        self._columns = columns
        self._literals = literals
        self._found: dict[tuple[object, ...], NativeGroup] = {}

    @property
    def found(self) -> list[NativeGroup]:
        """The groups so far."""
        return list(self._found.values())

    def add(self, group: FileGroup) -> list[ScanFile]:
        """Take up what Spark's reader reads; gives the files that it does not."""
        shaped = self._shape(group)
        if shaped is None:
            return list(group.files)
        left = []
        known = None
        for index, file in enumerate(group.files):
            if reader_path(file.path) is None:
                left.append(file)
                continue
            if known is None:
                known = self._found.setdefault(self._key(shaped, group), shaped)
            known.files.append((group, index))
        return left

    def _key(self, shaped: NativeGroup, group: FileGroup) -> tuple[object, ...]:
        hidden = (group.layout.row_id, group.layout.snapshot_id) if self._plan.row_ids else ()
        types = tuple((each.name, each.dataType.json()) for each in shaped.fields)
        return types, shaped.columns, group.is_partial, group.has_dead, hidden

    def _shape(self, group: FileGroup) -> NativeGroup | None:
        if group.encryption_key is not None or not has_clear_names(group.columns):
            return None
        reader = Reader(self._literals)
        fields: dict[str, spark.StructField] = {}
        columns: list[str | None] = []
        for index, source in enumerate(group.sources[0]):
            if isinstance(source, Constant):
                columns.append(self._constant(group, index))
                continue
            found = reader.read(source, quote_name(source.source.name))
            if found is None:
                return None
            fields[source.source.name] = spark.StructField(source.source.name, found.type)
            columns.append(found.sql)
        for hidden in self._hidden(group):
            fields[hidden.name] = spark.StructField(hidden.name, spark.LongType())
        if self._needs_metadata(group, columns) and any(fold(name) == "_metadata" for name in fields):
            return None
        return NativeGroup(group, tuple(fields.values()), tuple(columns))

    def _constant(self, group: FileGroup, index: int) -> str | None:
        found = {sources[index] for sources in group.sources}
        first = group.sources[0][index]
        return self._literals.sql(first) if len(found) == 1 and isinstance(first, Constant) else None

    def _hidden(self, group: FileGroup) -> Iterator[FileColumn]:
        layout = group.layout
        if self._plan.row_ids and layout.row_id is not None:
            yield layout.row_id
        if (self._plan.row_ids or group.is_partial) and layout.snapshot_id is not None:
            yield layout.snapshot_id

    def _needs_metadata(self, group: FileGroup, columns: Sequence[str | None]) -> bool:
        return group.has_dead or self._plan.row_ids or None in columns
