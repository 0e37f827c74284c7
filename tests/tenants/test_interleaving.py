"""Catalogs that take turns: the history of each is as if it had been alone.

Three catalogs of one database and three lakes that have theirs for themselves get the same changes, drawn at random and
mixed. At the end every snapshot of a catalog must show what the same snapshot of the lake shows.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pytest

import quacklake as ql
from tests.lakes import Place
from tests.tenants.histories import tell_history, tell_rows

STEPS = 28
Step = Callable[[ql.Session | ql.Transaction, random.Random], object]


def _rows(chance: random.Random, count: int) -> pa.Table:
    ids = [chance.randrange(1000) for _ in range(count)]
    return pa.table({"id": pa.array(ids, pa.int32()), "v": [f"v{id_ % 7}" for id_ in ids]})


def _range(chance: random.Random) -> str:
    start = chance.randrange(1000)
    return f"id BETWEEN {start} AND {start + chance.choice((5, 200, 600))}"


def _table(lake: ql.Session | ql.Transaction, chance: random.Random) -> ql.Table:
    return lake.table(chance.choice(sorted(lake.tables()) or ["none"]))


STEPS_BY_NAME: dict[str, Step] = {
    "few": lambda lake, chance: _table(lake, chance).append(_rows(chance, 2)),
    "many": lambda lake, chance: _table(lake, chance).append(_rows(chance, 60)),
    "delete": lambda lake, chance: _table(lake, chance).delete(_range(chance)),
    "delete more": lambda lake, chance: _table(lake, chance).delete(_range(chance)),
    "update": lambda lake, chance: _table(lake, chance).update({"v": "concat(v, '!')"}, _range(chance)),
    "merge": lambda lake, chance: _table(lake, chance).merge(
        pa.table({"id": pa.array([chance.randrange(1000)], pa.int32()), "v": ["merged"]}), on="id"
    ),
    "overwrite": lambda lake, chance: _table(lake, chance).overwrite(_rows(chance, 30)),
    "create": lambda lake, chance: lake.create_table(f"t{chance.randrange(3)}", "id INT, v STRING"),
    "drop": lambda lake, chance: lake.drop_table(f"t{chance.randrange(3)}"),
    "rename": lambda lake, chance: lake.table(f"t{chance.randrange(3)}").rename(f"t{chance.randrange(3)}"),
    "comment": lambda lake, chance: _table(lake, chance).set_comment(f"c{chance.randrange(9)}"),
    "partition": lambda lake, chance: _table(lake, chance).set_partition_by(chance.choice((["v"], []))),
    "view": lambda lake, chance: lake.create_view("view", f"SELECT {chance.randrange(9)} AS x", or_replace=True),
}


def _transact(session: ql.Session, chance: random.Random) -> object:
    with session.transaction(message="several") as tx:
        for name in chance.sample(("few", "many", "delete", "update", "create", "delete more"), 3):
            STEPS_BY_NAME[name](tx, chance)
        if chance.random() < 0.5:
            # Another writer of the same catalog is quicker.
            STEPS_BY_NAME[chance.choice(("few", "create", "delete"))](session, chance)
    return tx.done.rows_inserted


def run_step(session: ql.Session, step: str, seed: int) -> object:
    chance = random.Random(seed)
    try:
        done = _transact(session, chance) if step == "transaction" else STEPS_BY_NAME[step](session, chance)
    except ql.QuacklakeError as error:
        return type(error)
    return (done.rows_inserted, done.rows_updated, done.rows_deleted) if isinstance(done, ql.Commit) else None


@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        *(("sqlite", seed) for seed in range(4)),
        *(pytest.param(kind, 7, marks=[pytest.mark.server]) for kind in ("postgresql", "mysql")),
    ],
)
def test_the_history_of_each_catalog_is_as_if_it_had_been_alone(
    kind: str, seed: int, new_place: Callable[[str], Place], tmp_path: Path
) -> None:
    chance = random.Random(seed)
    place = new_place(kind)
    with ExitStack() as stack:
        pairs = [
            (
                stack.enter_context(ql.connect(place.url, place.data_path, catalog=f"c{index}", engine="local")),
                stack.enter_context(ql.connect(f"sqlite:///{tmp_path}/alone{index}.db", engine="local")),
            )
            for index in range(3)
        ]
        for pair in pairs:
            for session in pair:
                session.create_table("t0", "id INT, v STRING").append(_rows(random.Random(1), 80))
        for _ in range(STEPS):
            pair = chance.choice(pairs)
            step, own = chance.choice((*STEPS_BY_NAME, "transaction", "transaction")), chance.randrange(1 << 30)
            outcomes = [run_step(session, step, own) for session in pair]
            assert outcomes[0] == outcomes[1], step
        for shared, alone in pairs:
            assert tell_history(shared) == tell_history(alone)
            assert tell_rows(shared) == tell_rows(alone)
            assert shared.check() == alone.check() == []
