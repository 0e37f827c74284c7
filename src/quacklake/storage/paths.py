"""Paths of files in a lake: each level is relative to the one above, or stands for itself."""

from __future__ import annotations


def join(parent: str, path: str | None, is_relative: bool | None) -> str:
    """The full path of something that the catalog stores below `parent`."""
    if not path:
        return parent
    return parent + path if is_relative else path


def as_folder(path: str) -> str:
    """The path with forward slashes and one at the end, as the format stores folders."""
    folder = path.replace("\\", "/")
    return folder if folder.endswith("/") else folder + "/"


def is_url(path: str) -> bool:
    """Whether the path names an object store (or says `file:`) rather than a place on this disk."""
    return "://" in path
