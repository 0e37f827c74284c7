"""Columns and schemas: what a table looks like at one snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from quacklake.errors import NotFoundError
from quacklake.names import fold
from quacklake.types import DataType, children


@dataclass(frozen=True, slots=True)
class Default:
    """What an insert without the column stores."""

    text: str
    """A literal as DuckDB text, or an expression."""
    is_expression: bool = False
    dialect: str = "duckdb"


@dataclass(frozen=True, slots=True)
class Column:
    """One field of a table, at any depth. Its id never changes and is never used again."""

    id: int
    name: str
    type: DataType
    nullable: bool = True
    initial_default: str | None = None
    """DuckDB text of the value that files older than the column show; NULL when there is none."""
    default: Default | None = None
    comment: str | None = None

    def walk(self) -> Iterator[Column]:
        """This column and everything below it, parents first."""
        yield self
        for child in children(self.type):
            yield from child.walk()


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a table in order."""

    columns: tuple[Column, ...]

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the top-level columns."""
        return tuple(column.name for column in self.columns)

    def find(self, name: str) -> Column | None:
        """The top-level column of that name, compared without case."""
        wanted = fold(name)
        return next((column for column in self.columns if fold(column.name) == wanted), None)

    def column(self, name: str) -> Column:
        """The top-level column of that name.

        Raises:
            NotFoundError: When there is none; the hint lists those there are.
        """
        found = self.find(name)
        if found is None:
            raise NotFoundError(f"there is no column {name!r}", hint=f"the columns are {', '.join(self.names)}")
        return found

    def walk(self) -> Iterator[Column]:
        """Every column at every depth, parents first."""
        for column in self.columns:
            yield from column.walk()
