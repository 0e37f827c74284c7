"""The rows of the catalog after each of our changes are those that DuckDB writes for the same statement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import quacklake as ql
from quacklake.schema import Default
from tests.commit.rows import catalog_rows, catalog_shapes, differences
from tests.lakes import Place, attached, run

Ours = Callable[[ql.Session], object]


@dataclass(frozen=True)
class Step:
    """The same change in both words."""

    theirs: str
    ours: Ours


def alter(verb: Callable[[ql.Table], object], table: str = "t") -> Ours:
    return lambda session: verb(session.table(table))


CREATE = Step(
    "CREATE TABLE t(id INTEGER NOT NULL, s STRUCT(a VARCHAR, l DECIMAL(9,2)[]), ts TIMESTAMP DEFAULT '2020-01-01',"
    " m MAP(VARCHAR, DOUBLE), n INTEGER DEFAULT (5 + 1), q VARCHAR DEFAULT 'it''s', d DECIMAL(9,2) DEFAULT 1.5)",
    lambda session: session.create_table(
        "t",
        "id INT NOT NULL, s STRUCT<a: STRING, l: ARRAY<DECIMAL(9,2)>>, ts TIMESTAMP_NTZ DEFAULT '2020-01-01',"
        " m MAP<STRING, DOUBLE>, n INT DEFAULT (5 + 1), q STRING DEFAULT 'it\\'s', d DECIMAL(9,2) DEFAULT 1.5",
    ),
)
ROWS = Step("INSERT INTO t(id, q) VALUES (1, 'x')", lambda session: None)

STEPS: dict[str, tuple[Step, ...]] = {
    "namespaces": (
        Step("CREATE SCHEMA s2", lambda session: session.create_namespace("s2")),
        Step('CREATE SCHEMA "we ird"', lambda session: session.create_namespace('"we ird"')),
        Step("CREATE TABLE s2.x(a INTEGER)", lambda session: session.create_table("s2.x", "a int")),
        Step("CREATE VIEW s2.v AS SELECT 1", lambda session: session.create_view("s2.v", "SELECT 1")),
        Step("DROP SCHEMA s2 CASCADE", lambda session: session.drop_namespace("s2", cascade=True)),
        Step('DROP SCHEMA "we ird"', lambda session: session.drop_namespace('"we ird"')),
    ),
    "tables": (
        CREATE,
        Step('CREATE TABLE "sp ace"(a INTEGER)', lambda session: session.create_table('"sp ace"', "a int")),
        Step("ALTER TABLE t RENAME TO t2", alter(lambda table: table.rename("t2"))),
        Step("CREATE TABLE t(a INTEGER)", lambda session: session.create_table("t", "a int")),
        Step(
            "CREATE OR REPLACE TABLE t(b INTEGER)",
            lambda session: session.create_table("t", "b int", or_replace=True),
        ),
        Step(
            "CREATE TABLE IF NOT EXISTS t(c INTEGER)",
            lambda session: session.create_table("t", "c int", if_not_exists=True),
        ),
        Step("DROP TABLE t2", lambda session: session.drop_table("t2")),
        Step("DROP TABLE IF EXISTS t2", lambda session: session.drop_table("t2", if_exists=True)),
    ),
    "every type": (
        Step(
            "CREATE TABLE t(a BOOLEAN, b TINYINT, c SMALLINT, d INTEGER, e BIGINT, f HUGEINT, g UTINYINT, h USMALLINT,"
            " i UINTEGER, j UBIGINT, k UHUGEINT, l FLOAT, m DOUBLE, n DECIMAL(10,2), o TIME, p DATE, q TIMESTAMP,"
            " r TIMESTAMP_S, s TIMESTAMP_MS, t TIMESTAMP_NS, u TIMESTAMPTZ, v TIMETZ, w INTERVAL, x VARCHAR, y BLOB,"
            " z UUID, aa JSON, ab INTEGER[][], ac MAP(INTEGER, STRUCT(x INTEGER, y VARCHAR[])))",
            lambda session: session.create_table(
                "t",
                "a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f HUGEINT, g UTINYINT, h USMALLINT,"
                " i UINTEGER, j UBIGINT, k UHUGEINT, l FLOAT, m DOUBLE, n DECIMAL(10,2), o TIME, p DATE,"
                " q TIMESTAMP_NTZ, r TIMESTAMP_S, s TIMESTAMP_MS, t TIMESTAMP_NS, u TIMESTAMP, v TIMETZ, w INTERVAL,"
                " x STRING, y BINARY, z UUID, aa JSON, ab INT[][], ac MAP<INT, STRUCT<x: INT, y: ARRAY<STRING>>>",
            ),
        ),
        Step("CREATE TABLE v(v VARIANT)", lambda session: session.create_table("v", "v variant")),
    ),
    "columns": (
        CREATE,
        Step("ALTER TABLE t ADD COLUMN z INTEGER DEFAULT 7", alter(lambda t: t.add_column("z", "int", default=7))),
        Step("ALTER TABLE t ADD COLUMN zz STRUCT(a INTEGER)", alter(lambda t: t.add_column("zz", "struct<a: int>"))),
        Step("ALTER TABLE t ADD COLUMN e VARCHAR DEFAULT ''", alter(lambda t: t.add_column("e", "string", default=""))),
        Step("ALTER TABLE t ADD COLUMN g INTEGER DEFAULT -5", alter(lambda t: t.add_column("g", "int", default=-5))),
        Step("ALTER TABLE t RENAME z TO y", alter(lambda t: t.rename_column("z", "y"))),
        Step("ALTER TABLE t RENAME s TO S", alter(lambda t: t.rename_column("s", "S"))),
        Step("ALTER TABLE t ALTER y SET DATA TYPE BIGINT", alter(lambda t: t.alter_column("y", "bigint"))),
        Step("ALTER TABLE t ALTER y SET DEFAULT 9", alter(lambda t: t.alter_column("y", default=9))),
        Step("ALTER TABLE t ALTER y DROP DEFAULT", alter(lambda t: t.alter_column("y", default=None))),
        Step("ALTER TABLE t ALTER id DROP NOT NULL", alter(lambda t: t.alter_column("id", nullable=True))),
        Step("ALTER TABLE t DROP COLUMN n", alter(lambda t: t.drop_column("n"))),
        Step("ALTER TABLE t DROP COLUMN m", alter(lambda t: t.drop_column("m"))),
    ),
    "nested fields": (
        Step(
            "CREATE TABLE t(s STRUCT(a INTEGER, b VARCHAR), l STRUCT(a INTEGER)[], m MAP(VARCHAR, STRUCT(x INTEGER)))",
            lambda session: session.create_table(
                "t", "s STRUCT<a: INT, b: STRING>, l ARRAY<STRUCT<a: INT>>, m MAP<STRING, STRUCT<x: INT>>"
            ),
        ),
        Step("ALTER TABLE t ADD COLUMN s.c BIGINT DEFAULT 7", alter(lambda t: t.add_column("s.c", "long", default=7))),
        Step("ALTER TABLE t ADD COLUMN l.element.f INTEGER", alter(lambda t: t.add_column("l.element.f", "int"))),
        Step(
            "ALTER TABLE t ADD COLUMN m.value.y STRUCT(k INTEGER, j VARCHAR[])",
            alter(lambda t: t.add_column("m.value.y", "struct<k: int, j: array<string>>")),
        ),
        Step("ALTER TABLE t RENAME m.value.x TO xx", alter(lambda t: t.rename_column("m.value.x", "xx"))),
        Step("ALTER TABLE t DROP COLUMN m.value.y", alter(lambda t: t.drop_column("m.value.y"))),
        Step("ALTER TABLE t DROP COLUMN s.a", alter(lambda t: t.drop_column("s.a"))),
        Step(
            "ALTER TABLE t ALTER l SET DATA TYPE STRUCT(a BIGINT, f INTEGER)[]",
            alter(lambda t: t.alter_column("l", "array<struct<a: bigint, f: int>>")),
        ),
    ),
    "partitions and order": (
        CREATE,
        Step(
            "ALTER TABLE t SET PARTITIONED BY (id, year(ts), bucket(4, id))",
            alter(lambda t: t.set_partition_by(["id", "year(ts)", "bucket(4, id)"])),
        ),
        Step(
            "ALTER TABLE t SET PARTITIONED BY (id, year(ts), bucket(4, id))",
            alter(lambda t: t.set_partition_by(["id", "year(ts)", "bucket(4, id)"])),
        ),
        Step("ALTER TABLE t RESET PARTITIONED BY", alter(lambda t: t.set_partition_by([]))),
        Step("ALTER TABLE t RESET PARTITIONED BY", alter(lambda t: t.set_partition_by([]))),
        Step(
            "ALTER TABLE t SET SORTED BY (id DESC, ts ASC NULLS FIRST, lower(q), n + 1 DESC NULLS LAST)",
            alter(lambda t: t.set_sort_by(["id desc", "ts nulls first", "lower(q)", "n + 1 desc nulls last"])),
        ),
        Step("ALTER TABLE t RENAME ts TO moment", alter(lambda t: t.rename_column("ts", "moment"))),
        Step('ALTER TABLE t RENAME q TO "x y"', alter(lambda t: t.rename_column("q", '"x y"'))),
        Step("ALTER TABLE t RESET SORTED BY", alter(lambda t: t.set_sort_by([]))),
    ),
    "comments": (
        CREATE,
        Step("COMMENT ON TABLE t IS 'one'", alter(lambda t: t.set_comment("one"))),
        Step("COMMENT ON TABLE t IS 'two'", alter(lambda t: t.set_comment("two"))),
        Step("COMMENT ON TABLE t IS NULL", alter(lambda t: t.set_comment(None))),
        Step("COMMENT ON COLUMN t.id IS 'the id'", alter(lambda t: t.alter_column("id", comment="the id"))),
        Step("COMMENT ON COLUMN t.id IS NULL", alter(lambda t: t.alter_column("id", comment=None))),
        Step("CREATE VIEW v AS SELECT id FROM t", lambda session: session.create_view("v", "SELECT id FROM t")),
        Step("COMMENT ON VIEW v IS 'vv'", lambda session: session.set_view_comment("v", "vv")),
    ),
    "views": (
        CREATE,
        Step("CREATE VIEW v AS SELECT id, q FROM t", lambda session: session.create_view("v", "SELECT id, q FROM t")),
        Step(
            'CREATE VIEW w(a, "b c") AS SELECT id, q FROM t',
            lambda session: session.create_view("w", "SELECT id, q FROM t", columns=["a", "b c"]),
        ),
        Step(
            "CREATE OR REPLACE VIEW v AS SELECT id FROM t",
            lambda session: session.create_view("v", "SELECT id FROM t", or_replace=True),
        ),
        Step("COMMENT ON VIEW v IS 'vv'", lambda session: session.set_view_comment("v", "vv")),
        Step("ALTER VIEW v RENAME TO v3", lambda session: session.rename_view("v", "v3")),
        Step("DROP VIEW v3", lambda session: session.drop_view("v3")),
    ),
    "options": (
        CREATE,
        Step(
            "CALL lk.set_option('parquet_compression', 'zstd')", lambda s: s.set_option("parquet_compression", "zstd")
        ),
        Step(
            "CALL lk.set_option('parquet_compression', 'gzip')", lambda s: s.set_option("parquet_compression", "gzip")
        ),
        Step("CALL lk.set_option('parquet_version', 2)", lambda s: s.set_option("parquet_version", 2)),
        Step(
            "CALL lk.set_option('target_file_size', '100MB', schema => 'main')",
            lambda s: s.set_option("target_file_size", "100MB", namespace="main"),
        ),
        Step(
            "CALL lk.set_option('data_inlining_row_limit', 0, table_name => 't')",
            lambda s: s.set_option("data_inlining_row_limit", 0, table="t"),
        ),
        Step(
            "CALL lk.set_option('rewrite_delete_threshold', 0.5)",
            lambda s: s.set_option("rewrite_delete_threshold", 0.5),
        ),
        Step("CALL lk.set_option('auto_compact', false)", lambda s: s.set_option("auto_compact", False)),
        Step(
            "CALL lk.set_option('delete_older_than', '3 days')", lambda s: s.set_option("delete_older_than", "3 days")
        ),
        Step("CREATE TABLE w(a INTEGER)", lambda session: session.create_table("w", "a int")),
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_every_row_is_the_one_that_duckdb_writes(name: str, tmp_path: Path) -> None:
    theirs, ours = _places(tmp_path)
    with attached(theirs) as con, ql.connect(ours.url, ours.data_path, engine="local") as session:
        for step in STEPS[name]:
            run(con, step.theirs)
            step.ours(session)
            assert _compare(theirs, ours) == [], step.theirs


# What we write differently on purpose, each with its reason.


def test_a_renamed_or_widened_field_keeps_the_value_that_older_rows_show(tmp_path: Path) -> None:
    # DuckDB forgets the default of a nested field when it renames it: rows that showed 7 show NULL from then on.
    theirs, ours = _places(tmp_path)
    with attached(theirs) as con, ql.connect(ours.url, ours.data_path, engine="local") as session:
        run(con, "CREATE TABLE t(s STRUCT(a INTEGER))")
        run(con, "ALTER TABLE t ADD COLUMN s.b INTEGER DEFAULT 7")
        run(con, "ALTER TABLE t RENAME s.b TO c")
        table = session.create_table("t", "s STRUCT<a: INT>")
        table.add_column("s.b", "int", default=7)
        table.rename_column("s.b", "c")
    their_row, our_row = (_column(place, 3) for place in (theirs, ours))
    different = {key: our_row[key] for key in our_row if our_row[key] != their_row[key]}
    assert different == {"initial_default": "7", "default_value": "7", "default_value_type": "literal"}


def test_a_literal_that_duckdb_takes_for_an_expression_is_kept_as_the_value_it_is(tmp_path: Path) -> None:
    # `DEFAULT true` is a cast to DuckDB's parser, so that it cannot add a column with it.
    theirs, ours = _places(tmp_path)
    with attached(theirs) as con, ql.connect(ours.url, ours.data_path, engine="local") as session:
        run(con, "CREATE TABLE t(b BOOLEAN DEFAULT true, d DATE DEFAULT DATE '2020-01-02')")
        session.create_table("t", "b BOOLEAN DEFAULT true, d DATE DEFAULT DATE '2020-01-02'")
        run(con, "INSERT INTO t DEFAULT VALUES")
    with attached(ours) as con:
        run(con, "INSERT INTO t DEFAULT VALUES")
        assert con.execute("SELECT CAST(b AS VARCHAR), CAST(d AS VARCHAR) FROM t").fetchall() == [
            ("true", "2020-01-02")
        ]
    kept = {key: _column(ours, 1)[key] for key in ("initial_default", "default_value", "default_value_type")}
    assert kept == {"initial_default": "true", "default_value": "true", "default_value_type": "literal"}


def test_an_expression_may_become_the_default_of_a_column_that_is_there(tmp_path: Path) -> None:
    # DuckDB refuses it, and reads it when it is there.
    _, ours = _places(tmp_path)
    with ql.connect(ours.url, ours.data_path, engine="local") as session:
        table = session.create_table("t", "a INT, b INT")
        table.alter_column("b", default=Default("1 + 1", is_expression=True))
    with attached(ours) as con:
        run(con, "INSERT INTO t(a) VALUES (1)")
        assert con.execute("SELECT a, b FROM t").fetchall() == [(1, 2)]


def _places(folder: Path) -> tuple[Place, Place]:
    for name in ("theirs", "ours"):
        (folder / name).mkdir()
    return Place.in_folder("sqlite", folder / "theirs"), Place.in_folder("sqlite", folder / "ours")


def _catalog(place: Place) -> Path:
    return Path(place.url.removeprefix("sqlite:///"))


def _compare(theirs: Place, ours: Place) -> list[str]:
    left, right = catalog_rows(_catalog(theirs)), catalog_rows(_catalog(ours))
    for rows in (left, right):
        rows["ducklake_metadata"] = [
            row for row in rows["ducklake_metadata"] if row["key"] not in ("created_by", "data_path")
        ]
    found = differences(left, right)
    shapes = catalog_shapes(_catalog(theirs)), catalog_shapes(_catalog(ours))
    return found + [f"{name} has other columns" for name in shapes[0] if shapes[0][name] != shapes[1].get(name)]


def _column(place: Place, column_id: int) -> dict[str, object]:
    rows = catalog_rows(_catalog(place))["ducklake_column"]
    return next(row for row in rows if row["column_id"] == column_id and row["end_snapshot"] is None)
