"""Two sessions with open transactions on one lake, against a model of plain dicts.

The model knows snapshot isolation: a transaction sees the lake as it began plus what it did itself, and a commit
either puts all of that on top of what others committed or is refused. It does not say which commits must be refused
(docs/conflicts.md does); it says that whatever is accepted loses nothing of anybody's, and that appends always are.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import quacklake as ql
from tests.lakes import Place

TABLES = ("a", "b")
Rows = dict[int, int]
"""The value of every key."""
writers = st.sampled_from((0, 1))
tables = st.sampled_from(TABLES)


class Player:
    """One session, and the transaction that it may have open."""

    def __init__(self, place: Place) -> None:
        self.session = ql.connect(place.url, engine="local")
        self.tx: ql.Transaction | None = None
        self.began: dict[str, Rows] = {}
        self.sees: dict[str, Rows] = {}
        self.added: dict[str, Rows] = {}
        self.changed: dict[str, dict[int, int | None]] = {}
        """Of rows that others see: the new value, or None when it is gone."""
        self.only_appends = True

    def begin(self, lake: dict[str, Rows]) -> None:
        self.tx = self.session.transaction()
        self.tx.__enter__()
        self.began, self.sees = ({name: dict(rows) for name, rows in lake.items()} for _ in range(2))
        self.added = {name: {} for name in TABLES}
        self.changed = {name: {} for name in TABLES}
        self.only_appends = True

    def set(self, table: str, key: int, value: int | None) -> None:
        if key in self.added[table]:
            if value is None:
                del self.added[table][key]
            else:
                self.added[table][key] = value
        else:
            self.changed[table][key] = value
        if value is None:
            del self.sees[table][key]
        else:
            self.sees[table][key] = value


class TwoWriters(RuleBasedStateMachine):
    """What two people may do to two tables, in any order."""

    @initialize()
    def make_lake(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="quacklake-two-writers-"))
        place = Place.in_folder("sqlite", self.folder)
        with ql.connect(place.url, place.data_path, engine="local") as session:
            for name in TABLES:
                session.create_table(name, "k BIGINT, v BIGINT")
        self.lake: dict[str, Rows] = {name: {} for name in TABLES}
        self.players = [Player(place), Player(place)]
        self.next_key = 0

    @rule(who=writers)
    def begin(self, who: int) -> None:
        player = self.players[who]
        if player.tx is None:
            player.begin(self.lake)

    @rule(who=writers, table=tables, size=st.sampled_from((1, 2, 15)))
    def append(self, who: int, table: str, size: int) -> None:
        player = self.players[who]
        keys = range(self.next_key, self.next_key + size)
        self.next_key += size
        rows = pa.table({"k": list(keys), "v": [who] * size})
        if player.tx is None:
            player.session.table(table).append(rows)
            self.lake[table] |= dict.fromkeys(keys, who)
        else:
            player.tx.table(table).append(rows)
            player.added[table] |= dict.fromkeys(keys, who)
            player.sees[table] |= dict.fromkeys(keys, who)

    @precondition(lambda self: any(player.tx is not None for player in self.players))
    @rule(who=writers, table=tables, seed=st.integers(0, 1000), value=st.one_of(st.none(), st.integers(100, 110)))
    def change(self, who: int, table: str, seed: int, value: int | None) -> None:
        player = self.players[who]
        if player.tx is None or not player.sees[table]:
            return
        player.only_appends = False
        keys = sorted(player.sees[table])
        chosen = keys[seed % len(keys)] if seed % 3 else keys[0]
        hit = [key for key in keys if key <= chosen] if seed % 5 == 0 else [chosen]
        where = f"k <= {chosen}" if seed % 5 == 0 else f"k = {chosen}"
        if value is None:
            assert player.tx.table(table).delete(where).rows_deleted == len(hit)
        else:
            assert player.tx.table(table).update({"v": str(value)}, where).rows_updated == len(hit)
        for key in hit:
            player.set(table, key, value)

    @rule(who=writers)
    def commit(self, who: int) -> None:
        player = self.players[who]
        if player.tx is None:
            return
        tx, player.tx = player.tx, None
        try:
            tx.commit()
        except ql.ConflictError:
            assert not player.only_appends, "appends commute"
            return
        for table in TABLES:
            for key, value in player.changed[table].items():
                now, before = self.lake[table].get(key), player.began[table][key]
                assert now == before, f"{table} {key} was changed by both, and one change is lost"
                if value is None:
                    del self.lake[table][key]
                else:
                    self.lake[table][key] = value
            self.lake[table] |= player.added[table]

    @rule(who=writers)
    def roll_back(self, who: int) -> None:
        player = self.players[who]
        if player.tx is not None:
            player.tx.rollback()
            player.tx = None

    @invariant()
    def everybody_sees_what_the_model_says(self) -> None:
        if not hasattr(self, "players"):
            return
        for player in self.players:
            for table in TABLES:
                place: Any = player.session if player.tx is None else player.tx
                expected = self.lake[table] if player.tx is None else player.sees[table]
                found = place.table(table).to_arrow().to_pylist()
                assert len(found) == len(expected)
                assert {row["k"]: row["v"] for row in found} == expected

    def teardown(self) -> None:
        if hasattr(self, "players"):
            for player in self.players:
                if player.tx is not None:
                    player.tx.rollback()
            assert self.players[0].session.check() == []
            files = {path.name for path in self.folder.rglob("*.parquet")}
            known = {Path(file.path).name for file in _all_files(self.players[0].session)}
            assert files == known, "a rolled back or refused transaction left a file"
            for player in self.players:
                player.session.close()
            shutil.rmtree(self.folder)


def _all_files(session: ql.Session) -> list[Any]:
    from quacklake.catalog.audit import load_known_files

    catalog = session._catalog
    with catalog.backend.read() as connection:
        return list(load_known_files(connection, catalog.tables, catalog.data_path))


TestTwoWriters = TwoWriters.TestCase
TestTwoWriters.settings = settings(
    max_examples=40,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
