"""A life that leaves everything behind that an expiry has to judge, and the rows of a catalog to compare."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa

import quacklake as ql
from tests.lakes import Place, attached

LIFE = (
    "CREATE TABLE t (id INTEGER, word VARCHAR)",
    "INSERT INTO t SELECT i, i::VARCHAR FROM range(50) r(i)",
    "INSERT INTO t VALUES (100, 'inlined'), (101, 'inlined')",
    "DELETE FROM t WHERE id = 100",
    "DELETE FROM t WHERE id < 3",
    "DELETE FROM t WHERE id < 30",
    "DELETE FROM t WHERE id < 45",
    "COMMENT ON TABLE t IS 'one'",
    "COMMENT ON COLUMN t.word IS 'of mouth'",
    "COMMENT ON TABLE t IS 'two'",
    "ALTER TABLE t RENAME TO t2",
    "ALTER TABLE t2 ADD COLUMN extra STRUCT(a INTEGER, b VARCHAR[])",
    "ALTER TABLE t2 SET PARTITIONED BY (bucket(2, id), word)",
    "INSERT INTO t2 SELECT i, ['a/b c=%', 'ü', ''][1 + i % 3], NULL FROM range(60) r(i)",
    "DELETE FROM t2 WHERE id > 20",
    "CREATE TABLE gone (k VARCHAR, n DOUBLE)",
    "ALTER TABLE gone SET PARTITIONED BY (k)",
    "ALTER TABLE gone SET SORTED BY (n DESC)",
    "COMMENT ON COLUMN gone.n IS 'a number'",
    "COMMENT ON TABLE gone IS 'soon'",
    "INSERT INTO gone SELECT ['x', NULL, 'y'][1 + i % 3], i FROM range(90) r(i)",
    "INSERT INTO gone VALUES ('z', 1.5)",
    "DELETE FROM gone WHERE n = 5",
    "DELETE FROM gone WHERE n > 60",
    "ALTER TABLE gone RENAME TO going",
    "ALTER TABLE going RENAME n TO number",
    "DROP TABLE going",
    "CREATE SCHEMA s2",
    'CREATE TABLE s2."sp ace" (v VARIANT, id INTEGER)',
    "INSERT INTO s2.\"sp ace\" SELECT {'a': i}::VARIANT, i FROM range(30) r(i)",
    "CREATE VIEW s2.v AS SELECT 1 AS one",
    "COMMENT ON VIEW s2.v IS 'a view'",
    "CREATE MACRO s2.twice(x := 1) AS x * 2",
    "CREATE MACRO s2.many(n) AS TABLE SELECT * FROM range(n)",
    "ALTER VIEW s2.v RENAME TO w",
    "DROP MACRO s2.twice",
    "DROP SCHEMA s2 CASCADE",
    "CREATE TABLE added (id BIGINT, day DATE)",
    "CALL ducklake_add_data_files('lk', 'added', '$FILES/one.parquet')",
    "CALL ducklake_add_data_files('lk', 'added', '$FILES/two.parquet', allow_missing => true)",
    "DROP TABLE added",
    "CREATE TABLE m (id INTEGER)",
    "INSERT INTO m SELECT * FROM range(20)",
    "INSERT INTO m SELECT * FROM range(20, 40)",
    "CALL ducklake_merge_adjacent_files('lk', 'm')",
    "DELETE FROM m WHERE id % 2 = 0",
    "DELETE FROM m WHERE id % 3 = 0",
    "CALL ducklake_rewrite_data_files('lk', 'm', delete_threshold => 0.1)",
    "INSERT INTO m VALUES (7), (8)",
    "DELETE FROM m WHERE id = 7",
    "CALL ducklake_flush_inlined_data('lk')",
    "TRUNCATE m",
    "CREATE OR REPLACE TABLE m (id BIGINT, more VARCHAR)",
    "INSERT INTO m VALUES (1, 'x')",
    "INSERT INTO t2 VALUES (1, 'x', NULL)",
    "DELETE FROM t2 WHERE id = 1",
)
"""Statements of DuckDB's."""


def live(place: Place, folder: Path) -> None:
    """Let DuckDB live it."""
    folder.mkdir(exist_ok=True)
    with attached(place) as con:
        con.execute(f"COPY (SELECT i AS id, DATE '2020-01-01' AS day FROM range(20) r(i)) TO '{folder}/one.parquet'")
        con.execute(f"COPY (SELECT i AS id FROM range(20) r(i)) TO '{folder}/two.parquet'")
        for statement in LIFE:
            con.execute(statement.replace("$FILES", str(folder))).fetchall()


def copy_lake(place: Place, run: Any = None) -> Place:
    """The same catalog once more, with the same files.

    Args:
        place: Where the lake is.
        run: Runs a statement on the server, for a catalog that is not a file.
    """
    if place.kind in ("sqlite", "duckdb"):
        path = place.url.split("///", 1)[1]
        shutil.copy(path, f"{path}.copy")
        return replace(place, attach=f"{place.attach}.copy", url=f"{place.url}.copy")
    name = place.url.rsplit("/", 1)[-1]
    run(f"CREATE DATABASE {name}_copy TEMPLATE {name}")
    return replace(place, attach=place.attach.replace(name, f"{name}_copy"), url=f"{place.url}_copy")


def all_rows(session: ql.Session) -> dict[str, list[str]]:
    """The rows of every table of a catalog, inlined ones among them; when files were scheduled is left out."""
    backend = session._catalog.backend
    found = {}
    with backend.read() as connection:
        for name, columns in backend.columns(connection).items():
            shown: list[sa.ColumnClause[Any]] = [sa.column(each) for each in columns if each != "schedule_start"]
            table = sa.table(name, *shown, schema=session._catalog.tables.sql_schema)
            found[name] = sorted(str(tuple(row)) for row in connection.execute(sa.select(*shown).select_from(table)))
    return found


def difference(theirs: dict[str, list[str]], ours: dict[str, list[str]]) -> list[str]:
    """What one catalog has and the other has not."""
    found = [f"{name} is only in {'theirs' if name in theirs else 'ours'}" for name in sorted({*theirs} ^ {*ours})]
    for name in sorted({*theirs} & {*ours}):
        found += [f"{name}: theirs {row}" for row in theirs[name] if row not in ours[name]]
        found += [f"{name}: ours {row}" for row in ours[name] if row not in theirs[name]]
        if not found and theirs[name] != ours[name]:
            found.append(f"{name}: rows are there a different number of times")
    return found
