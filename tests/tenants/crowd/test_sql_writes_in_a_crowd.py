"""Statements that change something, in one of many catalogs, while another one is changed all the time."""

from __future__ import annotations

from pathlib import Path

import pytest

import tests.sql.test_writes as suite
from tests.conftest import WHOLE
from tests.engine.spark.conftest import spark as spark
from tests.tenants.crowd.conftest import suite_of

globals().update(suite_of(suite))

if not WHOLE:

    def test_a_life_in_sql(tmp_path: Path, request: pytest.FixtureRequest) -> None:
        """On the local engine: a life on Spark takes minutes, and asks nothing else of the catalog."""
        suite.test_a_life_in_sql("local", tmp_path, request)
