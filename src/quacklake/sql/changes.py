"""Statements that change rows: INSERT, UPDATE, DELETE, MERGE and TRUNCATE."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from quacklake.commit.outcome import Commit
from quacklake.errors import InvalidInputError, UnsupportedError
from quacklake.names import fold, quote, split
from quacklake.plan.merge import WhenClause, when_matched, when_not_matched, when_not_matched_by_source
from quacklake.plan.query import Arguments, Query
from quacklake.sql.expressions import Rewriter
from quacklake.sql.names import Names
from quacklake.sql.select import Builder
from quacklake.sql.subqueries import as_merge, has_query
from quacklake.sql.text import parse, query_text
from quacklake.sql.words import Words

if TYPE_CHECKING:
    from quacklake.session import Session
    from quacklake.table import Table
    from quacklake.transaction import Transaction

_QUERY = ("SELECT", "WITH", "VALUES", "FROM", "TABLE", "(")


@dataclass(frozen=True, slots=True)
class Changes:
    """Runs statements that change rows.

    Args:
        session: Where the tables are.
        arguments: Values of parameters.
    """

    session: Session | Transaction
    arguments: Arguments

    def insert(self, words: Words, before: str = "") -> Commit:
        """INSERT INTO, INSERT OVERWRITE, INSERT INTO … REPLACE WHERE.

        Args:
            words: The statement.
            before: A WITH that stood before it.
        """
        words.expect("INSERT")
        overwrites = words.accept("OVERWRITE")
        if not overwrites:
            words.expect("INTO")
        words.accept("TABLE")
        if overwrites and (words.sees("DIRECTORY") or words.sees("LOCAL", "DIRECTORY")):
            raise UnsupportedError("INSERT OVERWRITE DIRECTORY", hint="write to a table, or use a DataFrame")
        table = self._table(words.name())
        if words.sees("PARTITION"):
            raise UnsupportedError(
                "INSERT … PARTITION", hint="name the columns in the query, or use INSERT INTO t REPLACE WHERE …"
            )
        names: list[str] | None = None
        by_name = words.accept("BY", "NAME")
        if words.sees("(") and not by_name:
            names = [_column_name(each) for each in words.listed()]
        where = None
        if words.accept("REPLACE", "WHERE"):
            where = self._own(table, None).rewrite(words.until(*_QUERY[:5]))
        if not any(words.sees(word) for word in _QUERY):
            raise words.refusal("a query or VALUES")
        wanted = None if by_name else (names or [column.name for column in table.schema])
        if before and words.sees("WITH"):
            raise UnsupportedError("WITH … INSERT … WITH is not handled", hint="write one WITH")
        text = f"{before} {words.rest()}"
        if not overwrites and where is None and not self._query(text).sources:
            # Rows that depend on nothing go in whatever others do meanwhile.
            return table.append(self.frame(text, wanted, table.name))
        with self.together() as (changes, tx):
            target = tx.table(table.name)
            frame = changes.frame(text, wanted, table.name)
            done = target.overwrite(frame, where) if overwrites or where is not None else target.append(frame)
        return done if tx is self.session else tx.done

    def update(self, words: Words) -> Commit:
        """UPDATE."""
        words.expect("UPDATE")
        name = words.name()
        table, alias = self._table(name), _alias(words, "SET")
        words.expect("SET")
        values: dict[str, str] = {}
        while True:
            target = _target(words.until("="), {fold(each) for each in (alias or name[-1],)})
            words.expect("=")
            if target in values:
                raise InvalidInputError(f"column {target!r} is set twice")
            values[target] = words.until(",", "WHERE")
            if not words.accept(","):
                break
        where = words.rest() if words.accept("WHERE") else None
        words.end()
        if has_query([*values.values(), *([where] if where else [])]):
            return self._merge_own(table, _written(name, alias), where, values)
        own = self._own(table, alias, name)
        changed = {target: own.rewrite(text) for target, text in values.items()}
        return table.update(changed, None if where is None else own.rewrite(where))

    def delete(self, words: Words) -> Commit:
        """DELETE FROM; without WHERE, every row goes."""
        words.expect("DELETE", "FROM")
        name = words.name()
        table, alias = self._table(name), _alias(words, "WHERE")
        if not words.accept("WHERE"):
            words.end()
            return table.truncate()
        where = words.rest()
        if has_query([where]):
            return self._merge_own(table, _written(name, alias), where, {})
        return table.delete(self._own(table, alias, name).rewrite(where))

    def _merge_own(self, table: Table, written: str, where: str | None, values: dict[str, str]) -> Commit:
        """Change the rows that a query finds: those of a DELETE when there is nothing to set."""
        found = as_merge(written, table.schema, where, values)
        clause = when_matched(update=found.values) if values else when_matched(delete=True)
        with self.together() as (changes, tx):
            done = tx.table(table.name).merge(changes.frame(found.source), found.on, [clause])
        return done if tx is self.session else tx.done

    def truncate(self, words: Words) -> Commit:
        """TRUNCATE TABLE."""
        words.expect("TRUNCATE")
        words.accept("TABLE")
        table = self._table(words.name())
        words.end()
        return table.truncate()

    def merge(self, words: Words) -> Commit:
        """MERGE INTO."""
        words.expect("MERGE", "INTO")
        name = words.name()
        table, alias = self._table(name), _alias(words, "USING")
        words.expect("USING")
        source, called = self._source(words)
        words.expect("ON")
        ours = {tuple(fold(part) for part in ((alias,) if alias else each)): "t" for each in _called(name)}
        if called is not None and (fold(called),) in ours:
            raise InvalidInputError(f"the table and the source are both called {called}", hint="give one an alias")
        tables: dict[tuple[str, ...], str | None] = dict(ours)
        if called is not None:
            tables[fold(called),] = "s"
        both = Rewriter(self.arguments, tables)
        on = both.rewrite(words.until("WHEN"))
        clauses = []
        while words.accept("WHEN"):
            clauses.append(self._clause(words, both))
        words.end()
        with self.together() as (changes, tx):
            target = tx.table(table.name)
            done = target.merge(changes.frame(f"SELECT * FROM {source}"), on, clauses)
        return done if tx is self.session else tx.done

    @contextmanager
    def together(self) -> Iterator[tuple[Changes, Transaction]]:
        """Let what is read and what is written belong to one transaction, so that both are of one snapshot."""
        from quacklake.transaction import Transaction

        if isinstance(self.session, Transaction):
            yield self, self.session
            return
        with self.session.transaction() as tx:
            yield replace(self, session=tx), tx

    def _source(self, words: Words) -> tuple[str, str | None]:
        """The source as it was written, and what it is called."""
        if words.sees("("):
            text, called = f"({words.brackets()})", None
        else:
            name = words.name()
            text, called = _written(name, None), name[-1]
        alias = _alias(words, "ON")
        return (f"{text} AS `{alias.replace('`', '``')}`", alias) if alias else (text, called)

    def _clause(self, words: Words, both: Rewriter) -> WhenClause:
        missing = words.accept("NOT")
        words.expect("MATCHED")
        by_source = missing and words.accept("BY", "SOURCE")
        if missing and not by_source:
            words.accept("BY", "TARGET")
        where = both.rewrite(words.until("THEN")) if words.accept("AND") else None
        words.expect("THEN")
        if missing and not by_source:
            return when_not_matched(insert=self._insertion(words, both), where=where)
        act = when_not_matched_by_source if by_source else when_matched
        if words.accept("DELETE"):
            return act(delete=True, where=where)
        words.expect("UPDATE", "SET")
        if words.accept("*"):
            if by_source:
                raise InvalidInputError("UPDATE SET * has no source here", hint="say which columns are set")
            return when_matched(update="*", where=where)
        return act(update=self._assignments(words, both), where=where)

    def _assignments(self, words: Words, both: Rewriter) -> dict[str, str]:
        values: dict[str, str] = {}
        owners = {"".join(key) for key, word in (both.tables or {}).items() if word == "t" and len(key) == 1}
        while True:
            target = _target(words.until("="), owners)
            words.expect("=")
            values[target] = both.rewrite(words.until(",", "WHEN"))
            if not words.accept(","):
                return values

    def _insertion(self, words: Words, both: Rewriter) -> Any:
        words.expect("INSERT")
        if words.accept("*"):
            return "*"
        names = [_column_name(each) for each in words.listed()]
        words.expect("VALUES")
        values = [both.rewrite(each) for each in words.listed()]
        if len(names) != len(values):
            raise InvalidInputError(f"INSERT names {len(names)} columns and gives {len(values)} values")
        return dict(zip(names, values, strict=True))

    def frame(self, text: str, names: Sequence[str] | None = None, table: str = "") -> Any:
        """The rows of a query, for a verb; with other names for its columns, in order."""
        query = self._query(text)

        def rename(given: Sequence[str]) -> Sequence[str]:
            if names is not None and len(given) != len(names):
                raise InvalidInputError(
                    f"{table}: the query gives {len(given)} columns for {len(names)}: {', '.join(names)}",
                    hint="name the columns after the table, or use BY NAME",
                )
            return given if names is None else names

        return self.session._engine().query(query).to_frame(rename)

    def _query(self, text: str) -> Query:
        dialect = self.session._engine().dialect
        return Builder(self.session, dialect, self.arguments).build(parse(query_text(Words.of(text), text)))

    def _table(self, name: Sequence[str]) -> Table:
        return self.session.table(str(Names.of(self.session).table(name)))

    def _own(self, table: Table, alias: str | None, name: Sequence[str] = ()) -> Rewriter:
        called = [(alias,)] if alias else [*_called(name)]
        return Rewriter(self.arguments, {tuple(map(fold, each)): None for each in called})


def _written(name: Sequence[str], alias: str | None) -> str:
    """A table as it stands in a query."""
    text = ".".join(f"`{part.replace('`', '``')}`" for part in name)
    return text if alias is None else f"{text} AS `{alias.replace('`', '``')}`"


def _called(name: Sequence[str]) -> list[tuple[str, ...]]:
    """Every way to call a table of that name."""
    return [tuple(name[start:]) for start in range(len(name))]


def _alias(words: Words, *before: str) -> str | None:
    if words.accept("AS"):
        return words.one_part()
    return None if words.is_over or any(words.sees(word) for word in before) else words.one_part()


def _column_name(text: str) -> str:
    parts = split(text)
    if len(parts) != 1:
        raise InvalidInputError(f"{text} is not a column", hint="columns of an INSERT have one part")
    return parts[0]


def _target(text: str, owners: set[str]) -> str:
    """The column that is set: without its table, a nested one with dots."""
    parts = split(text)
    if len(parts) > 1 and fold(parts[0]) in owners:
        parts = parts[1:]
    return ".".join(part if part.replace("_", "a").isalnum() else quote(part) for part in parts)
