"""A catalog that never rests, in a process of its own, beside those that are tested.

It is told on standard input which databases to work in, one after the other: a line with a URL starts it there, an
empty line stops it, and the end of the input ends it. To start Python for every database takes longer than most tests.
"""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count

import pyarrow as pa

import quacklake as ql

NAME = "noise"
REST_SECONDS = 0.03
"""Others are to get their share of two cores, and changes of ours in between their statements."""


def _round(session: ql.Session) -> Iterator[Callable[[], object]]:
    """Everything that can be changed, one change after the other."""
    yield lambda: session.create_table("t", "id INT, v STRING")
    table = session.table("t")
    yield lambda: table.append(pa.table({"id": [1], "v": ["x"]}))
    yield lambda: table.append(pa.table({"id": range(100, 140), "v": ["y"] * 40}))
    yield lambda: table.delete("id < 120")
    yield lambda: table.delete("id < 135")
    yield lambda: table.add_column("w", "int")
    yield lambda: table.rename("u")
    assert session.table("u").count() == 5
    yield lambda: session.drop_table("u")


def hammer(url: str, is_told: Callable[[], bool]) -> int:
    """Change a catalog until told to stop; how many rounds of changes there were."""
    with ql.connect(url, catalog=NAME, engine="local") as session:
        _say("ready")
        for number in count(1):
            for change in _round(session):
                change()
                time.sleep(REST_SECONDS)
            if is_told():
                assert session.check() == []
                return number
    raise AssertionError("it goes on until it is stopped")


def _say(word: object) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    while line := sys.stdin.readline().strip():
        _say(hammer(line, lambda: bool(select.select([sys.stdin], [], [], 0)[0])))
        # The line that stopped it.
        sys.stdin.readline()
