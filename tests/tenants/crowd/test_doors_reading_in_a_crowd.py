"""Reading through Spark's own doors, in one of many catalogs, while another one is changed all the time."""

from __future__ import annotations

import pytest

import tests.source.test_reading as suite
from tests.engine.spark.conftest import spark as spark
from tests.source.conftest import doors as doors
from tests.source.conftest import lake as lake
from tests.source.conftest import parquet_files as parquet_files
from tests.tenants.crowd.conftest import suite_of

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    # What Spark does is the same whatever the database; `test_spark_in_a_crowd.py` has all of them.
    pytest.mark.parametrize("crowd", ["sqlite"], indirect=True, scope="module"),
]

globals().update(suite_of(suite))
