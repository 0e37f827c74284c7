"""Paths of data files as Spark takes them and as it calls them afterwards."""

from __future__ import annotations

import re
import unicodedata
from os.path import normpath
from pathlib import Path

from quacklake.storage.stores import is_remote, local_path

_SCHEMES = {
    "s3": "s3a",
    "s3n": "s3a",
    "s3a": "s3a",
    "gs": "gs",
    "gcs": "gs",
    "abfs": "abfs",
    "abfss": "abfss",
    "az": "az",
    "azure": "az",
}
_PATTERN = re.compile(r"[*?\[\]{}\\]")
"""What Spark takes for a pattern and not for a name."""
_HIDDEN = ("_", ".")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-!.~'()*,;:$&+=/@")


def reader_path(path: str) -> str | None:
    """The path for Spark's reader, or None when Spark would not read just that file."""
    name = path.rsplit("/", 1)[-1]
    # Spark leaves out files that begin like this, and says nothing.
    if name.startswith(_HIDDEN) or name.endswith("._COPYING_") or _PATTERN.search(path):
        return None
    # Hadoop takes what stands before a colon for a scheme.
    if ":" in name:
        return None
    if not is_remote(path):
        # Without a scheme the path would be one of the cluster's default file system.
        return f"file://{normpath(local_path(path))}"
    scheme, _, rest = path.partition("://")
    known = _SCHEMES.get(scheme.lower())
    # Spark tidies these up, and would look for another object.
    is_tidy = all(part not in ("", ".", "..") for part in rest.split("/"))
    return f"{known}://{rest}" if known is not None and is_tidy else None


def writer_path(path: str) -> str:
    """The path of a folder for Spark's writer."""
    if not is_remote(path):
        return Path(local_path(path)).absolute().as_uri()
    scheme, _, rest = path.partition("://")
    return f"{_SCHEMES.get(scheme.lower(), scheme)}://{rest}"


def known_path(path: str) -> str:
    """How `_metadata.file_path` spells a path that was given to the reader: as a URI."""
    scheme, _, rest = path.partition("://")
    prefix = "file:" if scheme == "file" else f"{scheme}://"
    return prefix + "".join(character if _is_plain(character) else _escaped(character) for character in rest)


def _is_plain(character: str) -> bool:
    if character.isascii():
        return character in _PLAIN
    return unicodedata.category(character) not in ("Zs", "Zl", "Zp", "Cc")


def _escaped(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode())
