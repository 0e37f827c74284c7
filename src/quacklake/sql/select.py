"""A SELECT, from text to what an engine runs: names become plans, views become the queries they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

from quacklake.catalog.load import At
from quacklake.catalog.view import ViewEntry
from quacklake.errors import InvalidInputError, NotFoundError, UnsupportedError
from quacklake.names import TableName, fold
from quacklake.plan.query import Arguments, Query
from quacklake.plan.scan import ScanPlan
from quacklake.predicates import parse_predicate
from quacklake.sql.expressions import Rewriter
from quacklake.sql.functions import find_function
from quacklake.sql.references import Reference, find_references, qualified_columns
from quacklake.sql.text import Statement, ansi_spark, parse

if TYPE_CHECKING:
    from sqlglot import exp

    from quacklake.session import Session
    from quacklake.table import Table
    from quacklake.transaction import Transaction

Dialect = Literal["spark", "duckdb"]
_WORD = "quacklake_source_"
_DEEPEST_VIEW = 32


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
        query = self._query(statement, ())
        return replace(query, arguments=self.arguments)

    def _query(self, statement: Statement, views: tuple[str, ...]) -> Query:
        references = find_references(statement.tree, statement.tokens)
        _refuse_double_names(references)
        word = _free_word(statement.text)
        edits: list[tuple[int, int, str]] = []
        sources: dict[str, Any] = {}
        found = [self._find(reference, views) for reference in references]
        conditions = self._conditions(statement, references, found)
        for reference, source in zip(references, found, strict=True):
            if source is None:
                continue
            name = f"{word}{len(sources)}_"
            sources[name] = self._plan(source, conditions.get(reference.start, [])) if is_table(source) else source
            alias = "" if reference.alias is not None else f" AS {_quoted(reference.parts[-1], statement.dialect)}"
            edits.append((reference.start, reference.end, name + alias))
        edits += [(start, end, "") for start, end in qualified_columns(statement.tree, references)]
        if self.target == "duckdb":
            edits += _number_parameters(statement)
        text = _edit(statement.text, edits)
        if statement.dialect != self.target:
            text = _transpile(text, statement.dialect, self.target)
        return Query(text, sources)

    def _conditions(
        self, statement: Statement, references: Sequence[Reference], found: Sequence[Any]
    ) -> dict[int, list[str]]:
        """What is sure to hold for the rows of each table that can come out, as text, by where the table stands."""
        from quacklake.sql.pushdown import find_conditions

        schemas = {
            reference.start: source.schema if is_table(source) else None
            for reference, source in zip(references, found, strict=True)
            if source is not None
        }
        texts: dict[int, list[str]] = {}
        for start, parts in find_conditions(statement.tree, schemas).items():
            for part in parts:
                # What has no value is refused by the engine, in its words.
                with suppress(InvalidInputError):
                    texts.setdefault(start, []).append(Rewriter(self.arguments).rewrite(part.sql("spark")))
        return texts

    def _plan(self, table: Table, conditions: Sequence[str]) -> ScanPlan:
        """The plan of a table; a condition that is not understood leaves out no file, and is judged by the engine."""
        understood: list[str] = []
        for condition in conditions:
            with suppress(InvalidInputError, NotFoundError, UnsupportedError):
                parse_predicate(condition, table.schema).sql("duckdb")
                understood.append(f"({condition})")
        return table.scan(where=" AND ".join(understood) or None).plan(count=self.count)

    def _find(self, reference: Reference, views: tuple[str, ...]) -> Any:
        """What a name stands for: a table, the query of a view, the rows of a function; None for one of Spark's."""
        if reference.arguments is not None:
            function = find_function(reference.parts[0])
            return None if function is None else function(self.session, [*map(self._value, reference.arguments)])
        name = table_name(reference.parts)
        at = self._moment(reference)
        view = self.session._catalog.view(self.session._at if at is None else at, only=name)
        stored = view.find_view(name)
        if stored is not None and view.find_table(name) is None:
            return self._view(stored, views, reference)
        return self.session.table(str(replace(name, catalog=None)), at)

    def _view(self, view: ViewEntry, views: tuple[str, ...], reference: Reference) -> Query:
        if reference.version is not None or reference.timestamp is not None:
            raise UnsupportedError(f"the view {view.name} as of a moment", hint="say the moment inside of the view")
        if str(view.name) in views or len(views) > _DEEPEST_VIEW:
            raise InvalidInputError(f"the view {view.name} reads itself: {' -> '.join((*views, str(view.name)))}")
        dialect: Dialect = "duckdb" if view.dialect.lower() == "duckdb" else "spark"
        statement = parse(view.sql, dialect)
        query = self._query(statement, (*views, str(view.name)))
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


def table_name(parts: Sequence[str]) -> TableName:
    """The table that a name of one part or several stands for."""
    if len(parts) > 3:
        raise InvalidInputError(f"{'.'.join(parts)} has {len(parts)} parts", hint="write catalog.namespace.table")
    if len(parts) == 3:
        raise NotFoundError(f"there is no catalog {parts[0]!r}", hint="write namespace.table")
    return TableName(parts[0], parts[1]) if len(parts) == 2 else TableName("main", parts[0])


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


def _refuse_double_names(references: Sequence[Reference]) -> None:
    """Two tables of one name, told apart by their namespaces only, would get one alias."""
    plain: dict[str, tuple[str, ...]] = {}
    for each in references:
        if each.alias is not None or each.arguments is not None:
            continue
        known = plain.setdefault(fold(each.parts[-1]), tuple(map(fold, each.parts)))
        if known != tuple(map(fold, each.parts)):
            raise InvalidInputError(
                f"{'.'.join(known)} and {'.'.join(each.parts)} have one name", hint="give each of them an alias"
            )


def _free_word(text: str) -> str:
    word = _WORD
    while word in fold(text):
        word += "x_"
    return word


def _quoted(name: str, dialect: Dialect) -> str:
    mark = "`" if dialect == "spark" else '"'
    return mark + name.replace(mark, mark * 2) + mark


def _edit(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _number_parameters(statement: Statement) -> list[tuple[int, int, str]]:
    """Give names to parameters that have none: what is put before the statement has parameters of its own."""
    marks = [token for token in statement.tokens if token.token_type.name == "PLACEHOLDER"]
    return [(token.start, token.end + 1, f":n{number}") for number, token in enumerate(marks)]


def _name_functions(tree: exp.Expr) -> None:
    """Give the columns of functions the names that they have in Spark."""
    from sqlglot import exp

    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Func):
            continue
        if fold(table.this.name) != "range":
            raise UnsupportedError(
                f"{table.this.sql('spark')} in FROM", hint="only Spark has it; connect with engine='spark'"
            )
        if not table.alias_column_names:
            alias = exp.TableAlias(this=exp.to_identifier(table.alias or "range"), columns=[exp.to_identifier("id")])
            table.set("alias", alias)


def _transpile(text: str, read: Dialect, write: Dialect) -> str:
    import sqlglot
    from sqlglot import errors, exp

    tree = sqlglot.parse_one(text, read=ansi_spark() if read == "spark" else read)
    for parameter in tree.find_all(exp.Placeholder):
        parameter.set("this", f"u_{parameter.name}")
    if write == "duckdb":
        _name_functions(tree)
    try:
        return tree.sql(dialect=write, unsupported_level=errors.ErrorLevel.RAISE)
    except errors.UnsupportedError as error:
        first = str(error).splitlines()[0]
        raise UnsupportedError(f"the query cannot be said in the SQL of {write}: {first}") from error
