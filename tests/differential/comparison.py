"""Everything that is asked of quacklake about one table at one snapshot, and what was wrong with the answers."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import quacklake as ql
from tests.lakes import Answer, Question, Row, as_text, difference, read

if TYPE_CHECKING:
    from quacklake.session import Session

SPARK_QUESTIONS = 6
"""A job of Spark takes so long that it is asked only some of the questions about a table."""


def faults(session: Session, engine: str, answers: Iterable[Answer], *, only_rows: bool = False) -> list[str]:
    """What differs from DuckDB, in words, over all answers.

    Args:
        session: A session on the lake.
        engine: `local` or `spark`.
        answers: What DuckDB says.
        only_rows: Compare whole tables, and leave out predicates, projections, limits and counts.
    """
    found: list[str] = []
    for answer in answers:
        if answer.error is not None:
            continue
        try:
            found += [f"{answer}: {fault}" for fault in _whole(session, engine, answer)]
            if not only_rows:
                found += [f"{answer}: {fault}" for fault in _parts(session, engine, answer)]
        except ql.QuacklakeError as error:  # one table that cannot be read must not hide the others
            found.append(f"{answer}: {type(error).__name__}: {error}")
        except BaseException as error:
            error.add_note(f"while reading {answer}")
            raise
    return found


def _whole(session: Session, engine: str, answer: Answer) -> Iterator[str]:
    arrow = read(session, engine, answer, row_ids=answer.shows_ids)
    names = tuple(arrow.column_names)[2 if answer.shows_ids else 0 :]
    if names != answer.columns:
        yield f"the columns are {names}, not {answer.columns}"
        return
    fault = difference(as_text(arrow, answer.all_types), answer.rows)
    if fault:
        yield fault


def _parts(session: Session, engine: str, answer: Answer) -> Iterator[str]:
    for question in _some(engine, answer):
        try:
            arrow = read(session, engine, answer, where=question.where, row_ids=answer.shows_ids)
        except ql.QuacklakeError as error:
            yield f"where {question.where}: {type(error).__name__}: {error}"
            continue
        except BaseException as error:
            error.add_note(f"where {question.where}")
            raise
        fault = difference(as_text(arrow, answer.all_types), question.rows)
        if fault:
            yield f"where {question.where}: {fault}"
    yield from _refusals(session, engine, answer)
    yield from _projection(session, engine, answer)
    yield from _limits(session, engine, answer)
    yield from _counts(session, answer, 3 if engine == "local" else 1)


def _some(engine: str, answer: Answer) -> Sequence[Question]:
    if engine == "local" or len(answer.questions) <= SPARK_QUESTIONS:
        return answer.questions
    return random.Random(str(answer)).sample(answer.questions, SPARK_QUESTIONS)


def _refusals(session: Session, engine: str, answer: Answer) -> Iterator[str]:
    for where in answer.impossible:
        try:
            read(session, engine, answer, where=where)
        except ql.QuacklakeError:
            continue
        except BaseException as error:
            error.add_note(f"where {where}, which should be refused as an error of quacklake")
            raise
        yield f"where {where}: answered, though there is no such column"


def _projection(session: Session, engine: str, answer: Answer) -> Iterator[str]:
    """The columns backwards, without the first one where there are others, filtered by one that is left out."""
    offset = 2 if answer.shows_ids else 0
    chosen = list(range(len(answer.columns)))[1:][::-1] or [0]
    names, types = [answer.columns[i] for i in chosen], [answer.types[i] for i in chosen]
    arrow = read(session, engine, answer, columns=names)
    if arrow.column_names != names:
        yield f"columns={names} gives {arrow.column_names}"
        return
    fault = difference(as_text(arrow, types), _cut(answer.rows, [i + offset for i in chosen]))
    if fault:
        yield f"columns={names}: {fault}"
    if not answer.questions:
        return
    question = answer.questions[-1]
    arrow = read(session, engine, answer, columns=names[:1], where=question.where)
    fault = difference(as_text(arrow, types[:1]), _cut(question.rows, [chosen[0] + offset]))
    if fault:
        yield f"columns={names[:1]} where {question.where}: {fault}"


def _cut(rows: Counter[Row], places: list[int]) -> Counter[Row]:
    cut: Counter[Row] = Counter()
    for row, count in rows.items():
        cut[tuple(row[place] for place in places)] += count
    return cut


def _limits(session: Session, engine: str, answer: Answer) -> Iterator[str]:
    total = answer.rows.total()
    for limit in sorted({0, 1, max(total - 1, 0), total + 5} if engine == "local" else {max(total - 1, 0)}):
        got = as_text(read(session, engine, answer, limit=limit, row_ids=answer.shows_ids), answer.all_types)
        if got.total() != min(limit, total) or got - answer.rows:
            strangers = (got - answer.rows).total()
            yield f"limit={limit} of {total} gives {got.total()} rows, {strangers} of them not in the table"


def _counts(session: Session, answer: Answer, most: int) -> Iterator[str]:
    table = session.table(answer.name, at=answer.snapshot_id)
    if (got := table.count()) != answer.rows.total():
        yield f"count() is {got}, not {answer.rows.total()}"
    for question in answer.questions[:most]:
        if (got := table.scan(where=question.where).count()) != question.rows.total():
            yield f"count() where {question.where} is {got}, not {question.rows.total()}"
