"""Bad input gets a named error that says what is wrong, and nothing happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import quacklake as ql
from quacklake.schema import Default
from tests.commit.rows import Rows, catalog_rows
from tests.lakes import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place.in_folder("sqlite", tmp_path)


@pytest.fixture
def session(place: Place) -> Iterator[ql.Session]:
    with ql.connect(place.url, place.data_path, engine="local") as session:
        session.create_table(
            "t",
            "id INT, v STRING, s STRUCT<a: INT, b: STRING>, one STRUCT<x: INT>, l ARRAY<INT>, m MAP<STRING, INT>,"
            " ts TIMESTAMP_NTZ, j JSON, d DATE, f DOUBLE",
            partition_by=["id"],
            sort_by=["lower(v)"],
        )
        session.create_table("u", "only INT")
        session.create_view("v", "SELECT 1 AS a")
        session.create_namespace("n")
        session.create_table("n.x", "a INT")
        yield session


def rows(place: Place) -> Rows:
    return catalog_rows(Path(place.url.removeprefix("sqlite:///")))


Bad = Callable[[ql.Session], object]

CASES: dict[str, tuple[type[ql.QuacklakeError], Bad]] = {
    "namespace is there": (ql.AlreadyExistsError, lambda s: s.create_namespace("N")),
    "namespace main is there": (ql.AlreadyExistsError, lambda s: s.create_namespace("MAIN")),
    "namespaces do not nest": (ql.InvalidInputError, lambda s: s.create_namespace("a.b")),
    "namespace without a name": (ql.InvalidInputError, lambda s: s.create_namespace("")),
    "no such namespace": (ql.NotFoundError, lambda s: s.drop_namespace("nope")),
    "namespace is not empty": (ql.InvalidInputError, lambda s: s.drop_namespace("n")),
    "main stays": (ql.InvalidInputError, lambda s: s.drop_namespace("main", cascade=True)),
    "table is there": (ql.AlreadyExistsError, lambda s: s.create_table("T", "a INT")),
    "a view has the name": (ql.AlreadyExistsError, lambda s: s.create_table("v", "a INT")),
    "a view is not replaced by a table": (
        ql.AlreadyExistsError,
        lambda s: s.create_table("v", "a INT", or_replace=True),
    ),
    "table in no namespace": (ql.NotFoundError, lambda s: s.create_table("nope.x", "a INT")),
    "table without columns": (ql.InvalidInputError, lambda s: s.create_table("x", "")),
    "arrow without columns": (ql.InvalidInputError, lambda s: s.create_table("x", pa.schema([]))),
    "two columns of one name": (ql.InvalidInputError, lambda s: s.create_table("x", "a INT, A STRING")),
    "two fields of one name": (ql.InvalidInputError, lambda s: s.create_table("x", "a STRUCT<b: INT, B: INT>")),
    "a reserved name": (ql.InvalidInputError, lambda s: s.create_table("x", "row_id INT")),
    "an internal name": (ql.InvalidInputError, lambda s: s.create_table("x", "_ducklake_internal_row_id INT")),
    "a type that is none": (ql.QuacklakeError, lambda s: s.create_table("x", "a NOTATYPE")),
    "text that is no DDL": (ql.InvalidInputError, lambda s: s.create_table("x", "SELECT 1; DROP")),
    "an enum": (ql.UnsupportedError, lambda s: s.create_table("x", "a ENUM('a', 'b')")),
    "a union": (ql.UnsupportedError, lambda s: s.create_table("x", "a UNION(b INT)")),
    "an array of fixed length": (ql.UnsupportedError, lambda s: s.create_table("x", "a INT[3]")),
    "a primary key": (ql.UnsupportedError, lambda s: s.create_table("x", "a INT PRIMARY KEY")),
    "a unique column": (ql.UnsupportedError, lambda s: s.create_table("x", "a INT UNIQUE")),
    "a check": (ql.UnsupportedError, lambda s: s.create_table("x", "a INT CHECK (a > 0)")),
    "a generated column": (ql.UnsupportedError, lambda s: s.create_table("x", "a INT GENERATED ALWAYS AS (1)")),
    "a foreign key": (ql.InvalidInputError, lambda s: s.create_table("x", "a INT, FOREIGN KEY (a) REFERENCES t(id)")),
    "not null inside a struct": (ql.UnsupportedError, lambda s: s.create_table("x", "a STRUCT<b: INT NOT NULL>")),
    "too many digits": (ql.InvalidInputError, lambda s: s.create_table("x", "a DECIMAL(39, 2)")),
    "more scale than digits": (ql.InvalidInputError, lambda s: s.create_table("x", "a DECIMAL(3, 4)")),
    "an arrow column of nulls": (ql.InvalidInputError, lambda s: s.create_table("x", pa.schema([("a", pa.null())]))),
    "an arrow duration": (ql.UnsupportedError, lambda s: s.create_table("x", pa.schema([("a", pa.duration("s"))]))),
    "a schema that is none": (ql.InvalidInputError, lambda s: s.create_table("x", 42)),
    "if_not_exists and or_replace": (
        ql.InvalidInputError,
        lambda s: s.create_table("x", "a INT", if_not_exists=True, or_replace=True),
    ),
    "no such table to drop": (ql.NotFoundError, lambda s: s.drop_table("nope")),
    "a view is not dropped as a table": (ql.NotFoundError, lambda s: s.drop_table("v")),
    "a view is not dropped as a table if it exists": (ql.NotFoundError, lambda s: s.drop_table("v", if_exists=True)),
    "rename to a name that is taken": (ql.AlreadyExistsError, lambda s: s.table("t").rename("U")),
    "rename to the name of a view": (ql.AlreadyExistsError, lambda s: s.table("t").rename("v")),
    "rename into another namespace": (ql.UnsupportedError, lambda s: s.table("t").rename("n.t")),
    "rename to nothing": (ql.InvalidInputError, lambda s: s.table("t").rename("")),
    "partition by an unknown column": (ql.NotFoundError, lambda s: s.table("t").set_partition_by(["nope"])),
    "partition by a struct": (ql.InvalidInputError, lambda s: s.table("t").set_partition_by(["s"])),
    "partition by a nested field": (ql.InvalidInputError, lambda s: s.table("t").set_partition_by(["s.a"])),
    "partition by JSON": (ql.InvalidInputError, lambda s: s.table("t").set_partition_by(["j"])),
    "the year of a number": (ql.InvalidInputError, lambda s: s.table("t").set_partition_by(["year(id)"])),
    "the hour of a date": (ql.InvalidInputError, lambda s: s.table("t").set_partition_by(["hour(d)"])),
    "no buckets": (ql.InvalidInputError, lambda s: s.table("t").set_partition_by(["bucket(0, id)"])),
    "buckets without a number": (ql.InvalidInputError, lambda s: s.table("t").set_partition_by(["bucket(id, v)"])),
    "an unknown transform": (ql.UnsupportedError, lambda s: s.table("t").set_partition_by(["truncate(3, v)"])),
    "the same key twice": (ql.InvalidInputError, lambda s: s.table("t").set_partition_by(["id", "ID"])),
    "sort by an unknown column": (ql.NotFoundError, lambda s: s.table("t").set_sort_by(["nope desc"])),
    "sort by a nested field": (ql.InvalidInputError, lambda s: s.table("t").set_sort_by(["s.a"])),
    "sort by a constant": (ql.InvalidInputError, lambda s: s.table("t").set_sort_by(["1"])),
    "sort keys in one text": (ql.InvalidInputError, lambda s: s.table("t").set_sort_by(["id, v"])),
    "sort by nonsense": (ql.InvalidInputError, lambda s: s.table("t").set_sort_by(["id descending"])),
    "column is there": (ql.AlreadyExistsError, lambda s: s.table("t").add_column("ID", "int")),
    "field is there": (ql.AlreadyExistsError, lambda s: s.table("t").add_column("s.A", "int")),
    "field of a number": (ql.InvalidInputError, lambda s: s.table("t").add_column("id.x", "int")),
    "field of a list": (ql.InvalidInputError, lambda s: s.table("t").add_column("l.x", "int")),
    "field of nothing": (ql.NotFoundError, lambda s: s.table("t").add_column("nope.x", "int")),
    "an expression for rows that are there": (
        ql.UnsupportedError,
        lambda s: s.table("t").add_column("x", "int", default=Default("random()", is_expression=True)),
    ),
    "a default of another type": (ql.InvalidInputError, lambda s: s.table("t").add_column("x", "int", default="abc")),
    "a default out of range": (ql.InvalidInputError, lambda s: s.table("t").add_column("x", "tinyint", default=300)),
    "a default that would be rounded": (
        ql.InvalidInputError,
        lambda s: s.table("t").add_column("x", "int", default=1.5),
    ),
    "a decimal that would be rounded": (
        ql.InvalidInputError,
        lambda s: s.table("t").add_column("x", "decimal(5, 1)", default=1.25),
    ),
    "a default for a struct": (
        ql.UnsupportedError,
        lambda s: s.table("t").add_column("x", "struct<a: int>", default=1),
    ),
    "a default for a list": (ql.UnsupportedError, lambda s: s.create_table("x", "a ARRAY<INT> DEFAULT 1")),
    "the text NULL as a default": (
        ql.UnsupportedError,
        lambda s: s.table("t").add_column("x", "string", default="NULL"),
    ),
    "a comment on a field": (ql.UnsupportedError, lambda s: s.table("t").add_column("s.x", "int", comment="c")),
    "no such column to drop": (ql.NotFoundError, lambda s: s.table("t").drop_column("nope")),
    "no such field to drop": (ql.NotFoundError, lambda s: s.table("t").drop_column("s.nope")),
    "the last column": (ql.InvalidInputError, lambda s: s.table("u").drop_column("only")),
    "the last field": (ql.InvalidInputError, lambda s: s.table("t").drop_column("one.x")),
    "the element of a list": (ql.InvalidInputError, lambda s: s.table("t").drop_column("l.element")),
    "the key of a map": (ql.InvalidInputError, lambda s: s.table("t").rename_column("m.key", "k")),
    "a partition column": (ql.InvalidInputError, lambda s: s.table("t").drop_column("id")),
    "a sort column": (ql.InvalidInputError, lambda s: s.table("t").drop_column("v")),
    "no such column to rename": (ql.NotFoundError, lambda s: s.table("t").rename_column("nope", "x")),
    "rename onto another column": (ql.AlreadyExistsError, lambda s: s.table("t").rename_column("v", "ID")),
    "rename to a reserved name": (ql.InvalidInputError, lambda s: s.table("t").rename_column("v", "begin_snapshot")),
    "move a field": (ql.UnsupportedError, lambda s: s.table("t").rename_column("s.a", "one.a")),
    "narrow a type": (ql.InvalidInputError, lambda s: s.table("t").alter_column("id", "smallint")),
    "text to a number": (ql.InvalidInputError, lambda s: s.table("t").alter_column("v", "int")),
    "a number to text": (ql.InvalidInputError, lambda s: s.table("t").alter_column("id", "string")),
    "a struct to a number": (ql.InvalidInputError, lambda s: s.table("t").alter_column("s", "int")),
    "a struct to JSON": (ql.InvalidInputError, lambda s: s.table("t").alter_column("s", "json")),
    "a struct that keeps nothing": (ql.InvalidInputError, lambda s: s.table("t").alter_column("s", "struct<z: int>")),
    "narrow a field": (ql.InvalidInputError, lambda s: s.table("t").alter_column("s.a", "tinyint")),
    "not null for a field": (ql.UnsupportedError, lambda s: s.table("t").alter_column("s.a", nullable=False)),
    "a default that is no date": (ql.InvalidInputError, lambda s: s.table("t").alter_column("d", default="yesterday")),
    "a broken expression": (
        ql.InvalidInputError,
        lambda s: s.table("t").alter_column("id", default=Default("1 +", is_expression=True)),
    ),
    "a view that is no query": (ql.InvalidInputError, lambda s: s.create_view("w", "DROP TABLE t")),
    "a view of two queries": (ql.InvalidInputError, lambda s: s.create_view("w", "SELECT 1; SELECT 2")),
    "a view that cannot be parsed": (ql.InvalidInputError, lambda s: s.create_view("w", "SELECT FROM WHERE")),
    "a view with the name of a table": (
        ql.AlreadyExistsError,
        lambda s: s.create_view("t", "SELECT 1", or_replace=True),
    ),
    "view is there": (ql.AlreadyExistsError, lambda s: s.create_view("V", "SELECT 1")),
    "no such view": (ql.NotFoundError, lambda s: s.drop_view("nope")),
    "a table is no view": (ql.NotFoundError, lambda s: s.drop_view("t")),
    "an unknown setting": (ql.InvalidInputError, lambda s: s.set_option("nope", 1)),
    "a fixed setting": (ql.InvalidInputError, lambda s: s.set_option("version", "2.0")),
    "a wrong codec": (ql.InvalidInputError, lambda s: s.set_option("parquet_compression", "rar")),
    "a negative limit": (ql.InvalidInputError, lambda s: s.set_option("data_inlining_row_limit", -1)),
    "a size of nothing": (ql.InvalidInputError, lambda s: s.set_option("target_file_size", "0MB")),
    "a size in miles": (ql.InvalidInputError, lambda s: s.set_option("target_file_size", "3 miles")),
    "a wrong interval": (ql.InvalidInputError, lambda s: s.set_option("expire_older_than", "rubbish")),
    "a threshold above one": (ql.InvalidInputError, lambda s: s.set_option("rewrite_delete_threshold", 2)),
    "a flag that is none": (ql.InvalidInputError, lambda s: s.set_option("auto_compact", "perhaps")),
    "a third version": (ql.InvalidInputError, lambda s: s.set_option("parquet_version", 3)),
    "a setting of the lake for a table": (
        ql.InvalidInputError,
        lambda s: s.set_option("require_commit_message", True, table="t"),
    ),
    "a setting for no table": (ql.NotFoundError, lambda s: s.set_option("auto_compact", True, table="nope")),
    "a setting for no namespace": (ql.NotFoundError, lambda s: s.set_option("auto_compact", True, namespace="nope")),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_input_gets_a_named_error_and_nothing_happens(name: str, session: ql.Session, place: Place) -> None:
    kind, act = CASES[name]
    before = rows(place)
    with pytest.raises(kind) as raised:
        act(session)
    assert len(str(raised.value)) > 10
    assert rows(place) == before


def test_reserved_names_are_free_where_nothing_is_inlined(session: ql.Session) -> None:
    session.set_option("data_inlining_row_limit", 0)
    assert session.create_table("x", "row_id INT, begin_snapshot INT").schema.names == ("row_id", "begin_snapshot")
