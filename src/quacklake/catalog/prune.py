"""Leave files out inside the catalog query: tests on columns become conditions on statistics and partition values.

A file is left out only when something certain speaks against it. Statistics that are missing, unknown or in a form
that is not understood keep it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING
from typing import Any as AnyType

import sqlalchemy as sa

from quacklake.catalog.candidates import Settled, find_candidates
from quacklake.catalog.queries import TABLE
from quacklake.catalog.tables import CatalogTables, prepared
from quacklake.catalog.view import TableEntry
from quacklake.plan.partition import partition_value
from quacklake.plan.prune import All, Any, Domain, Nulls, Range, Test, is_float

if TYPE_CHECKING:
    from quacklake.catalog.queries import Query

Condition = sa.ColumnElement[bool]
Text = sa.ColumnElement[AnyType]

_WHOLE = r"^-?[0-9]{1,18}$"
_REAL = r"^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$"


def kept_files(
    connection: sa.Connection, tables: CatalogTables, entry: TableEntry, test: Test, settled: Settled | None
) -> Condition:
    """The condition on data files that leaves out those which cannot pass a test.

    Args:
        connection: To the catalog database.
        tables: Its tables.
        entry: The table.
        test: What a file must hold.
        settled: What is known for good of a lake with many files; None when it has few.
    """
    few = None if settled is None else find_candidates(connection, entry, test, settled)
    specs = _load_specs(connection, tables, entry.table_id, test)
    reader = _Reader(tables, entry.table_id, connection.dialect.name, specs, few)
    kept = sa.not_(reader.dropped(test))
    return kept if few is None else reader.among(tables.data_file.c.data_file_id) & kept


def _load_specs(
    connection: sa.Connection, tables: CatalogTables, table_id: int, test: Test
) -> dict[int, list[tuple[int, int, str]]]:
    """By column, every partition key on it that files may have been written under."""
    if not any(isinstance(leaf, Range) and leaf.equals is not None for leaf in _leaves(test)):
        return {}
    found: dict[int, list[tuple[int, int, str]]] = {}
    for column_id, *spec in connection.execute(_partition_keys(tables), {"table": table_id}):
        found.setdefault(column_id, []).append((spec[0], spec[1], spec[2]))
    return found


@prepared
def _partition_keys(tables: CatalogTables) -> Query:
    key = tables.partition_column.c
    return sa.select(key.column_id, key.partition_id, key.partition_key_index, key.transform).where(
        key.table_id == TABLE
    )


def _leaves(test: Test) -> list[Range | Nulls]:
    if isinstance(test, All | Any):
        return [leaf for part in test.parts for leaf in _leaves(part)]
    return [test]


class _Reader:
    def __init__(
        self,
        tables: CatalogTables,
        table_id: int,
        backend: str,
        specs: Mapping[int, list[tuple[int, int, str]]],
        few: Sequence[int] | None,
    ) -> None:
        self._tables = tables
        self._table_id = table_id
        self._backend = backend
        self._number = _NUMBERS[backend]
        self._text = _TEXTS[backend]
        self._specs = specs
        self._few = None if few is None else sa.bindparam("few", few, sa.BigInteger(), expanding=True)

    def among(self, data_file_id: sa.ColumnElement[int]) -> Condition:
        """Whether a file is one of the few that have to be looked at; where these are not known, whether it is one."""
        return data_file_id.is_not(None) if self._few is None else data_file_id.in_(self._few)

    def dropped(self, test: Test) -> Condition:
        """Whether a data file is certain to have no row that passes."""
        columns = {leaf.column.id for leaf in _leaves(test)}
        if len(columns) == 1:
            # One look at the statistics of one column answers all tests on it.
            by_statistics = self._in_statistics(columns.pop(), self._fails(test))
            by_partition = self._other_partition(test)
            return by_statistics if by_partition is None else sa.or_(by_statistics, by_partition)
        assert isinstance(test, All | Any)
        parts = [self.dropped(part) for part in _by_column(test)]
        return sa.or_(*parts) if isinstance(test, All) else sa.and_(*parts)

    def _in_statistics(self, column_id: int, fails: Condition) -> Condition:
        stats = self._tables.file_column_stats.c
        found = sa.select(stats.data_file_id).where(
            stats.table_id == self._table_id, stats.column_id == column_id, self.among(stats.data_file_id), fails
        )
        return self._tables.data_file.c.data_file_id.in_(found)

    def _fails(self, test: Test) -> Condition:
        """Whether a row of statistics speaks against a test on its column."""
        stats = self._tables.file_column_stats.c
        match test:
            case All(parts):
                return sa.or_(*map(self._fails, parts))
            case Any(parts):
                return sa.and_(*map(self._fails, parts))
            case Nulls(_, wanted):
                return stats.null_count == 0 if wanted else stats.value_count == 0
            case Range():
                return sa.or_(stats.value_count == 0, *self._outside(test))

    def _outside(self, test: Range) -> list[Condition]:
        stats = self._tables.file_column_stats.c
        found: list[Condition] = []
        if test.high is not None:
            found.append(self._bound(test.domain, "min_value") > self._literal(test.domain, test.high))
        if test.low is not None:
            below = self._bound(test.domain, "max_value") < self._literal(test.domain, test.low)
            # NaN is greater than everything and not counted in the largest value.
            found.append(below & stats.contains_nan.is_(sa.false()) if is_float(test.column) else below)
        return found

    def _bound(self, domain: Domain, name: str) -> Text:
        prepared, key = self._tables.prepared, (self._backend, domain, name)
        if key not in prepared:
            prepared[key] = self._known(domain, self._tables.file_column_stats.c[name])
        known: Text = prepared[key]
        return known

    def _known(self, domain: Domain, text: Text) -> Text:
        """The bound in a form that compares as the values do; NULL when it is in no such form."""
        match domain:
            case "whole":
                return self._number(text, _WHOLE, sa.BigInteger())
            case "real":
                return self._number(text, _REAL, sa.Double())
            case "boolean":
                return sa.case((text.in_(["1", "true"]), 1), (text.in_(["0", "false"]), 0))
            case "text":
                return self._text(text)
            case "date":
                # Infinity, years beyond 9999 and years before our era have other lengths.
                return sa.case((sa.func.length(text) == 10, self._text(text)))
            case _:
                return sa.case((_is_moment(text, domain == "timestamptz"), self._text(text)))

    def _literal(self, domain: Domain, value: object) -> Text:
        if domain in ("whole", "real", "boolean"):
            return sa.literal(value, sa.BigInteger() if isinstance(value, int) else sa.Double())
        return self._text(sa.literal(value, sa.String()))

    def _other_partition(self, test: Test) -> Condition | None:
        """Whether a file is of a partition that has no row which passes."""
        match test:
            case All(parts):
                known = [found for part in parts if (found := self._other_partition(part)) is not None]
                return sa.or_(*known) if known else None
            case Any(parts):
                others = [found for part in parts if (found := self._other_partition(part)) is not None]
                return sa.and_(*others) if len(others) == len(parts) else None
            case Range(column, equals=value) if value is not None:
                conditions = []
                for spec in self._specs.get(column.id, ()):
                    expected = partition_value(column, spec[2], value)
                    if expected is not None:
                        conditions.append(self._in_other_value(spec[0], spec[1], expected))
                return sa.or_(*conditions) if conditions else None
            case _:
                return None

    def _in_other_value(self, partition_id: int, key_index: int, expected: str) -> Condition:
        files, values = self._tables.data_file.c, self._tables.file_partition_value.c
        others = sa.select(values.data_file_id).where(
            values.table_id == self._table_id,
            values.partition_key_index == key_index,
            self.among(values.data_file_id),
            sa.or_(
                values.partition_value.is_(None),
                self._text(values.partition_value) != self._text(sa.literal(expected, sa.String())),
            ),
        )
        # A value means something under the partitioning that the file was written with, and under no other.
        return sa.and_(files.partition_id == partition_id, files.data_file_id.in_(others))


def _by_column(test: All | Any) -> list[Test]:
    """The parts of a test, those on one and the same column put together."""
    kind = type(test)
    single: dict[int, list[Test]] = {}
    mixed: list[Test] = []
    for part in test.parts:
        columns = {leaf.column.id for leaf in _leaves(part)}
        if len(columns) == 1:
            single.setdefault(columns.pop(), []).append(part)
        else:
            mixed.append(part)
    return [*(parts[0] if len(parts) == 1 else kind(tuple(parts)) for parts in single.values()), *mixed]


def _is_moment(text: Text, zoned: bool) -> Condition:
    """Whether a text is a timestamp of four digits for the year, in UTC if it has a zone: these sort as texts."""
    part = sa.func.substr
    length = sa.func.length(text)
    looks_right = sa.and_(length >= 19, part(text, 5, 1) == "-", part(text, 11, 1) == " ", part(text, 14, 1) == ":")
    if zoned:
        return sa.and_(looks_right, part(text, length - 2, 3) == "+00")
    return sa.and_(looks_right, text.not_like("%+%"))


def _number_sqlite(text: Text, pattern: str, type_: sa.types.TypeEngine[AnyType]) -> Text:
    is_whole = pattern == _WHOLE
    marks = "*[^0-9-]*" if is_whole else "*[^0-9.eE+-]*"
    fits = sa.and_(text != "", sa.func.glob(marks, text) == 0)
    if is_whole:
        fits = sa.and_(fits, sa.func.length(text) <= 18)
    return sa.case((fits, sa.cast(text, sa.Integer() if is_whole else sa.REAL())))


def _number_by_pattern(text: Text, pattern: str, type_: sa.types.TypeEngine[AnyType]) -> Text:
    return sa.case((text.regexp_match(pattern), sa.cast(text, type_)))


def _number_mysql(text: Text, pattern: str, type_: sa.types.TypeEngine[AnyType]) -> Text:
    # Not every version casts to a double, but all of them add one.
    number = sa.cast(text, type_) if pattern == _WHOLE else text.op("+")(sa.literal_column("0e0"))
    return sa.case((text.regexp_match(pattern), number))


def _number_duckdb(text: Text, pattern: str, type_: sa.types.TypeEngine[AnyType]) -> Text:
    return sa.case((sa.func.regexp_matches(text, pattern), sa.try_cast(text, type_)))


def _as_is(text: Text) -> Text:
    return text


def _bytes_postgresql(text: Text) -> Text:
    return sa.collate(sa.cast(text, sa.Text()), "C")


def _bytes_mysql(text: Text) -> Text:
    return sa.cast(text, sa.BINARY())


_NUMBERS: Mapping[str, Callable[[Text, str, sa.types.TypeEngine[AnyType]], Text]] = {
    "sqlite": _number_sqlite,
    "duckdb": _number_duckdb,
    "postgresql": _number_by_pattern,
    "mysql": _number_mysql,
}
_TEXTS: Mapping[str, Callable[[Text], Text]] = {
    "sqlite": _as_is,
    "duckdb": _as_is,
    "postgresql": _bytes_postgresql,
    "mysql": _bytes_mysql,
}
"""How texts are compared by their bytes, whatever the database would do."""
