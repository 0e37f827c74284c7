"""What a life of a lake is: the statements DuckDB runs, and the questions asked of it afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Step = str | Callable[[Path], None]
"""SQL in which `$lake` is the attached catalog and `$files` a folder for files from elsewhere; or something that
puts such files there."""


@dataclass(frozen=True, slots=True)
class Life:
    """One named life of a lake."""

    name: str
    steps: tuple[Step, ...]
    options: str = ""
    """More options for ATTACH, such as `ENCRYPTED`."""
    questions: tuple[tuple[str, str], ...] = ()
    """Table and predicate, in words that mean the same in Spark and in DuckDB."""
    first_inserts_only: bool = False
    """Within what DuckDB can do on MySQL: tables are created and filled once."""
    oracle: str | None = None
    """The kind of catalog whose answers are right, where DuckDB misreads what it wrote into the others."""


def statements(text: str) -> tuple[str, ...]:
    """One statement per line; a line that starts with blanks goes on with the statement before it."""
    found: list[str] = []
    for line in text.splitlines():
        if not line.strip():
            continue
        if line[0] == " " and found:
            found[-1] += "\n" + line
        else:
            found.append(line)
    return tuple(found)


FILES_ONLY = "CALL $lake.set_option('data_inlining_row_limit', 0)"
"""Every row goes into a file."""
INLINE_ALL = "CALL $lake.set_option('data_inlining_row_limit', 1000)"
"""Every row stays in the catalog until it is flushed."""
