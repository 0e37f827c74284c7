"""Whatever DuckDB writes as text is read back, and whatever we write as text DuckDB reads back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quacklake.catalog.duckdb_text import texts
from quacklake.catalog.nested_text import NestedText
from tests.catalog.nested_values import Kind, as_arrow, kinds, list_of

EXAMPLES = settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("SET TimeZone='UTC'")
        yield connection


def different(con: duckdb.DuckDBPyConnection, kind: Kind, values: Any, others: Any) -> list[tuple[Any, ...]]:
    """Pairs that DuckDB takes for different values after a cast to the type."""
    con.register("pairs", pa.table({"v": values, "w": others}))
    value, other = f"CAST(v AS {kind.duckdb})", f"CAST(w AS {kind.duckdb})"
    query = f"SELECT {value}::VARCHAR, {other}::VARCHAR FROM pairs WHERE {value} IS DISTINCT FROM {other}"
    return con.execute(query).fetchall()


def duckdb_texts(con: duckdb.DuckDBPyConnection, kind: Kind, values: Any) -> list[str | None]:
    con.register("written", pa.table({"v": values}))
    return [row[0] for row in con.execute(f"SELECT CAST(CAST(v AS {kind.duckdb}) AS VARCHAR) FROM written").fetchall()]


@EXAMPLES
@given(data=st.data())
def test_the_text_of_duckdbs_cast_is_read_back(con: duckdb.DuckDBPyConnection, data: st.DataObject) -> None:
    # In a list the text of a struct has one meaning; alone it may also be an SQL literal.
    kind = list_of(data.draw(kinds(leaf=True)))
    values = as_arrow(data.draw(st.lists(st.none() | kind.values, min_size=1, max_size=4)), kind.arrow)
    written = duckdb_texts(con, kind, values)
    assert not different(con, kind, values, NestedText(kind.type).read_all(written)), written


@EXAMPLES
@given(data=st.data())
def test_our_text_is_read_back_by_duckdb_and_by_us(con: duckdb.DuckDBPyConnection, data: st.DataObject) -> None:
    kind = data.draw(kinds())
    values = as_arrow(data.draw(st.lists(st.none() | kind.values, min_size=1, max_size=4)), kind.arrow)
    written = texts(values, kind.type)
    assert not different(con, kind, values, pa.array(written, pa.string())), written
    assert not different(con, kind, values, NestedText(kind.type).read_all(written)), written


@EXAMPLES
@given(data=st.data())
def test_a_slice_of_a_column_is_written_like_the_column(data: st.DataObject) -> None:
    kind = data.draw(kinds())
    values = as_arrow(data.draw(st.lists(st.none() | kind.values, min_size=2, max_size=5)), kind.arrow)
    start = data.draw(st.integers(0, len(values) - 1))
    assert texts(values.slice(start), kind.type) == texts(values, kind.type)[start:]
