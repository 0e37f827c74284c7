"""What happens when the database is out of reach, refuses the user, or its driver is missing."""

from __future__ import annotations

import logging
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

import pytest
import sqlalchemy as sa

import quacklake as ql
from quacklake.catalog.open import open_backend
from quacklake.catalog.url import parse_url
from tests.lakes import Place
from tests.servers import PASSWORD, USER, Server, find_mariadb, free_port, running_mariadb

pytestmark = pytest.mark.server
BOTH = ["postgresql", "mysql"]
SECRET = "hunter2-hunter2"


def everything_said(error: BaseException) -> str:
    """The error with all that led to it, as a log would show it, hidden contexts included."""
    said, seen, todo = "".join(traceback.format_exception(error)), set(), [error]
    while todo:
        each = todo.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        said += f"{each!s}{each!r}{each.args}{getattr(each, 'hint', '')}"
        todo += [next_ for next_ in (each.__cause__, each.__context__, getattr(each, "orig", None)) if next_]
    return said


def server_of(name: str, request: pytest.FixtureRequest) -> Server:
    server: Server = request.getfixturevalue(f"{name}_server")
    return server


@pytest.mark.parametrize("name", BOTH)
def test_a_wrong_password_is_an_auth_error_that_does_not_repeat_it(name: str, request: pytest.FixtureRequest) -> None:
    server = server_of(name, request)
    with pytest.raises(ql.AuthError, match="refused the user") as caught:
        ql.connect(server.url(server.create_database(), password=SECRET), "data/")
    assert USER in str(caught.value)
    assert f"{server.host}:{server.port}" in str(caught.value)
    assert "password" in str(caught.value.hint)
    assert SECRET not in everything_said(caught.value)


@pytest.mark.parametrize("name", BOTH)
def test_an_unknown_user_is_an_auth_error(name: str, request: pytest.FixtureRequest) -> None:
    server = server_of(name, request)
    with pytest.raises(ql.AuthError):
        ql.connect(server.url(server.create_database(), user="nobody", password=SECRET), "data/")


@pytest.mark.parametrize("name", BOTH)
def test_a_server_that_does_not_answer_is_named_with_the_next_step(name: str) -> None:
    port = free_port()
    with pytest.raises(ql.CatalogError, match=f"127.0.0.1:{port} cannot be reached") as caught:
        ql.connect(f"{name}://me:{SECRET}@127.0.0.1:{port}/lake", "data/")
    assert "host and port" in str(caught.value.hint)
    assert SECRET not in everything_said(caught.value)


@pytest.mark.parametrize("name", BOTH)
def test_a_host_that_does_not_exist_is_named(name: str) -> None:
    with pytest.raises(ql.CatalogError, match=r"at no-such-host\.invalid cannot be reached"):
        ql.connect(f"{name}://me:{SECRET}@no-such-host.invalid/lake", "data/")


@pytest.mark.parametrize("name", BOTH)
def test_a_database_that_does_not_exist_is_named(name: str, request: pytest.FixtureRequest) -> None:
    with pytest.raises(ql.CatalogError, match="there is no database 'nowhere'") as caught:
        ql.connect(server_of(name, request).url("nowhere"), "data/")
    assert "CREATE DATABASE" in str(caught.value.hint)
    assert PASSWORD not in everything_said(caught.value)


@pytest.mark.parametrize("name", BOTH)
def test_a_wrong_option_in_the_url_is_named(name: str, request: pytest.FixtureRequest) -> None:
    server = server_of(name, request)
    with pytest.raises(ql.InvalidInputError, match=r"wrong option.*colour"):
        ql.connect(f"{server.url('x')}?colour=blue", "data/")


def test_a_mysql_url_needs_a_database() -> None:
    with pytest.raises(ql.InvalidInputError, match="names no database"):
        ql.connect("mysql://me@h/", "data/")


@pytest.mark.parametrize("name", BOTH)
def test_a_user_without_rights_is_told_so(
    name: str, new_place: Callable[[str], Place], request: pytest.FixtureRequest
) -> None:
    server, place = server_of(name, request), new_place(name)
    ql.connect(place.url, place.data_path).close()
    database = parse_url(place.url).database
    assert database is not None
    guest = f"guest_{database}"[:32]
    if name == "postgresql":
        server.run(f"CREATE USER {guest} PASSWORD '{SECRET}'")
    else:
        server.run(f"CREATE USER '{guest}'@'%' IDENTIFIED BY '{SECRET}'")
    # PostgreSQL lets everybody in and forbids to read; MySQL does not let them into the database.
    with pytest.raises((ql.CatalogError, ql.AuthError), match=r"forbids it|refused the user") as caught:
        ql.connect(server.url(database, guest, SECRET), create=False)
    assert SECRET not in everything_said(caught.value)


@pytest.mark.parametrize("name", BOTH)
def test_no_password_is_in_the_session_the_backend_or_the_logs(
    name: str, new_place: Callable[[str], Place], caplog: pytest.LogCaptureFixture
) -> None:
    place = new_place(name)
    with caplog.at_level(logging.DEBUG), ql.connect(place.url, place.data_path) as session:
        session.tables()
        shown = f"{session!r}{session._catalog!r}{session._catalog.backend!r}{session._catalog.backend.display}"
    for secret in (PASSWORD, quote(PASSWORD, safe="")):
        assert secret not in shown
        assert secret not in caplog.text


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("way", ["read", "write"])
def test_a_driver_that_quotes_its_connection_string_does_not_give_the_password_away(
    name: str, way: str, new_place: Callable[[str], Place]
) -> None:
    place = new_place(name)
    database = open_backend(parse_url(place.url))

    def quote_everything() -> None:
        try:
            raise ValueError(f"cannot parse {place.url}")
        except ValueError as error:
            raise sa.exc.OperationalError("CONNECT", None, RuntimeError(f"password={PASSWORD} is no good")) from error

    def run() -> None:
        if way == "read":
            with database.read():
                quote_everything()
        try:
            with database.write():
                quote_everything()
        except sa.exc.SQLAlchemyError as error:
            raise database.translate(error) from error

    with pytest.raises(ql.CatalogError) as caught:
        run()
    database.close()
    said = everything_said(caught.value)
    assert PASSWORD not in said
    assert quote(PASSWORD, safe="") not in said


@pytest.mark.parametrize(
    ("url", "module", "line"),
    [
        ("postgresql://u@h/d", "psycopg", "pip install 'quacklake[postgres]'"),
        ("mysql://u@h/d", "pymysql", "pip install 'quacklake[mysql]'"),
    ],
)
def test_a_missing_driver_says_how_to_install_it(url: str, module: str, line: str) -> None:
    program = f"""
import sys
sys.modules[{module!r}] = None
import quacklake as ql
try:
    ql.connect({url!r}, "data/")
except ql.MissingExtraError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert line in done.stdout, done.stderr
    assert module in done.stdout.lower()


@pytest.fixture(scope="module")
def encrypting() -> Iterator[tuple[Server, Path]]:
    """A MariaDB with a certificate that nobody but itself has signed, and that."""
    programs = find_mariadb()
    if programs is None:
        pytest.skip("MariaDB is not installed")
    # The server runs as somebody else, who may not look into the folders of the tests.
    with TemporaryDirectory() as folder:
        certificate, key = Path(folder, "server.pem"), Path(folder, "server.key")
        make = "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=here -addext subjectAltName=IP:127.0.0.1"
        subprocess.run([*make.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
        for path in (Path(folder), certificate, key):
            path.chmod(0o755)
        with running_mariadb(*programs, f"--ssl-cert={certificate}", f"--ssl-key={key}") as server:
            yield server, certificate


@pytest.mark.parametrize(
    ("options", "is_encrypted"),
    [
        ("", True),
        ("?ssl_mode=preferred", True),
        ("?ssl_mode=required", True),
        ("?ssl_mode=verify_ca&ssl_ca={certificate}", True),
        ("?ssl_mode=verify_identity&ssl_ca={certificate}", True),
        ("?ssl_mode=disabled", False),
    ],
)
def test_mysql_is_talked_to_in_secret_where_it_can_be(
    encrypting: tuple[Server, Path], options: str, is_encrypted: bool
) -> None:
    server, certificate = encrypting
    url = server.url(server.create_database()) + options.format(certificate=certificate)
    backend = open_backend(parse_url(url), None)
    with backend.read() as connection:
        _, cipher = connection.exec_driver_sql("SHOW STATUS LIKE 'Ssl_cipher'").one()
    backend.close()
    assert bool(cipher) == is_encrypted


@pytest.mark.parametrize("mode", ["verify_ca", "verify_identity"])
def test_a_server_that_nobody_vouches_for_is_not_talked_to(encrypting: tuple[Server, Path], mode: str) -> None:
    server, _ = encrypting
    with pytest.raises(ql.CatalogError, match="certificate verify failed"):
        ql.connect(f"{server.url(server.create_database())}?ssl_mode={mode}", "data/")


def test_encryption_that_the_server_cannot_is_refused(mysql_server: Server) -> None:
    with pytest.raises(ql.CatalogError, match="SSL is required"):
        ql.connect(f"{mysql_server.url(mysql_server.create_database())}?ssl_mode=required", "data/")
