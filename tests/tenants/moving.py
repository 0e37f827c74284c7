"""Lakes on their way into a shared database and out of it: what they show, in a form that can be compared."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

import quacklake as ql
from tests.lakes import quoted

Shown = list[dict[str, Counter[Any]]]
"""By snapshot, in order, the rows of each table with their row ids and the rank of their snapshots."""


def shown_by(session: ql.Session, *, stamps: bool = True) -> Shown:
    """Every table at every snapshot, as our own engine reads it; without `stamps`, not the snapshots of the rows."""
    ids = [snapshot.snapshot_id for snapshot in session.snapshots()]
    found: Shown = []
    for snapshot_id in ids:
        tables = {}
        for name in session._catalog.view(snapshot_id).tables:
            rows = session.table(str(name.name), at=snapshot_id).scan(row_ids=True).to_arrow()
            stamped: list[Any] = rows.column("snapshot_id").to_pylist()
            ranks = pa.array([ids.index(each) if stamps else 0 for each in stamped], pa.int64())
            rows = rows.set_column(rows.column_names.index("snapshot_id"), "snapshot_id", ranks)
            tables[str(name.name)] = Counter(repr(tuple(row.values())) for row in rows.to_pylist())
        found.append(tables)
    return found


def feed_of(session: ql.Session, table: str) -> Counter[Any]:
    """The change feed of a table from its beginning, with ranks for snapshots."""
    ids = [snapshot.snapshot_id for snapshot in session.snapshots()]
    rows = session.table(table).changes(ids[0]).to_arrow().to_pylist()
    return Counter(repr({**row, "snapshot_id": ids.index(row["snapshot_id"])}) for row in rows)


def make_files(catalog: Path, folder: str) -> None:
    """Make the data files that a golden catalog names and that nobody has kept, with rows of some sort in them."""
    with duckdb.connect(str(catalog)) as con:
        roots = {}
        columns = "table_id, path" if _has(con, "ducklake_table", "path") else "table_id, '' AS path"
        for table_id, path in con.execute(f"SELECT {columns} FROM ducklake_table").fetchall():
            roots[table_id] = f"{folder}main/{path}"
        info = "partial_file_info" if _has(con, "ducklake_data_file", "partial_file_info") else "NULL"
        for id_, table_id, path, begin, count, start, partial in con.execute(
            f"SELECT data_file_id, table_id, path, begin_snapshot, record_count, row_id_start, {info}"
            " FROM ducklake_data_file"
        ).fetchall():
            target = Path(roots[table_id]) / path
            if target.exists():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            _make_file(con, target, table_id, begin, count, start, partial or "")
            size, footer = target.stat().st_size, int.from_bytes(target.read_bytes()[-8:-4], "little")
            con.execute(
                "UPDATE ducklake_data_file SET file_size_bytes = ?, footer_size = ? WHERE data_file_id = ?",
                [size, footer, id_],
            )


def _has(con: duckdb.DuckDBPyConnection, table: str, column: str) -> bool:
    found = con.execute("SELECT 1 FROM duckdb_columns() WHERE table_name = ? AND column_name = ?", [table, column])
    return found.fetchone() is not None


def _make_file(
    con: duckdb.DuckDBPyConnection, target: Path, table_id: int, begin: int, count: int, start: int | None, partial: str
) -> None:
    rows = con.execute(
        "SELECT column_id, column_name, column_type FROM ducklake_column WHERE table_id = ? AND parent_column IS NULL"
        " AND begin_snapshot <= ? AND (end_snapshot IS NULL OR end_snapshot > ?) ORDER BY column_order",
        [table_id, begin, begin],
    ).fetchall()
    columns = [f"{_value(kind)} AS {quoted(name)}" for _, name, kind in rows]
    ids = [f"{quoted(name)}: {id_}" for id_, name, _ in rows]
    if start is None:
        columns.append("range AS _ducklake_internal_row_id")
        ids.append("_ducklake_internal_row_id: 2147483540")
    if partial.startswith("partial_max:"):
        columns.append(f"{int(partial.partition(':')[2])}::BIGINT AS _ducklake_internal_snapshot_id")
        ids.append("_ducklake_internal_snapshot_id: 2147483539")
    con.execute(
        f"COPY (SELECT {', '.join(columns)} FROM range({count})) TO '{target}'"
        f" (FORMAT parquet, FIELD_IDS {{{', '.join(ids)}}})"
    )


def _value(kind: str) -> str:
    values = {
        "int32": "range::INT",
        "geometry": "('POINT(' || range || ' 1)')::GEOMETRY",
        "variant": "CASE WHEN range = 1 THEN 'one'::VARIANT ELSE range::VARIANT END",
    }
    return values[kind]
