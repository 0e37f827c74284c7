"""Sixteen writers of one lake, some of which are killed at any moment and replaced.

Every operation has a number of its own. It puts that number on some rows of table `a` and on one row of table `b`,
which says how many rows these are; some take an earlier operation of the same writer away in the same transaction.
What a writer begins and what it is told goes into a file that outlives it. With names of catalogs that share the
database, each gets some of the writers, and a folder for their files.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import duckdb  # noqa: F401
import pandas as pd  # noqa: F401
import pyarrow as pa

import quacklake as ql

# Loaded once, before the writers are forked: a writer is to spend its life on writing.
import quacklake.catalog.backends.mysql
import quacklake.catalog.backends.postgresql
import quacklake.catalog.backends.sqlite
import quacklake.commit.committer
import quacklake.dml.fitting
import quacklake.dml.frames
import quacklake.engine.local.engine
import quacklake.transaction

WRITERS = 16
WRITERS_OF_CATALOG = 4
PER_WRITER = 10_000


def write(url: str, name: int, log: Path, seed: int, catalog: str | None) -> None:
    """Change the lake until told to stop."""
    stopping = False

    def stop(*_: object) -> None:
        nonlocal stopping
        stopping = True

    signal.signal(signal.SIGTERM, stop)
    chance = random.Random(seed * 1000 + name)
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    mine: list[int] = []
    with ql.connect(url, catalog=catalog, engine="local") as session:
        number = 0
        while not stopping:
            number += 1
            operation = name * PER_WRITER + number
            gone = mine[0] if mine and chance.random() < 0.4 else None
            _say(out, "begin", operation, gone)
            try:
                _operate(session, operation, chance.choice((1, 3, 15, 40)), gone)
            except ql.ConflictError:
                _say(out, "conflict", operation, gone)
                continue
            _say(out, "done", operation, gone)
            if gone is not None:
                mine.pop(0)
            mine.append(operation)


def _operate(session: ql.Session, operation: int, size: int, gone: int | None) -> None:
    with session.transaction() as tx:
        if gone is not None:
            tx.table("a").delete(f"operation = {gone}")
            tx.table("b").delete(f"operation = {gone}")
        tx.table("a").append(pa.table({"operation": [operation] * size, "value": range(size)}))
        tx.table("b").append(pa.table({"operation": [operation], "value": [size]}))


def _say(out: int, word: str, operation: int, gone: int | None) -> None:
    os.write(out, f"{word} {operation} {-1 if gone is None else gone}\n".encode())


def rage(url: str, folder: Path, seed: int, seconds: float, catalogs: Sequence[str] = ()) -> int:
    """Let writers write for a while and kill some; return how many were killed."""
    chance = random.Random(seed)
    names = iter(range(PER_WRITER))

    def start(catalog: str | None) -> tuple[int, str | None]:
        place = folder if catalog is None else folder / catalog
        return _fork(url, next(names), place, seed, catalog), catalog

    owners: list[str | None] = [name for name in catalogs for _ in range(WRITERS_OF_CATALOG)]
    started = [start(owner) for owner in owners or [None] * WRITERS]
    end, killed = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        time.sleep(chance.uniform(0.1, 0.9))
        victim, owner = started.pop(chance.randrange(len(started)))
        os.kill(victim, signal.SIGKILL)
        os.waitpid(victim, 0)
        killed += 1
        started.append(start(owner))
    running = [writer for writer, _ in started]
    for writer in running:
        os.kill(writer, signal.SIGTERM)
    codes = [os.waitstatus_to_exitcode(os.waitpid(writer, 0)[1]) for writer in running]
    if set(codes) - {0, -signal.SIGTERM}:
        raise SystemExit(f"writers ended with {codes}")
    return killed


def _fork(url: str, name: int, folder: Path, seed: int, catalog: str | None) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    with contextlib.suppress(KeyboardInterrupt):
        try:
            write(url, name, folder / f"{name}.log", seed, catalog)
            code = 0
        finally:
            if code:
                sys.excepthook(*sys.exc_info())
            sys.stderr.flush()
            os._exit(code)
    os._exit(code)


if __name__ == "__main__":
    killed = rage(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), sys.argv[5:])
    sys.stdout.write(f"{killed}\n")
