"""Predicates on columns whose types Spark has not."""

from __future__ import annotations

import pytest

import quacklake as ql
from tests.engine.spark.conftest import MakeLake

pytestmark = pytest.mark.spark

TABLE = (
    "CREATE TABLE v (n INTEGER, ns TIMESTAMP_NS, t TIME, iv INTERVAL, u UUID, s STRUCT(t TIME), u64 UBIGINT)",
    "INSERT INTO v VALUES "
    "(1, '2024-01-01 00:00:00', '10:00:00', INTERVAL '1 day', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', "
    "{'t': '10:00:00'}, 5), "
    "(2, '2024-01-01 00:00:00.000000001', NULL, NULL, NULL, NULL, 18446744073709551615), "
    "(3, '2024-01-01 00:00:00.5', '09:00:00', INTERVAL '1 month', NULL, NULL, NULL), "
    "(4, '1960-01-01 00:00:00', NULL, NULL, NULL, NULL, NULL), (5, NULL, NULL, NULL, NULL, NULL, NULL)",
)


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("ns = TIMESTAMP '2024-01-01 00:00:00'", [1]),
        ("ns > TIMESTAMP '2024-01-01 00:00:00'", [2, 3]),
        ("TIMESTAMP '2024-01-01 00:00:00.500' >= ns", [1, 2, 3, 4]),
        ("ns IN (TIMESTAMP '2024-01-01 00:00:00.5', TIMESTAMP '1960-01-01')", [3, 4]),
        ("NOT (ns > TIMESTAMP '2024-01-01 00:00:00')", [1, 4]),
        ("ns IS NULL", [5]),
        ("t IS NOT NULL AND iv IS NOT NULL", [1, 3]),
        ("u = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", [1]),
        ("u64 > 6", [2]),
        ("s.t IS NOT NULL", [1]),
    ],
)
def test_what_can_be_judged_is_judged_by_value(make_lake: MakeLake, where: str, rows: list[int]) -> None:
    table = make_lake(*TABLE).session.table("v")
    assert sorted(row.n for row in table.to_spark(["n"], where=where).collect()) == rows
    assert table.scan(where=where).count() == len(rows)


@pytest.mark.parametrize(
    "where", ["t > '09:30:00'", "iv = '1 day'", "s.t = '10:00:00'", "ns = '2024-01-01'", "length(t) > 2"]
)
def test_what_would_judge_the_text_is_refused_by_name(make_lake: MakeLake, where: str) -> None:
    table = make_lake(*TABLE).session.table("v")
    with pytest.raises(ql.UnsupportedError, match="Spark has no type for"):
        table.to_spark(where=where)
