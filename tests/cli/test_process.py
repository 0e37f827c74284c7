"""The command as a process of its own: pipes, exit codes, streams."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("quacklake")
ENVIRONMENT = {key: value for key, value in os.environ.items() if not key.startswith("QUACKLAKE_")}


def start(*args: str, **options: object) -> subprocess.Popen[bytes]:
    # The module is the same program; a checkout that is only on the path has no installed command.
    program = [str(COMMAND)] if COMMAND.exists() else [sys.executable, "-m", "quacklake.cli"]
    return subprocess.Popen([*program, *args], env=ENVIRONMENT, **options)  # type: ignore[call-overload, no-any-return]


def test_the_command_prints_data_to_stdout_and_nothing_to_stderr(lake: str) -> None:
    with start("--lake", lake, "tables", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert b"main.events" in out


def test_a_reader_that_stops_reading_is_no_error_to_speak_of(lake: str) -> None:
    with start("--lake", lake, "scan", "events", "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        err = process.stderr.read()
        assert (process.wait(timeout=60), err) == (141, b"")


def test_an_error_leaves_stdout_empty(lake: str) -> None:
    with start("--lake", lake, "show", "nope", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, b"")
    assert err.startswith(b"Error: ")


@pytest.mark.parametrize(("more", "rows", "noted"), [((), 100, True), (("--limit", "150"), 150, False)])
def test_a_terminal_gets_a_screenful_unless_it_asks_for_more(
    lake: str, more: tuple[str, ...], rows: int, noted: bool
) -> None:
    ours, theirs = pty.openpty()
    args = ("--lake", lake, "scan", "events", "--columns", "country", *more)
    with start(*args, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE) as process:
        os.close(theirs)
        seen = _read_all(ours)
        assert process.stderr is not None
        err = process.stderr.read().decode()
        assert process.wait(timeout=60) == 0
    os.close(ours)
    assert sum(seen.count(country) for country in ("DE", "US", "FR")) == rows
    assert ("--limit" in err) is noted


def test_a_terminal_gets_a_screenful_of_a_query_that_gives_more(lake: str) -> None:
    ours, theirs = pty.openpty()
    query = "SELECT 'QQ' AS q, id FROM range(5000)"
    with start(
        "--lake", lake, "sql", query, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE
    ) as process:
        os.close(theirs)
        seen = _read_all(ours)
        assert process.stderr is not None
        err = process.stderr.read().decode()
        assert process.wait(timeout=60) == 0
    os.close(ours)
    assert seen.count("QQ") == 100
    assert "The first 100 rows" in err


def _read_all(terminal: int) -> str:
    seen = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            # Linux says so when the other side of a terminal is closed.
            return seen.decode()
        if not part:
            return seen.decode()
        seen += part
