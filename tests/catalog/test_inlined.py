"""Inlined rows that DuckDB's own extension wrote, read from every database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from itertools import zip_longest
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quacklake.catalog.inlined_types import duckdb_type
from quacklake.catalog.lake import Catalog
from quacklake.catalog.open import open_catalog
from quacklake.errors import UnsupportedError
from quacklake.names import TableName
from quacklake.plan.scan import InlinedRows
from tests.catalog.nested_values import NAMES, NASTY, Kind, as_arrow, kinds
from tests.conftest import Duck
from tests.lakes import Place

NewPlace = Callable[[str], Place]
Rows = list[tuple[str | None, ...]]
Columns = Mapping[str, Sequence[str]]
"""Types and SQL for values of them."""


def open_lake(place: Place) -> Catalog:
    return open_catalog(place.url, create=False, read_only=True)


def read_text(inlined: Iterable[InlinedRows]) -> Rows:
    """The rows in the order of their ids, as DuckDB's text after the cast that engines make."""
    rows = []
    with duckdb.connect(config={"threads": 1}) as con:
        con.execute("SET TimeZone='UTC'")
        for each in inlined:
            con.register("inlined", each.data)
            casts = [f"CAST(CAST(c{column.id} AS {duckdb_type(column.type)}) AS VARCHAR)" for column in each.columns]
            rows += con.execute(f"SELECT row_id, {', '.join(casts)} FROM inlined").fetchall()
    return [row[1:] for row in sorted(rows)]


def expected(columns: Columns) -> Rows:
    """The values as DuckDB's text, never having been in a lake."""
    with duckdb.connect(config={"threads": 1}) as con:
        con.execute("SET TimeZone='UTC'")
        write(con, columns)
        return con.execute("SELECT COLUMNS(*)::VARCHAR FROM t ORDER BY rowid").fetchall()


def write(con: duckdb.DuckDBPyConnection, columns: Columns) -> None:
    """Make a table with a column for each type and all values of it in rows, and a row without values."""
    names = ", ".join(f"v{index} {type_}" for index, type_ in enumerate(columns))
    con.execute(f"CREATE TABLE t({names})").fetchall()
    rows = zip_longest(*([f"CAST({value} AS {type_})" for value in values] for type_, values in columns.items()))
    lines = [", ".join(value or "NULL" for value in row) for row in rows]
    con.execute(f"INSERT INTO t VALUES ({'), ('.join((*lines, ', '.join(['NULL'] * len(columns))))})").fetchall()


def compare(found: Rows, wanted: Rows, columns: Iterable[str]) -> None:
    """Column by column, so that a failure tells the type."""
    assert len(found) == len(wanted)
    for type_, mine, theirs in zip(columns, zip(*found, strict=True), zip(*wanted, strict=True), strict=True):
        assert mine == theirs, type_


def sql(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


LONG = "'-1 month 2 days -9223372036854775807 microseconds'"
"""An interval whose text DuckDB writes but does not read."""
SCALARS = {
    "BOOLEAN": ("true", "false"),
    "TINYINT": ("-128", "127"),
    "SMALLINT": ("-32768", "32767"),
    "INTEGER": ("-2147483648", "2147483647"),
    "BIGINT": ("-9223372036854775808", "9223372036854775807"),
    "HUGEINT": ("'-170141183460469231731687303715884105728'", "'170141183460469231731687303715884105727'"),
    "UTINYINT": ("0", "255"),
    "USMALLINT": ("65535",),
    "UINTEGER": ("4294967295",),
    "UBIGINT": ("18446744073709551615",),
    "UHUGEINT": ("'340282366920938463463374607431768211455'",),
    "FLOAT": ("0.1", "'nan'", "'inf'", "'-inf'", "'-0.0'", "1e30", "16777216", "'1e-45'"),
    "DOUBLE": ("0.1", "'nan'", "'inf'", "'-inf'", "'-0.0'", "1e300", "123456789012345680", "'5e-324'"),
    "DECIMAL(10,2)": ("-1.5", "99999999.99"),
    "DECIMAL(38,5)": ("'123456789012345678901234567890123.45678'",),
    "DATE": ("'2024-01-02'", "'infinity'", "'-infinity'", "'0044-03-15 (BC)'", "'10000-01-01'", "'5877642-06-25 (BC)'"),
    "TIME": ("'10:11:12.123456'", "'24:00:00'", "'00:00:00'"),
    "TIMESTAMP": (
        "'2024-01-02 03:04:05.678901'",
        "'infinity'",
        "'0044-03-15 (BC) 01:02:03.000001'",
        "'294247-01-10 04:00:54.775806'",
        "'290309-12-22 (BC) 00:00:00'",
    ),
    "TIMESTAMP_S": ("'2024-01-02 03:04:05'", "'-infinity'"),
    "TIMESTAMP_MS": ("'2024-01-02 03:04:05.678'", "'infinity'"),
    "TIMESTAMP_NS": ("'2024-01-02 03:04:05.678901234'", "'2262-04-11 23:47:16.854775806'", "'1677-09-22 00:00:00'"),
    "TIMESTAMPTZ": ("'2024-01-02 03:04:05.678901+05:30'", "'infinity'", "'0044-03-15 (BC) 00:00:00+00'"),
    "TIMETZ": ("'10:11:12+02'", "'10:11:12.123456+15:59:59'", "'24:00:00-15:59:59'"),
    "INTERVAL": (
        "'1 month 2 days 3 us'",
        "'-1 month 2 days -3 us'",
        "'100000 hours'",
        "'-14 months'",
        "'0 days'",
        LONG,
    ),
    "VARCHAR": (*map(sql, NASTY), "'a' || chr(0) || 'b'", "chr(0)"),
    "BLOB": ("'\\x00\\xFFab\\x27'", "''", "'NULL'", "'[1, 2]'"),
    "UUID": ("'23909d95-27ff-40c2-833e-5aa34e81d33a'",),
    "JSON": ("'{\"a\": [1, null]}'", "'null'", "'\"it''s\"'"),
}
IN_FILES_ONLY = {"TIME_NS": ("'10:11:12.123456789'", "'24:00:00'")}
"""DuckDB itself cannot make a table of these in a PostgreSQL catalog."""
ODD = ", ".join(f'"{name}" INTEGER'.replace('"q"q"', '"q""q"') for name in NAMES)
STRINGS = f"[{', '.join(map(sql, NASTY))}, NULL]"
NESTED = {
    "VARCHAR[]": (STRINGS, "[]", "NULL", "[NULL]", "['']"),
    "INTEGER[][]": ("[[1, NULL], [], NULL]",),
    "VARCHAR[][]": (f"[{STRINGS}, [']'], ['[']]",),
    "BLOB[]": ("['\\x00a,'::BLOB, ''::BLOB, NULL, 'NULL'::BLOB, '\\x27'::BLOB]",),
    "DATE[]": ("['2024-01-02'::DATE, 'infinity', '0044-03-15 (BC)', NULL]",),
    "TIMESTAMP[]": ("['2024-01-02 03:04:05.678901'::TIMESTAMP, 'infinity', NULL]",),
    "INTERVAL[]": ("[INTERVAL '1 month', INTERVAL '-3 us', INTERVAL '0 days']",),
    "DOUBLE[]": ("['nan'::DOUBLE, 'inf', '-0.0', 1e300, NULL]",),
    "STRUCT(a VARCHAR, b INTEGER)": (
        *(f"{{'a': {sql(text)}, 'b': 1}}" for text in NASTY),
        "{'a': NULL, 'b': NULL}",
        "{'a': 'a' || chr(0) || 'b', 'b': 2}",
        "NULL",
    ),
    "STRUCT(d DATE, t TIMESTAMP, z TIMESTAMPTZ, u UUID, bl BLOB, i INTERVAL, f FLOAT, de DECIMAL(10,2), h HUGEINT)": (
        "{'d': DATE '2024-01-01', 't': TIMESTAMP '2024-01-01 10:00:00.5', 'z': TIMESTAMPTZ '2024-01-01 10:00:00+02',"
        " 'u': '00000000-0000-0000-0000-000000000001'::UUID, 'bl': '\\x00ab,\\x27'::BLOB,"
        " 'i': INTERVAL '1 month 2 days 3 us', 'f': 'nan'::FLOAT, 'de': 1.5, 'h': 42}",
        "{'d': 'infinity'::DATE, 't': 'infinity'::TIMESTAMP, 'z': NULL, 'u': NULL, 'bl': ''::BLOB, 'i': NULL,"
        " 'f': '-inf'::FLOAT, 'de': -1.5, 'h': -170141183460469231731687303715884105727}",
    ),
    "STRUCT(t TIME, tz TIMETZ, n TIMESTAMP_NS, s TIMESTAMP_S, b BOOLEAN, u UBIGINT, j JSON)": (
        "{'t': TIME '24:00:00', 'tz': TIMETZ '10:11:12+02', 'n': TIMESTAMP_NS '2024-01-02 03:04:05.678901234',"
        " 's': TIMESTAMP_S '2024-01-02 03:04:05', 'b': true, 'u': 18446744073709551615, 'j': '{\"a\": \"it''s\"}'}",
    ),
    f"STRUCT({ODD})": (f"row({', '.join(str(index) for index in range(len(NAMES)))})",),
    "STRUCT(l VARCHAR[], m MAP(VARCHAR, INTEGER), s STRUCT(x VARCHAR, y DATE[]))": (
        f"{{'l': {STRINGS}, 'm': MAP {{'k''1': 1, 'a\\': NULL}}, 's': {{'x': 'q''q\\', 'y': [DATE '2024-01-01']}}}}",
    ),
    "STRUCT(a VARCHAR, d DATE)[]": (
        *(f"[{{'a': {sql(text)}, 'd': DATE '2024-01-01'}}, NULL]" for text in NASTY),
        "[{'a': NULL, 'd': NULL}]",
    ),
    "MAP(VARCHAR, VARCHAR)": (
        "MAP {}",
        f"MAP([{', '.join(map(sql, NASTY))}], [{', '.join(map(sql, reversed(NASTY)))}])",
        "MAP {'a': NULL}",
    ),
    "MAP(DATE, STRUCT(a VARCHAR))": ("MAP {DATE '2024-01-01': {'a': 'it''s }'}}",),
    "MAP(STRUCT(x VARCHAR), INTEGER[])": ("MAP {{'x': '}='}: [1]}",),
}


@pytest.mark.parametrize("name", ["sqlite", "duckdb", pytest.param("postgresql", marks=pytest.mark.server)])
def test_every_type_is_read_as_it_was_written(name: str, new_place: NewPlace, duck: Duck) -> None:
    place = new_place(name)
    columns = SCALARS | NESTED | ({} if name == "postgresql" else IN_FILES_ONLY)
    with duck(place, "DATA_INLINING_ROW_LIMIT 100000") as con:
        write(con, columns)
    with closing(open_lake(place)) as lake:
        contents = lake.contents(TableName("main", "t"))
    assert not contents.files
    compare(read_text(contents.inlined), expected(columns), columns)


@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_random_nested_rows_are_read_as_they_were_written(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory, duck: Duck
) -> None:
    drawn = [data.draw(kinds()) for _ in range(6)]
    table = pa.table({f"v{i}": as_arrow(data.draw(rows_of(kind)), kind.arrow) for i, kind in enumerate(drawn)})
    place = Place.in_folder("sqlite", tmp_path_factory.mktemp("lake"))
    columns = ", ".join(f"v{index} {kind.duckdb}" for index, kind in enumerate(drawn))
    with duck(place, "DATA_INLINING_ROW_LIMIT 100") as con:
        con.register("source", table)
        con.execute(f"CREATE TABLE t({columns}); INSERT INTO t FROM source").fetchall()
        con.execute(f"CREATE TABLE memory.t({columns}); INSERT INTO memory.t FROM source").fetchall()
        wanted = con.execute("SELECT COLUMNS(*)::VARCHAR FROM memory.t ORDER BY rowid").fetchall()
    with closing(open_lake(place)) as lake:
        compare(read_text(lake.contents(TableName("main", "t")).inlined), wanted, [kind.duckdb for kind in drawn])


def rows_of(kind: Kind) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.none() | kind.values, min_size=6, max_size=6)


@pytest.mark.server
def test_what_duckdb_stores_in_mysql_is_read_as_it_reads_it(new_place: NewPlace, duck: Duck) -> None:
    # DuckDB cannot store nested values there, nor NaN; it loses fractions of seconds and digits of large integers.
    place = new_place("mysql")
    columns = {type_: values[:1] for type_, values in SCALARS.items()} | {"HUGEINT": ("42",)}
    with duck(place) as con:
        write(con, columns)
        answer = con.execute("SELECT COLUMNS(*)::VARCHAR FROM t ORDER BY rowid").fetchall()
    with closing(open_lake(place)) as lake:
        compare(read_text(lake.contents(TableName("main", "t")).inlined), answer, columns)


def test_row_ids_and_snapshots_come_with_the_rows(backend: Place, duck: Duck) -> None:
    with duck(backend) as con:
        con.execute("CREATE TABLE t(i INTEGER)").fetchall()
        con.execute("INSERT INTO t VALUES (7), (8)").fetchall()
    with closing(open_lake(backend)) as lake:
        (rows,) = lake.contents(TableName("main", "t")).inlined
        assert not lake.contents(TableName("main", "t"), 1).inlined
    assert rows.data.column_names == ["row_id", "begin_snapshot", "c1"]
    assert rows.data.select(["row_id", "begin_snapshot"]).to_pydict() == {"row_id": [0, 1], "begin_snapshot": [2, 2]}


@pytest.mark.parametrize("name", ["sqlite", "duckdb", pytest.param("postgresql", marks=pytest.mark.server)])
def test_a_snapshot_shows_the_rows_that_lived_then(name: str, new_place: NewPlace, duck: Duck) -> None:
    place = new_place(name)
    with duck(place) as con:
        for statement in (
            "CREATE TABLE t(i INTEGER, s VARCHAR)",
            "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
            "DELETE FROM t WHERE i = 1",
            "UPDATE t SET s = 'c' WHERE i = 2",
            "INSERT INTO t VALUES (3, 'd')",
        ):
            con.execute(statement).fetchall()
    with closing(open_lake(place)) as lake:
        seen = {at: read_text(lake.contents(TableName("main", "t"), at).inlined) for at in range(1, 6)}
    assert seen == {
        1: [],
        2: [("1", "a"), ("2", "b")],
        3: [("2", "b")],
        4: [("2", "c")],
        5: [("2", "c"), ("3", "d")],
    }


def test_an_inlined_variant_is_refused(new_place: NewPlace, duck: Duck) -> None:
    place = new_place("duckdb")
    with duck(place) as con:
        con.execute("CREATE TABLE t(v VARIANT)").fetchall()
        con.execute("INSERT INTO t VALUES (42::VARIANT)").fetchall()
    with closing(open_lake(place)) as lake, pytest.raises(UnsupportedError, match=r"'v' of main\.t .* variant"):
        lake.contents(TableName("main", "t"))
