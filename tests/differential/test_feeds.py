"""The change feed of every life, compared with DuckDB's own and with what its snapshots show."""

from __future__ import annotations

import pytest

import quacklake as ql
from tests.differential.feeds import Told, feed_fault, keys, keys_of, tell, without
from tests.differential.lives import columns, files, names, rows, values
from tests.differential.lives.life import Life
from tests.differential.living import Lives
from tests.differential.scenarios import LIVES, slug
from tests.lakes import attached

CONTRADICTED = {
    "updates and merges in files": "a row that is updated and then deleted in one transaction comes out as an update",
    "rows in the catalog through alters and flushes": "of two versions of a row in one flushed file, both die with the"
    " first",
}
"""Where DuckDB's feed is not what its snapshots show, and why: there the snapshots are right."""
EXPIRED = "expired snapshots"
"""What happened in a snapshot that is gone is seen in later ones."""
HIDDEN = "columns with the names of hidden ones"
"""DuckDB takes such columns for those of the feed, and its time travel shows them instead of the row ids."""
UNREADABLE = "structs with odd text in the catalog"
"""DuckDB cannot read what it wrote."""
OFTEN = [*rows.LIVES, *files.LIVES, *names.LIVES, *(life for life in columns.LIVES if life.name != HIDDEN)]


def feeds_of(lives: Lives, life: Life, *, every: bool) -> Told:
    """What DuckDB and its snapshots say of a life."""

    def ask() -> Told:
        with attached(lives.only_lived(life, "sqlite"), life.options) as con:
            return tell(con, every=every, is_whole=life.name != EXPIRED)

    return lives.once(f"{slug(life)} feeds {every}", ask)


def faults_of(session: ql.Session, life: Life, told: Told) -> list[str]:
    """What differs from that, in words."""
    faults = []
    for feed, table_id in told.feeds:
        moved = [snapshot for snapshot, moved_id in told.moves if moved_id == table_id]
        if feed.error is not None and life.name == UNREADABLE:
            continue
        if life.name not in CONTRADICTED:
            faults.append(feed_fault(session, "local", without(feed, moved)))
        truth = told.truths.get(str(feed))
        if truth is not None and (got := keys(session, "local", feed)) != truth:
            faults.append(f"{feed}: missing {list(truth - got)[:3]}, too many {list(got - truth)[:3]}")
    return [fault for fault in faults if fault is not None]


def _faults(lives: Lives, life: Life, kind: str, *, every: bool) -> list[str]:
    told = feeds_of(lives, life, every=every)
    with ql.connect(lives.only_lived(life, kind).url, engine="local", read_only=True) as session:
        return faults_of(session, life, told)


@pytest.mark.parametrize("life", [life for life in LIVES if life.name != HIDDEN], ids=slug)
def test_a_feed_says_what_duckdb_and_its_snapshots_say(lives: Lives, life: Life) -> None:
    assert _faults(lives, life, "sqlite", every=False) == []


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("life", OFTEN, ids=slug)
def test_a_feed_from_and_to_every_snapshot_says_what_duckdb_and_its_snapshots_say(lives: Lives, life: Life) -> None:
    assert _faults(lives, life, "sqlite", every=True) == []


@pytest.mark.parametrize("life", [*rows.LIVES, *files.LIVES], ids=slug)
def test_a_feed_from_a_duckdb_file_is_the_same(lives: Lives, life: Life) -> None:
    assert _faults(lives, life, "duckdb", every=False) == []


@pytest.mark.server
@pytest.mark.parametrize("life", [*rows.LIVES, *files.LIVES, *values.LIVES], ids=slug)
def test_a_feed_from_postgresql_is_the_same(lives: Lives, life: Life) -> None:
    assert _faults(lives, life, "postgres", every=False) == []


@pytest.mark.parametrize("life", [life for life in LIVES if life.name in CONTRADICTED], ids=slug)
def test_duckdb_still_contradicts_its_own_snapshots_there(lives: Lives, life: Life) -> None:
    told = feeds_of(lives, life, every=False)
    assert [feed for feed, _ in told.feeds if keys_of(feed.rows) != told.truths[str(feed)]]
