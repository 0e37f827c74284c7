"""Run benchmarks and print their tables: `make bench`, or `make bench BENCH="planning local_scan"` for some.

A benchmark is a module beside this one with a `main()` that measures and prints. They run one after another in
processes of their own, so that none profits from what another loaded.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.rule import Rule

FOLDER = Path(__file__).parent


def find_benchmarks() -> list[str]:
    """The names of all benchmarks."""
    names = (path.stem for path in sorted(FOLDER.glob("*.py")))
    return [name for name in names if not name.startswith("_") and "def main(" in (FOLDER / f"{name}.py").read_text()]


def run(name: str, console: Console) -> bool:
    """Run one benchmark; return whether it went well."""
    console.print(Rule(name, align="left"))
    started = time.perf_counter()
    code = f"from benchmarks.{name} import main; main()"
    done = subprocess.run([sys.executable, "-c", code], cwd=FOLDER.parent, check=False)
    if done.returncode != 0:
        console.print(f"{name} failed with exit code {done.returncode}")
    console.print(f"[dim]{time.perf_counter() - started:.1f} s[/dim]\n")
    return done.returncode == 0


def main(wanted: list[str]) -> int:
    """Run the wanted benchmarks, or all of them; return the exit code."""
    known, console = find_benchmarks(), Console(highlight=False)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        console.print(f"There is no benchmark {', '.join(unknown)}. There are: {', '.join(known) or 'none yet'}.")
        return 2
    results = [run(name, console) for name in wanted or known]
    if not results:
        console.print("There are no benchmarks yet.")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
