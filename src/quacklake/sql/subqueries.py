"""UPDATE and DELETE whose conditions or values have queries in them, as a MERGE with the rows that a query finds.

Rows that are alike in every column that a condition names share its answer. So the query gives each such combination
once, with the new values, and the rows of the table are found by it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quacklake.errors import UnsupportedError
from quacklake.names import fold
from quacklake.sql.text import parse_expression

if TYPE_CHECKING:
    from sqlglot import exp

    from quacklake.schema import Schema

_CHANCE = frozenset(
    """rand random randn randstr uniform uuid shuffle monotonically_increasing_id spark_partition_id
    input_file_name""".split()
)
_KEY, _VALUE = "quacklake_key_", "quacklake_value_"


@dataclass(frozen=True, slots=True)
class AsMerge:
    """A change as a MERGE."""

    source: str
    """The query that gives the source."""
    on: str
    values: Mapping[str, str]
    """What to set."""


def has_query(texts: Iterable[str]) -> bool:
    """Whether an expression has a query in it."""
    from sqlglot import exp

    return any(parse_expression(text)[0].find(exp.Query, exp.Exists) is not None for text in texts)


def as_merge(table: str, schema: Schema, where: str | None, values: Mapping[str, str]) -> AsMerge:
    """What finds the rows that match, and what they get.

    Args:
        table: The table as the statement writes it, with its alias.
        schema: Its columns.
        where: The condition.
        values: Expressions by the columns that they are for.
    """
    texts = [*([where] if where is not None else []), *values.values()]
    _refuse_chance(texts)
    keys = _columns(texts, schema)
    chosen = [f"{_quoted(name)} AS {_KEY}{number}" for number, name in enumerate(keys)]
    chosen += [f"{text} AS {_VALUE}{number}" for number, text in enumerate(values.values())]
    condition = "" if where is None else f" WHERE {where}"
    source = f"SELECT DISTINCT {', '.join([*chosen, f'1 AS {_KEY}'])} FROM {table}{condition}"
    on = " AND ".join(f"t.{_quoted(name)} <=> s.{_KEY}{number}" for number, name in enumerate(keys))
    return AsMerge(source, on or f"s.{_KEY} = 1", {name: f"s.{_VALUE}{number}" for number, name in enumerate(values)})


def _columns(texts: Sequence[str], schema: Schema) -> list[str]:
    """The columns of a table that expressions may name; one too many does no harm."""
    from sqlglot import exp

    trees = [parse_expression(text)[0] for text in texts]
    if any(_is_whole_row(star) for tree in trees for star in tree.find_all(exp.Star)):
        return list(schema.names)
    named = {fold(part.name) for tree in trees for column in tree.find_all(exp.Column) for part in column.parts}
    return [column.name for column in schema if fold(column.name) in named]


def _is_whole_row(star: exp.Expr) -> bool:
    """Whether a star may stand for the columns of the table: not that of `count(*)`, nor of a query's own tables."""
    from sqlglot import exp

    return not isinstance(star.parent, exp.Count | exp.Select)


def _refuse_chance(texts: Sequence[str]) -> None:
    """Refuse functions whose answer is another one for rows that are alike."""
    from sqlglot import exp

    for function in (each for text in texts for each in parse_expression(text)[0].find_all(exp.Func)):
        name = fold(function.name if isinstance(function, exp.Anonymous) else function.sql_name())
        if name in _CHANCE:
            raise UnsupportedError(
                f"{name}() beside a query in UPDATE or DELETE: it differs for rows that are alike",
                hint="write the rows to a table first, and change them by its query",
            )


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
