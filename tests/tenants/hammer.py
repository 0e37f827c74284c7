"""A catalog that never rests, in a process of its own, beside those that are tested."""

from __future__ import annotations

import signal
import sys
import time
from itertools import count

import pyarrow as pa

import quacklake as ql


def hammer(url: str, name: str) -> int:
    """Change everything that can be changed until told to stop; how many changes there were."""
    stopping = False

    def stop(*_: object) -> None:
        nonlocal stopping
        stopping = True

    signal.signal(signal.SIGTERM, stop)
    with ql.connect(url, catalog=name, engine="local") as session:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        for number in count(1):
            table = session.create_table("t", "id INT, v STRING")
            table.append(pa.table({"id": [1], "v": ["x"]}))
            table.append(pa.table({"id": range(100, 140), "v": ["y"] * 40}))
            table.delete("id < 120")
            table.delete("id < 135")
            table.add_column("w", "int")
            table.rename("u")
            assert session.table("u").count() == 5
            session.drop_table("u")
            if stopping:
                assert session.check() == []
                return number
            # Others are to get their share of two cores.
            time.sleep(0.2)
    raise AssertionError("it goes on until it is stopped")


if __name__ == "__main__":
    sys.stdout.write(f"{hammer(*sys.argv[1:3])}\n")
