"""A disk that is soon full, and rows to fill it with."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest


def noise(rows: int, start: int = 0) -> pa.Table:
    """Rows that no compression makes small."""
    values = pa.array([os.urandom(300) for _ in range(rows)], pa.binary())
    return pa.table({"id": pa.array(range(start, start + rows), pa.int64()), "v": values})


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("only root can make a small disk here")
    yield place
    # Even when a stream that failed is still open.
    subprocess.run(["umount", "--lazy", str(place)], check=True)
