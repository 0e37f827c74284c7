"""How Spark's Parquet reader gives a column of a file, and the SQL that makes a column of the table of it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

from pyspark.sql import types as spark

from quacklake.engine.spark.leaves import read_leaf
from quacklake.engine.spark.literals import Literals
from quacklake.names import fold
from quacklake.plan.layout import FileColumn
from quacklake.plan.sources import Constant, FromFile, Source
from quacklake.predicates.spark import quote_name
from quacklake.types import Decimal, Primitive, is_nested


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read one column of a file."""

    type: spark.DataType
    """What the reader is asked for, under the names of the file."""
    sql: str
    """What comes out, of the table's type; `is_same` when it is just the column."""
    is_same: bool


class Reader:
    """Turns sources into readings; a source that Spark's reader cannot give exactly becomes None.

    Args:
        literals: Makes SQL of constants.
    """

    def __init__(self, literals: Literals) -> None:
        self._literals = literals
        self._items = (f"_e{number}" for number in count())

    def read(self, source: FromFile, value: str, *, inside: bool = False) -> Reading | None:
        """How to read a column.

        Args:
            source: Where the column is in the file.
            value: SQL of what the reader gives.
            inside: In a list or map, whose values Spark compares with no statistics.
        """
        if not is_nested(source.column.type) or not source.children:
            return self._leaf(source, value, inside)
        match source.source.kind:
            case "struct":
                return self._struct(source, value, inside)
            case "list":
                return self._list(source, value)
            case _:
                return self._map(source, value)

    def _leaf(self, source: FromFile, value: str, inside: bool) -> Reading | None:
        type_ = source.column.type
        if source.source.kind != "leaf" or not isinstance(type_, Primitive | Decimal):
            return None
        found = read_leaf(type_, source.source)
        if found is None:
            return None
        sql = value
        for step in (found.finish, None if inside else found.guard):
            sql = sql if step is None else step(sql)
        return Reading(found.type, sql, sql == value)

    def _struct(self, source: FromFile, value: str, inside: bool) -> Reading | None:
        if not has_clear_names(source.source.children):
            return None
        fields: list[spark.StructField] = []
        parts: list[str] = []
        is_same = True
        for child in source.children:
            if isinstance(child, Constant):
                parts.append(f"{self._literals.sql(child)} AS {quote_name(child.column.name)}")
                is_same = False
                continue
            found = self.read(child, f"{value}.{quote_name(child.source.name)}", inside=inside)
            if found is None:
                return None
            fields.append(spark.StructField(child.source.name, found.type))
            parts.append(f"{found.sql} AS {quote_name(child.column.name)}")
            is_same = is_same and found.is_same and child.column.name == child.source.name
        if not fields:
            # Which structs are NULL is seen only where something of them is read.
            return None
        read_as = spark.StructType(fields)
        if is_same:
            return Reading(read_as, value, True)
        return Reading(read_as, f"CASE WHEN {value} IS NOT NULL THEN struct({', '.join(parts)}) END", False)

    def _list(self, source: FromFile, value: str) -> Reading | None:
        item = next(self._items)
        found = self._below(source.children[0], item)
        if found is None:
            return None
        sql = value if found.is_same else f"transform({value}, {item} -> {found.sql})"
        return Reading(spark.ArrayType(found.type), sql, found.is_same)

    def _map(self, source: FromFile, value: str) -> Reading | None:
        item = next(self._items)
        key, below = (self._below(child, item) for child in source.children)
        if key is None or below is None:
            return None
        read_as = spark.MapType(key.type, below.type)
        if key.is_same and below.is_same:
            return Reading(read_as, value, True)
        keys = _transformed(f"map_keys({value})", item, key)
        values = _transformed(f"map_values({value})", item, below)
        return Reading(read_as, f"map_from_arrays({keys}, {values})", False)

    def _below(self, child: Source, item: str) -> Reading | None:
        return None if isinstance(child, Constant) else self.read(child, item, inside=True)


def _transformed(values: str, item: str, reading: Reading) -> str:
    return values if reading.is_same else f"transform({values}, {item} -> {reading.sql})"


def has_clear_names(columns: tuple[FileColumn, ...]) -> bool:
    """Whether no two columns side by side differ only in case: Spark could not tell them apart."""
    return len({fold(each.name) for each in columns}) == len(columns)
