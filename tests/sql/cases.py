"""Files of SQL with what each statement must give.

A case is a sentence in a comment, a statement, `----`, and the rows, each a JSON array, in the order of the statement
when it has one (`-- ordered`) and in any order otherwise. An error is `! its class: words that its message has`.
Other comments before the statement: `-- params: {"v": 3}`; `-- duckdb: …` the same in DuckDB's own SQL, where that is
another text; `-- duckdb cannot: why`; `-- only spark: why` or `-- only local: why`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Case:
    """One statement and what it must give."""

    file: str
    name: str
    statement: str
    rows: tuple[tuple[Any, ...], ...]
    error: tuple[str, str] | None
    params: Any
    duckdb: str | None
    """The statement for DuckDB; None where it cannot run it."""
    engines: tuple[str, ...]
    ordered: bool

    @property
    def statements(self) -> list[str]:
        """Several statements, where one ends with its line; what the last one gives is what counts."""
        return [each.strip() for each in self.statement.split(";\n")]

    def of(self, statement: str) -> Case:
        """The same for one statement."""
        return replace(self, statement=statement)

    def __str__(self) -> str:
        return f"{self.file}: {self.name}"


def load_cases() -> list[Case]:
    """Every case of every file."""
    return [
        _read(path.stem, block)
        for path in sorted(FOLDER.glob("*.sql"))
        for block in path.read_text().split("\n\n")
        if block.strip()
    ]


def _read(file: str, block: str) -> Case:
    asked, _, answer = block.strip().partition("\n----")
    name, *lines = asked.splitlines()
    notes = [line.removeprefix("-- ") for line in lines if line.startswith("-- ")]
    statement = "\n".join(line for line in lines if not line.startswith("-- "))
    said = {key: value.strip() for key, _, value in (note.partition(":") for note in notes)}
    unknown = said.keys() - {"ordered", "params", "duckdb", "duckdb cannot", "only spark", "only local"}
    assert not unknown, f"{file}, {name}: {unknown}"
    given = answer.strip().splitlines()
    error = None
    if given and given[0].startswith("! "):
        kind, _, words = given[0][2:].partition(": ")
        error, given = (kind, words), []
    only = next((key.removeprefix("only ") for key in said if key.startswith("only ")), None)
    return Case(
        file=file,
        name=name.removeprefix("-- "),
        statement=statement,
        rows=tuple(tuple(json.loads(line)) for line in given),
        error=error,
        params=json.loads(said["params"]) if "params" in said else None,
        duckdb=None if "duckdb cannot" in said or error is not None else said.get("duckdb", statement),
        engines=(only,) if only else ("local", "spark"),
        ordered="ordered" in said,
    )
