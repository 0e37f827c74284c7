"""A catalog database that fails when it is told to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

import sqlalchemy as sa

import quacklake as ql
from quacklake.catalog.backends.protocol import Backend, Failure, Question

Moment = Literal["before", "after"]


class Injected(sa.exc.OperationalError):
    """The failure that was asked for."""

    def __init__(self, failure: Failure) -> None:
        super().__init__("injected", None, RuntimeError(f"injected: {failure}"))
        self.failure = failure


class FaultyBackend:
    """Passes everything on to a real database, and fails once at a chosen statement of a write, or at its commit.

    Args:
        inner: The real one.
        failure: What the error is taken for.
        statement: Which statement of a write fails, counted from 1; 0 for none.
        moment: Before or after the database has done it.
        times: How often.
    """

    def __init__(
        self, inner: Backend, failure: Failure, statement: int = 0, moment: Moment = "before", times: int = 1
    ) -> None:
        self.inner = inner
        self.failure: Failure = failure
        self.statement = statement
        self.moment: Moment = moment
        self.left = times
        self.at_commit: Moment | None = None
        self.seen: list[str] = []
        self.on_failure: Callable[[], object] = lambda: None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def classify(self, error: BaseException) -> Failure:
        return error.failure if isinstance(error, Injected) else self.inner.classify(error)

    @contextmanager
    def write(self, first: sa.Executable | None = None, question: Question | None = None) -> Iterator[sa.Connection]:
        with self.inner.write(first, question) as connection:
            self.seen.clear()
            sa.event.listen(connection, "before_cursor_execute", self._before)
            sa.event.listen(connection, "after_cursor_execute", self._after)
            try:
                yield connection
            finally:
                sa.event.remove(connection, "before_cursor_execute", self._before)
                sa.event.remove(connection, "after_cursor_execute", self._after)
            if self.at_commit == "before":
                self._fail()
        if self.at_commit == "after":
            self._fail()

    def _before(self, *arguments: Any) -> None:
        self.seen.append(arguments[2])
        if self.moment == "before" and len(self.seen) == self.statement:
            self._fail()

    def _after(self, *arguments: Any) -> None:
        if self.moment == "after" and len(self.seen) == self.statement:
            self._fail()

    def _fail(self) -> None:
        if self.left > 0:
            self.left -= 1
            self.on_failure()
            raise Injected(self.failure)


def make_faulty(session: ql.Session, failure: Failure, **settings: Any) -> FaultyBackend:
    """Let the catalog of a session fail."""
    faulty = FaultyBackend(session._catalog.backend, failure, **settings)
    session._catalog = replace(session._catalog, backend=faulty)
    return faulty
