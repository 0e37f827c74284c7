"""Spark's own doors to one of many catalogs, while another one is changed all the time."""

from __future__ import annotations

import pytest

import tests.source.test_reading as reading
import tests.source.test_writing as writing
from tests.conftest import WHOLE
from tests.engine.spark.conftest import spark as spark
from tests.source.conftest import doors as doors
from tests.source.conftest import lake as lake
from tests.source.conftest import parquet_files as parquet_files
from tests.tenants.crowd.conftest import suite_of

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    # One of its tests names a database that is not there, which a server tells in other words.
    pytest.mark.parametrize("crowd", ["sqlite"], indirect=True, scope="module"),
]
OF_SPARK = {
    "test_filters_lose_no_row_and_let_none_through",
    "test_where_gives_what_spark_gives",
    "test_a_task_that_is_tried_again_writes_its_rows_once",
}
"""What Spark makes of predicates and of tasks that fail; it takes minutes, and the catalog has no part in it."""

globals().update(
    {
        name: test
        for suite in (reading, writing)
        for name, test in suite_of(suite).items()
        if WHOLE or name not in OF_SPARK
    }
)
