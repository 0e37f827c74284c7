"""A SELECT, from text to what an engine runs: names become plans, views become the queries they stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeGuard

from quacklake.catalog.load import At
from quacklake.catalog.view import ViewEntry
from quacklake.errors import InvalidInputError, NotFoundError, UnsupportedError
from quacklake.names import TableName, fold
from quacklake.plan.query import Arguments, Query
from quacklake.plan.scan import ScanPlan
from quacklake.predicates import parse_predicate
from quacklake.sql.aliases import Aliases, Named
from quacklake.sql.expressions import Edit, Rewriter, edit, parameters
from quacklake.sql.functions import find_function
from quacklake.sql.literals import require
from quacklake.sql.names import Names
from quacklake.sql.references import Reference, find_references
from quacklake.sql.text import Statement, parse
from quacklake.sql.translation import Dialect, transpile

if TYPE_CHECKING:
    from sqlglot import exp

    from quacklake.session import Session
    from quacklake.table import Table
    from quacklake.transaction import Transaction

_WORD = "quacklake_source_"
_DEEPEST_VIEW = 32


@dataclass(frozen=True, slots=True)
class Place:
    """What a name in FROM stands for."""

    source: Any
    """A table, the query of a view, the rows of a function."""
    name: TableName | None = None
    """That of a table or a view."""


@dataclass(frozen=True, slots=True)
class Builder:
    """Builds queries for one engine.

    Args:
        session: Whose tables they are; a transaction shows its own.
        target: The dialect of the engine.
        arguments: Values of the parameters.
        count: Say in every plan how many files there are in all.
    """

    session: Session | Transaction
    target: Dialect
    arguments: Arguments = ()
    count: bool = False

    def build(self, statement: Statement) -> Query:
        """The query of a SELECT."""
        for name, _, _ in parameters(statement.tokens):
            require(self.arguments, name)
        query = self._query(statement, (), Names.of(self.session))
        return replace(query, arguments=self.arguments)

    def _query(self, statement: Statement, views: tuple[str, ...], names: Names) -> Query:
        references = find_references(statement.tree, statement.tokens)
        word = _free_word(statement.text)
        found = [self._find(reference, views, names) for reference in references]
        plain = [
            Named(reference, names.whole(place.name))
            for reference, place in zip(references, found, strict=True)
            if place is not None and place.name is not None and reference.alias is None
        ]
        aliases = Aliases(statement.tree, plain, word, names.home)
        conditions = self._conditions(statement, references, found)
        edits: list[Edit] = []
        sources: dict[str, Any] = {}
        for reference, place in zip(references, found, strict=True):
            if place is None:
                continue
            name, source = f"{word}{len(sources)}_", place.source
            sources[name] = self._plan(source, conditions.get(reference.start, [])) if is_table(source) else source
            alias = "" if reference.alias is not None else f" AS {_quoted(aliases.alias(reference), statement.dialect)}"
            edits.append((reference.start, reference.end, name))
            edits.append((reference.after, reference.after, alias))
        edits += aliases.edits()
        text = edit(statement.text, edits)
        if statement.dialect != self.target:
            text = transpile(text, statement.dialect, self.target)
        return Query(text, sources)

    def _conditions(
        self, statement: Statement, references: Sequence[Reference], found: Sequence[Place | None]
    ) -> dict[int, list[str]]:
        """What is sure to hold for the rows of each table that can come out, as text, by where the table stands."""
        from quacklake.sql.pushdown import find_conditions

        schemas = {
            reference.start: place.source.schema if is_table(place.source) else None
            for reference, place in zip(references, found, strict=True)
            if place is not None
        }
        rewriter = Rewriter(self._settled())
        texts: dict[int, list[str]] = {}
        for start, parts in find_conditions(statement.tree, schemas).items():
            for part in parts:
                # What has no value is refused by the engine, in its words.
                with suppress(InvalidInputError, UnsupportedError):
                    texts.setdefault(start, []).append(rewriter.rewrite(part.sql("spark")))
        return texts

    def _settled(self) -> Arguments:
        """The values that mean the same as a literal: Spark takes a moment without a zone as one of this machine."""
        if self.target != "spark" or not isinstance(self.arguments, Mapping):
            return self.arguments
        return {
            name: value
            for name, value in self.arguments.items()
            if not isinstance(value, datetime) or value.tzinfo is not None
        }

    def _plan(self, table: Table, conditions: Sequence[str]) -> ScanPlan:
        """The plan of a table; a condition that is not understood leaves out no file, and is judged by the engine."""
        understood: list[str] = []
        for condition in conditions:
            with suppress(InvalidInputError, NotFoundError, UnsupportedError):
                parse_predicate(condition, table.schema).sql("duckdb")
                understood.append(f"({condition})")
        return table.scan(where=" AND ".join(understood) or None).plan(count=self.count)

    def _find(self, reference: Reference, views: tuple[str, ...], names: Names) -> Place | None:
        """What a name stands for: a table, the query of a view, the rows of a function; None for one of Spark's."""
        if reference.arguments is not None:
            if fold(reference.parts[0]) == "identifier":
                raise UnsupportedError("IDENTIFIER(…) in FROM", hint="write the name of the table")
            function = find_function(reference.parts[0])
            values = [*map(self._value, reference.arguments)] if function is not None else []
            return None if function is None else Place(function(self.session, names, values))
        at = self._moment(reference)
        candidates = names.candidates(reference.parts)
        for name in candidates:
            lake = self.session._lake(name.catalog)
            view = lake._catalog.view(lake._at if at is None else at, only=name)
            stored = view.find_view(name)
            if view.find_table(name) is None and stored is not None:
                whole = replace(stored.name, catalog=name.catalog)
                return Place(self._view(stored, whole, views, reference, names), whole)
            if view.find_table(name) is not None:
                return Place(lake.table(str(name), at), name)
        return Place(self.session.table(str(candidates[-1]), at), candidates[-1])

    def _view(
        self, view: ViewEntry, name: TableName, views: tuple[str, ...], reference: Reference, names: Names
    ) -> Query:
        if reference.version is not None or reference.timestamp is not None:
            raise UnsupportedError(f"the view {name} as of a moment", hint="say the moment inside of the view")
        if str(name) in views or len(views) > _DEEPEST_VIEW:
            raise InvalidInputError(f"the view {name} reads itself: {' -> '.join((*views, str(name)))}")
        dialect: Dialect = "duckdb" if view.dialect.lower() == "duckdb" else "spark"
        statement = parse(view.sql, dialect)
        query = self._query(statement, (*views, str(name)), names.inside(name))
        return replace(query, columns=view.column_aliases)

    def _moment(self, reference: Reference) -> At:
        if reference.version is not None:
            value = self._value(reference.version)
            if isinstance(value, bool) or not str(value).lstrip("-").isdecimal():
                raise InvalidInputError(f"{value!r} is not the id of a snapshot", hint="snapshots() lists them")
            return int(value)
        if reference.timestamp is not None:
            return _as_moment(self._value(reference.timestamp))
        return None

    def _value(self, node: exp.Expr) -> Any:
        """What a literal or a parameter says."""
        from sqlglot import exp

        if isinstance(node, exp.Placeholder) and node.name:
            if isinstance(self.arguments, dict) and node.name in self.arguments:
                return self.arguments[node.name]
            raise InvalidInputError(f"there is no value for the parameter :{node.name}")
        if isinstance(node, exp.Cast):
            node = node.this
        if isinstance(node, exp.Literal):
            return node.this if node.is_string else int(node.this) if node.this.isdecimal() else node.this
        raise UnsupportedError(
            f"{node.sql('spark')} as the moment of a table", hint="write a literal, or a parameter with a name"
        )


def is_table(source: Any) -> TypeGuard[Table]:
    """Whether a name stands for a table of the lake."""
    from quacklake.table import Table

    return isinstance(source, Table)


def as_bound(value: Any) -> int | datetime:
    """The end of a range of snapshots: an id, or a moment."""
    return value if isinstance(value, int) and not isinstance(value, bool) else _as_moment(value)


def _as_moment(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    try:
        moment = datetime.fromisoformat(str(value).strip())
    except ValueError as error:
        raise InvalidInputError(
            f"{value!r} is not a moment", hint="write it as '2024-01-31 12:00:00', in UTC when it has no zone"
        ) from error
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _free_word(text: str) -> str:
    word = _WORD
    while word in fold(text):
        word += "x_"
    return word


def _quoted(name: str, dialect: Dialect) -> str:
    mark = "`" if dialect == "spark" else '"'
    return mark + name.replace(mark, mark * 2) + mark
