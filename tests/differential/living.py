"""Lakes that have lived a life, each made once and shared by the tests that read it."""

from __future__ import annotations

import contextlib
import fcntl
import pickle
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from tests.differential.generator import RandomLife
from tests.differential.lives.life import Life
from tests.differential.scenarios import slug
from tests.lakes import LAKE, Answer, Place, answers, attached, quoted, run, turns

T = TypeVar("T")

SHARED = "sqlite"
"""The kind of catalog that several processes can read at once. What DuckDB says of it goes for every other kind but
MySQL, where it loses fractions of seconds."""
PROBES = 8
"""How many predicates are made from the rows of each table at each snapshot."""


@dataclass(frozen=True, slots=True)
class Lived:
    """A lake after its life, and what DuckDB answers about it."""

    place: Place
    answers: tuple[Answer, ...]
    refused: int = 0
    """How many statements of a random life DuckDB did not take."""
    forgotten: Mapping[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    """How many rows a table had at a snapshot when it was new, and how many DuckDB reads later, where it contradicts
    itself. It does when it flushes inlined deletes of a file that has got a delete file since, for it then reads the
    file once for each; and when a Puffin file takes the place of an older delete file, for that one is forgotten, by
    the catalog too."""

    @property
    def newest(self) -> tuple[Answer, ...]:
        """For every name that a table ever had, the answer at its last snapshot."""
        return tuple({each.name: each for each in self.answers}.values())

    @property
    def turns(self) -> tuple[Answer, ...]:
        """For every name that a table ever had, an answer half-way through its life and the one at its end."""
        return turns(self.answers, lambda each: each.name)


class Lives:
    """Lives lakes, each once; those in SQLite, and all that DuckDB said of them, once for all workers of a run."""

    def __init__(self, folder: Path, shared: Path, place: Callable[[str, Path], Place]) -> None:
        self._folder = folder
        self._shared = shared
        self._place = place
        self._known: dict[str, Any] = {}

    def lived(self, life: Life, kind: str) -> Lived:
        """The lake that lived this life with its catalog in that kind of database."""
        place = self.only_lived(life, kind)
        oracle = life.oracle or ("mysql" if kind == "mysql" else SHARED)

        def ask() -> tuple[Answer, ...]:
            with attached(self.only_lived(life, oracle), life.options) as con:
                return tuple(answers(con, life.questions, PROBES, at_turns=True))

        return Lived(place, self.once(f"{slug(life)} answers of {oracle}", ask))

    def only_lived(self, life: Life, kind: str) -> Place:
        """Where a lake is that lived this life, without any answers about it."""
        name = f"{slug(life)} in {kind}"
        if kind == SHARED:
            return self.once(name, lambda: self._live(life, kind, self._shared / name))
        if name not in self._known:
            self._known[name] = self._live(life, kind, self._folder / name)
        found: Place = self._known[name]
        return found

    def once(self, name: str, make: Callable[[], T]) -> T:
        """What is made once for all workers: the first one makes it, and whoever wants it meanwhile waits."""
        if name not in self._known:
            kept = self._shared / f"{name}.pickle"
            with (self._shared / f"{name}.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not kept.exists():
                    made = pickle.dumps(make())
                    kept.write_bytes(made)
                self._known[name] = pickle.loads(kept.read_bytes())
        found: T = self._known[name]
        return found

    def _live(self, life: Life, kind: str, folder: Path) -> Place:
        # Whoever tried before and failed has left something.
        shutil.rmtree(folder, ignore_errors=True)
        files = folder / "elsewhere"
        files.mkdir(parents=True)
        place = self._place(kind, folder)
        with attached(place, life.options) as con:
            for step in life.steps:
                if callable(step):
                    step(files)
                else:
                    run(con, step, files)
        return place


def live_at_random(seed: int, place: Place, steps: int) -> Lived:
    """Live a random life; what DuckDB refuses is left out of it."""
    refused = 0
    counts: dict[tuple[str, int], int] = {}
    with attached(place) as con:
        life = RandomLife(seed)
        for _ in range(steps):
            accepted = _try(con, life.next())
            life.told(accepted)
            refused += not accepted
            counts |= _count(con)
        found = answers(con, probes=PROBES)
    forgotten = {
        (each.name, each.snapshot_id): (counts[each.name, each.snapshot_id], each.rows.total())
        for each in found
        if each.error is None and counts.get((each.name, each.snapshot_id), each.rows.total()) != each.rows.total()
    }
    kept = tuple(each for each in found if (each.name, each.snapshot_id) not in forgotten)
    return Lived(place, kept, refused, forgotten)


def _count(con: duckdb.DuckDBPyConnection) -> dict[tuple[str, int], int]:
    """How many rows every table has at the newest snapshot."""
    (snapshot,) = con.execute(f"SELECT max(snapshot_id) FROM ducklake_snapshots('{LAKE}')").fetchall()[0]
    tables = con.execute(
        f"SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = '{LAKE}'"
    ).fetchall()
    names = [f"{quoted(schema)}.{quoted(table)}" for schema, table in tables]
    return {(name, snapshot): con.execute(f"SELECT count(*) FROM {LAKE}.{name}").fetchall()[0][0] for name in names}


def _try(con: duckdb.DuckDBPyConnection, together: list[str]) -> bool:
    try:
        for statement in together if len(together) == 1 else ("BEGIN", *together, "COMMIT"):
            run(con, statement)
    except duckdb.Error:
        with contextlib.suppress(duckdb.TransactionException):  # there may be none left to roll back
            con.execute("ROLLBACK")
        return False
    return True
