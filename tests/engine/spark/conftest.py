"""One Spark session for all tests of the engine, and lakes that DuckDB's own extension makes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

import quacklake as ql
from tests.differential.comparison import faults
from tests.disks import small_disk as small_disk
from tests.lakes import Answer, Place, answers, attached
from tests.storage.object_store import object_store as object_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from quacklake.session import Session


@pytest.fixture(scope="session")
def spark() -> SparkSession:
    """The session; it stays for whoever else runs in this process."""
    pyspark = pytest.importorskip("pyspark.sql", reason="PySpark is not installed")
    # Tasks run in the Python of the tests, which has what they need.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = pyspark.SparkSession.builder.master("local[2]").appName("tests")
    for key, value in {"ui.enabled": "false", "sql.shuffle.partitions": "2", "ui.showConsoleProgress": "false"}.items():
        builder = builder.config(f"spark.{key}", value)
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


@dataclass(frozen=True, slots=True)
class Lake:
    """A lake, open in quacklake, and what DuckDB says is in it."""

    session: Session
    answers: list[Answer]
    place: Place

    def faults(self) -> list[str]:
        """What Spark reads differently: whole tables at every snapshot, and everything at the newest."""
        newest = max(answer.snapshot_id for answer in self.answers)
        old = [answer for answer in self.answers if answer.snapshot_id < newest and answer.rows]
        found = faults(self.session, "spark", old, only_rows=True)
        return found + faults(self.session, "spark", [each for each in self.answers if each.snapshot_id == newest])


MakeLake = Callable[..., Lake]


@pytest.fixture
def make_lake(tmp_path: Path, spark: SparkSession) -> Iterator[MakeLake]:
    """Runs statements in DuckDB and opens the lake that they make, on the session of the tests."""
    opened: list[Session] = []

    def make(
        *statements: str | Callable[[duckdb.DuckDBPyConnection], None],
        options: str = "",
        inline: int = 0,
        questions: Sequence[tuple[str, str]] = (),
        probes: int = 0,
        spark: SparkSession = spark,
    ) -> Lake:
        place = Place.in_folder("sqlite", tmp_path)
        with attached(place, options) as con:
            con.execute(f"CALL lk.set_option('data_inlining_row_limit', {inline})").fetchall()
            for each in statements:
                if isinstance(each, str):
                    con.execute(each.replace("$files", str(tmp_path))).fetchall()
                else:
                    each(con)
            found = answers(con, questions, probes)
        opened.append(ql.connect(place.url, engine="spark", spark=spark, read_only=True))
        return Lake(opened[-1], found, place)

    yield make
    for session in opened:
        session.close()
