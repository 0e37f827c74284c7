"""A writer in a process of its own, for tests with many of them, and for one that is killed.

It is told as JSON what to give to `ql.connect`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

import quacklake as ql


def append(lake: dict[str, Any], name: int, count: int) -> None:
    """Append rows one commit at a time; each that is acknowledged is said on standard output."""
    with ql.connect(**lake, engine="local") as session:
        table = session.table("t")
        for number in range(count):
            size = 20 if number % 3 == 0 else 1
            ids = [name * 100_000 + number * 100 + index for index in range(size)]
            table.append(pa.table({"id": pa.array(ids, pa.int32()), "w": pa.array([name] * size, pa.int32())}))
            sys.stdout.write(f"{ids[0]} {size}\n")
            sys.stdout.flush()


def die(lake: dict[str, Any], statement: int) -> None:
    """Be killed right before a statement of a commit."""
    seen = 0

    def count(*arguments: object) -> None:
        nonlocal seen
        # Only what writes: reading goes before.
        seen += str(arguments[2]).lstrip().upper().startswith(("INSERT", "UPDATE", "DELETE", "CREATE", "COMMIT"))
        if seen == statement:
            os.kill(os.getpid(), signal.SIGKILL)

    with ql.connect(**lake, engine="local") as session:
        sa.event.listen(sa.Engine, "before_cursor_execute", count)
        with session.transaction() as tx:
            ids = pa.array(range(5000, 5050), pa.int32())
            tx.table("t").append(pa.table({"id": ids, "w": ids}))
            tx.table("t").delete("id < 5")
            tx.create_table("made", "a INT")
            tx.table("t").set_comment("c")
    sys.stdout.write("committed\n")


if __name__ == "__main__":
    verb, lake, *numbers = sys.argv[1:]
    if verb == "append":
        append(json.loads(lake), int(numbers[0]), int(numbers[1]))
    else:
        die(json.loads(lake), int(numbers[0]))
