"""Catalogs that are cloned, moved out and in, given files of others, forgotten and cleaned up, in any order.

The model knows the rows of every catalog and of every lake that one was exported to. Whatever happens, nobody loses a
row, at no snapshot that is still there; and when the last catalog is gone, so are its files, unless a lake outside
needs them.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import quacklake as ql
from tests.servers import Server

LATER = datetime.now(UTC) + timedelta(days=1)
Rows = Counter[int]
chances = st.integers(0, 1000)


@dataclass
class Known:
    """What a catalog or a lake shows: the rows of each of its snapshots in which it has the table."""

    history: list[Rows] = field(default_factory=list)
    is_outside: bool = False
    """Whether files of it may lie in a catalog, and must stay there."""


class Sharing(RuleBasedStateMachine):
    """What those who look after catalogs may do, and those who write to them."""

    @staticmethod
    def new_database(folder: Path) -> str:
        return f"sqlite:///{folder / 'shared.db'}"

    @initialize()
    def make_database(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="quacklake-sharing-"))
        self.url = self.new_database(self.folder)
        self.tenants = ql.tenants(self.url, f"{self.folder / 'data'}/")
        self.catalogs: dict[str, Known] = {}
        self.lakes: dict[str, Known] = {}
        self.number = 0
        self.make()

    def new_name(self) -> str:
        self.number += 1
        return f"c{self.number}"

    def one(self, seed: int) -> str:
        return sorted(self.catalogs)[seed % len(self.catalogs)]

    def open(self, name: str) -> ql.Session:
        return ql.connect(self.url, catalog=name, engine="local", create=False)

    @precondition(lambda self: len(self.catalogs) < 5)
    @rule()
    def make(self) -> None:
        name = self.new_name()
        with ql.connect(self.url, catalog=name, engine="local") as session:
            session.create_table("t", "a INT")
        self.catalogs[name] = Known([Counter()])

    @precondition(lambda self: self.catalogs)
    @rule(seed=chances, size=st.sampled_from((2, 30)))
    def append(self, seed: int, size: int) -> None:
        name, values = self.one(seed), [(seed + each) % 100 for each in range(size)]
        with self.open(name) as session:
            session.table("t").append(pa.table({"a": pa.array(values, pa.int32())}))
        self.catalogs[name].history.append(self.catalogs[name].history[-1] + Counter(values))

    @precondition(lambda self: self.catalogs)
    @rule(seed=chances, below=st.integers(0, 100))
    def delete(self, seed: int, below: int) -> None:
        name = self.one(seed)
        before = self.catalogs[name].history[-1]
        after = Counter({value: count for value, count in before.items() if value >= below})
        with self.open(name) as session:
            done = session.table("t").delete(f"a < {below}")
        assert done.rows_deleted == before.total() - after.total()
        if done.snapshot_id is not None:
            self.catalogs[name].history.append(after)

    @precondition(lambda self: self.catalogs)
    @rule(seed=chances)
    def truncate(self, seed: int) -> None:
        name = self.one(seed)
        with self.open(name) as session:
            if session.table("t").truncate().snapshot_id is not None:
                self.catalogs[name].history.append(Counter())

    @precondition(lambda self: self.catalogs)
    @rule(seed=chances, source=chances)
    def add_a_file_of_somebody(self, seed: int, source: int) -> None:
        """Whole, with rows that its owner may have deleted."""
        name, other = self.one(seed), self.one(source)
        with self.open(other) as session:
            files = session.table("t").scan().files()
        if not files or name == other:
            return
        file = files[source % len(files)]
        with self.open(name) as session:
            if file.path in {each.path for each in session.table("t").scan().files()}:
                return
            try:
                session.table("t").add_files([file.path])
            except ql.QuacklakeError:
                # A file that keeps the ids of its rows inside is none for another table.
                return
            rows = Counter(row["a"] for row in session.table("t").to_arrow().to_pylist())
            assert rows.total() == self.catalogs[name].history[-1].total() + file.record_count
        self.catalogs[name].history.append(rows)

    @precondition(lambda self: 0 < len(self.catalogs) < 5)
    @rule(seed=chances)
    def clone(self, seed: int) -> None:
        old, new = self.one(seed), self.new_name()
        self.tenants.clone(old, new)
        self.catalogs[new] = Known(list(self.catalogs[old].history))

    @precondition(lambda self: self.catalogs)
    @rule(seed=chances)
    def rename(self, seed: int) -> None:
        old, new = self.one(seed), self.new_name()
        self.tenants.rename(old, new)
        self.catalogs[new] = self.catalogs.pop(old)

    @precondition(lambda self: self.catalogs)
    @rule(seed=chances)
    def drop(self, seed: int) -> None:
        name = self.one(seed)
        self.tenants.drop(name)
        del self.catalogs[name]

    @rule()
    def clean_up_after_those_that_are_gone(self) -> None:
        self.tenants.cleanup()

    @precondition(lambda self: self.catalogs)
    @rule(seed=chances)
    def expire(self, seed: int) -> None:
        name = self.one(seed)
        with self.open(name) as session:
            session.maintain.expire(older_than=LATER)
        self.catalogs[name].history = self.catalogs[name].history[-1:]

    @precondition(lambda self: self.catalogs)
    @rule(seed=chances, orphans=st.booleans())
    def clean_up(self, seed: int, orphans: bool) -> None:
        with self.open(self.one(seed)) as session:
            session.maintain.cleanup(older_than=LATER)
            if orphans:
                session.maintain.remove_orphans(older_than=LATER)

    @precondition(lambda self: self.catalogs and len(self.lakes) < 3)
    @rule(seed=chances, copy_files=st.booleans())
    def export(self, seed: int, copy_files: bool) -> None:
        name, url = self.one(seed), f"sqlite:///{self.folder / self.new_name()}.db"
        self.tenants.export(name, url, copy_files=copy_files)
        self.lakes[url] = Known(list(self.catalogs[name].history), is_outside=not copy_files)

    @precondition(lambda self: self.lakes and len(self.catalogs) < 5)
    @rule(seed=chances)
    def migrate(self, seed: int) -> None:
        url, name = sorted(self.lakes)[seed % len(self.lakes)], self.new_name()
        self.tenants.migrate(url, name)
        self.catalogs[name] = Known(list(self.lakes[url].history))

    @invariant()
    def nobody_has_lost_a_row(self) -> None:
        if not hasattr(self, "tenants"):
            return
        assert [each.name for each in self.tenants] == sorted(self.catalogs)
        for name, known in self.catalogs.items():
            with self.open(name) as session:
                compare(session, known)
        for url, known in self.lakes.items():
            with ql.connect(url, engine="local", read_only=True) as session:
                compare(session, known)

    def teardown(self) -> None:
        if not hasattr(self, "tenants"):
            return
        for name in self.catalogs:
            with self.open(name) as session:
                assert session.check() == []
            self.tenants.drop(name)
        self.tenants.cleanup()
        for url, known in self.lakes.items():
            with ql.connect(url, engine="local", read_only=True) as session:
                compare(session, known)
                assert session.check() == []
        left = [str(path) for path in (self.folder / "data").rglob("*.parquet")]
        assert not left or any(lake.is_outside for lake in self.lakes.values()), left
        self.tenants.close()
        shutil.rmtree(self.folder)


def compare(session: ql.Session, known: Known) -> None:
    """Every snapshot with the table shows the rows of the model."""
    snapshots = [each.snapshot_id for each in session.snapshots()][-len(known.history) :]
    found = [Counter(row["a"] for row in session.table("t", at=at).to_arrow().to_pylist()) for at in snapshots]
    assert found == [+rows for rows in known.history]


SETTINGS = settings(stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck))


def test_nobody_loses_a_row_in_a_file() -> None:
    run_state_machine_as_test(Sharing, settings=settings(SETTINGS, max_examples=10))


@pytest.mark.slow
@pytest.mark.server
@pytest.mark.parametrize("kind", ["postgresql", "mysql"])
def test_nobody_loses_a_row_on_a_server(kind: str, request: pytest.FixtureRequest) -> None:
    server: Server = request.getfixturevalue(f"{kind}_server")

    class OnServer(Sharing):
        @staticmethod
        def new_database(folder: Path) -> str:
            return server.url(server.create_database())

    run_state_machine_as_test(OnServer, settings=settings(SETTINGS, max_examples=4))
