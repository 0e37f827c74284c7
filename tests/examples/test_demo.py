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
    assert "snapshot 2: 30,000 inserted, 0 updated, 0 deleted" in done.stdout
    assert "snapshot 3: 900 inserted, 900 updated, 100 deleted" in done.stdout
    assert "snapshot 4: 0 inserted, 2,500 updated, 0 deleted" in done.stdout
    assert ["smew", "8400", "736.1", "2500"] in lines
    assert ["3", "insert", "900", "30001", "30999"] in lines
    assert ["3", "delete", "100", "29000", "29990"] in lines
    assert ["4", "update_postimage", "2500", "11", "29999"] in lines
    assert ["smew", "7500", "750.0"] in lines
    assert ["smew", "8400", "736.1"] in lines
    assert "at=2: 30,000 rows" in done.stdout
    assert "at=4: 30,800 rows" in done.stdout
    assert ["Ada", "2500", "745.8"] in lines
    assert ["nobody", "28300", "741.7"] in lines
    assert "WARN" not in done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []
