"""Statements that change rows: INSERT, UPDATE, DELETE, MERGE and TRUNCATE."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from quacklake.commit.outcome import Commit
from quacklake.errors import InvalidInputError, UnsupportedError
from quacklake.names import fold
from quacklake.plan.merge import when_matched
from quacklake.plan.query import Arguments, Query
from quacklake.sql.expressions import Rewriter
from quacklake.sql.merges import Merge
from quacklake.sql.names import Names
from quacklake.sql.partitions import read_partition
from quacklake.sql.prelude import NO_PRELUDE, Prelude
from quacklake.sql.select import Builder
from quacklake.sql.subqueries import as_merge, has_query
from quacklake.sql.targets import alias_of, column_name, target_of, ways_to_call, written
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
        prelude: The WITH that stood before the statement.
    """

    session: Session | Transaction
    arguments: Arguments
    prelude: Prelude = NO_PRELUDE

    def insert(self, words: Words) -> Commit:
        """INSERT INTO, INSERT OVERWRITE, INSERT INTO … REPLACE WHERE."""
        words.expect("INSERT")
        overwrites = words.accept("OVERWRITE")
        if not overwrites:
            words.expect("INTO")
        words.accept("TABLE")
        if overwrites and (words.sees("DIRECTORY") or words.sees("LOCAL", "DIRECTORY")):
            raise UnsupportedError("INSERT OVERWRITE DIRECTORY", hint="write to a table, or use a DataFrame")
        table = self.table(words.name())
        partition = read_partition(words, table) if words.accept("PARTITION") else None
        names: list[str] | None = None
        by_name = words.accept("BY", "NAME")
        if words.sees("(") and not by_name:
            names = [column_name(each) for each in words.listed()]
        where = None
        if words.accept("REPLACE", "WHERE"):
            where = self._own(table, None).rewrite(words.until(*_QUERY[:5]))
        if not any(words.sees(word) for word in _QUERY):
            raise words.refusal("a query or VALUES")
        wanted = None if by_name else (names or [column.name for column in table.schema])
        if self.prelude.text and words.sees("WITH"):
            raise UnsupportedError("WITH … INSERT … WITH is not handled", hint="write one WITH")
        text = words.rest()
        if partition is not None:
            if wanted is None or where is not None:
                raise UnsupportedError("INSERT … PARTITION with BY NAME or REPLACE WHERE", hint="write one of them")
            text, wanted = partition.completed(text), partition.named(wanted)
            where = self._own(table, None).rewrite(partition.where) if overwrites else None
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
        self.prelude.refuse_target(name)
        table, alias = self.table(name), alias_of(words, "SET")
        words.expect("SET")
        values: dict[str, str] = {}
        while True:
            target = target_of(words.until("="), {fold(each) for each in (alias or name[-1],)})
            words.expect("=")
            if target in values:
                raise InvalidInputError(f"column {target!r} is set twice")
            values[target] = words.until(",", "WHERE")
            if not words.accept(","):
                break
        where = words.rest() if words.accept("WHERE") else None
        words.end()
        if has_query([*values.values(), *([where] if where else [])]):
            return self._merge_own(table, written(name, alias), where, values)
        self._check_prelude()
        own = self._own(table, alias, name)
        changed = {target: own.rewrite(text) for target, text in values.items()}
        return table.update(changed, None if where is None else own.rewrite(where))

    def delete(self, words: Words) -> Commit:
        """DELETE FROM; without WHERE, every row goes."""
        words.expect("DELETE", "FROM")
        name = words.name()
        self.prelude.refuse_target(name)
        table, alias = self.table(name), alias_of(words, "WHERE")
        where = words.rest() if words.accept("WHERE") else None
        words.end()
        if where is not None and has_query([where]):
            return self._merge_own(table, written(name, alias), where, {})
        self._check_prelude()
        if where is None:
            return table.truncate()
        return table.delete(self._own(table, alias, name).rewrite(where))

    def _merge_own(self, table: Table, written: str, where: str | None, values: dict[str, str]) -> Commit:
        """Change the rows that a query finds: those of a DELETE when there is nothing to set."""
        found = as_merge(written, table.schema, where, values)
        clause = when_matched(update=found.values) if values else when_matched(delete=True)
        with self.together() as (changes, tx):
            done = tx.table(table.name).merge(changes.frame(found.source), found.on, [clause])
        return done if tx is self.session else tx.done

    def _check_prelude(self) -> None:
        """Queries that nobody asks must be right nevertheless."""
        if self.prelude.text:
            self._query("SELECT 1")

    def truncate(self, words: Words) -> Commit:
        """TRUNCATE TABLE."""
        words.expect("TRUNCATE")
        words.accept("TABLE")
        table = self.table(words.name())
        words.end()
        return table.truncate()

    def merge(self, words: Words) -> Commit:
        """MERGE INTO."""
        return Merge(self).run(words)

    @contextmanager
    def together(self) -> Iterator[tuple[Changes, Transaction]]:
        """Let what is read and what is written belong to one transaction, so that both are of one snapshot."""
        from quacklake.transaction import Transaction

        if isinstance(self.session, Transaction):
            yield self, self.session
            return
        with self.session.transaction() as tx:
            yield replace(self, session=tx), tx

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
        whole = self.prelude.before(query_text(Words.of(text), text))
        return Builder(self.session, dialect, self.arguments).build(parse(whole))

    def table(self, name: Sequence[str]) -> Table:
        """The table that a name in the statement stands for."""
        return self.session.table(str(Names.of(self.session).table(name)))

    def _own(self, table: Table, alias: str | None, name: Sequence[str] = ()) -> Rewriter:
        called = [(alias,)] if alias else [*ways_to_call(name)]
        return Rewriter(self.arguments, {tuple(map(fold, each)): None for each in called})
