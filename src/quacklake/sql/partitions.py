"""`PARTITION (day = '2024-01-01')` in an INSERT: columns whose one value stands in the statement, not in the query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quacklake.errors import InvalidInputError, UnsupportedError
from quacklake.names import fold
from quacklake.sql.reverse import type_text
from quacklake.sql.targets import column_name
from quacklake.sql.text import parse_expression, query_text
from quacklake.sql.words import Words

if TYPE_CHECKING:
    from quacklake.table import Table


@dataclass(frozen=True, slots=True)
class Partition:
    """The partition that the rows of an INSERT belong to.

    Args:
        values: Column -> its value, an expression in Spark's dialect of the column's type.
    """

    values: dict[str, str]

    @property
    def where(self) -> str:
        """The predicate that the rows of the partition fulfil, and no others."""
        return " AND ".join(f"{_quoted(name)} <=> {value}" for name, value in self.values.items())

    def named(self, names: Sequence[str]) -> list[str]:
        """The columns that rows come with, of which the query gives the first: not those of the partition."""
        own = {fold(name) for name in self.values}
        return [*(name for name in names if fold(name) not in own), *self.values]

    def completed(self, query: str) -> str:
        """The query with the columns of the partition after its own."""
        inner = query_text(Words.of(query), query)
        return f"SELECT quacklake_rows.*, {', '.join(self.values.values())} FROM ({inner}) AS quacklake_rows"


def read_partition(words: Words, table: Table) -> Partition:
    """Read what stands in the brackets after PARTITION.

    Raises:
        InvalidInputError: When a column is none that the table is partitioned by, or its value is no constant.
        UnsupportedError: When a column has no value: then the query would say which partitions there are.
    """
    keys = {fold(key): key for key in table.partition_by}
    values: dict[str, str] = {}
    for each in words.listed():
        inner = Words.of(each)
        name = column_name(inner.until("="))
        if not inner.accept("="):
            raise UnsupportedError(
                f"INSERT … PARTITION ({name}) without a value",
                hint="leave PARTITION out, or use INSERT INTO t REPLACE WHERE … or overwrite_partitions()",
            )
        if fold(name) not in keys:
            known = ", ".join(table.partition_by) or "nothing"
            raise InvalidInputError(f"{table.name} is partitioned by {known}, not by {name}")
        column = table.schema.column(name)
        if column.name in values:
            raise InvalidInputError(f"column {name!r} is there twice in PARTITION")
        values[column.name] = _constant(inner.rest(), type_text(column.type))
    if words.accept("IF", "NOT", "EXISTS"):
        raise UnsupportedError("INSERT OVERWRITE … PARTITION … IF NOT EXISTS")
    return Partition(values)


def _constant(text: str, type_: str) -> str:
    """The value, as one of a type where it is written as text; a cast of others could lose something unseen."""
    from sqlglot import exp

    tree, _ = parse_expression(text)
    if tree.find(exp.Column, exp.Query, exp.AggFunc) is not None:
        raise InvalidInputError(f"{text!r} in PARTITION is no constant")
    is_text = isinstance(tree, exp.Null) or (isinstance(tree, exp.Literal) and tree.is_string)
    return f"CAST({text} AS {type_})" if is_text else text


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
