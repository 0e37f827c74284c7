"""Statements that tell what there is: SHOW and DESCRIBE."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quacklake.errors import UnsupportedError
from quacklake.names import TableName, fold
from quacklake.sql.names import Names
from quacklake.sql.words import Words

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from quacklake.session import Session
    from quacklake.transaction import Transaction

_NAMESPACES = ("SCHEMAS", "DATABASES", "NAMESPACES")


@dataclass(frozen=True, slots=True)
class FewRows:
    """Rows that are there already, all of them texts.

    Args:
        session: Whose Spark makes a DataFrame of them.
        names: Of the columns.
        rows: The rows.
    """

    session: Session | Transaction
    names: Sequence[str]
    rows: Sequence[tuple[str | None, ...]]

    def to_arrow(self) -> pa.Table:
        """All of them."""
        import pyarrow as pa

        columns = zip(*self.rows, strict=True) if self.rows else ([] for _ in self.names)
        arrays = [pa.array(list(values), pa.string()) for values in columns]
        return pa.table(dict(zip(self.names, arrays, strict=True)))

    def to_spark(self) -> DataFrame:
        """As a DataFrame."""
        frame: DataFrame = self.session._engine("spark").spark.createDataFrame(self.to_arrow())
        return frame

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)


def show(session: Session | Transaction, words: Words) -> FewRows:
    """SHOW TABLES, VIEWS or SCHEMAS."""
    words.expect("SHOW")
    if any(words.accept(word) for word in _NAMESPACES):
        words.end()
        return FewRows(session, ("namespace",), [(name,) for name in session.namespaces()])
    kind = next((word for word in ("TABLES", "VIEWS") if words.accept(word)), None)
    if kind is None:
        raise UnsupportedError(f"{words.start} is not handled", hint="SHOW TABLES, VIEWS or SCHEMAS")
    namespace = None
    if words.accept("IN") or words.accept("FROM"):
        (namespace,) = words.name()
    words.end()
    found = session.tables(namespace) if kind == "TABLES" else session.views(namespace)
    names = [TableName.parse(name) for name in found]
    return FewRows(session, ("namespace", kind[:-1].lower()), [(name.namespace, name.table) for name in names])


def describe(session: Session | Transaction, words: Words) -> FewRows:
    """DESCRIBE TABLE."""
    if not words.accept("DESCRIBE"):
        words.expect("DESC")
    words.accept("TABLE")
    name = Names.of(session).table(words.name())
    words.end()
    table = session.table(str(name))
    keys = {fold(key) for key in table.partition_by}
    rows = [
        (
            column.name,
            str(column.type),
            "YES" if column.nullable else "NO",
            "partition" if fold(column.name) in keys else None,
            column.comment,
        )
        for column in table.schema
    ]
    return FewRows(session, ("column", "type", "nullable", "key", "comment"), rows)
