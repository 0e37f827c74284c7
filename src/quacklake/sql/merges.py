"""MERGE INTO: a table, a source, and clauses that say what becomes of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from quacklake.commit.outcome import Commit
from quacklake.errors import InvalidInputError, QuacklakeError, UnsupportedError
from quacklake.names import fold
from quacklake.plan.merge import WhenClause, when_matched, when_not_matched, when_not_matched_by_source
from quacklake.sql.expressions import Rewriter
from quacklake.sql.inner_queries import ANSWER, Answers
from quacklake.sql.targets import alias_of, column_name, target_of, ways_to_call, written
from quacklake.sql.words import Words

if TYPE_CHECKING:
    from quacklake.sql.changes import Changes


@dataclass(frozen=True, slots=True)
class Merge:
    """Runs a MERGE.

    Args:
        changes: Finds tables and runs queries.
        answers: The queries of conditions and values.
    """

    changes: Changes
    answers: Answers = field(default_factory=Answers)

    def run(self, words: Words) -> Commit:
        """Read the statement and merge."""
        words.expect("MERGE")
        grows = words.accept("WITH", "SCHEMA", "EVOLUTION")
        words.expect("INTO")
        name = words.name()
        self.changes.prelude.refuse_target(name)
        table, alias = self.changes.table(name), alias_of(words, "USING")
        words.expect("USING")
        source, source_name = _source(words)
        words.expect("ON")
        both = self._both(name, alias, source_name)
        on = both.rewrite(self.answers.extract(words.until("WHEN")))
        clauses = []
        while words.accept("WHEN"):
            clauses.append(self._clause(words, both))
        words.end()
        if grows:
            self._check_growth(clauses)
        with self.changes.together() as (changes, tx):
            if self.answers.texts:
                self._check_answers(changes, source, written(name, alias))
            frame = changes.frame(f"SELECT *{self.answers.columns} FROM {source}")
            acts = [_without_star(clause, frame) for clause in clauses] if self.answers.texts else clauses
            done = tx.table(table.name).merge(frame, on, acts, schema="merge" if grows else "strict")
        return done if tx is self.changes.session else tx.done

    def _both(self, name: Sequence[str], alias: str | None, source: str | None) -> Rewriter:
        ours = {tuple(fold(part) for part in ((alias,) if alias else each)): "t" for each in ways_to_call(name)}
        if source is not None and (fold(source),) in ours:
            raise InvalidInputError(f"the table and the source are both called {source}", hint="give one an alias")
        tables: dict[tuple[str, ...], str | None] = dict(ours)
        if source is not None:
            tables[fold(source),] = "s"
        return Rewriter(self.changes.arguments, tables)

    def _check_growth(self, clauses: Sequence[WhenClause]) -> None:
        """Only a star takes columns from the source that the table lacks."""
        if self.answers.texts or not any(clause.values == "*" for clause in clauses):
            raise UnsupportedError(
                "MERGE WITH SCHEMA EVOLUTION without UPDATE SET * or INSERT *, or with queries in its clauses",
                hint="ALTER TABLE … ADD COLUMN first",
            )

    def _check_answers(self, changes: Changes, source: str, table: str) -> None:
        """Each query must mean for the source alone what it means for the source and the table.

        Where it can be asked of both and of the source alone, no name in it is the table's.
        """
        asked = self.answers.columns.removeprefix(", ")
        changes.frame(f"SELECT {asked} FROM {source} CROSS JOIN {table} LIMIT 0")
        try:
            changes.frame(f"SELECT {asked} FROM {source} LIMIT 0")
        except QuacklakeError as error:
            raise UnsupportedError(
                f"MERGE: a query of a clause asks for columns of the table: {error.message}",
                hint="ask for columns of the source, join the table in USING (SELECT …), or write an UPDATE or DELETE",
            ) from error

    def _clause(self, words: Words, both: Rewriter) -> WhenClause:
        missing = words.accept("NOT")
        words.expect("MATCHED")
        by_source = missing and words.accept("BY", "SOURCE")
        if missing and not by_source:
            words.accept("BY", "TARGET")
        asked = len(self.answers.texts)
        where = both.rewrite(self.answers.extract(words.until("THEN"))) if words.accept("AND") else None
        words.expect("THEN")
        found = self._action(words, both, where, missing=missing, by_source=by_source)
        if by_source and len(self.answers.texts) > asked:
            raise UnsupportedError(
                "MERGE: a query in WHEN NOT MATCHED BY SOURCE, where there is no row to ask it for",
                hint="write an UPDATE or DELETE with the query, in one transaction with the MERGE",
            )
        return found

    def _action(self, words: Words, both: Rewriter, where: str | None, *, missing: bool, by_source: bool) -> WhenClause:
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
            target = target_of(words.until("="), owners)
            words.expect("=")
            values[target] = both.rewrite(self.answers.extract(words.until(",", "WHEN")))
            if not words.accept(","):
                return values

    def _insertion(self, words: Words, both: Rewriter) -> Any:
        words.expect("INSERT")
        if words.accept("*"):
            return "*"
        names = [column_name(each) for each in words.listed()]
        words.expect("VALUES")
        values = [both.rewrite(self.answers.extract(each)) for each in words.listed()]
        if len(names) != len(values):
            raise InvalidInputError(f"INSERT names {len(names)} columns and gives {len(values)} values")
        return dict(zip(names, values, strict=True))


def _source(words: Words) -> tuple[str, str | None]:
    """The source as it was written, and what it is called."""
    if words.sees("("):
        text, called = f"({words.brackets()})", None
    else:
        name = words.name()
        text, called = written(name, None), name[-1]
    alias = alias_of(words, "ON")
    return (f"{text} AS `{alias.replace('`', '``')}`", alias) if alias else (text, called)


def _without_star(clause: WhenClause, frame: Any) -> WhenClause:
    """A clause that takes every column of the source but for the answers, which are no columns of it."""
    if clause.values != "*":
        return clause
    own = [name for name in frame.schema.names if not name.startswith(ANSWER)]
    return replace(clause, values={name: f"s.`{name.replace('`', '``')}`" for name in own})
