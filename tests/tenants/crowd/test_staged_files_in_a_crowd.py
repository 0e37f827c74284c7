"""Files that an engine hands over, in one of many catalogs, while another one is changed all the time."""

from __future__ import annotations

import tests.commit.test_staged_files as suite
from tests.tenants.crowd.conftest import suite_of

globals().update(suite_of(suite))
