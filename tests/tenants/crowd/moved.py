"""What DuckDB said about a lake, in the words of the catalog that the lake has become."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import quacklake as ql
from tests.differential.feeds import Feed, Told
from tests.lakes import Answer, Row


@dataclass(frozen=True, slots=True)
class Moved:
    """The snapshots of the catalog by those of the lake; ids of rows are the same in both."""

    ids: Mapping[int, int]

    @classmethod
    def between(cls, lake: ql.Session, catalog: ql.Session) -> Moved:
        """From the one to the other."""
        snapshots = zip(lake.snapshots(), catalog.snapshots(), strict=True)
        return cls({old.snapshot_id: new.snapshot_id for old, new in snapshots})

    def answers(self, answers: Iterable[Answer]) -> list[Answer]:
        """The same answers.

        What a row says of a snapshot that has expired, nobody can say in other words: such tables are compared without.
        """
        return [self._answer(answer) for answer in answers]

    def told(self, told: Told) -> Told:
        """The same feeds, but for those that tell of snapshots that have expired."""
        known = [(feed, id_) for feed, id_ in told.feeds if all(int(row[0] or 0) in self.ids for row in feed.rows)]
        feeds = tuple((self._feed(feed), id_) for feed, id_ in known)
        truths = {
            str(self._feed(feed)): Counter(
                {(self.ids[snapshot], *rest): count for (snapshot, *rest), count in told.truths[str(feed)].items()}
            )
            for feed, _ in known
            if str(feed) in told.truths
        }
        return Told(feeds, truths, frozenset((self.ids[snapshot], id_) for snapshot, id_ in told.moves))  # type: ignore[arg-type]

    def _feed(self, feed: Feed) -> Feed:
        rows = Counter({(str(self.ids[int(row[0] or 0)]), *row[1:]): count for row, count in feed.rows.items()})
        return replace(feed, start=self.ids[feed.start], end=self.ids[feed.end], rows=rows)

    def _answer(self, answer: Answer) -> Answer:
        moved = replace(answer, snapshot_id=self.ids[answer.snapshot_id])
        if not answer.shows_ids:
            return moved
        names = {str(old): str(new) for old, new in self.ids.items()}
        known = all(row[1] in names for row in answer.rows)

        def shown(rows: Counter[Row]) -> Counter[Row]:
            found: Counter[Row] = Counter()
            for row, count in rows.items():
                found[(row[0], names[row[1] or ""], *row[2:]) if known else row[2:]] += count
            return found

        questions = tuple(replace(each, rows=shown(each.rows)) for each in answer.questions)
        return replace(moved, rows=shown(answer.rows), questions=questions, shows_ids=known)
