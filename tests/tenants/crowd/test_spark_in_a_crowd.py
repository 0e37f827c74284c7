"""What Spark writes, in one of many catalogs, while another one is changed all the time."""

from __future__ import annotations

import pytest

import tests.engine.spark.test_writing as suite
from tests.engine.spark.conftest import spark as spark
from tests.tenants.crowd.conftest import suite_of

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

globals().update(suite_of(suite))
