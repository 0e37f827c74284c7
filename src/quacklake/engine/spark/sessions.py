"""The Spark session that plans run in."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from quacklake.engine.spark.connectors import packages_for
from quacklake.errors import InvalidInputError, MissingExtraError, UnsupportedError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STRICT = {"spark.sql.ansi.enabled": "true", "spark.sql.parser.escapedStringLiterals": "false"}
"""Else numbers that are too large turn into others, bad texts into NULL, and a backslash is a letter like any other."""
_JAVA_HINT = "apt-get install openjdk-17-jre-headless, or brew install openjdk@17; JAVA_HOME says where it is"


def find_session(places: Sequence[str] = ()) -> SparkSession:
    """The active session; where there is none, a new one, with the settings that Spark finds by itself.

    A session that was started here stays when the engine is closed, as sessions of Spark do: DataFrames live on it.

    Args:
        places: Where files are: a session that is started brings what opens them.

    Raises:
        MissingExtraError: When PySpark or Java is not installed, or what opens the stores cannot be had.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingExtraError.for_extra("pyspark", "spark") from error
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    _require_java()
    started = _start(places)
    _use_this_python(started)
    return started


def _start(places: Sequence[str]) -> SparkSession:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    brought = {} if _is_remote() else packages_for(places)
    builder = SparkSession.builder.appName("quacklake")
    for key, value in brought.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except PySparkException as error:
        if not brought:
            raise
        raise MissingExtraError(
            f"Spark does not start with the packages {brought['spark.jars.packages']}",
            hint="they come from Maven Central; without it, put the jars into a session of your own and pass it",
        ) from error


def check_session(session: object) -> None:
    """Refuse what is no Spark session.

    Raises:
        InvalidInputError: When it is something else.
    """
    # Sessions of Spark Connect are of another class than classic ones, so what it can do counts.
    if not hasattr(session, "createDataFrame") or not hasattr(session, "read"):
        raise InvalidInputError(f"spark={session!r} is no Spark session", hint="pass a SparkSession, or leave it out")


def strict_session(session: SparkSession) -> SparkSession:
    """A session in which expressions mean what they mean for Quacklake, whatever the user's own says.

    It is the session itself when it is strict, and else one beside it, with the same settings but those. What a frame
    of the user's session means stays as it is.

    Raises:
        UnsupportedError: On Spark Connect, which has no sessions beside a session.
    """
    if all(session.conf.get(key) == value for key, value in _STRICT.items()):
        return session
    if not hasattr(session, "newSession") or type(session).__module__.startswith("pyspark.sql.connect"):
        loose = next(key for key, value in _STRICT.items() if session.conf.get(key) != value)
        raise UnsupportedError(f"the session has {loose}={session.conf.get(loose)}", hint=f"set it to {_STRICT[loose]}")
    beside = session.newSession()
    for key, value in session.conf.getAll.items():
        if session.conf.isModifiable(key):
            beside.conf.set(key, value)
    for key, value in _STRICT.items():
        beside.conf.set(key, value)
    return beside


def _is_remote() -> bool:
    return bool(os.environ.get("SPARK_REMOTE") or os.environ.get("SPARK_CONNECT_MODE_ENABLED"))


def _use_this_python(session: SparkSession) -> None:
    """Let tasks on this machine run in this Python, which has what they need; Spark takes the first on the path."""
    if _is_remote() or "PYSPARK_PYTHON" in os.environ:
        return
    context = session.sparkContext
    if str(context.master).startswith("local"):
        context.pythonExec = sys.executable


def _require_java() -> None:
    if _is_remote():
        return  # the server has it
    home = os.environ.get("JAVA_HOME")
    found = (Path(home) / "bin" / "java").exists() if home else shutil.which("java") is not None
    if not found:
        where = f"JAVA_HOME is {home}, and there is no java in it" if home else "there is no java on the path"
        raise MissingExtraError(f"Spark needs Java 17 or newer, and {where}", hint=_JAVA_HINT)
