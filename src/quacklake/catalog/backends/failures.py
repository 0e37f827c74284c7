"""What every backend does with an error of its driver."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import sqlalchemy as sa

from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.url import scrub
from quacklake.errors import QuacklakeError

T = TypeVar("T")
_ATTEMPTS = 10


def driver_error(error: BaseException) -> BaseException:
    """The error of the driver itself, without SQLAlchemy's wrapping."""
    return error.orig if isinstance(error, sa.exc.DBAPIError) and error.orig is not None else error


def first_line(error: BaseException) -> str:
    """The words of a driver's error, as far as one line goes."""
    cause = driver_error(error)
    # PyMySQL puts a number first, and the words second.
    words = cause.args[1] if len(cause.args) > 1 and isinstance(cause.args[1], str) else str(cause)
    lines = words.strip().splitlines()
    return lines[0].strip() if lines else type(cause).__name__


@contextmanager
def translated(backend: Backend) -> Iterator[None]:
    """Let errors of the database out as errors of our own tree."""
    try:
        yield
    except sa.exc.SQLAlchemyError as error:
        raise backend.translate(error) from error


def insist(backend: Backend, work: Callable[[], T], *, may_repeat: bool = False) -> T:
    """Do something that changes the database, and again when others were quicker.

    Args:
        backend: The database.
        work: Leaves nothing behind when it fails.
        may_repeat: Twice is no harm, so it is done again as well when the connection broke before the answer came.
    """
    passing = {"serialization", "deadlock", "locked", *(("lost",) if may_repeat else ())}
    for attempt in range(_ATTEMPTS):
        try:
            with translated(backend):
                return work()
        except QuacklakeError as error:
            cause = error.__cause__
            is_passing = cause is not None and backend.classify(cause) in passing
            if attempt == _ATTEMPTS - 1 or not is_passing:
                raise
            time.sleep(random.uniform(0, 0.02 * 2**attempt))
    raise AssertionError("every attempt returns or raises")


def scrub_chain(error: BaseException | None, secrets: tuple[str, ...]) -> None:
    """Take secrets out of an error and of all that led to it: drivers quote what they were given."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        error.args = tuple(scrub(each, secrets) if isinstance(each, str) else each for each in error.args)
        cause = getattr(error, "orig", None)
        if isinstance(cause, BaseException):
            scrub_chain(cause, secrets)
        error = error.__cause__ or error.__context__
