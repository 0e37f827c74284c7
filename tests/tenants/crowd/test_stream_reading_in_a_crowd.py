"""Streams, in one of many catalogs, while another one is changed all the time."""

from __future__ import annotations

import tests.source.test_stream_reading as suite
from tests.source.conftest import lake as lake
from tests.tenants.crowd.conftest import suite_of

globals().update(suite_of(suite))
