"""What DuckDB answered about a lake, in the words of the catalog that the lake has become."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

import quacklake as ql
from tests.lakes import Answer, Row


def move_answers(answers: Iterable[Answer], lake: ql.Session, catalog: ql.Session) -> list[Answer]:
    """The same answers with the snapshots of the catalog; ids of rows are the same in both.

    What a row says of a snapshot that has expired, nobody can say in other words: such tables are compared without.
    """
    ids = {old.snapshot_id: new.snapshot_id for old, new in zip(lake.snapshots(), catalog.snapshots(), strict=True)}
    return [_move(answer, ids) for answer in answers]


def _move(answer: Answer, ids: Mapping[int, int]) -> Answer:
    moved = replace(answer, snapshot_id=ids[answer.snapshot_id])
    if not answer.shows_ids:
        return moved
    names = {str(old): str(new) for old, new in ids.items()}
    known = all(row[1] in names for row in answer.rows)

    def shown(rows: Counter[Row]) -> Counter[Row]:
        found: Counter[Row] = Counter()
        for row, count in rows.items():
            found[(row[0], names[row[1] or ""], *row[2:]) if known else row[2:]] += count
        return found

    questions = tuple(replace(each, rows=shown(each.rows)) for each in answer.questions)
    return replace(moved, rows=shown(answer.rows), questions=questions, shows_ids=known)
