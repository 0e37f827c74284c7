"""Fixtures for the tests of writing."""

from tests.disks import small_disk as small_disk
from tests.storage.object_store import object_store as object_store
