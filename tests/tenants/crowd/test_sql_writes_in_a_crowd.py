"""Statements that change something, in one of many catalogs, while another one is changed all the time."""

from __future__ import annotations

import tests.sql.test_writes as suite
from tests.engine.spark.conftest import spark as spark
from tests.tenants.crowd.conftest import suite_of

globals().update(suite_of(suite))
