"""Maintenance among writers, or killed, in one of many catalogs, while another one is changed all the time."""

from __future__ import annotations

import tests.maintenance.test_maintaining_at_once as suite
from tests.tenants.crowd.conftest import suite_of

globals().update(suite_of(suite))
