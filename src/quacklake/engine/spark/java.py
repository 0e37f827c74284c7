"""The Java that Spark runs in: found and judged before Spark fails without it, in words of its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from quacklake.errors import MissingExtraError

OLDEST = 17
_HINT = "apt-get install openjdk-17-jre-headless, or brew install openjdk@17; JAVA_HOME says where it is"
_VERSION = re.compile(r'(?:JAVA_VERSION="|version ")(?:1\.)?(\d+)')
"""As the file beside a Java says it, and as the program itself does. Java 8 calls itself 1.8."""
_PATIENCE = 30.0
"""In seconds."""


def require_java() -> None:
    """Refuse to go on without a Java that Spark can run in.

    Raises:
        MissingExtraError: When there is none, or only one that is too old.
    """
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if found is None or not Path(found).exists():
        where = f"JAVA_HOME is {home}, and there is no java in it" if home else "there is no java on the path"
        raise _refused(where)
    version = _version(Path(found))
    if version is None:
        raise _refused(f"{found} does not say which it is")
    if version < OLDEST:
        raise _refused(f"{found} is Java {version}")


def _version(program: Path) -> int | None:
    """The number of a Java; asked of the program itself only where no file beside it says it, for that takes longer."""
    release = program.resolve().parent.parent / "release"
    found = _VERSION.search(release.read_text(errors="replace")) if release.is_file() else None
    if found is None:
        found = _VERSION.search(_ask(program))
    return int(found[1]) if found is not None else None


def _ask(program: Path) -> str:
    try:
        done = subprocess.run(
            [str(program), "-version"], capture_output=True, text=True, check=False, timeout=_PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stderr + done.stdout


def _refused(reason: str) -> MissingExtraError:
    return MissingExtraError(f"Spark needs Java {OLDEST} or newer, and {reason}", hint=_HINT)
