"""What can be told of the history of a catalog, in words that are the same for a lake that has a database for itself.

Ids become ranks: those of a catalog have gaps where others took some, and grow as those of a lake do.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import quacklake as ql
from tests.commit.rows import Rows, own_rows
from tests.lakes import snapshot_ids

_SPACES = {
    **dict.fromkeys(("snapshot_id", "begin_snapshot", "end_snapshot", "partial_max"), "snapshot"),
    **dict.fromkeys(("schema_id", "table_id", "view_id", "macro_id", "object_id", "partition_id", "sort_id"), "entry"),
    **dict.fromkeys(("data_file_id", "delete_file_id", "file_id", "mapping_id"), "file"),
}
"""From where the ids of a column are taken."""
_UNLIKE = {"snapshot_time", "schedule_start", "next_catalog_id", "next_entry_id", "next_file_id", "catalog_id", "path"}
"""Clocks, counters of what others take from too, and names made at random."""
_SIZES = {"file_size_bytes", "footer_size"}
_INLINED = re.compile(r"(ducklake_inlined_(?:data|delete)_)(\d+)(.*)")

Ranks = Mapping[str, Mapping[int, int]]


def tell_history(session: ql.Session) -> list[Any]:
    """Every snapshot with all that it shows, and the feeds of the tables that are left."""
    number = {id_: index for index, id_ in enumerate(snapshot_ids(session))}
    found: list[Any] = []
    for each in session.snapshots():
        at = each.snapshot_id
        view = session._catalog.view(at)
        tables = {
            str(entry.name): (
                sorted(
                    # Of rows that came with a snapshot that has expired, nobody can say the number.
                    (row.pop("rowid"), number.get(row.pop("snapshot_id")), *map(str, row.values()))
                    for row in session.table(str(entry.name), at=at).scan(row_ids=True).to_arrow().to_pylist()
                ),
                entry.comment,
                entry.partition is not None,
                [(column.id, column.name, str(column.type), column.nullable) for column in entry.schema],
            )
            for entry in view.tables
        }
        views = [(str(view.name), view.sql) for view in view.views]
        # Of which tables, `tell_rows` says.
        words = sorted(re.sub(r":\d+", ":#", each.changes or "").split(","))
        found.append((words, each.author, each.message, each.extra, each.schema_version, tables, views))
    for name in sorted(session.tables()):
        begin = next(id_ for id_ in number if id_ >= session.table(name)._entry.begin_snapshot)
        feed = session.table(name).changes(begin).to_arrow().to_pylist()
        found.append((name, sorted(str((number[row["snapshot_id"]], *list(row.values())[1:])) for row in feed)))
    return found


def tell_rows(session: ql.Session) -> dict[str, list[str]]:
    """Every row of the catalog: changes, versions, columns, files, statistics, inlined rows and all."""
    rows = own_rows(session)
    rows.pop("ducklake_metadata")
    ranks = _rank(rows)
    told: dict[str, list[str]] = {}
    for name, each in rows.items():
        named = _rename(name, ranks)
        left_out = _UNLIKE | (_SIZES if name == "ducklake_delete_file" else set())
        told[named] = sorted(str(_tell(row, ranks, left_out)) for row in each)
    settings = sorted(
        (option.name, option.scope or "", ranks["entry"].get(option.scope_id or -1), option.value)
        for option in session.options()
        if option.scope in ("schema", "table")
    )
    return {**told, "settings": [str(each) for each in settings]}


def _rank(rows: Rows) -> Ranks:
    ids: dict[str, set[int]] = defaultdict(set)
    for each in rows.values():
        for row in each:
            for column, value in row.items():
                if column in _SPACES and value is not None:
                    ids[_SPACES[column]].add(int(value))
    return {space: {id_: rank for rank, id_ in enumerate(sorted(found))} for space, found in ids.items()}


def _tell(row: dict[str, Any], ranks: Ranks, left_out: set[str]) -> dict[str, Any]:
    told = {}
    for column, value in row.items():
        if column in left_out or column.endswith("_uuid"):
            continue
        if column in _SPACES and value is not None:
            value = ranks[_SPACES[column]][int(value)]
        elif column == "changes_made":
            value = re.sub(r"(?<=:)\d+", lambda found: str(ranks["entry"][int(found[0])]), value)
        elif column == "table_name":
            value = _rename(value, ranks)
        elif isinstance(value, bytes):
            # So PostgreSQL keeps the text of inlined rows.
            value = value.decode()
        told[column] = value
    return told


def _rename(name: str, ranks: Ranks) -> str:
    """The name of a table of inlined rows has the id of the table whose rows they are."""
    return _INLINED.sub(lambda found: f"{found[1]}{ranks['entry'][int(found[2])]}{found[3]}", name)
