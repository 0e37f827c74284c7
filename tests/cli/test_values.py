"""Every Arrow type becomes something that JSON can hold."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from quacklake.cli.values import ROWS_AT_ONCE, plain, rows_of
from quacklake.errors import UnsupportedError

CASES: dict[str, tuple[pa.Array[Any], list[Any]]] = {
    "null": (pa.nulls(2), [None, None]),
    "boolean": (pa.array([True, None]), [True, None]),
    "int64": (pa.array([2**63 - 1, None]), [2**63 - 1, None]),
    "uint64": (pa.array([2**64 - 1], pa.uint64()), [2**64 - 1]),
    "float32": (pa.array([0.1, None, float("nan")], pa.float32()), [0.1, None, "NaN"]),
    "float64": (pa.array([0.1, float("inf"), float("-inf")]), [0.1, "Infinity", "-Infinity"]),
    "decimal": (pa.array([Decimal("1.50"), Decimal("-1E+3"), None], pa.decimal128(38, 2)), ["1.50", "-1000.00", None]),
    "huge decimal": (pa.array([Decimal(2**128)], pa.decimal256(40, 0)), [str(2**128)]),
    "text": (pa.array(["ä\x00", None]), ["ä\x00", None]),
    "text view": (pa.array(["x" * 20], pa.string_view()), ["x" * 20]),
    "blob": (pa.array([b"\x00\xff", None]), ["AP8=", None]),
    "fixed blob": (pa.array([b"ab"], pa.binary(2)), ["YWI="]),
    "uuid": (
        pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(range(16)), None], pa.binary(16))),
        ["00010203-0405-0607-0809-0a0b0c0d0e0f", None],
    ),
    "date": (pa.array([date(2026, 1, 31), None]), ["2026-01-31", None]),
    "dates beyond Python's": (
        pa.array([2**31 - 2, -719529, 2932897], pa.int32()).cast(pa.date32()),
        ["5881580-07-10", "-0001-12-31", "10000-01-01"],
    ),
    "the ends of time": (pa.array([2**31 - 1, 1 - 2**31], pa.int32()).cast(pa.date32()), ["infinity", "-infinity"]),
    "time": (pa.array([time(1, 2, 3, 4)]), ["01:02:03.000004"]),
    "time of nanoseconds": (pa.array([1], pa.time64("ns")), ["00:00:00.000000001"]),
    "timestamp": (pa.array([datetime(2026, 1, 31, 12), None]), ["2026-01-31T12:00:00.000000", None]),
    "timestamp before 1970": (pa.array([-1], pa.timestamp("us")), ["1969-12-31T23:59:59.999999"]),
    "timestamp beyond Python's": (pa.array([9 * 10**18], pa.timestamp("us")), ["287168-08-24T16:00:00.000000"]),
    "infinite timestamp": (pa.array([2**63 - 1], pa.timestamp("us", "UTC")), ["infinity"]),
    "timestamp of seconds": (pa.array([0], pa.timestamp("s")), ["1970-01-01T00:00:00"]),
    "timestamp of nanoseconds": (pa.array([1], pa.timestamp("ns")), ["1970-01-01T00:00:00.000000001"]),
    "timestamp with zone": (
        pa.array([datetime(2026, 1, 31, 12, tzinfo=UTC)], pa.timestamp("us", "Europe/Berlin")),
        ["2026-01-31T12:00:00.000000Z"],
    ),
    "duration": (pa.array([timedelta(seconds=2)], pa.duration("us")), ["2000000 us"]),
    "interval": (pa.array([(14, 3, 5)], pa.month_day_nano_interval()), [{"months": 14, "days": 3, "nanoseconds": 5}]),
    "list": (pa.array([[1, None], [], None, [2]]), [[1, None], [], None, [2]]),
    "large list": (pa.array([[1], None], pa.large_list(pa.int8())), [[1], None]),
    "fixed list": (pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int8(), 2)), [[1, 2], None, [3, 4]]),
    "struct": (
        pa.array([{"a": 1, "b": [Decimal("0.5")]}, None, {"a": None, "b": None}]),
        [{"a": 1, "b": ["0.5"]}, None, {"a": None, "b": None}],
    ),
    "map": (
        pa.array([[("k", datetime(2026, 1, 1))], None, []], pa.map_(pa.string(), pa.timestamp("ns"))),
        [[{"key": "k", "value": "2026-01-01T00:00:00.000000000"}], None, []],
    ),
    "dictionary": (pa.array(["a", None, "a"]).dictionary_encode(), ["a", None, "a"]),
}


@pytest.mark.parametrize("case", CASES)
def test_every_type_has_a_plain_form(case: str) -> None:
    array, expected = CASES[case]
    found = plain(array)
    assert found == expected
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize("case", CASES)
def test_a_slice_has_the_values_of_its_place(case: str) -> None:
    array, expected = CASES[case]
    for start in range(len(expected) + 1):
        assert plain(array.slice(start)) == expected[start:]
        assert plain(array.slice(0, start)) == expected[:start]


def test_dates_are_those_of_the_calendar() -> None:
    days = [date(1, 1, 1) + timedelta(step) for step in range(0, 3_652_059, 97)]
    assert plain(pa.array(days)) == [day.isoformat() for day in days]
    leap = [date(2000, 2, 29), date(1900, 2, 28), date(1900, 3, 1), date(2024, 2, 29), date(2024, 12, 31)]
    assert plain(pa.array(leap)) == [day.isoformat() for day in leap]


def test_rows_come_in_order_however_many_there_are() -> None:
    count = 2 * ROWS_AT_ONCE + 1
    batch = pa.record_batch([pa.array(range(count)), pa.array([[n] for n in range(count)])], names=["n", "m"])
    assert list(rows_of(batch)) == [(n, [n]) for n in range(count)]


def test_a_type_without_a_rule_is_refused() -> None:
    union = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])
    with pytest.raises(UnsupportedError, match="cannot be shown"):
        plain(union)
