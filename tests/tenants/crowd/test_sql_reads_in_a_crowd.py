"""Every statement that reads gives in one of many catalogs what it must, while another one is changed all the time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

import quacklake as ql
from tests.lakes import Place, snapshot_ids
from tests.sql.cases import Case
from tests.sql.test_select import READS, check
from tests.sql.test_select import place as place
from tests.tenants.crowd.conftest import Crowd

CASES = [case for case in READS if "local" in case.engines]
AS_OF = r"(?<=AS OF )\d+|(?<=VERSION => )\d+"
LISTED = r"(?<=, )\d+|(?<=IN \()\d+"
"""Numbers that are snapshots, wherever they stand and where a statement is about nothing else."""


@pytest.fixture(scope="module", autouse=True)
def inside() -> None:
    """The lake of the statements is one, for DuckDB writes to it too, before it becomes a catalog."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A catalog that a lake has become, and how ids of the lake are called in it."""

    session: ql.Session
    snapshots: dict[str, str]
    tables: dict[str, str]

    def move(self, case: Case) -> Case:
        """The same case in the words of the catalog."""
        is_listing = "table_changes(" in case.statement or "snapshots()" in case.statement
        statement = self._rename(f"{AS_OF}|{LISTED}" if is_listing else AS_OF, case.statement)
        shows_ids = case.statement.startswith("SELECT snapshot_id")
        params = case.params
        if isinstance(params, dict):
            params = {name: self._number(value) if name in ("v", "first") else value for name, value in params.items()}
        rows = tuple(
            (self._number(row[0]), *map(self._text, row[1:])) if shows_ids else tuple(map(self._text, row))
            for row in case.rows
        )
        return replace(case, statement=statement, params=params, rows=rows)

    def _number(self, snapshot: int) -> int:
        return int(self.snapshots[str(snapshot)])

    def _text(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        moved = re.sub(r"(?<=inlined_insert:)\d+", lambda found: self.tables[found[0]], value)
        return self._rename(r"(?<=at snapshot )\d+", moved)

    def _rename(self, pattern: str, text: str) -> str:
        return re.sub(pattern, lambda found: self.snapshots.get(found[0], found[0]), text)


def _table_ids(session: ql.Session) -> list[int]:
    return [entry.table_id for entry in sorted(session._catalog.view().tables, key=lambda entry: str(entry.name))]


@pytest.fixture(scope="module")
def moved(crowd: Crowd, place: Place) -> Iterator[Moved]:
    """A catalog that the lake of the statements has become."""
    with ql.tenants(crowd.url) as tenants:
        tenants.migrate(place.url, "statements")
    with (
        ql.connect(place.url, engine="local", read_only=True) as lake,
        ql.connect(crowd.url, catalog="statements", engine="local", read_only=True) as session,
    ):
        snapshots, tables = (
            {str(old): str(new) for old, new in zip(ids(lake), ids(session), strict=True)}
            for ids in (snapshot_ids, _table_ids)
        )
        yield Moved(session, snapshots, tables)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_catalog_gives_what_the_file_says(case: Case, moved: Moved) -> None:
    check(moved.move(case), moved.session)


def test_statements_name_snapshots_that_have_other_ids_here(moved: Moved) -> None:
    assert [case.name for case in CASES if moved.move(case) != case] == [
        "A moment inside of queries.",
        "A plan.",
        "A version.",
        "A version as DuckDB writes it, with an alias.",
        "Two moments of one table.",
        "A parameter for the version.",
        "The table has the columns that it had then.",
        "What happened to a table.",
        "What happened since a snapshot, by a parameter.",
        "Every snapshot.",
        "A range that ends before it begins.",
        "The changes of a table that is not there.",
        "A view as it was.",
    ]
