"""Statements that tell what there is: SHOW and DESCRIBE."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from quacklake.errors import InvalidInputError, UnsupportedError
from quacklake.names import TableName, fold
from quacklake.sql.names import Names, home_of
from quacklake.sql.words import Words

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from quacklake.session import Session
    from quacklake.transaction import Transaction

T = TypeVar("T")
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
    """SHOW CATALOGS, SCHEMAS, TABLES, VIEWS, COLUMNS, SECRETS or CREATE TABLE."""
    words.expect("SHOW")
    if any(words.accept(word) for word in _NAMESPACES):
        catalog = words.one_part() if _accept_in(words) else Names.of(session).catalog
        names = [*_like(words, session.namespaces(catalog), lambda name: name)]
        return FewRows(session, ("namespace",), [(name,) for name in names])
    if words.accept("CATALOGS"):
        names = [*_like(words, home_of(session).catalogs(), lambda name: name)]
        return FewRows(session, ("catalog",), [(name,) for name in names])
    if words.accept("SECRETS"):
        words.end()
        secrets = home_of(session).secrets()
        return FewRows(session, ("name", "type", "scope"), [(each.name, each.type, each.scope) for each in secrets])
    if words.accept("COLUMNS"):
        if not _accept_in(words):
            raise words.refusal("IN")
        return _columns(session, words)
    if words.accept("CREATE", "TABLE"):
        return _create_table(session, words)
    kind = next((word for word in ("TABLES", "VIEWS") if words.accept(word)), None)
    if kind is None:
        raise UnsupportedError(f"{words.start} is not handled", hint="SHOW CATALOGS, SCHEMAS, TABLES, VIEWS or COLUMNS")
    return _objects(session, words, kind)


def _objects(session: Session | Transaction, words: Words, kind: str) -> FewRows:
    names = Names.of(session)
    catalog, namespace = names.namespace_of(words.name()) if _accept_in(words) else (names.catalog, None)
    if namespace is None and session._used is not None:
        namespace = names.namespace
    ask = session.tables if kind == "TABLES" else session.views
    # The name of a namespace may have a dot in it, so the catalog is said apart.
    found = [TableName.parse(name) for name in ask(namespace, catalog=catalog or names.own)]
    kept = _like(words, found, lambda name: name.table)
    return FewRows(session, ("namespace", kind[:-1].lower()), [(name.namespace, name.table) for name in kept])


def _accept_in(words: Words) -> bool:
    return words.accept("IN") or words.accept("FROM")


def _like(words: Words, found: Sequence[T], name_of: Callable[[T], str]) -> Iterator[T]:
    """Those whose names match a LIKE, when there is one: `*` stands for anything, `|` for or."""
    pattern = None
    if words.accept("LIKE") or not words.is_over:
        text = words.string()
        if "%" in text:
            raise InvalidInputError(f"{words.start} LIKE {text!r}", hint="* stands for anything here, as in Spark")
        pattern = re.compile("|".join(".*".join(map(re.escape, one.split("*"))) for one in fold(text).split("|")))
    words.end()
    return (each for each in found if pattern is None or pattern.fullmatch(fold(name_of(each))))


def _create_table(session: Session | Transaction, words: Words) -> FewRows:
    """The statement that makes a table like one that is there."""
    from quacklake.sql.reverse import create_statement

    name = Names.of(session).table(words.name())
    words.end()
    return FewRows(session, ("create_statement",), [(create_statement(session.table(str(name))),)])


def describe(session: Session | Transaction, words: Words) -> FewRows:
    """DESCRIBE TABLE."""
    if not words.accept("DESCRIBE"):
        words.expect("DESC")
    words.accept("TABLE")
    return _columns(session, words)


def _columns(session: Session | Transaction, words: Words) -> FewRows:
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
