"""`import quacklake` is cheap and drags nothing in."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.shape.rule import NEVER_AT_IMPORT

ROUNDS = 7
MOST = 0.7


def _run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_importing_the_package_loads_no_heavy_library() -> None:
    loaded = json.loads(_run("import json, sys, quacklake; print(json.dumps(sorted(sys.modules)))"))
    assert sorted(set(NEVER_AT_IMPORT) & set(loaded)) == []


def test_asking_for_help_loads_no_database_and_no_engine() -> None:
    code = "import json, sys, quacklake.cli.app; print(json.dumps(sorted(sys.modules)))"
    assert sorted(set(NEVER_AT_IMPORT) - {"typer", "rich"} & set(json.loads(_run(code)))) == []


def test_importing_the_package_takes_at_most_seven_tenths_of_importing_pandas() -> None:
    code = "import time; start = time.perf_counter(); import {0}; print(time.perf_counter() - start)"
    # Taken in turns, and the best of each: what else the machine does falls on both alike.
    times = [(float(_run(code.format("quacklake"))), float(_run(code.format("pandas")))) for _ in range(ROUNDS)]
    ours, theirs = (min(column) for column in zip(*times, strict=True))
    assert ours <= MOST * theirs, f"{ours * 1000:.1f} ms against {theirs * 1000:.1f} ms"
