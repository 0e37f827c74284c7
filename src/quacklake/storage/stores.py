"""Where the files of a lake are: this disk and object stores, behind one door."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quacklake.errors import AuthError, InvalidInputError, MissingExtraError, StorageError
from quacklake.secrets.keyring import Keyring, keyring_of
from quacklake.secrets.obstore_config import ObstoreConfig, obstore_config, polars_options
from quacklake.secrets.secret import Settings
from quacklake.storage.paths import is_url

if TYPE_CHECKING:
    import duckdb
    from obstore.store import ObjectStore

# What DuckDB, Spark and others call the same store.
_SCHEMES = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "azure": "az"}


class Stores:
    """Opens files by path or URL. Credentials come from secrets, else from the environment.

    Safe to share between threads. Close it to let go of the DuckDB connection it may have opened.

    Args:
        secrets: The secrets of a session, or settings by any of their names (`aws_access_key_id`, `endpoint`, …).
    """

    def __init__(self, secrets: Keyring | Mapping[str, object] | None = None) -> None:
        self.secrets = keyring_of(secrets)
        self._stores: dict[tuple[str, Settings | None], ObjectStore] = {}
        self._filesystems: set[str] = set()
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._lock = threading.RLock()

    def read(self, path: str) -> bytes:
        """The whole file."""
        if not is_remote(path):
            with local_errors(path), Path(local_path(path)).open("rb") as file:
                return file.read()
        with self.errors(path):
            store, key = self.locate(path)
            return bytes(store.get(key).bytes())

    def read_tail(self, path: str, length: int, size: int | None = None) -> bytes:
        """The last bytes of a file, or all of it when it is shorter.

        Args:
            path: The file.
            length: How many bytes.
            size: The size of the file where it is known; saves a request to an object store.
        """
        if not is_remote(path):
            with local_errors(path), Path(local_path(path)).open("rb") as file:
                # What the disk says: a catalog may hold a wrong size and still be read.
                file.seek(max(0, os.fstat(file.fileno()).st_size - length))
                return file.read()
        with self.errors(path):
            store, key = self.locate(path)
            known = size if size is not None else int(store.head(key)["size"])
            start = max(0, known - length)
            return bytes(store.get_range(key, start=start, end=known))

    def size(self, path: str) -> int:
        """How many bytes a file has."""
        if not is_remote(path):
            with local_errors(path):
                return Path(local_path(path)).stat().st_size
        with self.errors(path):
            store, key = self.locate(path)
            return int(store.head(key)["size"])

    @contextmanager
    def errors(self, path: str, act: str = "read") -> Iterator[None]:
        """Turn what an object store says about a URL into our errors, which give no secret away."""
        with self.secrets.hiding(), remote_errors(path, act):
            yield

    def locate(self, path: str) -> tuple[ObjectStore, str]:
        """The object store that a URL names and the key in it."""
        root, key = split_url(path)
        return self._open(root), key

    def polars_options(self, path: str) -> dict[str, Any]:
        """The settings for a path, as the readers of Polars take them."""
        settings = self.secrets.settings(path)
        if settings is None:
            return {}
        keys = obstore_config(settings).keys
        found: dict[str, Any] = {"storage_options": polars_options(settings)}
        if keys is not None:
            found["credential_provider"] = _PolarsKeys(keys)
        return found

    def _open(self, root: str) -> ObjectStore:
        from obstore.exceptions import BaseError
        from obstore.store import from_url

        settings = self.secrets.settings(root)
        with self._lock:
            if (root, settings) not in self._stores:
                config = ObstoreConfig() if settings is None else obstore_config(settings)
                # The signatures are one per kind of store; which one it is, the URL says.
                open_store: Any = from_url
                more = {} if config.keys is None else {"credential_provider": _StoreKeys(config.keys)}
                try:
                    self._stores[root, settings] = open_store(
                        root, config=dict(config.store) or None, client_options=dict(config.client) or None, **more
                    )
                except (BaseError, ValueError) as error:
                    reason = self.secrets.redact(str(error).split("\n", 1)[0])
                    raise InvalidInputError(f"cannot open the object store {root}: {reason}") from None
            return self._stores[root, settings]

    def cursor(self, *paths: str) -> duckdb.DuckDBPyConnection:
        """A cursor of the DuckDB connection behind these stores, able to read the given paths.

        All cursors share one in-memory database, in which the time zone is UTC.
        """
        with self._lock:
            if self._connection is None:
                self._connection = _connect()
            for scheme in {store_url(path).split("://")[0] for path in paths if is_remote(path)} - self._filesystems:
                self._register(self._connection, scheme)
            return self._connection.cursor()

    def _register(self, connection: duckdb.DuckDBPyConnection, scheme: str) -> None:
        try:
            from obstore.fsspec import FsspecStore
        except ImportError as error:
            raise MissingExtraError("fsspec is not installed", hint="pip install fsspec") from error
        # Not one that another session has opened, with secrets of its own.
        make_files: Any = FsspecStore
        files = make_files(scheme, skip_instance_cache=True)
        # One file system serves every bucket of its kind, each of which may have a secret of its own.
        files._construct_store = lambda bucket: self._open(f"{scheme}://{bucket}")
        connection.register_filesystem(files)
        self._filesystems.add(scheme)

    def close(self) -> None:
        """Let go of what is open. The stores can be used again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None
            self._filesystems.clear()
            self._stores.clear()


class _StoreKeys:
    """Keys as obstore asks for them."""

    def __init__(self, keys: Mapping[str, str | None]) -> None:
        self._keys = keys

    def __call__(self) -> dict[str, Any]:
        return {**self._keys, "expires_at": None}


class _PolarsKeys(_StoreKeys):
    """Keys as Polars asks for them."""

    def __call__(self) -> Any:
        names = {"token": "aws_session_token"}
        return {names.get(name, f"aws_{name}"): value for name, value in self._keys.items() if value}, None


def _connect() -> duckdb.DuckDBPyConnection:
    import duckdb

    connection = duckdb.connect(":memory:", config={"autoinstall_known_extensions": "false"})
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    # The order of the rows is free, and keeping it costs memory.
    connection.execute("SET GLOBAL preserve_insertion_order = false")
    # Texts of a batch may be more than 2 GB.
    connection.execute("SET GLOBAL arrow_large_buffer_size = true")
    return connection


def is_remote(path: str) -> bool:
    """Whether the path is not on this disk."""
    return is_url(path) and not path.startswith("file://")


def local_path(path: str) -> str:
    """The path as the operating system takes it. Percent signs in it stand for themselves, as in DuckDB."""
    return path.removeprefix("file://")


def split_url(url: str) -> tuple[str, str]:
    """The URL of the store and the key in it: `s3://bucket` and `folder/file` for `s3://bucket/folder/file`."""
    scheme, _, rest = store_url(url).partition("://")
    root, _, key = rest.partition("/")
    return f"{scheme}://{root}", key


def store_url(url: str) -> str:
    """The URL with the one scheme that all libraries know for its kind of store."""
    scheme, _, rest = url.partition("://")
    return f"{_SCHEMES.get(scheme.lower(), scheme.lower())}://{rest}"


def duckdb_path(path: str) -> str:
    """The path as DuckDB takes it: without wildcards, so that a missing file never stands for a similar one."""
    plain = store_url(path) if is_remote(path) else local_path(path)
    if not any(mark in plain for mark in "*?["):
        return plain
    return "".join(f"[{each}]" if each in "*?[" else each for each in plain)


_AUTH_HINT = "check session.secrets(), storage_options or the environment"
_MISSING_HINT = "was it removed from outside, or is data_path wrong?"


@contextmanager
def local_errors(path: str) -> Iterator[None]:
    """Turn what the disk says about a path into our errors."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise StorageError(f"the file {path} is missing", hint=_MISSING_HINT) from error
    except PermissionError as error:
        raise AuthError(f"no permission to read {path}") from error
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror or error}") from error


@contextmanager
def remote_errors(path: str, act: str = "read") -> Iterator[None]:
    """Turn what an object store says about a URL into our errors; the act is what was tried."""
    from obstore import exceptions

    try:
        yield
    except (exceptions.NotFoundError, FileNotFoundError) as error:
        raise StorageError(f"the file {path} is missing", hint=_MISSING_HINT) from error
    except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as error:
        raise AuthError(f"no permission to {act} {path}", hint=_AUTH_HINT) from error
    except exceptions.BaseError as error:
        raise StorageError(f"cannot {act} {path}: {error}") from error
