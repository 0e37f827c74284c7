"""Random lives of a lake, lived by DuckDB and read by quacklake at every snapshot.

`QUACKLAKE_SEEDS` says how many lives (8; half of them on Spark), `QUACKLAKE_FIRST_SEED` where to start.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import quacklake as ql
from tests.differential.comparison import faults
from tests.differential.living import live_at_random
from tests.lakes import Place

FIRST = int(os.environ.get("QUACKLAKE_FIRST_SEED", "0"))
SEEDS = range(FIRST, FIRST + int(os.environ.get("QUACKLAKE_SEEDS", "8")))
STEPS = 40


def _place(seed: int, folder: Path) -> Place:
    return Place.in_folder("duckdb" if seed % 3 == 0 else "sqlite", folder)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_snapshot_of_a_random_life_reads_as_duckdb_reads_it(seed: int, tmp_path: Path) -> None:
    lived = live_at_random(seed, _place(seed, tmp_path), STEPS)
    assert lived.refused < STEPS / 3
    with ql.connect(lived.place.url, engine="local", read_only=True) as session:
        assert faults(session, "local", lived.answers, only_rows=True) == []
        assert faults(session, "local", lived.turns) == []
        for (name, snapshot_id), counts in lived.forgotten.items():
            assert session.table(name, at=snapshot_id).count() in counts


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", SEEDS[::2])
def test_two_snapshots_of_a_random_life_read_as_duckdb_reads_them_on_spark(seed: int, tmp_path: Path) -> None:
    lived = live_at_random(seed, _place(seed, tmp_path), STEPS)
    snapshots = sorted({each.snapshot_id for each in lived.answers})
    chosen = (snapshots[len(snapshots) // 2], snapshots[-1])
    with ql.connect(lived.place.url, engine="spark", read_only=True) as session:
        wanted = [each for each in lived.answers if each.snapshot_id in chosen]
        assert faults(session, "spark", wanted, only_rows=True) == []
