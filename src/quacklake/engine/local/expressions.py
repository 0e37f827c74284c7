"""SQL for the columns of a table, made from what one file (or the catalog) holds."""

from __future__ import annotations

from itertools import count

from quacklake.engine.local.types import duckdb_type, map_sql, struct_sql
from quacklake.names import quote
from quacklake.plan.sources import Constant, FromFile, Source
from quacklake.types import Primitive


def literal(text: str) -> str:
    """The text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def read_sql(source: Source, value: str) -> str:
    """The column of the table, of the table's type.

    Args:
        source: Where the column comes from.
        value: SQL of what the file holds at the source's top level.
    """
    return _Reader().read(source, value)


class _Reader:
    def __init__(self) -> None:
        self._items = (f"_e{number}" for number in count())

    def read(self, source: Source, value: str) -> str:
        match source:
            case Constant(column, text):
                return f"CAST({'NULL' if text is None else literal(text)} AS {duckdb_type(column.type)})"
            case FromFile():
                return self._rebuild(source, value) if _is_rebuilt(source) else _cast(source, value)

    def _rebuild(self, source: FromFile, value: str) -> str:
        match source.source.kind:
            case "struct":
                return struct_sql(value, [self._field(each, value) for each in source.children])
            case "list":
                item = next(self._items)
                return f"list_transform({value}, lambda {item}: {self.read(source.children[0], item)})"
            case _:
                item = next(self._items)
                key, below = source.children
                return map_sql(value, item, self.read(key, f"{item}.key"), self.read(below, f"{item}.value"))

    def _field(self, child: Source, value: str) -> tuple[str, str]:
        # A constant looks at nothing.
        inner = f"{value}.{quote(child.source.name)}" if isinstance(child, FromFile) else ""
        return child.column.name, self.read(child, inner)


def _is_rebuilt(source: FromFile) -> bool:
    return bool(source.children) and (not source.is_identity or _has_wkb(source))


def _has_wkb(source: Source) -> bool:
    """Whether a geometry is stored as plain bytes, which no cast turns into one."""
    if isinstance(source, Constant):
        return False
    is_wkb = source.column.type == Primitive("geometry") and source.source.type == "BLOB"
    return is_wkb or any(_has_wkb(child) for child in source.children)


def _cast(source: FromFile, value: str) -> str:
    if not source.children and _has_wkb(source):
        return f"ST_GeomFromWKB({value})"
    return f"CAST({value} AS {duckdb_type(source.column.type)})"
