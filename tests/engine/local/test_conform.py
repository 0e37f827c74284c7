"""Rows that come in fit the table's columns without loss, or are refused by name."""

from __future__ import annotations

import datetime
from decimal import Decimal as Number
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from quacklake.engine.local.conform import conform, match_columns
from quacklake.engine.local.types import duckdb_type
from quacklake.errors import InvalidInputError
from quacklake.schema import Column
from quacklake.types import DataType, Decimal, ListOf, MapOf, Primitive, Struct

INT = Primitive("int32")
POINT = Struct((Column(2, "x", Primitive("int32")), Column(3, "y", Primitive("varchar"))))


def run(values: pa.Array[Any], type_: DataType) -> list[Any]:
    column = Column(1, "c", type_)
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("data", pa.table({"c": values}))
    relation = connection.sql(f"SELECT {conform('c', values.type, column)} AS c FROM data")
    assert relation.types[0] == duckdb.sqltype(duckdb_type(type_))
    return [row[0] for row in relation.fetchall()]


FITTING: dict[str, tuple[Any, Any, list[Any]]] = {
    "a whole number into a narrower type": (pa.array([1, None, -5]), INT, [1, None, -5]),
    "a whole number into a decimal": (pa.array([1, 2]), Decimal(9, 2), [Number("1.00"), Number("2.00")]),
    "a float that is whole into an integer": (pa.array([1.0, None]), INT, [1, None]),
    "a float into a narrower float that holds it": (pa.array([0.5]), Primitive("float32"), [0.5]),
    "nanoseconds that are whole microseconds": (
        pa.array([1_000, None], pa.timestamp("ns")),
        Primitive("timestamp"),
        [datetime.datetime(1970, 1, 1, 0, 0, 0, 1), None],
    ),
    "a date into a timestamp": (
        pa.array([datetime.date(2024, 2, 29)]),
        Primitive("timestamp"),
        [datetime.datetime(2024, 2, 29)],
    ),
    "text into a uuid": (
        pa.array(["00000000-0000-0000-0000-000000000001"]),
        Primitive("varchar"),
        ["00000000-0000-0000-0000-000000000001"],
    ),
    "a dictionary into text": (pa.array(["a", "a"]).dictionary_encode(), Primitive("varchar"), ["a", "a"]),
    "nothing but NULL into anything": (pa.nulls(2), POINT, [None, None]),
    "a struct by the names of its fields": (
        pa.array([{"Y": "a", "x": 1}, None]),
        POINT,
        [{"x": 1, "y": "a"}, None],
    ),
    "a struct with a field left out": (pa.array([{"x": 1}]), POINT, [{"x": 1, "y": None}]),
    "a list of lists": (
        pa.array([[[1], None], None, []]),
        ListOf(Column(2, "element", ListOf(Column(3, "element", INT)))),
        [[[1], None], None, []],
    ),
    "a list of nothing": (pa.array([[], None]), ListOf(Column(2, "element", INT)), [[], None]),
    "a map": (
        pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
        MapOf(Column(2, "key", Primitive("varchar")), Column(3, "value", INT)),
        [{"k": 1}, None],
    ),
}


@pytest.mark.parametrize("case", FITTING)
def test_what_fits_comes_through_unchanged(case: str) -> None:
    values, type_, expected = FITTING[case]
    assert run(values, type_) == expected


LOSSY: dict[str, tuple[Any, Any]] = {
    "a number too large": (pa.array([2**40]), INT),
    "a fraction into an integer": (pa.array([1.5]), INT),
    "a float that a narrower one rounds": (pa.array([0.1]), Primitive("float32")),
    "a whole number that a float rounds": (pa.array([2**53 + 1]), Primitive("float64")),
    "too many digits behind the point": (pa.array([Number("1.005")]), Decimal(9, 2)),
    "nanoseconds into microseconds": (pa.array([1_001], pa.timestamp("ns")), Primitive("timestamp")),
    "text that is no uuid": (pa.array(["x"]), Primitive("uuid")),
}


@pytest.mark.parametrize("case", LOSSY)
def test_a_value_that_would_lose_something_raises(case: str) -> None:
    values, type_ = LOSSY[case]
    with pytest.raises(duckdb.Error):
        run(values, type_)


REFUSED: dict[str, tuple[Any, Any]] = {
    "text into a number": (pa.string(), INT),
    "a number into text": (pa.int64(), Primitive("varchar")),
    "a timestamp into a date": (pa.timestamp("us"), Primitive("date")),
    "a timestamp without a zone into one with": (pa.timestamp("us"), Primitive("timestamptz")),
    "a timestamp with a zone into one without": (pa.timestamp("us", "UTC"), Primitive("timestamp")),
    "bytes into text": (pa.binary(), Primitive("varchar")),
    "a list into a struct": (pa.list_(pa.int64()), POINT),
    "a number into a list": (pa.int64(), ListOf(Column(2, "element", INT))),
    "a struct with an unknown field": (pa.struct([("x", pa.int64()), ("z", pa.int64())]), POINT),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_type_that_cannot_fit_is_refused_by_name(case: str) -> None:
    given, type_ = REFUSED[case]
    with pytest.raises(InvalidInputError, match="c"):
        conform("c", given, Column(1, "c", type_))


def test_columns_are_matched_by_name_without_case() -> None:
    columns = (Column(1, "Id", INT), Column(2, "note", INT))
    assert match_columns(["NOTE", "id", "more"], columns, table="t") == ({2: "NOTE", 1: "id"}, ("more",))


def test_a_required_column_must_be_there() -> None:
    with pytest.raises(InvalidInputError, match="'id'"):
        match_columns(["x"], (Column(1, "id", INT, nullable=False),), table="t")


def test_two_columns_for_one_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="both 'a' and 'A'"):
        match_columns(["a", "A"], (Column(1, "a", INT),), table="t")
