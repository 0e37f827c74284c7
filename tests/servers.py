"""Database servers for tests: on loopback, in a temporary folder, started once and stopped by their process id."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from urllib.parse import quote

USER = "lake_owner"
PASSWORD = "p@ss/w:rd#1%x"
"""Every character that has a meaning in a URL."""
READY_SECONDS = 60.0
_ZONE = "+05:30"
"""Not UTC, so that a time that is read or written in the zone of the server shows."""

_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Server:
    """A running server, and how to get a fresh database in it."""

    kind: str
    """`postgres` or `mysql`, as DuckDB calls them."""
    port: int
    run: Callable[[str], None] = field(repr=False)
    """Run a statement as the administrator."""
    host: str = "127.0.0.1"

    def create_database(self) -> str:
        """Make an empty database; its name."""
        name = f"lake_{os.getpid()}_{next(_numbers)}"
        self.run(f"CREATE DATABASE {name}")
        return name

    def url(self, database: str, user: str = USER, password: str = PASSWORD) -> str:
        """The address in our words."""
        scheme = "postgresql" if self.kind == "postgres" else "mysql"
        return f"{scheme}://{quote(user, safe='')}:{quote(password, safe='')}@{self.host}:{self.port}/{database}"

    def settings(self, database: str, user: str = USER, password: str = PASSWORD) -> str:
        """The address in DuckDB's words, after `postgres:` or `mysql:`."""
        key = "dbname" if self.kind == "postgres" else "database"
        return f"{key}={database} host={self.host} port={self.port} user={user} password={password}"


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def find_postgresql() -> Path | None:
    """The folder of PostgreSQL's programs, the newest where there are several."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    versions = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = max(versions, key=lambda each: float(each.parts[-3]), default=None)
    return newest.parent if newest else None


def find_mariadb() -> tuple[Path, Path] | None:
    """MariaDB's server and the program that makes a data folder for it."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
    server, install = shutil.which("mariadbd", path=path), shutil.which("mariadb-install-db", path=path)
    return (Path(server), Path(install)) if server and install else None


@contextmanager
def running_postgresql(programs: Path) -> Iterator[Server]:
    """A PostgreSQL that is gone when the block ends."""
    import psycopg

    with _folder("postgres") as folder:
        owner = _service_user("postgres")
        secret = folder / "password"
        secret.write_text(PASSWORD)
        if owner is not None:
            shutil.chown(secret, owner)
        data = folder / "data"
        setup: list[str | Path] = [
            programs / "initdb",
            "-D",
            data,
            "-U",
            USER,
            "--pwfile",
            secret,
            "-A",
            "scram-sha-256",
            "-E",
            "UTF8",
        ]
        _check([*setup, "--locale=C", "--no-sync"], owner)
        port = free_port()
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "fsync": "off",
            "synchronous_commit": "off",
            "full_page_writes": "off",
            "shared_buffers": "32MB",
            "max_connections": "60",
            "timezone": "Asia/Kolkata",
        }
        flags = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
        command: list[str | Path] = [programs / "postgres", "-D", data, "-p", str(port), *flags]

        def run(statement: str) -> None:
            with psycopg.connect(
                host="127.0.0.1", port=port, user=USER, password=PASSWORD, dbname="postgres", autocommit=True
            ) as connection:
                connection.execute(statement.encode())

        with _process(command, owner, folder / "log", lambda: run("SELECT 1"), (psycopg.Error,), signal.SIGINT):
            yield Server("postgres", port, run)


@contextmanager
def running_mariadb(server: Path, install: Path, *options: str) -> Iterator[Server]:
    """A MariaDB that is gone when the block ends."""
    import pymysql

    with _folder("mariadb") as folder:
        owner = _service_user("mysql")
        data, address = folder / "data", folder / "socket"
        _check(
            [
                install,
                "--no-defaults",
                f"--datadir={data}",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                # It starts a server, too: see below.
                f"--tmpdir={folder}",
                *([f"--user={owner}"] if owner else []),
            ],
            None,
        )
        port = free_port()
        command: list[str | Path] = [
            server,
            "--no-defaults",
            f"--datadir={data}",
            f"--port={port}",
            f"--socket={address}",
            f"--pid-file={folder / 'pid'}",
            # Servers that start throw away what they find of other servers in a common one.
            f"--tmpdir={folder}",
            "--bind-address=127.0.0.1",
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-buffer-pool-size=32M",
            "--skip-log-bin",
            "--skip-name-resolve",
            f"--default-time-zone={_ZONE}",
            *options,
        ]

        def run(statement: str) -> None:
            with pymysql.connect(unix_socket=str(address), user="root", autocommit=True) as connection:
                connection.cursor().execute(statement)

        def probe() -> None:
            # PyMySQL leaves its socket open when nobody listens.
            with socket.socket(socket.AF_UNIX) as first:
                first.connect(str(address))
            run("SELECT 1")

        with _process(command, owner, folder / "log", probe, (OSError, pymysql.Error), signal.SIGTERM):
            run(f"CREATE USER '{USER}'@'%' IDENTIFIED BY '{PASSWORD}'")
            run(f"GRANT ALL ON *.* TO '{USER}'@'%'")
            yield Server("mysql", port, run)


@contextmanager
def _folder(name: str) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix=f"quacklake-{name}-"))
    owner = _service_user("postgres" if name == "postgres" else "mysql")
    if owner is not None:
        shutil.chown(folder, owner)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _service_user(name: str) -> str | None:
    """Servers refuse to run as root: then they run as the user that their package made."""
    return name if os.geteuid() == 0 else None


def _check(command: Sequence[str | Path], user: str | None) -> None:
    done = subprocess.run([*map(str, command)], user=user, cwd="/", capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed: {done.stdout}\n{done.stderr}")


@contextmanager
def _process(
    command: Sequence[str | Path],
    user: str | None,
    log: Path,
    probe: Callable[[], None],
    not_yet: tuple[type[Exception], ...],
    stop: signal.Signals,
) -> Iterator[None]:
    with log.open("wb") as output:
        process = subprocess.Popen([*map(str, command)], user=user, cwd="/", stdout=output, stderr=output)
    try:
        deadline = time.monotonic() + READY_SECONDS
        while True:
            with suppress(*not_yet):
                probe()
                break
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{command[0]} did not start: {log.read_text()[-2000:]}")
            time.sleep(0.1)
        yield
    finally:
        process.send_signal(stop)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)
