"""Paths of files in a lake: each level is relative to the one above, or stands for itself."""

from __future__ import annotations

import os


def join(parent: str, path: str | None, is_relative: bool | None) -> str:
    """The full path of something that the catalog stores below `parent`."""
    if not path:
        return parent
    return parent + path if is_relative else absolute(path)


def absolute(path: str) -> str:
    """The path as it is meant on this machine: one that is neither absolute nor a URL starts at the working folder."""
    if is_url(path) or os.path.isabs(path):  # noqa: PTH117 - runs for every file of a scan
        return path
    plain = path.removeprefix("./")
    return f"{os.getcwd().rstrip('/')}/{plain}"  # noqa: PTH109 - likewise


def as_folder(path: str) -> str:
    """The path with one slash at its end, as the format stores folders."""
    folder = path.replace(os.sep, "/") if os.sep != "/" and not is_url(path) else path
    return folder.rstrip("/") + "/"


def same_folder(one: str, other: str) -> bool:
    """Whether two spellings name one folder: `./data`, `data/` and its absolute path do."""
    return _plain(one) == _plain(other)


def _plain(path: str) -> str:
    local = path.removeprefix("file://")
    if is_url(local):
        return as_folder(local)
    return as_folder(os.path.abspath(as_folder(local)))  # noqa: PTH100 - pathlib leaves `..` in


def is_url(path: str) -> bool:
    """Whether the path names an object store (or says `file:`) rather than a place on this disk."""
    return "://" in path
