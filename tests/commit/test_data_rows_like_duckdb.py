"""The catalog after our writes of rows is the one that DuckDB leaves behind, but for sizes of files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import quacklake as ql
from tests.commit.rows import Rows, catalog_rows, differences
from tests.lakes import Place, attached, run

_SIZES = ("column_size_bytes", "file_size_bytes", "footer_size")
_COLUMNS = "id INT, v STRING, f DOUBLE, d DATE"


def few(*ids: int) -> pa.Table:
    return _frame(ids)


def many(start: int, count: int) -> pa.Table:
    return _frame(range(start, start + count))


def _frame(ids: tuple[int, ...] | range) -> pa.Table:
    return pa.table(
        {
            "id": pa.array(ids, pa.int32()),
            "v": [f"v{id_}" for id_ in ids],
            "f": [id_ / 2 for id_ in ids],
            "d": pa.array([18000 + id_ for id_ in ids], pa.int32()).cast(pa.date32()),
        }
    )


_SELECT = "SELECT i, 'v' || i, i / 2, DATE '1970-01-01' + (18000 + i)::INTEGER FROM"

Ours = Callable[[ql.Table], object]
STEPS: dict[str, tuple[tuple[str, Ours], ...]] = {
    "inlined rows": (
        (f"INSERT INTO t {_SELECT} (VALUES (1), (2)) r(i)", lambda table: table.append(few(1, 2))),
        (f"INSERT INTO t {_SELECT} (VALUES (7), (-5)) r(i)", lambda table: table.append(few(7, -5))),
        ("DELETE FROM t WHERE id = 2", lambda table: table.delete("id = 2")),
        ("UPDATE t SET v = 'new' WHERE id = 7", lambda table: table.update({"v": "'new'"}, "id = 7")),
    ),
    "files": (
        (f"INSERT INTO t {_SELECT} range(0, 50) r(i)", lambda table: table.append(many(0, 50))),
        (f"INSERT INTO t {_SELECT} range(100, 150) r(i)", lambda table: table.append(many(100, 50))),
        ("DELETE FROM t WHERE id < 20", lambda table: table.delete("id < 20")),
        ("DELETE FROM t WHERE id >= 20 AND id < 40", lambda table: table.delete("id >= 20 AND id < 40")),
        ("DELETE FROM t WHERE id = 41", lambda table: table.delete("id = 41")),
        ("DELETE FROM t WHERE id >= 100", lambda table: table.delete("id >= 100")),
        (f"INSERT INTO t {_SELECT} range(200, 250) r(i)", lambda table: table.append(many(200, 50))),
        (
            "UPDATE t SET v = 'new' WHERE id BETWEEN 200 AND 230",
            lambda table: table.update({"v": "'new'"}, "id BETWEEN 200 AND 230"),
        ),
        ("DELETE FROM t WHERE id = 999", lambda table: table.delete("id = 999")),
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_every_row_is_the_one_that_duckdb_writes(name: str, tmp_path: Path) -> None:
    for folder in ("theirs", "ours"):
        (tmp_path / folder).mkdir()
    theirs, ours = (Place.in_folder("sqlite", tmp_path / folder) for folder in ("theirs", "ours"))
    with attached(theirs) as con, ql.connect(ours.url, ours.data_path, engine="local") as session:
        run(con, "CREATE TABLE t(id INTEGER, v VARCHAR, f DOUBLE, d DATE)")
        table = session.create_table("t", _COLUMNS)
        for statement, change in STEPS[name]:
            run(con, statement)
            change(table)
            assert differences(*(_without_sizes(place) for place in (theirs, ours))) == [], statement


def _without_sizes(place: Place) -> Rows:
    found = catalog_rows(Path(place.url.removeprefix("sqlite:///")))
    del found["ducklake_metadata"]
    for rows in found.values():
        for row in rows:
            row.update({key: "<size>" for key in _SIZES if key in row and row[key] not in (None, 0)})
    for row in found["ducklake_table_column_stats"]:
        # DuckDB does not look for NaN among inlined rows and says that it does not know; we look.
        row["contains_nan"] = None
    return found
