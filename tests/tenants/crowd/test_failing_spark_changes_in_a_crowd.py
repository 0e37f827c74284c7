"""Changes on Spark that break, in one of many catalogs, while another one is changed all the time."""

from __future__ import annotations

import pytest

import tests.engine.spark.test_failing_changes as suite
from tests.disks import small_disk as small_disk
from tests.engine.spark.conftest import spark as spark
from tests.tenants.crowd.conftest import only_in, suite_of

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600), only_in("sqlite")]

globals().update(suite_of(suite))
