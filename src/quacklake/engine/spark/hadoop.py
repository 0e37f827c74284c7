"""How Spark gets at files: what it calls them, and the options that open their stores.

Hadoop keeps a store that it has opened, under its scheme and its bucket, for the life of its process. Whoever comes
later with other credentials, or with another endpoint, is given the same one. A store of S3 that is opened with
settings of ours therefore has a scheme of its own, which stands for these settings. Nothing in Spark's configuration
changes.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from quacklake.engine.spark.paths import reader_path, writer_path
from quacklake.secrets.hadoop_settings import azure_host, hadoop_settings
from quacklake.secrets.keyring import Keyring
from quacklake.secrets.kinds import container_of, kind_of
from quacklake.secrets.secret import Settings

READING = {
    # Settings of the user's session that would change or lose what is read.
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    "mergeSchema": "false",
}
WRITING = {
    # Files of a task count when the whole job does; the other way a task that fails half way leaves some.
    "mapreduce.fileoutputcommitter.algorithm.version": "1"
}
_S3A = "org.apache.hadoop.fs.s3a."
_GCS = "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem"
_SALT = os.urandom(16)
_first: dict[str, str] = {}
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Door:
    root: str
    """The store as Spark calls it."""
    options: dict[str, str] = field(default_factory=dict, repr=False)


class Doors:
    """The stores of one read or one write.

    Args:
        secrets: What opens them.
    """

    def __init__(self, secrets: Keyring) -> None:
        self._secrets = secrets
        self._doors: dict[str, _Door] = {}
        self._by_root: dict[str, _Door] = {}

    def reader_path(self, path: str) -> str | None:
        """The path for Spark's reader, or None when Spark would not read just that file."""
        plain = reader_path(path)
        return None if plain is None else self._through(path, plain)

    def writer_path(self, folder: str) -> str:
        """The path of a folder for Spark's writer."""
        return self._through(folder, writer_path(folder))

    def reading(self, paths: Sequence[str]) -> dict[str, str]:
        """The options for a read of these paths, which `reader_path` or `writer_path` gave."""
        return {**READING, **self._options(paths)}

    def writing(self, paths: Sequence[str]) -> dict[str, str]:
        """The options for a write to these paths, which `writer_path` gave."""
        return {**WRITING, **self._options(paths)}

    def _options(self, paths: Sequence[str]) -> dict[str, str]:
        roots = {_root(path) for path in paths}
        return {k: v for root in sorted(roots & self._by_root.keys()) for k, v in self._by_root[root].options.items()}

    def _through(self, path: str, plain: str) -> str:
        if kind_of(path) is None:
            return plain
        root = _root(path)
        if root not in self._doors:
            door = _open(path, _root(plain), self._secrets.settings(path))
            self._doors[root] = self._by_root[door.root] = door
        return self._doors[root].root + plain.removeprefix(_root(plain))


def _root(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}"


def _open(url: str, plain: str, settings: Settings | None) -> _Door:
    if settings is None:
        return _Door(plain)
    options = hadoop_settings(url, settings)
    if settings.kind == "gcs":
        # Hadoop has heard of the other two, and of this one only when its jar was there before it looked.
        options["fs.gs.impl"] = _GCS
    scheme, _, bucket = plain.partition("://")
    if settings.kind == "azure":
        bucket = f"{container_of(url)[0]}@{azure_host(url, settings)}"
        scheme = "abfss" if scheme == "az" else scheme
    if not options:
        return _Door(f"{scheme}://{bucket}")
    mark = _fingerprint(options)
    if settings.kind == "s3":
        scheme = f"s3a-{mark}"
        options |= {
            f"fs.{scheme}.impl": f"{_S3A}S3AFileSystem",
            # Whichever committer the user has chosen for S3A goes on being used.
            f"mapreduce.outputcommitter.factory.scheme.{scheme}": f"{_S3A}commit.S3ACommitterFactory",
        }
    elif _is_other(f"{scheme}://{bucket}", mark):
        # These connectors insist on their scheme; a store that is not kept is opened anew for every file.
        options[f"fs.{scheme}.impl.disable.cache"] = "true"
    return _Door(f"{scheme}://{bucket}", options)


def _fingerprint(options: dict[str, str]) -> str:
    """A name for settings that tells nobody what they are."""
    text = "\n".join(f"{name}={options[name]}" for name in sorted(options))
    return hmac.new(_SALT, text.encode(), hashlib.sha256).hexdigest()[:12]


def _is_other(root: str, mark: str) -> bool:
    """Whether this process has opened the store with other settings before."""
    with _lock:
        return _first.setdefault(root, mark) != mark
