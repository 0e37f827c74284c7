"""Every statement that reaches a database, and whether it keeps to the rows of one catalog."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa
import sqlglot
from sqlglot import exp

from quacklake.catalog.backends import bundle, postgresql
from quacklake.catalog.shared.layout import OWNED

_OWNED = {f"ducklake_{name}" for name in OWNED}
_DIALECTS = {"postgres": "postgres", "mysql": "mysql", "sqlite": "sqlite", "duckdb": "duckdb"}


@contextmanager
def watching() -> Iterator[list[str]]:
    """A list that grows with every statement, those among them that go past SQLAlchemy."""
    seen: list[str] = []
    join = bundle._join

    def joined(parts: Any) -> str:
        seen.append(join(parts))
        return seen[-1]

    def executed(*arguments: Any) -> None:
        seen.append(arguments[2])

    compile_question = postgresql._compile

    def compiled(*arguments: Any) -> Any:
        found = compile_question(*arguments)
        seen.append(str(found))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundle, "_join", joined)
        patch.setattr(postgresql, "_compile", compiled)
        sa.event.listen(sa.Engine, "before_cursor_execute", executed)
        try:
            yield seen
        finally:
            sa.event.remove(sa.Engine, "before_cursor_execute", executed)


def unbound(text: str, kind: str) -> list[str]:
    """The tables of which a statement may reach rows of any catalog."""
    if not any(name in text for name in _OWNED):
        return []
    found = []
    for statement in sqlglot.parse(_readable(text), dialect=_DIALECTS[kind]):
        assert statement is not None, text
        if isinstance(statement, exp.Create | exp.Command):
            continue
        found += [
            table.name for table in statement.find_all(exp.Table) if table.name in _OWNED and not _is_bound(table)
        ]
    return found


def _readable(text: str) -> str:
    """Places of values become numbers: what they are called does not matter here."""
    return re.sub(r"(%\(\w+\)s|\$\d+)(::(TIMESTAMP WITH TIME ZONE|\w+))?|%s|\?", "1", text)


def _is_bound(table: exp.Table) -> bool:
    around = table.find_ancestor(exp.Select, exp.Update, exp.Delete, exp.Insert)
    if isinstance(around, exp.Insert):
        return any(each.name == "catalog_id" for each in around.this.find_all(exp.Identifier))
    where = around.args.get("where") if around is not None else None
    conditions = (
        [] if where is None else list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]
    )
    return any(isinstance(each, exp.EQ) and each.this.name == "catalog_id" for each in conditions)
