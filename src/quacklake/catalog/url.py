"""Addresses of catalog databases: every form in which one can be written, read into one record.

Nothing here ever repeats a password: not the `display` form, not an error.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from quacklake.errors import InvalidInputError

Kind = Literal["sqlite", "duckdb", "postgresql", "mysql"]

FORMS = "sqlite:///file, duckdb:///file, postgresql://user:password@host/db, mysql://user:password@host/db or a path"
"""What can be written, for the hints of errors."""

_KINDS: Mapping[str, Kind] = {
    "sqlite": "sqlite",
    "duckdb": "duckdb",
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "mysql": "mysql",
    "mariadb": "mysql",
}
_DUCKDB_ENDINGS = (".duckdb", ".ducklake", ".ddb")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9_.-]+)(?:\+[A-Za-z0-9_]+)?:")
# A setting of a connection string of libpq: key = value, the value quoted with ' and escaped with \.
_SETTING = re.compile(r"\s*(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|(?:[^\s'\\]|\\.)*)(?=\s|$)", re.DOTALL)
_SAME_KEY = {"dbname": "database", "db": "database", "passwd": "password", "pwd": "password", "username": "user"}
_SECRET_KEYS = ("password", "sslpassword", "ssl_key_password")


@dataclass(frozen=True, slots=True)
class CatalogUrl:
    """Where a catalog database is and how to get in."""

    kind: Kind
    path: Path | None = None
    """The file, for databases that are one."""
    host: str | None = None
    port: int | None = None
    database: str | None = None
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What else the driver is told, such as `sslmode`."""

    @property
    def display(self) -> str:
        """The address for people, without passwords and options."""
        if self.path is not None:
            return f"{self.kind}:///{self.path}"
        user = f"{self.user}@" if self.user else ""
        return f"{self.kind}://{user}{self.server if self.host else ''}/{self.database or ''}"

    @property
    def server(self) -> str:
        """Host and port, as far as they are given."""
        host = self.host or self.options.get("host") or self.options.get("unix_socket") or "localhost"
        return f"{host}:{self.port}" if self.port else host

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must never be shown."""
        found = (self.password, *(self.options.get(key) for key in _SECRET_KEYS))
        return tuple(each for each in found if each)


def parse_url(text: str) -> CatalogUrl:
    """Read the address of a catalog database.

    Raises:
        InvalidInputError: When it is none; the hint says what to write.
    """
    spelled_by_duckdb = text.lower().startswith("ducklake:")
    rest = text[len("ducklake:") :] if spelled_by_duckdb else text
    if not rest.strip():
        raise InvalidInputError("the address of the catalog is empty", hint=f"write {FORMS}")
    scheme = _SCHEME.match(rest)
    # One letter before a colon is a drive of Windows; the pattern asks for two.
    if scheme is None:
        return _bare(rest, Path(rest).expanduser(), spelled_by_duckdb)
    kind = _KINDS.get(scheme[1].lower())
    if kind is None:
        raise InvalidInputError(f"there is no catalog database called {scheme[1]!r}", hint=f"write {FORMS}")
    place = rest[scheme.end() :]
    if kind in ("sqlite", "duckdb"):
        return CatalogUrl(kind, path=_file(kind, place))
    if place.startswith("//"):
        return _server(kind, place)
    if _SCHEME.match(place):
        # DuckDB's `postgres:` takes a URL as well as settings.
        return parse_url(place)
    return _settings(kind, place)


def kind_of_file(path: Path) -> Kind | None:
    """Which database an existing file is, told by its first bytes; None when it is neither."""
    start = _first_bytes(path)
    if start == b"SQLite format 3\0":
        return "sqlite"
    return "duckdb" if start[8:12] == b"DUCK" else None


def _first_bytes(path: Path) -> bytes:
    """The start of a file, through a descriptor that this process has already if there is one.

    To close a file takes away all locks that the process has on it, those of SQLite and DuckDB among them.
    """
    wanted = path.stat()
    folder = Path("/dev/fd")
    for name in os.listdir(folder) if folder.is_dir() else ():  # noqa: PTH208 - names are all there is to it
        with suppress(OSError, ValueError):
            if os.path.samestat(os.fstat(int(name)), wanted):
                return os.pread(int(name), 16, 0)
    with path.open("rb") as file:
        return file.read(16)


def _bare(text: str, path: Path, spelled_by_duckdb: bool) -> CatalogUrl:
    if "://" in text:
        raise InvalidInputError("the address has no kind of database before ://", hint=f"write {FORMS}")
    if path.is_dir():
        raise InvalidInputError(f"{text!r} is a folder", hint="name the catalog's file, such as lake.db inside it")
    by_name: Kind = "duckdb" if spelled_by_duckdb or path.suffix.lower() in _DUCKDB_ENDINGS else "sqlite"
    if not path.exists() or path.stat().st_size == 0:
        return CatalogUrl(by_name, path=path)
    kind = kind_of_file(path)
    if kind is None:
        raise InvalidInputError(
            f"{text!r} is neither a SQLite nor a DuckDB database", hint="name the file that holds the lake's catalog"
        )
    return CatalogUrl(kind, path=path)


def _file(kind: Kind, place: str) -> Path:
    if place.startswith("//") and not place.startswith("///") and place != "//":
        raise InvalidInputError(
            f"{kind}:{place} names a host, and a {kind} catalog is a file",
            hint=f"write {kind}:///relative/file or {kind}:////absolute/file",
        )
    name = place.removeprefix("///")
    if name in ("", "//", ":memory:"):
        raise InvalidInputError(f"{kind}:{place} names no file", hint=f"write {kind}:///lake.db")
    if "?" in name:
        raise InvalidInputError(
            f"{kind}:{place} has options, and a {kind} catalog takes none",
            hint="leave out what follows the question mark; a file with one in its name can be given as a bare path",
        )
    return Path(name).expanduser()


def _server(kind: Kind, place: str) -> CatalogUrl:
    hint = f"write {kind}://user:password@host:port/database with %40 for @, %2F for / and %23 for # in the password"
    if "#" in place:
        raise InvalidInputError(f"the {kind} URL has a # in it", hint=hint)
    found = _split(f"{kind}:{place}")
    if found is None:
        raise InvalidInputError(f"the {kind} URL has a wrong host, port or option", hint=hint)
    parts, port, options = found
    if "/" in parts.path.removeprefix("/"):
        raise InvalidInputError(f"the {kind} URL has more than one / after the host", hint=hint)
    given = {
        "user": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "host": unquote(parts.hostname or ""),
        "port": "" if port is None else str(port),
        "database": unquote(parts.path.removeprefix("/")),
    }
    return _record(kind, {**options, **{key: value for key, value in given.items() if value}}, hint)


def _split(text: str) -> tuple[SplitResult, int | None, dict[str, str]] | None:
    # The errors of the standard library quote the URL, and with it the password: not even their trace may go on.
    try:
        parts = urlsplit(text)
        return parts, parts.port, dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except ValueError:
        return None


def _settings(kind: Kind, text: str) -> CatalogUrl:
    name = "dbname" if kind == "postgresql" else "db"
    hint = f"write {name}=… host=… user=… password=…, with '…' around values that have spaces"
    found: dict[str, str] = {}
    position = 0
    while text[position:].strip():
        match = _SETTING.match(text, position)
        if match is None:
            raise InvalidInputError(f"the settings after {kind}: are not a list of key=value", hint=hint)
        value = match[2][1:-1] if match[2].startswith("'") else match[2]
        found[match[1].lower()] = re.sub(r"\\(.)", r"\1", value, flags=re.DOTALL)
        position = match.end()
    return _record(kind, found, hint)


def _record(kind: Kind, settings: Mapping[str, str], hint: str) -> CatalogUrl:
    options = {_SAME_KEY.get(key, key): value for key, value in settings.items() if value != ""}
    if kind == "mysql" and "socket" in options:
        options["unix_socket"] = options.pop("socket")
    port = options.pop("port", None)
    if port is not None and not port.isdecimal():
        raise InvalidInputError(f"the port of the {kind} server is not a number", hint=hint)
    return CatalogUrl(
        kind,
        host=options.pop("host", None),
        # MySQL's own tools write 0 for the usual port.
        port=int(port) or None if port is not None else None,
        database=options.pop("database", None),
        user=options.pop("user", None),
        password=options.pop("password", None),
        options=options,
    )


def scrub(text: str, secrets: tuple[str, ...]) -> str:
    """The text without anything secret: drivers quote what they were given."""
    for secret in sorted(secrets, key=len, reverse=True):
        # Whole words only: a password of one letter would blot out every word that has it.
        text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
    text = re.sub(r"(://[^/\s:@]*:)[^\s]*@", r"\1***@", text)
    return re.sub(r"(?i)\b(\w*(?:password|passwd|pwd)\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&]+)", r"\1***", text)
