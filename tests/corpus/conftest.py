"""The corpus is unpacked once per run, into a folder that goes away."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.corpus.lakes import ARCHIVE, unpack


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with one folder per lake."""
    if not ARCHIVE.exists():
        pytest.skip("there is no corpus beside the repository")
    return unpack(tmp_path_factory.mktemp("corpus"))
