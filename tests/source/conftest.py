"""A Spark session that knows the format, and lakes for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import quacklake as ql
from tests.conftest import Reach
from tests.engine.spark.conftest import spark as spark
from tests.lakes import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from quacklake.session import Session


@pytest.fixture
def doors(spark: SparkSession) -> SparkSession:
    """The session, registered."""
    ql.register(spark)
    # Spark looks up formats in the active session, which another test may have left to one of its own.
    spark.createDataFrame([], "a INT")
    return spark


@pytest.fixture
def lake(tmp_path: Path, reach: Reach) -> Iterator[tuple[dict[str, str], Session]]:
    """A lake in SQLite: the options that open it, and a session of the local engine."""
    place = Place.in_folder("sqlite", tmp_path)
    with ql.connect(place.url, place.data_path, engine="local") as session:
        yield reach(place), session


Files = Callable[[], set[Path]]


@pytest.fixture
def parquet_files(tmp_path: Path) -> Files:
    """Lists every file below the lake's data folder."""

    def found() -> set[Path]:
        return {path for path in (tmp_path / "data").rglob("*") if path.is_file()}

    return found
