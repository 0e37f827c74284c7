"""The Spark session that plans run in."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from quacklake.engine.spark.java import require_java
from quacklake.engine.spark.settings import own_settings
from quacklake.errors import InvalidInputError, MissingExtraError, UnsupportedError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STRICT = {"spark.sql.ansi.enabled": "true", "spark.sql.parser.escapedStringLiterals": "false"}
"""Else numbers that are too large turn into others, bad texts into NULL, and a backslash is a letter like any other."""
_PACKAGES = "spark.jars.packages"


def find_session(places: Sequence[str] = ()) -> SparkSession:
    """The active session; where there is none, a new one, with what Spark is told already and else settings of ours.

    A session that was started here stays when the engine is closed, as sessions of Spark do: DataFrames live on it.

    Args:
        places: Where files are: a session that is started brings what opens them.

    Raises:
        MissingExtraError: When PySpark or Java is missing or too old, or what opens the stores cannot be had.
    """
    try:
        active = _active()
    except ImportError as error:
        raise MissingExtraError.for_extra("pyspark", "spark") from error
    if active is not None:
        return active
    if not _is_remote():
        require_java()
    started = _start(places)
    _use_this_python(started)
    return started


def _active() -> SparkSession | None:
    """The session of this thread, or the one that the process has: a builder would change the settings of that one."""
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    try:
        found = SparkSession.active()
    except PySparkRuntimeError:
        return None
    # One whose context was stopped is remembered, and of no use.
    is_stopped = not is_connect(found) and getattr(found.sparkContext, "_jsc", None) is None
    return None if is_stopped else found


def _start(places: Sequence[str]) -> SparkSession:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    settings = {} if _is_remote() else own_settings(places)
    builder = SparkSession.builder.appName("quacklake")
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except PySparkException as error:
        if _PACKAGES not in settings:
            raise
        raise MissingExtraError(
            f"Spark does not start with the packages {settings[_PACKAGES]}",
            hint="they come from Maven Central; without it, put the jars into a session of your own and pass it",
        ) from error


def is_connect(session: object) -> bool:
    """Whether it is a session of Spark Connect."""
    return type(session).__module__.startswith("pyspark.sql.connect")


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
    if not hasattr(session, "newSession") or is_connect(session):
        loose = next(key for key, value in _STRICT.items() if session.conf.get(key) != value)
        raise UnsupportedError(f"the session has {loose}={session.conf.get(loose)}", hint=f"set it to {_STRICT[loose]}")
    beside = session.newSession()
    for key, value in session.conf.getAll.items():
        if session.conf.isModifiable(key):
            beside.conf.set(key, value)
    for key, value in _STRICT.items():
        beside.conf.set(key, value)
    return beside


@contextmanager
def keeping_active(session: SparkSession) -> Iterator[None]:
    """Leave the active session as it was: whichever makes a frame of rows takes that place, and stays there.

    Spark looks up formats by their names in the active session, where one beside the user's knows none of the user's.

    Args:
        session: The user's, which is active afterwards when none was before.
    """
    from pyspark.sql import SparkSession

    if is_connect(session):
        yield
        return
    before = SparkSession.getActiveSession() or session
    try:
        yield
    finally:
        # There is none when Spark was stopped meanwhile.
        if SparkSession.getActiveSession() not in (None, before):
            # There is no other public way to make a session active.
            before.createDataFrame([], "a INT")


def _is_remote() -> bool:
    return bool(os.environ.get("SPARK_REMOTE") or os.environ.get("SPARK_CONNECT_MODE_ENABLED"))


def _use_this_python(session: SparkSession) -> None:
    """Let tasks on this machine run in this Python, which has what they need; Spark takes the first on the path."""
    if _is_remote() or "PYSPARK_PYTHON" in os.environ:
        return
    context = session.sparkContext
    if str(context.master).startswith("local"):
        context.pythonExec = sys.executable
