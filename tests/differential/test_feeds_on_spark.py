"""The change feed of lives on Spark, compared with DuckDB's own and with what its snapshots show."""

from __future__ import annotations

import pytest

import quacklake as ql
from tests.differential.feeds import Past, ask, feed_fault, keys, without
from tests.differential.lives import columns, files, names, rows
from tests.differential.lives.life import Life
from tests.differential.living import Lives
from tests.differential.scenarios import slug
from tests.differential.test_feeds import CONTRADICTED, EXPIRED
from tests.lakes import attached

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(900)]


@pytest.mark.parametrize("life", [*rows.LIVES, *files.LIVES, *names.LIVES, *columns.LIVES[:3]], ids=slug)
def test_a_feed_says_what_duckdb_and_its_snapshots_say(lives: Lives, life: Life) -> None:
    place = lives.only_lived(life, "sqlite")
    faults = []
    with attached(place, life.options) as con, ql.connect(place.url, engine="spark", read_only=True) as session:
        past = Past(con)
        last = {table_id: (end, namespace, table) for end, table_id, namespace, table in past.tables}
        for table_id, (end, namespace, table) in last.items():
            moved = [snapshot for snapshot, moved_id in past.moves if moved_id == table_id]
            known = [each for each in past.snapshots if each <= end]
            for start in sorted({known[0], known[len(known) // 2]}):
                feed = ask(con, namespace, table, start, end)
                if life.name not in CONTRADICTED:
                    faults.append(feed_fault(session, "spark", without(feed, moved)))
                if life.name != EXPIRED and keys(session, "spark", feed) != past.changes(table_id, start, end):
                    faults.append(f"{feed}: not what the snapshots show")
    assert [fault for fault in faults if fault is not None] == []
