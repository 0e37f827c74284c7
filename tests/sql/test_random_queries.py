"""Random queries over a lake of many files give what DuckDB gives over plain tables: no condition costs a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import quacklake as ql

A = [(n, None if n % 5 == 0 else n % 7, None if n % 11 == 0 else f"n{n % 4}", n / 2) for n in range(40)]
B = [(n * 2, n % 3, None if n % 6 == 0 else n) for n in range(30)]
COLUMNS = {"a": ("id", "k", "name", "x"), "b": ("bid", "k", "y")}
NUMBERS = {"a": ("id", "k", "x"), "b": ("bid", "k", "y")}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ql.Session]:
    folder: Path = tmp_path_factory.mktemp("random")
    with ql.connect(f"sqlite:///{folder}/catalog.db", engine="local", inline_rows=0) as session:
        a = session.create_table("a", "id BIGINT, k BIGINT, name STRING, x DOUBLE")
        b = session.create_table("b", "bid BIGINT, k BIGINT, y BIGINT")
        for start in range(0, 40, 10):
            ids, ks, names, xs = zip(*A[start : start + 10], strict=True)
            a.append(pa.table({"id": ids, "k": pa.array(ks, pa.int64()), "name": pa.array(names), "x": pa.array(xs)}))
        for start in range(0, 30, 10):
            ids, ks, ys = zip(*B[start : start + 10], strict=True)
            b.append(pa.table({"bid": ids, "k": ks, "y": pa.array(ys, pa.int64())}))
        yield session


@pytest.fixture(scope="module")
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE a(id BIGINT, k BIGINT, name VARCHAR, x DOUBLE)")
        connection.execute("CREATE TABLE b(bid BIGINT, k BIGINT, y BIGINT)")
        connection.executemany("INSERT INTO a VALUES (?, ?, ?, ?)", A)
        connection.executemany("INSERT INTO b VALUES (?, ?, ?)", B)
        yield connection


number = st.integers(-5, 65)


@st.composite
def condition(draw: st.DrawFn, sources: dict[str, str], depth: int = 0) -> str:
    """A condition over tables, by their aliases."""
    alias = draw(st.sampled_from(sorted(sources)))
    column = f"{alias}.{draw(st.sampled_from(NUMBERS[sources[alias]]))}"
    simple = draw(st.integers(0, 9))
    if simple == 0 and depth < 2:
        joint = draw(st.sampled_from(["AND", "OR"]))
        return f"({draw(condition(sources, depth + 1))} {joint} {draw(condition(sources, depth + 1))})"
    if simple == 1 and depth < 2:
        return f"NOT ({draw(condition(sources, depth + 1))})"
    if simple == 2:
        return f"{column} IS {draw(st.sampled_from(['', 'NOT ']))}NULL"
    if simple == 3:
        low = draw(number)
        return f"{column} BETWEEN {low} AND {low + draw(st.integers(-3, 30))}"
    if simple == 4:
        values = ", ".join(draw(st.lists(st.sampled_from(["NULL", "3", "8", "20", "51"]), min_size=1, max_size=3)))
        return f"{column} {draw(st.sampled_from(['', 'NOT ']))}IN ({values})"
    if simple == 5:
        inner = draw(number)
        return f"{column} {draw(st.sampled_from(['', 'NOT ']))}IN (SELECT z.bid FROM b z WHERE z.bid > {inner})"
    if simple == 6:
        return f"{draw(st.sampled_from(['', 'NOT ']))}EXISTS (SELECT 1 FROM a w WHERE w.id = {column} AND w.k < 4)"
    if simple == 7:
        return f"coalesce({column}, {draw(number)}) < {draw(number)}"
    if simple == 8:
        other = draw(st.sampled_from(sorted(sources)))
        return f"{column} {draw(st.sampled_from(['=', '<', '<>']))} {other}.{NUMBERS[sources[other]][0]}"
    sign = draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]))
    return f"{column} {sign} {draw(number)}" if draw(st.booleans()) else f"{draw(number)} {sign} {column}"


@st.composite
def source(draw: st.DrawFn, table: str) -> str:
    """A table, or a query that gives its columns."""
    kind = draw(st.integers(0, 6))
    columns = ", ".join(COLUMNS[table])
    first = COLUMNS[table][0]
    if kind == 0:
        return f"(SELECT {columns} FROM {table} WHERE {first} > {draw(number)})"
    if kind == 1:
        return f"(SELECT * FROM {table} ORDER BY {first} LIMIT {draw(st.integers(0, 30))})"
    if kind == 2:
        return f"(SELECT {columns} FROM {table} WHERE k = 1 UNION ALL SELECT {columns} FROM {table} WHERE k IS NULL)"
    if kind == 3 and table == "b":
        return "(SELECT max(bid) AS bid, k, count(*) AS y FROM b WHERE bid > 9 GROUP BY k HAVING count(*) > 5)"
    if kind == 4 and table == "b":
        return "(SELECT bid, k, row_number() OVER (PARTITION BY k ORDER BY bid) AS y FROM b WHERE bid < 50)"
    return table


@st.composite
def query(draw: st.DrawFn) -> str:
    """A query over one table or two."""
    first, second = draw(st.sampled_from(["a", "b"])), draw(st.sampled_from(["a", "b"]))
    if draw(st.integers(0, 3)) == 0:
        where = draw(condition({"p": first}))
        names = ", ".join(COLUMNS[first]).replace("id", "idd")
        renamed = f" AS p({names.replace('k', 'm').replace('bidd', 'k').replace('idd', 'k')})"
        if draw(st.integers(0, 4)) == 0:
            return f"SELECT * FROM {first}{renamed} WHERE k > {draw(number)} AND m IS NOT NULL"
        return f"SELECT p.* FROM {draw(source(first))} AS p WHERE {where}"
    sources = {"p": first, "q": second}
    join = draw(st.sampled_from(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "USING", ","]))
    keys = {"a": "id", "b": "bid"}
    text = f"{draw(source(first))} AS p"
    equal = f"p.{keys[first]} = q.{keys[second]}"
    if join in ("CROSS JOIN", ","):
        text += f" {join} {draw(source(second))} AS q"
    elif join == "USING":
        text += f" JOIN {draw(source(second))} AS q USING (k)"
    else:
        # DuckDB joins what may be filled up on both sides by equalities only.
        more = f" AND {draw(condition(sources, 2))}" if join in ("JOIN", "LEFT JOIN") and draw(st.booleans()) else ""
        more = more if "SELECT" not in more else ""
        text += f" {join} {draw(source(second))} AS q ON {equal}{more}"
    where = f" WHERE {draw(condition(sources))}" if draw(st.booleans()) else ""
    chosen = f"p.{keys[first]}, q.{keys[second]}, p.k + q.k"
    if draw(st.integers(0, 3)) == 0:
        return f"WITH a AS (SELECT * FROM a WHERE id < 33) SELECT {chosen} FROM {text}{where}"
    return f"SELECT {chosen} FROM {text}{where}"


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(text=query())
def test_a_query_over_files_gives_what_one_over_tables_gives(
    session: ql.Session, plain: duckdb.DuckDBPyConnection, text: str
) -> None:
    def rows(found: Any) -> Counter[tuple[Any, ...]]:
        return Counter(tuple(None if value is None else value for value in row) for row in found)

    assert rows(session.sql(text)) == rows(plain.execute(text).fetchall()), text
