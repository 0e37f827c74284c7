"""A small lake with several snapshots, and a way to run commands on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from quacklake.cli.app import app
from tests.lakes import Place, attached, run

LIFE = r"""
CREATE TABLE events (id BIGINT NOT NULL, country VARCHAR, amount DECIMAL(10, 2) DEFAULT 1.5);
INSERT INTO events SELECT i, ['DE', 'US', 'FR'][1 + i % 3], i / 4 FROM range(1000) t(i);
INSERT INTO events SELECT i, ['DE', 'US', 'FR'][1 + i % 3], i / 4 FROM range(1000, 2000) t(i);
DELETE FROM events WHERE id < 10;
COMMENT ON TABLE events IS 'what happened';
COMMENT ON COLUMN events.country IS 'two letters';
CREATE SCHEMA other;
CREATE TABLE other.odd ("a b" INTEGER, note VARCHAR);
INSERT INTO other.odd VALUES (1, E'two\nlines'), (2, chr(27) || '[31mred'), (3, '[bold]not bold'), (4, ''), (5, NULL);
CREATE VIEW few AS SELECT * FROM events WHERE id < 20;
CREATE TABLE empty (id INTEGER);
CREATE TABLE parted (day DATE, n INTEGER);
ALTER TABLE parted SET PARTITIONED BY (year(day), n);
ALTER TABLE parted SET SORTED BY (n DESC);
CREATE TABLE every AS SELECT true AS boolean, 1::UTINYINT AS uint8, (2**63)::UBIGINT AS uint64, 2::HUGEINT AS int128,
    3::UHUGEINT AS uint128, 0.1::FLOAT AS float32, 'NaN'::DOUBLE AS float64, 12.50::DECIMAL(9, 2) AS decimal,
    DATE '2026-01-31' AS date, DATE 'infinity' AS forever, TIME '12:00:00' AS time, TIMETZ '12:00:00+01' AS timetz,
    TIMESTAMP '2026-01-31 12:00:00' AS timestamp, TIMESTAMP_NS '2026-01-31 12:00:00.000000001' AS timestamp_ns,
    TIMESTAMPTZ '2026-01-31 12:00:00+01' AS timestamptz, INTERVAL '1 month 2 days' AS interval,
    'ä' AS varchar, '\x00\xFF'::BLOB AS blob, '00010203-0405-0607-0809-0a0b0c0d0e0f'::UUID AS uuid,
    '{"a": 1}'::JSON AS json, [1, NULL] AS list, {'x': [DATE '2026-01-31'], 'y': NULL::INT} AS struct,
    MAP {'k': 1.5} AS map, NULL::INTEGER AS nothing;
CREATE TABLE gone AS SELECT 42 AS n;
DROP TABLE gone"""


class Outcome:
    """What a command did."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    def __repr__(self) -> str:
        return f"exit {self.code}\n--- stdout\n{self.out}--- stderr\n{self.err}"


Run = Callable[..., Outcome]


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of the lake."""
    place = Place.in_folder("sqlite", tmp_path_factory.mktemp("cli"))
    with attached(place, "DATA_INLINING_ROW_LIMIT 0") as con:
        for statement in LIFE.strip().split(";\n"):
            run(con, statement)
    return place.url


@pytest.fixture
def quacklake(lake: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command on the lake."""
    for name in ("QUACKLAKE_LAKE", "QUACKLAKE_ENGINE", "QUACKLAKE_AT", "QUACKLAKE_DEBUG"):
        monkeypatch.delenv(name, raising=False)

    def invoke(*args: str, lake: str | Path | None = lake, env: dict[str, str] | None = None) -> Outcome:
        before = [] if lake is None else ["--lake", str(lake)]
        result = CliRunner().invoke(app, [*before, *args], env=env, catch_exceptions=False)
        return Outcome(result.exit_code, result.stdout, result.stderr)

    return invoke
