"""Maintains a lake in processes that are killed at any moment, and looks at what they leave.

It is told as JSON what to give to `ql.connect`.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from datetime import timedelta
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

import quacklake as ql
from quacklake.maintenance import cleanup, expire

NOW = timedelta(0)
ROUNDS = 10
LONG = 1_000_000


class Fuse:
    """Kills this process before its nth statement or deletion."""

    def __init__(self, left: int) -> None:
        self.left = left

    def burn(self, *_: object) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def light(self) -> None:
        sa.event.listen(sa.Engine, "before_cursor_execute", self.burn)
        sys.addaudithook(lambda name, _: self.burn() if name == "os.remove" else None)


def maintain(lake: dict[str, Any]) -> None:
    """Everything, in small pages: there is more in between."""
    cleanup.PAGE = expire.PAGE = 3
    with ql.connect(**lake, engine="local") as session:
        session.maintain.expire(NOW)
        session.maintain.cleanup(NOW)
        session.maintain.remove_orphans(NOW)


def run(lake: dict[str, Any], length: int) -> tuple[bool, int]:
    """Whether it was killed before it was done, and else how much of the fuse was left."""
    hear, tell = os.pipe()
    child = os.fork()
    if not child:
        try:
            fuse = Fuse(length)
            fuse.light()
            maintain(lake)
            os.write(tell, str(fuse.left).encode())
            os._exit(0)
        finally:
            sys.excepthook(*sys.exc_info())
            sys.stderr.flush()
            os._exit(1)
    os.close(tell)
    left = os.read(hear, 100)
    os.close(hear)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code not in (0, -signal.SIGKILL):
        raise SystemExit(f"maintenance ended with {code}")
    return code != 0, int(left or 0)


def main(lake: dict[str, Any]) -> None:
    """Write, maintain, kill, look, and again."""
    chance, takes = random.Random(5), 1
    killed, length = 0, LONG
    wanted: set[int] = set()
    with ql.connect(**lake, engine="local", inline_rows=2) as session:
        session.create_table("t", "id BIGINT")
        for number in range(ROUNDS):
            session.create_table(f"gone{number}", "id BIGINT").append(pa.table({"id": range(5)}))
            session.table(f"gone{number}").append(pa.table({"id": [1]}))
            session.drop_table(f"gone{number}")
            for index in range(4):
                first = number * 1000 + index * 100
                session.table("t").append(pa.table({"id": range(first, first + 10)}))
                session.table("t").delete(f"id BETWEEN {first} AND {first + 4 + index * 2}")
                wanted |= set(range(first + 5 + index * 2, first + 10))
            was_killed, left = run(lake, length)
            killed += was_killed
            if not number:
                takes = LONG - left
            length = chance.randint(1, takes)
            found = session.table("t").to_arrow()["id"].to_pylist()
            if sorted(id_ for id_ in found if id_ is not None) != sorted(wanted):
                raise SystemExit(f"after {number} rounds there are {len(found)} rows of {len(wanted)}")
            if faults := session.check():
                raise SystemExit(f"after {number} rounds: {faults}")
    sys.stdout.write(f"{killed}\n")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
