"""Numbers of 39 digits, which only the largest of DuckDB's types hold, are read right or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import quacklake as ql
from tests.lakes import Place, attached, run

LARGEST, LARGEST_UNSIGNED = 2**127 - 1, 2**128 - 1


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A lake with such numbers in the catalog: in a file, DuckDB itself keeps them as floats."""
    place = Place.in_folder("sqlite", tmp_path)
    with attached(place) as con:
        run(con, "CREATE TABLE t (signed HUGEINT, without UHUGEINT)")
        run(con, f"INSERT INTO t VALUES ({LARGEST}, {LARGEST_UNSIGNED})")
    return place.url


def test_the_local_engine_reads_the_unsigned_one_and_refuses_the_other(url: str) -> None:
    with ql.connect(url, engine="local", read_only=True) as session:
        table = session.table("t")
        assert table.to_arrow(columns=["without"]).to_pydict() == {"without": [str(LARGEST_UNSIGNED)]}
        with pytest.raises(ql.QuacklakeError, match="170141183460469231731687303715884105727"):
            table.to_arrow(columns=["signed"])


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("column", ["signed", "without"])
def test_spark_refuses_both(url: str, column: str) -> None:
    with (
        ql.connect(url, engine="spark", read_only=True) as session,
        pytest.raises(ql.QuacklakeError, match=str(LARGEST if column == "signed" else LARGEST_UNSIGNED)),
    ):
        session.table("t").to_spark(columns=[column]).toArrow()
