"""Partition keys and sort keys as people write them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from quacklake.catalog.view import PartitionKey, SortKey
from quacklake.ddl.literals import normalize_expression
from quacklake.errors import InvalidInputError, NotFoundError, UnsupportedError
from quacklake.names import fold, split
from quacklake.schema import Column, Schema
from quacklake.types import TIMESTAMPS, is_nested

if TYPE_CHECKING:
    from sqlglot import exp

_CALL = re.compile(r"\s*(\w+)\s*\((.*)\)\s*", re.DOTALL)
_MOMENTS = frozenset((*TIMESTAMPS, "timestamptz"))
_TRANSFORMS = {"year": {"date", *_MOMENTS}, "month": {"date", *_MOMENTS}, "day": {"date", *_MOMENTS}, "hour": _MOMENTS}
# Spark writes them in the plural.
_PLURALS = {"years": "year", "months": "month", "days": "day", "hours": "hour", "date": "day"}
_NO_KEYS = frozenset(("variant", "geometry", "unknown", "json", "interval"))
_SIMPLE = re.compile(r"[a-z_][a-z0-9_]*")


def read_partition_keys(keys: Sequence[str], schema: Schema) -> tuple[PartitionKey, ...]:
    """Partition keys from `country`, `month(ts)` or `bucket(16, id)`.

    Raises:
        NotFoundError: When there is no such column.
        InvalidInputError: When the key does not fit the column.
    """
    found = tuple(_read_key(text, schema) for text in _listed(keys, "partition_by"))
    for index, key in enumerate(found):
        if key in found[:index]:
            raise InvalidInputError(f"the partition key {keys[index]!r} is there twice")
    return found


def _listed(keys: Sequence[str], what: str) -> list[str]:
    if isinstance(keys, str):
        return [keys]
    for key in keys:
        if not isinstance(key, str):
            raise InvalidInputError(f"{what} takes texts, and {key!r} is none")
    return list(keys)


def _read_key(text: str, schema: Schema) -> PartitionKey:
    match = _CALL.fullmatch(text)
    if match is None:
        return PartitionKey(_key_column(text, text, schema).id, "identity")
    name = fold(match[1])
    name = _PLURALS.get(name, name)
    arguments = [part.strip() for part in match[2].split(",")]
    if name == "bucket" and len(arguments) == 2:
        return _bucket(text, arguments, schema)
    if name not in _TRANSFORMS or len(arguments) != 1:
        raise UnsupportedError(
            f"{text!r} is no partition key", hint="there is a column, year, month, day, hour and bucket(N, column)"
        )
    column = _key_column(arguments[0], text, schema)
    if str(column.type) not in _TRANSFORMS[name]:
        raise InvalidInputError(f"{text!r}: {column.name} is {column.type}, which has no {name}")
    return PartitionKey(column.id, name)


def _bucket(text: str, arguments: Sequence[str], schema: Schema) -> PartitionKey:
    # Spark puts the number first, Iceberg's SQL does too; some put it last.
    count, name = arguments if arguments[0].isdecimal() else reversed(arguments)
    if not count.isdecimal() or int(count) < 1:
        raise InvalidInputError(f"{text!r} needs a number of buckets", hint="write bucket(16, column)")
    return PartitionKey(_key_column(name, text, schema).id, f"bucket({int(count)})")


def _key_column(name: str, text: str, schema: Schema) -> Column:
    parts = split(name.strip())
    column = schema.column(parts[0])
    if len(parts) > 1 or is_nested(column.type):
        raise InvalidInputError(f"the partition key {text!r} is nested", hint="only whole columns partition a table")
    if str(column.type) in _NO_KEYS:
        raise InvalidInputError(f"the partition key {text!r} is a {column.type}, which cannot partition a table")
    return column


def read_sort_keys(keys: Sequence[str], schema: Schema) -> tuple[SortKey, ...]:
    """Sort keys from `ts desc`, `lower(name)` or `a + b nulls first`.

    Raises:
        NotFoundError: When there is no such column.
        InvalidInputError: When a key cannot be parsed.
    """
    return tuple(_read_sort_key(text, schema) for text in _listed(keys, "sort_by"))


def _read_sort_key(text: str, schema: Schema) -> SortKey:
    import sqlglot
    from sqlglot import exp

    try:
        ordered = sqlglot.parse_one(text, into=exp.Ordered, dialect="duckdb")
    except sqlglot.errors.SqlglotError as error:
        raise InvalidInputError(f"{text!r} is no sort key", hint="write column, column DESC, lower(column)") from error
    if not list(ordered.find_all(exp.Column)):
        raise InvalidInputError(f"{text!r} is no sort key: it is the same for every row")
    # NULLs come last either way in DuckDB, unless one says so.
    nulls_first = bool(ordered.args.get("nulls_first"))
    return SortKey(_sort_expression(ordered.this, text, schema), bool(ordered.args.get("desc")), nulls_first)


def _sort_expression(node: exp.Expression, text: str, schema: Schema) -> str:
    from sqlglot import exp

    unknown = []
    for column in node.find_all(exp.Column):
        if len(column.parts) > 1:
            raise InvalidInputError(f"the sort key {text!r} is nested", hint="only whole columns sort a table")
        known = schema.find(column.name)
        if known is None:
            unknown.append(column.name)
        else:
            column.this.replace(exp.to_identifier(known.name, quoted=not _SIMPLE.fullmatch(known.name)))
    if unknown:
        raise NotFoundError(
            f"the sort key {text!r} uses the unknown column {unknown[0]!r}",
            hint=f"the columns are {', '.join(schema.names)}",
        )
    return normalize_expression(node.sql(dialect="duckdb"))


def sorted_columns(keys: Sequence[SortKey]) -> set[str]:
    """The names of the columns that sort keys use, folded."""
    import sqlglot
    from sqlglot import exp

    names: set[str] = set()
    for key in keys:
        if key.dialect == "duckdb":
            tree = sqlglot.parse_one(key.expression, dialect="duckdb")
            names.update(fold(column.parts[0].name) for column in tree.find_all(exp.Column))
    return names


def rename_sorted(keys: Sequence[SortKey], before: str, after: str) -> tuple[SortKey, ...]:
    """The sort keys with one column under another name."""
    import sqlglot
    from sqlglot import exp

    renamed = []
    for key in keys:
        if key.dialect != "duckdb" or fold(before) not in sorted_columns([key]):
            renamed.append(key)
            continue
        tree = sqlglot.parse_one(key.expression, dialect="duckdb")
        for column in list(tree.find_all(exp.Column)):
            if fold(column.parts[0].name) == fold(before):
                column.parts[0].replace(exp.to_identifier(after, quoted=True))
        text = normalize_expression(tree.sql(dialect="duckdb"))
        renamed.append(SortKey(text, key.descending, key.nulls_first, key.dialect))
    return tuple(renamed)
