"""What is inside one Parquet file, as its footer says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

ROW_ID_FIELD = 2147483540
"""The field id of the row ids that an update or a merge of files keeps inside the file."""
SNAPSHOT_ID_FIELD = 2147483539
"""The field id of the snapshot that each row of a partial file belongs to."""


@dataclass(frozen=True, slots=True)
class FileColumn:
    """One column of a Parquet file, at any depth. List and map groups are left out: a list has one child."""

    name: str
    field_id: int | None
    kind: Literal["leaf", "struct", "list", "map"]
    type: str = ""
    """For a leaf, the type DuckDB gives it when it reads the file, in DuckDB's words (`TIMESTAMP WITH TIME ZONE`)."""
    physical: str = ""
    """For a leaf, the physical type (`INT96`, `FIXED_LEN_BYTE_ARRAY`, …)."""
    logical: str = ""
    """For a leaf, the logical type's name (`String`, `Enum`, …; nothing when it has none), for times with the unit
    (`Timestamp milliseconds`)."""
    children: tuple[FileColumn, ...] = ()

    def walk(self) -> Iterator[FileColumn]:
        """This column and everything below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, slots=True)
class FileLayout:
    """The columns of a file and how many rows it has."""

    columns: tuple[FileColumn, ...]
    row_count: int

    @property
    def row_id(self) -> FileColumn | None:
        """The column with embedded row ids, if the file has one."""
        return self._reserved(ROW_ID_FIELD)

    @property
    def snapshot_id(self) -> FileColumn | None:
        """The column with embedded snapshot ids, if the file has one."""
        return self._reserved(SNAPSHOT_ID_FIELD)

    @property
    def data_columns(self) -> tuple[FileColumn, ...]:
        """The columns that belong to the table."""
        return tuple(column for column in self.columns if column.field_id not in (ROW_ID_FIELD, SNAPSHOT_ID_FIELD))

    def _reserved(self, field_id: int) -> FileColumn | None:
        # By id alone: a file that was added from outside may use the name for something else.
        return next((each for each in self.columns if each.field_id == field_id), None)
