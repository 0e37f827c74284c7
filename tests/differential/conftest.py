"""Lives are lived once per run and kind of catalog."""

from __future__ import annotations

import pytest

from tests.differential.living import Lives
from tests.lakes import Place


@pytest.fixture(scope="session")
def lives(tmp_path_factory: pytest.TempPathFactory) -> Lives:
    """Lakes that have lived a life."""
    return Lives(tmp_path_factory.mktemp("lives"), Place.in_folder)
