"""The queries that the docs give to those who read the metadata themselves."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa

import quacklake as ql
from tests.lakes import Place

PAGE = (Path(__file__).parents[2] / "docs" / "tenants.md").read_text()
QUERIES = {match[1]: match[2] for match in re.finditer(r"```sql\n-- (\w+): [^\n]*\n(.*?)```", PAGE, re.DOTALL)}


@pytest.mark.parametrize(
    "kind",
    ["sqlite", pytest.param("postgresql", marks=pytest.mark.server), pytest.param("mysql", marks=pytest.mark.server)],
)
def test_what_the_page_asks_is_what_a_session_says(kind: str, new_place: Callable[[str], Place]) -> None:
    place = new_place(kind)
    for name in ("other", "mine"):
        with ql.connect(place.url, place.data_path, catalog=name, engine="local", inline_rows=0) as session:
            table = session.create_table("t", "id INT NOT NULL, v STRING")
            table.append(pa.table({"id": range(30), "v": ["x"] * 30}))
            session.create_namespace("n")
            session.create_table("n.u", "a DOUBLE")
            session.create_table("gone", "a INT")
            session.drop_table("gone")
            session.set_option("target_file_size", "1MB")
            with session.transaction(message="last", author="me") as tx:
                tx.table("t").append(pa.table({"id": range(10), "v": ["y"] * 10}))
    with ql.connect(place.url, catalog="mine", engine="local") as session:
        files = session.table("t").scan().plan().files
        with session._catalog.backend.read() as connection:

            def ask(query: str, **values: Any) -> list[tuple[Any, ...]]:
                text = QUERIES[query]
                if kind == "sqlite":
                    text = text.replace("CONCAT(m.value, t.path)", "m.value || t.path")
                return [tuple(row) for row in connection.execute(sa.text(text), values)]

            [(catalog,)] = ask("catalog", name="mine")
            assert catalog == session._catalog.catalog_id
            tables = ask("tables", catalog=catalog)
            assert [row[:2] for row in tables] == [("main", "t"), ("n", "u")]
            columns = ask("columns", table=tables[0][2])
            assert [(*row[:2], bool(row[2])) for row in columns] == [("id", "int32", False), ("v", "varchar", True)]
            sizes = [tuple(map(str, row)) for row in ask("files", catalog=catalog)]
            assert sizes == [("t", "2", "40", str(sum(file.size or 0 for file in files))), ("u", "0", "0", "0")]
            history = ask("history", catalog=catalog)
            assert [row[0] for row in history] == [each.snapshot_id for each in reversed(session.snapshots())]
            assert history[0][2:4] == ("me", "last")
            assert ask("settings", catalog=catalog) == [("target_file_size", "1000000")]
            assert ask("folder", catalog=catalog) == [(session._catalog.data_path,)]
    assert set(QUERIES) == {"catalog", "tables", "columns", "files", "history", "settings", "folder"}
