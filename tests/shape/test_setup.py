"""The setup script finds out what is missing, and says so before it does anything."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.shape.sources import ROOT

SCRIPT = ROOT / "tools" / "setup_system.sh"
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def bare(tmp_path: Path) -> Run:
    """Run the script where only a shell and its most common tools are installed."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "env", "sed", "head", "mkdir", "id", "dirname", "cat"):
        found = shutil.which(name)
        assert found is not None
        (programs / name).symlink_to(found)

    def run(*args: str, fakes: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        for name, body in (fakes or {}).items():
            (programs / name).write_text(f"#!/bin/sh\n{body}\n")
            (programs / name).chmod(0o755)
        nothing = {"POSTGRES_HOME": str(tmp_path), "MARIADB_HOME": str(tmp_path)}
        return subprocess.run(
            [str(SCRIPT), *args], env={"PATH": str(programs), **nothing}, capture_output=True, text=True, check=False
        )

    return run


JAVA_17 = "echo 'openjdk version \"17.0.15\" 2025-04-15' >&2"
JAVA_11 = "echo 'openjdk version \"11.0.2\" 2019-01-15' >&2"
ALL = {"java": JAVA_17, "initdb": "", "mariadbd": ""}


def test_a_bare_machine_misses_java_and_both_databases(bare: Run) -> None:
    found = bare("--dry-run")
    assert (found.returncode, found.stdout) == (
        0,
        "would install: openjdk-17-jre-headless postgresql mariadb-server\n",
    )


def test_nothing_is_said_when_nothing_is_missing(bare: Run) -> None:
    found = bare(fakes=ALL)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


def test_an_old_java_does_not_count(bare: Run) -> None:
    found = bare("--dry-run", fakes={**ALL, "java": JAVA_11})
    assert found.stdout == "would install: openjdk-17-jre-headless\n"


def test_without_root_one_line_says_what_to_install(bare: Run) -> None:
    found = bare(fakes={"id": "echo 1000", "apt-get": "exit 9"})
    assert found.returncode == 3
    assert found.stderr.count("\n") == 1
    assert "sudo apt-get install openjdk-17-jre-headless postgresql mariadb-server" in found.stderr


def test_what_nothing_works_without_is_not_called_skipped(bare: Run) -> None:
    found = bare("--only", "python3.11-venv", fakes={"id": "echo 1000"})
    assert (found.returncode, found.stderr) == (
        3,
        "Missing: python3.11-venv. On Debian: sudo apt-get install python3.11-venv.\n",
    )


def test_as_root_the_missing_packages_are_installed(bare: Run, tmp_path: Path) -> None:
    log = tmp_path / "log"
    found = bare(fakes={**ALL, "java": "exit 1", "id": "echo 0", "apt-get": f'echo "$@" >> {log}'})
    assert found.returncode == 0
    assert log.read_text().splitlines() == [
        "update -qq",
        "install -qq --yes --no-install-recommends openjdk-17-jre-headless",
    ]


def test_a_failed_installation_fails_the_setup(bare: Run) -> None:
    assert bare(fakes={"id": "echo 0", "apt-get": "exit 100"}).returncode == 100
