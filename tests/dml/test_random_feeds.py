"""Random changes by us and by a DuckDB that stays attached: what the feed tells of them is what the snapshots show."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import quacklake as ql
from tests.conftest import Duck
from tests.differential.feeds import Past, ask, key_of, keys_of, read_feed
from tests.dml.test_random_writes import SCHEMA, SEEDS, Life
from tests.lakes import Place, Row, as_text


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


def check_feeds(life: Life, engine: str, ranges: int) -> None:
    """Compare random ranges with what the snapshots show, and values with DuckDB's own feed where it agrees with them.

    It often does not: of a file with deletes in the catalog that we drop whole, or that is rewritten, it tells deletes
    twice or not at all, for it never drops such a file itself. The rest is in `docs/changes.md`.
    """
    past = Past(life.live)
    for _ in range(ranges):
        end, table_id, _, table = life.random.choice(past.tables)
        start = life.random.choice([each for each in past.snapshots if each <= end])
        told = ask(life.live, "main", table, start, end)
        truth = past.changes(table_id, start, end)
        ours = as_text(read_feed(life.session, engine, told), told.types)
        assert keys_of(ours) == truth, (str(told), life.log)
        assert [row for row in ours if not _is_shown(past, table_id, row)] == [], (str(told), life.log)
        agreed = (row for row in told.rows if key_of(row) in truth and _is_shown(past, table_id, row))
        assert [row for row in agreed if row not in ours] == [], (str(told), life.log)


def _is_shown(past: Past, table_id: int, row: Row) -> bool:
    """Whether the snapshot of a change, or for what is gone the one before it, shows the row with these values."""
    snapshot, row_id, kind = key_of(row)
    is_new = kind in ("insert", "update_postimage")
    at = snapshot if is_new else max(each for each in past.snapshots if each < snapshot)
    return past.values(table_id, at, SCHEMA.names).get(row_id) == row[3 : 3 + len(SCHEMA.names)]


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
        check_feeds(life, "local", 25)
