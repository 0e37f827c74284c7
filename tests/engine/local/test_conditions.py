"""Simple predicates: Polars finds the rows that DuckDB finds, and leaves to DuckDB what is not simple."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import quacklake as ql
from quacklake.engine.local.conditions import simple_condition
from tests.engine.local.hands import FILES_ONLY, make, opened, read, texts

STEPS = (
    FILES_ONLY,
    "CALL $lake.set_option('parquet_row_group_size', 2048)",
    """CREATE TABLE t (k BIGINT, i1 TINYINT, i4 INTEGER, d DATE, ts TIMESTAMP, tz TIMESTAMPTZ, f DOUBLE, s VARCHAR,
    u UTINYINT, tms TIMESTAMP_MS)""",
    """INSERT INTO t SELECT i, CASE WHEN i % 7 > 0 THEN i % 250 - 125 END, CASE WHEN i % 5 > 0 THEN i * 3 END,
    CASE WHEN i % 3 > 0 THEN DATE '2023-12-31' + (i % 900)::INTEGER END,
    CASE WHEN i % 4 > 0 THEN TIMESTAMP '2024-01-01' + to_minutes(i) END,
    CASE WHEN i % 6 > 0 THEN TIMESTAMPTZ '2024-01-01 00:00:00+00' + to_seconds(i * 7) END,
    CASE WHEN i % 9 > 0 THEN i ELSE 'nan'::DOUBLE END, 's' || i, i % 256, TIMESTAMP_MS '2024-01-01'
    FROM range(9000) r(i)""",
    "INSERT INTO t VALUES (9001, NULL, NULL, 'infinity', 'infinity', '-infinity', NULL, NULL, NULL, 'infinity')",
    "INSERT INTO t SELECT i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM range(10000, 10100) r(i)",
    "DELETE FROM t WHERE k % 11 = 0",
    "UPDATE t SET i4 = -1 WHERE k % 500 = 3",
    "ALTER TABLE t RENAME COLUMN i4 TO renamed",
    "ALTER TABLE t ADD COLUMN later INTEGER DEFAULT 5",
)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ql.Session]:
    place = make(tmp_path_factory.mktemp("lake"), STEPS)
    with opened(place) as session:
        yield session


SIMPLE = (
    "k = 5000",
    "k <> 5000",
    "5000 < k",
    "renamed = -1",
    "i1 >= -125 AND i1 < -120",
    "k IN (1, 2, 3, 11, 9001, -5)",
    "i1 = 127 OR i1 IS NULL",
    "renamed IS NOT NULL AND k > 8990",
    "k BETWEEN 2040 AND 2060",
    "d = DATE '2024-02-29'",
    "d > '2026-01-01'",
    "ts >= TIMESTAMP '2024-01-03 10:00:00' AND ts < TIMESTAMP '2024-01-03 12:30:30.5'",
    "ts > TIMESTAMP '9999-12-31 23:59:59.999999'",
    "tz < TIMESTAMP '2024-01-01 00:10:00'",
    "tz >= TIMESTAMP '2024-01-01 01:00:00+01:00' AND k < 30",
    "k >= 10000",
    "k < -1",
)
NOT_SIMPLE = (
    "f > 8990",
    "s = 's77'",
    "u = 200",
    "tms > '2024-06-01'",
    "i1 = 300",
    "k = 9223372036854775808",
    "renamed > 2.5",
    "k + 1 = 10",
    "NOT (k = 5)",
    "k IN (1, NULL)",
    "d < TIMESTAMP '2024-01-01 12:00:00'",
    "true",
)


@pytest.mark.parametrize("where", SIMPLE)
def test_polars_finds_what_duckdb_finds(session: ql.Session, where: str) -> None:
    scans: tuple[dict[str, Any], ...] = (
        {"row_ids": True},
        {"columns": ["s"]},
        {"columns": ["later", "renamed"], "row_ids": True},
    )
    for scan in scans:
        plan = session.table("t").scan(where=where, **scan).plan()
        assert texts(read(plan, "polars")) == texts(read(plan, "duckdb"))


@pytest.mark.parametrize("where", NOT_SIMPLE)
def test_what_is_not_simple_is_left_to_duckdb(session: ql.Session, where: str) -> None:
    plan = session.table("t").scan(where=where, columns=["k"]).plan()
    assert simple_condition(plan) is None
    assert read(plan).sort_by("k").equals(read(plan, "duckdb").sort_by("k"))


def test_a_column_that_the_files_do_not_have_is_left_to_duckdb(session: ql.Session) -> None:
    plan = session.table("t").scan(where="later = 5 AND k < 10").plan()
    assert simple_condition(plan) is not None
    with pytest.raises(ql.UnsupportedError, match="do not have"):
        read(plan, "polars")
    assert read(plan).num_rows == 9


def test_random_conditions_find_the_same_rows(session: ql.Session) -> None:
    chance = random.Random(7)

    def test() -> str:
        choices: dict[str, Callable[[], str]] = {
            "k": lambda: str(chance.randrange(-10, 10200)),
            "i1": lambda: str(chance.randrange(-128, 128)),
            "renamed": lambda: str(chance.randrange(-5, 28000)),
            "d": lambda: f"DATE '{chance.randrange(2023, 2028)}-0{chance.randrange(1, 10)}-15'",
            "ts": lambda: f"TIMESTAMP '2024-01-0{chance.randrange(1, 8)} 0{chance.randrange(10)}:00:00'",
            "tz": lambda: f"TIMESTAMP '2024-01-01 {chance.randrange(10, 18)}:30:00'",
        }
        column, value = chance.choice(list(choices.items()))
        if chance.random() < 0.15:
            return f"{column} IS {chance.choice(['', 'NOT '])}NULL"
        if chance.random() < 0.15:
            return f"{column} IN ({value()}, {value()}, {value()})"
        return f"{column} {chance.choice(['=', '<>', '<', '<=', '>', '>='])} {value()}"

    for _ in range(40):
        where = test()
        for _ in range(chance.randrange(3)):
            where = f"({where}) {chance.choice(['AND', 'OR'])} ({test()})"
        plan = session.table("t").scan(where=where, columns=["k"], row_ids=True).plan()
        found = [read(plan, hand).sort_by("rowid") for hand in ("polars", "duckdb")]
        assert found[0].equals(found[1]), where
