"""Random changes by us and by a DuckDB that stays attached: what the feed tells of them is what the snapshots show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import quacklake as ql
from tests.conftest import Duck
from tests.differential.feeds import Feed, Key, Past, ask, feed_fault, keys, without
from tests.dml.test_random_writes import SEEDS, Life
from tests.lakes import Place


class Restless(Life):
    """A life with everything that moves rows without changing them, and with large changes."""

    def rewrite_by_duckdb(self) -> None:
        self.live.execute("CALL ducklake_rewrite_data_files('lk', delete_threshold => 0)")

    def empty(self) -> None:
        self.plain.execute("DELETE FROM t")
        self.session.table("t").truncate()

    def in_one_transaction(self) -> None:
        where, frame = self.predicate(), self.frame(self.random.choice((2, 30)))
        self.insert_plainly(frame)
        self.plain.execute(f"UPDATE t SET amount = amount * 2 WHERE {where}")
        self.plain.execute(f"DELETE FROM t WHERE id % 7 = 2 AND {where}")
        with self.session.transaction() as tx:
            table = tx.table("t")
            table.append(self.give(frame))
            table.update({"amount": "amount * 2"}, where)
            table.delete(f"id % 7 = 2 AND {where}")

    def step(self) -> None:
        if self.random.random() < 0.8:
            super().step()
            return
        chosen = self.random.choice(
            (self.rewrite_by_duckdb, self.in_one_transaction, self.in_one_transaction, self.empty)
        )
        self.log.append(chosen.__name__)
        chosen()
        self.compare()


def check_feeds(life: Life, read: str, ranges: int) -> int:
    """Compare feeds with what the snapshots show, and with DuckDB's own where that agrees with them.

    Returns how many of DuckDB's were compared.
    """
    past = Past(life.live)
    ends = [(end, table_id, table) for end, table_id, _, table in past.tables]
    agreed = 0
    for _ in range(ranges):
        end, table_id, table = life.random.choice(ends)
        start = life.random.choice([each for each in past.snapshots if each <= end])
        moved = [snapshot for snapshot, moved_id in past.moves if moved_id == table_id]
        told = without(ask(life.live, "main", table, start, end), moved)
        truth = past.changes(table_id, start, end)
        assert keys(life.session, read, told) == truth, (str(told), life.log)
        if _keys_of(told) == truth:
            agreed += 1
            assert feed_fault(life.session, read, told) is None, life.log
    return agreed


def _keys_of(feed: Feed) -> Counter[Key]:
    found: Counter[Any] = Counter()
    for row, count in feed.rows.items():
        found[int(row[0] or 0), int(row[1] or 0), row[2]] += count
    return found


@pytest.mark.parametrize("name", ["sqlite", pytest.param("postgresql", marks=pytest.mark.server)])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_feed_tells_what_both_writers_did(
    name: str, seed: int, new_place: Callable[[str], Place], duck: Duck
) -> None:
    place = new_place(name)
    with ql.connect(place.url, place.data_path, engine="local") as session, duck(place) as live:
        life = Restless(session, live, seed, lambda frame: frame)
        for _ in range(30):
            life.step()
        assert check_feeds(life, "local", 25)
