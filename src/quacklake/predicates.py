"""Predicates: SQL text in the Spark dialect, parsed once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quacklake.errors import InvalidInputError, NotFoundError
from quacklake.names import fold
from quacklake.schema import Schema

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition on the rows of one table."""

    text: str
    """As the user wrote it."""
    expression: exp.Expression
    """Parsed; every column in it exists and is spelled and quoted as the table spells it."""
    columns: tuple[str, ...]
    """The top-level columns it uses, each once, as the table spells them."""

    def sql(self, dialect: str) -> str:
        """The condition in another dialect of SQL."""
        return self.expression.sql(dialect=dialect)


def parse_predicate(text: str, schema: Schema) -> Predicate:
    """Parse a condition and tie its columns to those of the table."""
    import sqlglot
    from sqlglot import exp

    try:
        expression = sqlglot.parse_one(text, dialect="spark", into=exp.Condition)
    except sqlglot.errors.ParseError as error:
        raise InvalidInputError(f"the predicate {text!r} cannot be parsed", hint=str(error).splitlines()[0]) from error
    used: list[str] = []
    for node in expression.find_all(exp.Column):
        column = schema.find(node.parts[0].name)
        if column is None:
            raise NotFoundError(
                f"the predicate {text!r} uses the unknown column {node.parts[0].name!r}",
                hint=f"the columns are {', '.join(schema.names)}",
            )
        node.parts[0].replace(exp.to_identifier(column.name, quoted=True))
        if all(fold(each) != fold(column.name) for each in used):
            used.append(column.name)
    return Predicate(text, expression, tuple(used))
