"""Work on the catalog in a turn of its own, in line with the commits."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

import sqlalchemy as sa

from quacklake.catalog.backends.protocol import Failure
from quacklake.catalog.lake import Catalog
from quacklake.commit.committer import ATTEMPTS, FIRST_PAUSE_SECONDS, GROWTH, LONGEST_PAUSE_SECONDS
from quacklake.commit.state import Turn, standing_in_line, take_turn

T = TypeVar("T")

# A connection that breaks is not among them: nobody knows whether the work is done, and to repeat it is harmless.
_RETRIED: frozenset[Failure] = frozenset(("serialization", "deadlock", "locked"))


class _RolledBack(Exception):
    """Carries the answer of work that is not to last."""

    def __init__(self, answer: object) -> None:
        super().__init__()
        self.answer = answer


def in_turn(catalog: Catalog, work: Callable[[sa.Connection, Turn], T], *, lasts: bool = True) -> T:
    """Run work in one transaction while no commit of ours is under way, and again when the database gave up on it.

    Args:
        catalog: The lake.
        work: May be run several times; only the last one counts.
        lasts: Whether what it does stays.

    Raises:
        CatalogError: When the database fails.
    """
    pause = FIRST_PAUSE_SECONDS
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return _run(catalog, work, lasts)
        except sa.exc.SQLAlchemyError as error:
            if catalog.backend.classify(error) not in _RETRIED or attempt == ATTEMPTS:
                raise catalog.backend.translate(error) from error
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(pause * GROWTH, LONGEST_PAUSE_SECONDS)
    raise AssertionError("the last attempt returns or raises")


def _run(catalog: Catalog, work: Callable[[sa.Connection, Turn], T], lasts: bool) -> T:
    try:
        with catalog.backend.write(standing_in_line(catalog.tables, catalog.backend)) as connection:
            answer = work(connection, take_turn(connection, catalog.tables, catalog.backend))
            if not lasts:
                raise _RolledBack(answer)
            return answer
    except _RolledBack as rolled_back:
        return rolled_back.answer  # type: ignore[return-value]
