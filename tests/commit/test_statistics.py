"""Statistics of tables get wider, by value and not by text, and are exact or gone."""

from __future__ import annotations

import pytest

from quacklake.commit.statistics import TableColumnStats, keeps_range, start, widen
from quacklake.plan.write import ColumnStats
from quacklake.types import DataType, Decimal, Primitive, parse_leaf


def part(
    low: str | None, high: str | None, *, nulls: int | None = 0, values: int | None = 3, nan: bool | None = None
) -> list[ColumnStats]:
    return [ColumnStats(1, value_count=values, null_count=nulls, min=low, max=high, contains_nan=nan)]


def old(low: str | None, high: str | None, *, nulls: bool = False, nan: bool | None = None) -> TableColumnStats:
    return TableColumnStats(1, nulls, nan, low, high)


@pytest.mark.parametrize(
    ("type_", "before", "new", "after"),
    [
        ("int32", ("9", "9"), ("10", "10"), ("9", "10")),
        ("int64", ("-9", "5"), ("-10", "4"), ("-10", "5")),
        ("uint64", ("1", "18446744073709551614"), ("2", "18446744073709551615"), ("1", "18446744073709551615")),
        ("float64", ("-1.5", "2.5"), ("-inf", "1e300"), ("-inf", "1e300")),
        ("boolean", ("true", "true"), ("0", "0"), ("0", "true")),
        ("date", ("2024-01-01", "9999-12-31"), ("0044-03-15 (BC)", "12024-01-01"), ("0044-03-15 (BC)", "12024-01-01")),
        ("date", ("0045-01-01 (BC)", "2000-01-01"), ("0044-01-01 (BC)", "infinity"), ("0045-01-01 (BC)", "infinity")),
        (
            "timestamp",
            ("2024-01-01 10:00:00.5", "2024-01-01 10:00:00.5"),
            ("2024-01-01 10:00:00", "2024-01-01 10:00:00.45"),
            ("2024-01-01 10:00:00", "2024-01-01 10:00:00.5"),
        ),
        (
            "timestamptz",
            ("2024-01-01 10:00:00+00", "2024-01-01 10:00:00+00"),
            ("0001-01-01 (BC) 00:00:00+00", "2024-01-01 10:00:00.000001+00"),
            ("0001-01-01 (BC) 00:00:00+00", "2024-01-01 10:00:00.000001+00"),
        ),
        ("varchar", ("b", "b"), ("a", "ä"), ("a", "ä")),
        ("varchar", ("Z", "Z"), ("a", "a"), ("Z", "a")),
        ("time", ("10:00:00", "10:00:00"), ("09:59:59.999999", "10:00:00.1"), ("09:59:59.999999", "10:00:00.1")),
    ],
)
def test_ranges_grow_by_value(
    type_: str, before: tuple[str, str], new: tuple[str, str], after: tuple[str, str]
) -> None:
    nan = False if type_.startswith("float") else None
    found = widen(old(*before, nan=nan), [part(*new, nan=nan)], Primitive(type_))
    assert found is not None
    assert (found.min, found.max) == after


def test_decimals_are_numbers() -> None:
    found = widen(old("-9.00", "9.00"), [part("-10.00", "10.00")], Decimal(9, 2))
    assert found is not None
    assert (found.min, found.max) == ("-10.00", "10.00")


def test_a_part_of_nothing_but_null_changes_no_range() -> None:
    found = widen(old("1", "5"), [part(None, None, nulls=4, values=0)], Primitive("int32"))
    assert found == old("1", "5", nulls=True)


def test_first_rows_may_be_null_and_the_next_ones_not() -> None:
    parts = [part(None, None, nulls=2, values=0), part("3", "4")]
    assert start(parts, 1, Primitive("int32")) == old("3", "4", nulls=True)


@pytest.mark.parametrize(
    ("type_", "before", "new"),
    [
        (Primitive("int32"), old("1", "5"), part(None, None)),  # values without a range
        (Primitive("int32"), old("1", "5"), part("1", "2", nulls=None)),
        (Primitive("int32"), old("1", "5"), part("1", "2", values=None)),
        (Primitive("int32"), old("1", "5"), []),  # no record at all
        (Primitive("int32"), old(None, None, nulls=True), part("1", "2")),  # nobody knows why there was no range
        (Primitive("float64"), old("1.0", "5.0", nan=False), part("1.0", "2.0", nan=True)),
        (Primitive("float64"), old("1.0", "5.0", nan=False), part("1.0", "2.0", nan=None)),
        (Primitive("float64"), old("1.5", "nan"), part("1.0", "2.0", nan=False)),
        (Primitive("blob"), old("abc", "abc"), part("7A7A", "7A7A")),  # its text depends on who wrote it
        (
            Primitive("timestamp"),
            old("2024-01-01 00:00:00", "yesterday"),
            part("2024-01-01 00:00:00", "2024-01-01 00:00:00"),
        ),
    ],
)
def test_what_is_not_exact_any_more_is_gone(type_: DataType, before: TableColumnStats, new: list[ColumnStats]) -> None:
    assert widen(before, [new], type_) is None


def test_one_part_that_is_unknown_makes_all_unknown() -> None:
    assert start([part("1", "2"), []], 1, Primitive("int32")) is None


@pytest.mark.parametrize(
    ("before", "after", "keeps"),
    [
        ("int32", "int64", True),
        ("int32", "float64", True),
        ("int16", "decimal(9,2)", True),
        ("decimal(9,2)", "decimal(10,3)", True),
        ("date", "timestamp", True),
        ("timestamp_s", "timestamp_ns", True),
        ("float32", "float64", False),
        ("timestamp", "timestamptz", False),
        ("date", "timestamptz", False),
        ("boolean", "int32", False),
        ("int32", "json", False),
    ],
)
def test_a_range_survives_a_new_type_only_where_its_text_means_the_same(before: str, after: str, keeps: bool) -> None:
    assert keeps_range(parse_leaf(before), parse_leaf(after)) is keeps
