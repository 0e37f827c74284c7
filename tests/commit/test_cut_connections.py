"""A connection to a database server breaks while a writer commits: all or nothing, and the answer is true."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from urllib.parse import urlsplit, urlunsplit

import numpy as np
import pyarrow as pa
import pytest

import quacklake as ql
from quacklake.catalog.backends.server import ENDED
from tests.lakes import Place

pytestmark = pytest.mark.server

# A transaction also begins with the word, in READ COMMITTED.
END = re.compile(rb"COMMIT(?!TED)")


class Wire:
    """Stands between a client and a server, and breaks when the client says a word for the n-th time.

    Args:
        port: Where the server listens.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.breaks_at: int | None = None
        """How many words from now; None for never."""
        self.lets_through = True
        """Whether the server still hears the word; the client hears nothing in any case."""
        self.broken = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._port))
                threading.Thread(target=self._pass_on, args=(client, server, True), daemon=True).start()
                threading.Thread(target=self._pass_on, args=(server, client, False), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, is_client: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if is_client and self._is_due(data):
                    self.broken += 1
                    if self.lets_through:
                        source.shutdown(socket.SHUT_RDWR)
                        target.sendall(data)
                        # Until the server has done it.
                        time.sleep(0.2)
                    break
                target.sendall(data)
        for each in (source, target):
            # The thread of the other direction still waits for data: only this ends its wait.
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _is_due(self, data: bytes) -> bool:
        if self.breaks_at is None or not END.search(data):
            return False
        self.breaks_at -= 1
        if self.breaks_at:
            return False
        self.breaks_at = None
        return True


@contextmanager
def behind_a_wire(place: Place) -> Iterator[tuple[Wire, str]]:
    """A wire to the server of a place, and the URL that goes through it."""
    parts = urlsplit(place.url)
    assert parts.port is not None
    with closing(Wire(parts.port)) as wire:
        address = parts.netloc.replace(f":{parts.port}", f":{wire.port}")
        yield wire, urlunsplit(parts._replace(netloc=address))


def rows(start: int) -> pa.Table:
    return pa.table({"id": pa.array(range(start, start + 20), pa.int64())})


def ids(session: ql.Session) -> list[int]:
    found: list[int] = np.sort(session.table("t").to_arrow()["id"].to_numpy()).tolist()
    return found


@pytest.fixture(params=["postgresql", "mysql"])
def place(request: pytest.FixtureRequest, new_place: Callable[[str], Place]) -> Place:
    made = new_place(request.param)
    with ql.connect(made.url, made.data_path, engine="local") as session:
        session.create_table("t", "id BIGINT")
        session.table("t").append(rows(0))
    return made


@pytest.mark.parametrize("inline_rows", [0, 100], ids=["in a file", "in the catalog"])
@pytest.mark.parametrize("lets_through", [True, False], ids=["after the server heard it", "before the server heard it"])
def test_an_append_is_there_once_when_the_connection_breaks_at_its_commit(
    place: Place, lets_through: bool, inline_rows: int
) -> None:
    with behind_a_wire(place) as (wire, url), ql.connect(url, engine="local", inline_rows=inline_rows) as session:
        table = session.table("t")
        table.append(rows(20))
        before = session.current_snapshot
        wire.lets_through, wire.breaks_at = lets_through, 1
        if place.kind == "mysql" and inline_rows and lets_through:
            # Rows in the catalog look like anybody's, and MySQL's clock has whole seconds.
            with pytest.raises(ql.CatalogError, match="nobody can tell"):
                table.append(rows(40))
        else:
            assert table.append(rows(40)).snapshot_id == before + 1
        assert wire.broken == 1
    with ql.connect(place.url, engine="local") as session:
        assert session.current_snapshot == before + 1
        assert ids(session) == list(range(60))
        assert not session.check()


@pytest.mark.parametrize("lets_through", [True, False], ids=["after the server heard it", "before the server heard it"])
@pytest.mark.parametrize("reads", range(4))
def test_a_delete_happens_once_or_says_that_it_did_not(place: Place, reads: int, lets_through: bool) -> None:
    # What a delete reads ends with a COMMIT too, so the connection breaks at a read or at the commit itself.
    with behind_a_wire(place) as (wire, url), ql.connect(url, engine="local", inline_rows=0) as session:
        table = session.table("t")
        table.delete("id = 0")
        before = session.current_snapshot
        wire.lets_through, wire.breaks_at = lets_through, reads + 1
        try:
            table.delete("id = 1")
            deleted = True
        except ql.CatalogError:
            deleted = False
    with ql.connect(place.url, engine="local") as session:
        assert ids(session) == list(range(1 + deleted, 20))
        assert session.current_snapshot == before + deleted
        assert not session.check()


def test_a_note_that_an_interrupt_left_behind_loses_no_commit(place: Place) -> None:
    with ql.connect(place.url, engine="local") as session:
        backend, tables = session._catalog.backend, session._catalog.tables
        with backend.glance() as connection:
            connection.info[ENDED] = True
        with backend.write() as connection:
            connection.execute(tables.metadata.insert(), {"key": "kept", "value": "yes"})
    with ql.connect(place.url, engine="local") as session:
        assert ("kept", "yes") in {(option.name, option.value) for option in session._catalog.options()}
