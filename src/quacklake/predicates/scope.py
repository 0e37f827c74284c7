"""What names in a predicate mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from quacklake.errors import InvalidInputError, NotFoundError
from quacklake.names import fold
from quacklake.predicates.tree import Field, Member, Node, Variable
from quacklake.schema import Column, Schema
from quacklake.types import Struct


@dataclass(frozen=True, slots=True)
class Scope:
    """The columns of one table, or of several under names of their own."""

    text: str
    """The whole predicate, for messages."""
    schemas: Mapping[str | None, Schema]
    variables: frozenset[str] = frozenset()
    """Parameters of the lambdas around, folded."""

    def inside(self, names: Sequence[str]) -> Scope:
        """The scope of a lambda's body."""
        return replace(self, variables=self.variables | {fold(name) for name in names})

    def resolve(self, parts: Sequence[str]) -> Node:
        """What a dotted name stands for.

        Raises:
            NotFoundError: When nothing is called so; the hint lists what there is.
            InvalidInputError: When it could be a column of several tables.
        """
        if fold(parts[0]) in self.variables:
            node: Node = Variable(parts[0])
            for name in parts[1:]:
                node = Member(node, name)
            return node
        owner, column, rest = self._column(parts)
        path = [column]
        for name in rest:
            path.append(self.child(path[-1], name))
        return Field(tuple(path), owner)

    def child(self, parent: Column, name: str) -> Column:
        """The field of that name of a struct."""
        below = parent.type.fields if isinstance(parent.type, Struct) else ()
        found = next((each for each in below if fold(each.name) == fold(name)), None)
        if found is None:
            known = f"it has {', '.join(each.name for each in below)}" if below else f"it is a {parent.type}"
            raise NotFoundError(f"{self.text!r} uses the unknown field {name!r} of {parent.name!r}", hint=known)
        return found

    def _column(self, parts: Sequence[str]) -> tuple[str | None, Column, Sequence[str]]:
        named = self.schemas.get(fold(parts[0]))
        if named is not None and len(parts) > 1 and (column := named.find(parts[1])) is not None:
            return fold(parts[0]), column, parts[2:]
        found = [(scope, each) for scope, schema in self.schemas.items() if (each := schema.find(parts[0])) is not None]
        if len(found) == 1:
            return *found[0], parts[1:]
        if found:
            owners = " or ".join(f"{scope}." for scope, _ in found)
            raise InvalidInputError(
                f"{parts[0]!r} in {self.text!r} may be a column of either", hint=f"write {owners} before it"
            )
        known = "; ".join(
            f"the columns {'' if scope is None else f'of {scope} '}are {', '.join(schema.names)}"
            for scope, schema in self.schemas.items()
        )
        raise NotFoundError(f"{self.text!r} uses the unknown column {'.'.join(parts)!r}", hint=known)
