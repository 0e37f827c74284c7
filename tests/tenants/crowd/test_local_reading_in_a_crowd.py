"""What comes out of the local engine, in one of many catalogs, while another one is changed all the time."""

from __future__ import annotations

import tests.engine.local.test_reading as suite
from tests.tenants.crowd.conftest import suite_of

globals().update(suite_of(suite))
