"""Fixtures for the tests of the local engine."""

from tests.storage.object_store import object_store as object_store
