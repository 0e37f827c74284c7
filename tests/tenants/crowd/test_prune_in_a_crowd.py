"""Files that are left out, in one of many catalogs, while another one is changed all the time."""

from __future__ import annotations

import tests.catalog.test_prune as suite
from tests.tenants.crowd.conftest import suite_of

globals().update(suite_of(suite))
