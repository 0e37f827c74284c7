"""What the README shows first works."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(900)
def test_the_demo_runs_and_shows_what_it_promises(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "demo.py")], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["smew", "5001", "749.9"] in lines
    assert ["smew", "7500", "750.0"] in lines
    assert "at=3: 30,000 rows" in done.stdout
    assert "at=7: 27,501 rows" in done.stdout
    assert "WARN" not in done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []
