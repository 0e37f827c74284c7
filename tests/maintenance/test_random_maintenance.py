"""DuckDB, kept alive, and we change and maintain one lake in turns; every snapshot that remains reads as before."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta

import pytest

import quacklake as ql
from tests.commit.test_ping_pong import KINDS, MOVES, Game, compare, create
from tests.conftest import Duck
from tests.lakes import Answer, Place, answers, as_text, difference, read

ROUNDS, MOVES_PER_ROUND = 2, 12
NOW = timedelta(0)


def merge(game: Game) -> None:
    game.log.append("duckdb: merge")
    game.con.execute("CALL ducklake_merge_adjacent_files('lk')").fetchall()


def expire(game: Game) -> list[int]:
    """By either, some snapshots or all of them; those that remain."""
    ids = [each.snapshot_id for each in game.session.snapshots()]
    chosen = game.chance.choice([ids, [id_ for id_ in ids if game.chance.random() < 0.6]])
    listed = ", ".join(map(str, chosen))
    game.play(
        f"CALL ducklake_expire_snapshots('lk', versions => [{listed}])",
        lambda: game.session.maintain.expire(versions=chosen),
    )
    left = [each.snapshot_id for each in game.session.snapshots()]
    assert left == [id_ for id_ in ids if id_ not in chosen or id_ == ids[-1]]
    return left


def sweep(game: Game) -> None:
    """By either, whichever comes first; then there is nothing left to do for the other."""
    game.play("CALL ducklake_cleanup_old_files('lk', cleanup_all => true)", lambda: game.session.maintain.cleanup(NOW))
    assert game.session.maintain.cleanup(NOW).files == 0
    game.play(
        "CALL ducklake_delete_orphaned_files('lk', cleanup_all => true)",
        lambda: game.session.maintain.remove_orphans(NOW),
    )
    assert game.session.maintain.remove_orphans(NOW, dry_run=True).paths == ()
    found = game.con.execute("CALL ducklake_delete_orphaned_files('lk', cleanup_all => true, dry_run => true)")
    assert found.fetchall() == []


def check_same(game: Game, before: list[Answer], left: list[int]) -> None:
    wanted = {str(each): each.rows for each in before if each.snapshot_id in left}
    now = answers(game.con)
    assert {str(each): each.error for each in now if each.error} == {}
    assert {str(each): difference(each.rows, wanted[str(each)]) for each in now} == dict.fromkeys(wanted)
    for each in now:
        mine = as_text(read(game.session, "local", each, row_ids=each.shows_ids), each.all_types)
        assert difference(mine, each.rows) is None, str(each)
    assert game.session.check() == []


@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [3])
def test_snapshots_that_remain_read_as_before(
    seed: int, kind: str, new_place: Callable[[str], Place], duck: Duck
) -> None:
    place = new_place(kind)
    moves = {**MOVES, merge: 1}
    with ql.connect(place.url, place.data_path, engine="local") as session, duck(place) as con:
        game = Game(session, con, random.Random(seed))
        create(game)
        create(game)
        for _ in range(ROUNDS):
            for _ in range(MOVES_PER_ROUND):
                (move,) = game.chance.choices(list(moves), list(moves.values()))
                move(game)
                print(game.log[-1])  # noqa: T201 - shown when a comparison fails
            before = answers(con)
            left = expire(game)
            print(game.log[-1])  # noqa: T201 - likewise
            check_same(game, before, left)
            sweep(game)
            check_same(game, before, left)
            compare(game)
