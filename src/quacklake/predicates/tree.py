"""A parsed predicate: small immutable records that know their types and nothing of the parser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal

from quacklake.predicates.kinds import BOOLEAN, UNKNOWN, Kind, kind_of
from quacklake.schema import Column

Literal = bool | int | float | Decimal | str | bytes | date | datetime | None


@dataclass(frozen=True, slots=True)
class Field:
    """A column, or a field of a struct: the columns on the way to it, the table's own first."""

    path: tuple[Column, ...]
    scope: str | None = None
    """Whose column, where several tables are spoken of: `t` or `s` in a MERGE."""

    @property
    def kind(self) -> Kind:
        return kind_of(self.path[-1].type)

    @property
    def leaf(self) -> Column:
        """The column whose values are meant."""
        return self.path[-1]

    def __str__(self) -> str:
        return ".".join(column.name for column in self.path)


@dataclass(frozen=True, slots=True)
class Value:
    """A constant. A timestamp without zone means the session's zone when its kind is `timestamp`."""

    value: Literal
    kind: Kind


@dataclass(frozen=True, slots=True)
class Interval:
    """So many of one unit of time: `DAY`, `MONTH`, …."""

    amount: int
    unit: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Call:
    """A function or an operator, by its name in Spark in lower case."""

    name: str
    args: tuple[Node, ...]
    kind: Kind = UNKNOWN


@dataclass(frozen=True, slots=True)
class Cast:
    """A change of type; a safe one gives NULL where the other raises."""

    node: Node
    kind: Kind
    text: str
    """The type in Spark's words, for types that `kind` cannot say."""
    safe: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """`CASE WHEN … THEN … ELSE … END`."""

    branches: tuple[tuple[Node, Node], ...]
    default: Node | None
    kind: Kind = UNKNOWN


@dataclass(frozen=True, slots=True)
class Member:
    """A field of a struct that is itself an expression: `items[0].price`."""

    node: Node
    name: str
    kind: Kind = UNKNOWN


@dataclass(frozen=True, slots=True)
class Variable:
    """A parameter of a lambda."""

    name: str
    kind: Kind = UNKNOWN


@dataclass(frozen=True, slots=True)
class Lambda:
    """A function given to a function: `x -> x > 1`."""

    names: tuple[str, ...]
    body: Node
    kind: Kind = UNKNOWN


@dataclass(frozen=True, slots=True)
class Junction:
    """Conditions joined by `and` or `or`; never fewer than two."""

    name: str
    parts: tuple[Node, ...]
    kind: Kind = field(default=BOOLEAN, init=False)


Node = Field | Value | Interval | Call | Cast | Case | Member | Variable | Lambda | Junction


def children(node: Node) -> Iterator[Node]:
    """The nodes right below."""
    match node:
        case Call():
            yield from node.args
        case Junction():
            yield from node.parts
        case Cast() | Member():
            yield node.node
        case Lambda():
            yield node.body
        case Case():
            for branch in node.branches:
                yield from branch
            if node.default is not None:
                yield node.default


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        yield found
        waiting.extend(reversed(list(children(found))))
