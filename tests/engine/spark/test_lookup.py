"""Values that differ from file to file are found by the path, for any number of files."""

from __future__ import annotations

import random
import zlib
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from quacklake.engine.spark import lookup
from quacklake.engine.spark.lookup import Lookup

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("count", [2, 3, 10, 500, 20_000])
def test_every_checksum_is_found_in_one_of_its_two_slots(count: int) -> None:
    codes = [zlib.crc32(f"file:/lake/{number}.parquet".encode()) for number in range(count)]
    size, slots = lookup._place(codes)
    assert len(slots) == 2 * size
    assert all(place in (slots[code % size], slots[size + (code // size) % size]) for place, code in enumerate(codes))


@pytest.mark.parametrize("count", [2, 3, 10, 100, 256])
def test_few_checksums_have_a_slot_each(count: int) -> None:
    codes = [zlib.crc32(f"file:/lake/{number}.parquet".encode()) for number in range(count)]
    slots = lookup._place_apart(codes)
    assert [slots[code % len(slots)] for code in codes] == list(range(count))


def test_many_checksums_and_equal_ones_have_no_slot_each() -> None:
    assert not lookup._place_apart(range(257))
    assert not lookup._place_apart([7, 7])


def test_two_files_may_have_one_checksum_and_three_are_looked_for_one_by_one() -> None:
    assert lookup._place([7, 7, 9])[1]
    assert not lookup._place([7, 7, 7])[1]


@pytest.mark.parametrize("count", [1, 2, 40])
@pytest.mark.parametrize("share", [0.001, 0.5])
@pytest.mark.parametrize("slots", ["one", "two", "none"])
def test_values_and_dead_rows_are_those_of_the_file(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, count: int, share: float, slots: str
) -> None:
    if slots != "one":
        monkeypatch.setattr(lookup, "_place_apart", lambda codes: [])
    if slots == "none":
        monkeypatch.setattr(lookup, "_place", lambda codes: (4, []))
    chance = random.Random(count)
    paths = [f"file:/lake/{number}.parquet" for number in range(count)]
    rows = [chance.choice([1, 64, 65, 500]) for _ in paths]
    dead = [np.array(sorted(chance.sample(range(n), int(n * share) or 1)), np.int64) for n in rows]
    found = Lookup(paths, "files", "dead", "path", "row")
    value = found.add(pa.array(range(100, 100 + count), pa.int64()))
    alive = found.add_dead(dead, rows)
    every = pa.table(
        {
            "path": [path for path, n in zip(paths, rows, strict=True) for _ in range(n)],
            "row": pa.array([row for n in rows for row in range(n)], pa.int64()),
        }
    )
    values = spark.createDataFrame(found.table())
    frame = spark.createDataFrame(every).withColumns({name: values.select(name).scalar() for name in values.columns})
    got = {(row[0], row[1]) for row in frame.filter(alive).selectExpr(f"{value} AS v", "row").collect()}
    assert got == {
        (100 + place, row) for place, n in enumerate(rows) for row in range(n) if row not in set(dead[place].tolist())
    }
