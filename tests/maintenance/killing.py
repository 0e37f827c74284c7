"""Maintains a lake in processes that are killed at any moment, and looks at what they leave."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from datetime import timedelta

import pyarrow as pa

import quacklake as ql
from quacklake.maintenance import cleanup, expire

NOW = timedelta(0)
ROUNDS = 10


def maintain(url: str) -> None:
    """Everything, in small pages: a kill hits more of them."""
    cleanup.PAGE = expire.PAGE = 3
    with ql.connect(url, engine="local") as session:
        session.maintain.expire(NOW)
        session.maintain.cleanup(NOW)
        session.maintain.remove_orphans(NOW)


def run_and_kill(url: str, seconds: float | None) -> bool:
    """Whether it was killed before it was done; without a time it may finish."""
    ready, tell = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(tell, b".")
            maintain(url)
            os._exit(0)
        finally:
            sys.excepthook(*sys.exc_info())
            sys.stderr.flush()
            os._exit(1)
    os.read(ready, 1)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, -signal.SIGKILL):
        raise SystemExit(f"maintenance ended with {code}")
    return code != 0


def main(url: str, data_path: str) -> None:
    """Write, maintain, kill, look, and again."""
    chance = random.Random(5)
    killed, takes = 0, 0.0
    wanted: set[int] = set()
    with ql.connect(url, data_path, engine="local", inline_rows=2) as session:
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
            started = time.monotonic()
            # The first shows how long it takes on this machine.
            killed += run_and_kill(url, chance.uniform(0, takes) if number else None)
            takes = takes or time.monotonic() - started
            found = session.table("t").to_arrow()["id"].to_pylist()
            if sorted(id_ for id_ in found if id_ is not None) != sorted(wanted):
                raise SystemExit(f"after {number} rounds there are {len(found)} rows of {len(wanted)}")
            if faults := session.check():
                raise SystemExit(f"after {number} rounds: {faults}")
    sys.stdout.write(f"{killed} {ROUNDS - killed}\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
