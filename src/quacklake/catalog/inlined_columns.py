"""Read a table of inlined rows from each database and make Arrow of it.

Every database holds the values in its own types, and not every version of DuckDB chose the same ones, so what is
asked of a column depends on what the database says it is. No value passes through a Python class that cannot hold it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa

from quacklake.catalog.inlined_types import duckdb_type
from quacklake.catalog.moment_text import LONG_HOURS, Unreadable, readable_interval
from quacklake.catalog.nested_text import NestedText
from quacklake.catalog.tables import SNAPSHOT, START
from quacklake.catalog.text_syntax import Mismatch, is_binary
from quacklake.errors import CatalogError, UnsupportedError
from quacklake.schema import Column
from quacklake.types import DataType, Decimal, Leaf, Primitive, children, is_nested

if TYPE_CHECKING:
    Values = Sequence[Any]
    Decode = Callable[[Values, DataType], pa.Array[Any]]
    _Snapshot = sa.ColumnElement[Any]

_SYSTEM_COLUMNS = ("row_id", "begin_snapshot", "end_snapshot")
_COUNT = len(_SYSTEM_COLUMNS)


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table of inlined rows as the database describes it: row id, begin and end snapshot, then the columns."""

    name: str
    sql_schema: str | None
    columns: tuple[tuple[str, Any], ...]
    """Each with the driver's code for its type."""

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns that belong to the user's table."""
        return tuple(name for name, _ in self.columns[_COUNT:])

    @property
    def source(self) -> sa.TableClause:
        """The table for queries; all names in quotes."""
        columns: list[sa.ColumnClause[Any]] = [sa.column(sa.quoted_name(name, True)) for name, _ in self.columns]
        return sa.table(sa.quoted_name(self.name, True), *columns, schema=self.sql_schema)

    def find(self, name: str) -> tuple[str, Any]:
        """The stored name and type of a column, by the name compared without case."""
        wanted = name.lower()
        return next(each for each in self.columns[_COUNT:] if each[0].lower() == wanted)


def describe(connection: sa.Connection, name: str, sql_schema: str | None) -> StoredTable:
    """Ask the database what columns a table has."""
    result = connection.execute(_anything(name, sql_schema))
    cursor: Any = result.cursor
    columns = tuple((each[0], each[1]) for each in cursor.description)
    result.close()
    # Later versions of the format put a prefix before these names.
    if any(not name.lower().endswith(end) for (name, _), end in zip(columns, _SYSTEM_COLUMNS, strict=False)):
        raise CatalogError(
            f"{name} is no table of inlined rows: it starts with {', '.join(each[0] for each in columns[:_COUNT])}",
            hint="the catalog is damaged; restore it from a backup",
        )
    return StoredTable(name, sql_schema, columns)


@dataclass(frozen=True, slots=True)
class Choice:
    """Which inlined rows, and which of their two snapshots comes along with them as `begin_snapshot`."""

    kind: Literal["alive", "born", "died", "ever"]
    """With `ever`, all that were ever seen; the snapshot in which each died comes along too, as `end_snapshot`."""
    end: int
    """The snapshot that shows them; else the last in which they may have been born, or died."""
    start: int = 0
    """The first in which they may have been born, or died."""

    @property
    def bounds(self) -> dict[str, int]:
        """The parameters of `condition`."""
        return {"snapshot": self.end} if self.kind == "alive" else {"snapshot": self.end, "start": self.start}

    @property
    def stamps(self) -> tuple[str, ...]:
        """What the snapshots that come along are called."""
        return ("begin_snapshot", "end_snapshot") if self.kind == "ever" else ("begin_snapshot",)

    def stamp(self, begin: _Snapshot, end: _Snapshot) -> _Snapshot:
        """The snapshot that comes along."""
        return end if self.kind == "died" else begin


def has_rows(connection: sa.Connection, stored: StoredTable, choice: Choice) -> bool:
    """Whether there are any rows: most often all of them were flushed, and nothing else need be asked."""
    _, begin, end = (name for name, _ in stored.columns[:_COUNT])
    query = _presence(stored.name, stored.sql_schema, begin, end, choice.kind)
    return connection.execute(query, choice.bounds).first() is not None


def _condition(kind: str, begin: _Snapshot, end: _Snapshot) -> sa.ColumnElement[bool]:
    if kind == "alive":
        return sa.and_(begin <= SNAPSHOT, sa.or_(end.is_(None), end > SNAPSHOT))
    # What was born and died in one snapshot was never there.
    lived = sa.or_(end.is_(None), end > begin)
    return sa.and_((end if kind == "died" else begin).between(START, SNAPSHOT), lived)


@lru_cache(maxsize=512)
def _anything(name: str, sql_schema: str | None) -> sa.Select[Any]:
    table = sa.table(sa.quoted_name(name, True), schema=sql_schema)
    return sa.select(sa.literal_column("*")).select_from(table).limit(0)


@lru_cache(maxsize=512)
def _presence(name: str, sql_schema: str | None, begin: str, end: str, kind: str) -> sa.Select[Any]:
    first: sa.ColumnClause[int] = sa.column(sa.quoted_name(begin, True))
    last: sa.ColumnClause[int] = sa.column(sa.quoted_name(end, True))
    table = sa.table(sa.quoted_name(name, True), schema=sql_schema)
    shown = _condition(kind, first, last)
    return sa.select(sa.literal_column("1")).select_from(table).where(shown).limit(1)


def read_rows(
    connection: sa.Connection,
    backend_name: str,
    stored: StoredTable,
    columns: Sequence[Column],
    choice: Choice,
    table: str,
) -> pa.Table:
    """The rows of a choice: `row_id`, `begin_snapshot` and `c<id>` for each of the columns.

    Args:
        connection: To the catalog database.
        backend_name: Its kind.
        stored: The table of inlined rows.
        columns: Which columns, as they were when the table was made.
        choice: Which rows.
        table: The user's table, for messages.
    """
    source = stored.source
    row_id, begin, end = (source.c[name] for name, _ in stored.columns[:_COUNT])
    ask = _ASKERS[backend_name]
    asked = [ask(source.c[name], kind, column.type) for column in columns for name, kind in [stored.find(column.name)]]
    names = ["row_id", *choice.stamps, *(f"c{column.id}" for column in columns)]
    stamps = (choice.stamp(begin, end), end)[: len(choice.stamps)]
    expressions = (row_id, *stamps, *(each.expression for each in asked))
    query = (
        sa.select(*(each.label(name) for each, name in zip(expressions, names, strict=True)))
        .where(_condition(choice.kind, begin, end))
        .order_by(row_id)
    )
    if backend_name == "duckdb":
        return _fetch_arrow(connection, query, choice, columns, names, table)
    rows = connection.execute(query, choice.bounds).all()
    values = list(zip(*rows, strict=True)) or [()] * len(names)
    arrays: list[pa.Array[Any]] = [pa.array(each, pa.int64()) for each in values[: 1 + len(stamps)]]
    for column, each, taken in zip(columns, asked, values[1 + len(stamps) :], strict=True):
        arrays.append(_decode(each.decode, taken, column, table))
    return pa.table(arrays, names=names)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What to select for a column, and what makes Arrow of the answer."""

    expression: sa.ColumnElement[Any]
    decode: Decode


def _decode(decode: Decode, values: Any, column: Column, table: str) -> pa.Array[Any]:
    try:
        return decode(values, column.type)
    except (Mismatch, Unreadable, pa.ArrowInvalid, UnicodeDecodeError) as error:
        reason = f": {error}" if str(error) else ""
        raise CatalogError(
            f"an inlined value of column {column.name!r} of {table} cannot be read as {column.type}{reason}",
            hint="flush the inlined rows with the client that wrote them, then read again",
        ) from error


def _plain(values: Values, type_: DataType) -> pa.Array[Any]:
    """Values as the driver gave them: numbers stay, text stays, bytes of a text become text."""
    if is_nested(type_):
        return NestedText(type_).read_all([_text(value) for value in values])
    if is_binary(type_):
        return pa.array([value.encode() if isinstance(value, str) else value for value in values], pa.binary())
    try:
        found: pa.Array[Any] = pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        # A database without strict types can hold values of several kinds in one column.
        found = pa.array([_text(value) for value in values], pa.string())
    if pa.types.is_null(found.type) or pa.types.is_binary(found.type):
        return found.cast(pa.string())
    if pa.types.is_integer(found.type) and type_ == Primitive("boolean"):
        return found.cast(pa.bool_())
    readable: pa.Array[Any] = _readable(found, type_)
    return readable


def _readable(values: Any, type_: DataType) -> Any:
    """Intervals in a form that DuckDB reads: it does not read all that it writes."""
    if type_ != Primitive("interval") or not pc.any(pc.match_substring_regex(values, LONG_HOURS)).as_py():
        return values
    return pa.array([None if value is None else readable_interval(value) for value in values.to_pylist()], pa.string())


def _text(value: Any) -> str | None:
    match value:
        case None | str():
            return value
        case bytes():
            return value.decode()
        case bool():
            return "true" if value else "false"
        case _:
            return repr(value) if isinstance(value, float) else str(value)


def _unpacked(values: Values, code: str) -> list[Any]:
    """The numbers that the database sent as big-endian bytes."""
    found = [value for value in values if value is not None]
    numbers = iter(struct.unpack(f">{len(found)}{code}", b"".join(found)))
    return [None if value is None else next(numbers) for value in values]


def _floats(values: Values, type_: DataType) -> pa.Array[Any]:
    return pa.array(_unpacked(values, "d"), pa.float64())


def _dates(values: Values, type_: DataType) -> pa.Array[Any]:
    # PostgreSQL counts from 2000, DuckDB from 1970; both have the ends of the range for the infinities.
    days = (_shift(value, 10_957, 2**31) for value in _unpacked(values, "i"))
    return pa.array(days, pa.int32()).view(pa.date32())


def _timestamps(values: Values, type_: DataType) -> pa.Array[Any]:
    micros = (_shift(value, 946_684_800_000_000, 2**63) for value in _unpacked(values, "q"))
    zone = "UTC" if type_ == Primitive("timestamptz") else None
    return pa.array(micros, pa.int64()).view(pa.timestamp("us", zone))


def _shift(value: int | None, by: int, limit: int) -> int | None:
    if value is None or value == limit - 1:
        return value
    return 1 - limit if value == -limit else value + by


def _intervals(values: Values, type_: DataType) -> pa.Array[Any]:
    parts = (None if value is None else struct.unpack(">qii", value) for value in values)
    texts = (None if part is None else f"{part[2]} months {part[1]} days {part[0]} microseconds" for part in parts)
    return pa.array(texts, pa.string())


def _zoned(values: Values, type_: DataType) -> pa.Array[Any]:
    """Timestamps of a database that has no zones: they are in UTC."""
    return pa.array((None if value is None else f"{value}+00" for value in values), pa.string())


def _ask_sqlite(column: sa.ColumnElement[Any], kind: Any, type_: DataType) -> _Asked:
    return _Asked(column, _plain)


# Type codes of PostgreSQL. What is sent as bytes does not depend on the settings of the session.
_PG_SENT: Mapping[int, tuple[Callable[[sa.ColumnElement[Any]], Any], Decode]] = {
    700: (lambda column: sa.func.float8send(sa.cast(column, sa.Double())), _floats),
    701: (sa.func.float8send, _floats),
    1082: (sa.func.date_send, _dates),
    1114: (sa.func.timestamp_send, _timestamps),
    1184: (sa.func.timestamptz_send, _timestamps),
    1186: (sa.func.interval_send, _intervals),
}
_PG_AS_IS = frozenset((16, 17, 20, 21, 23, 25, 1043))
"""Boolean, bytes, integers and text."""


def _ask_postgresql(column: sa.ColumnElement[Any], kind: Any, type_: DataType) -> _Asked:
    if kind in _PG_SENT:
        send, decode = _PG_SENT[kind]
        return _Asked(send(column), decode)
    return _Asked(column if kind in _PG_AS_IS else sa.cast(column, sa.Text()), _plain)


_MYSQL_FLOAT, _MYSQL_MOMENTS = 4, frozenset((7, 12))
_MYSQL_TO_TEXT = frozenset((0, 7, 10, 11, 12, 245, 246))
"""Decimals, dates, times and JSON."""


def _ask_mysql(column: sa.ColumnElement[Any], kind: Any, type_: DataType) -> _Asked:
    if kind == _MYSQL_FLOAT:
        # On its own it comes with six digits.
        return _Asked(column + sa.literal_column("0e0"), _plain)
    decode = _zoned if kind in _MYSQL_MOMENTS and type_ == Primitive("timestamptz") else _plain
    return _Asked(sa.cast(column, sa.CHAR()) if kind in _MYSQL_TO_TEXT else column, decode)


_AS_TEXT = frozenset("int128 uint128 uuid interval time timetz time_ns json".split())
"""What Arrow has no exact type for, or none that everybody reads."""


class _DuckDBType(sa.types.UserDefinedType[Any]):
    cache_ok = True

    def __init__(self, name: str) -> None:
        self.name = name

    def get_col_spec(self, **_: Any) -> str:
        return self.name


def _ask_duckdb(column: sa.ColumnElement[Any], kind: Any, type_: DataType) -> _Asked:
    if not any(isinstance(leaf, Primitive) and leaf.name in _AS_TEXT for leaf in _leaves(type_)):
        return _Asked(column, _plain)
    return _Asked(sa.cast(column, _DuckDBType(duckdb_type(type_, as_text=_AS_TEXT))), _plain)


def _leaves(type_: DataType) -> list[Leaf]:
    if isinstance(type_, Primitive | Decimal):
        return [type_]
    return [leaf for child in children(type_) for leaf in _leaves(child.type)]


def _fetch_arrow(
    connection: sa.Connection,
    query: sa.Select[Any],
    choice: Choice,
    columns: Sequence[Column],
    names: Sequence[str],
    table: str,
) -> pa.Table:
    for column in columns:
        if any(leaf == Primitive("variant") for leaf in _leaves(column.type)):
            raise UnsupportedError(
                f"column {column.name!r} of {table} has inlined values of the type variant",
                hint="flush them into a file with DuckDB: CALL ducklake_flush_inlined_data(…)",
            )
    result = connection.execute(query, choice.bounds)
    cursor: Any = result.cursor
    fetch = getattr(cursor, "to_arrow_table", None) or cursor.fetch_arrow_table
    data: pa.Table = fetch()
    result.close()
    first = 1 + len(choice.stamps)
    taken = zip(columns, data.columns[first:], strict=True)
    arrays: list[Any] = [*data.columns[:first], *(_decode(_readable, array, column, table) for column, array in taken)]
    return pa.table(arrays, names=list(names))


_ASKERS: Mapping[str, Callable[[sa.ColumnElement[Any], Any, DataType], _Asked]] = {
    "sqlite": _ask_sqlite,
    "postgresql": _ask_postgresql,
    "mysql": _ask_mysql,
    "duckdb": _ask_duckdb,
}
