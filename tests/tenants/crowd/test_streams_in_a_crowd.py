"""Streams of Spark, in one of many catalogs, while another one is changed all the time."""

from __future__ import annotations

import pytest

import tests.source.test_streams as suite
from tests.conftest import WHOLE
from tests.engine.spark.conftest import spark as spark
from tests.source.conftest import doors as doors
from tests.source.conftest import lake as lake
from tests.tenants.crowd.conftest import only_in, suite_of

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600), only_in("sqlite")]

LONG = "test_a_query_that_is_killed_goes_on_and_writes_every_row_once"

globals().update({name: test for name, test in suite_of(suite).items() if WHOLE or name != LONG})
