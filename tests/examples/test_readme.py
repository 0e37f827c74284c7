"""The programs in the README run as they stand there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)


def run(program: str, folder: Path) -> str:
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_first_example_runs(tmp_path: Path) -> None:
    said = run(BLOCKS[0], tmp_path)
    assert "nightly load" in said
    assert ["0", "3", "24.0"] in [line.split() for line in said.splitlines()]


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(900)
def test_the_example_on_spark_reads_what_the_first_one_wrote(tmp_path: Path) -> None:
    run(BLOCKS[0], tmp_path)
    said = run(BLOCKS[1], tmp_path)
    assert re.findall(r"\|\s*(\w\w)\|\s*(\d)\|", said) in ([("DE", "2"), ("FR", "1")], [("FR", "1"), ("DE", "2")])
