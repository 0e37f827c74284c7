"""Fixtures for the tests of writing."""

from tests.storage.object_store import object_store as object_store
