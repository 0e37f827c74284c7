"""Names of catalogs that share a database. Each is also the name of a folder."""

from __future__ import annotations

import unicodedata
from hashlib import sha256

from quacklake.errors import InvalidInputError

LONGEST_BYTES = 200
"""A folder may have 255 bytes, and gets a number when its name is taken."""
_FORBIDDEN = frozenset('/\\:*?"<>|%#')
_HINT = "letters, digits, _, - and . will do"


def check_catalog_name(name: str) -> str:
    """The name, if a catalog can have it.

    Raises:
        InvalidInputError: When it is empty, too long, or no good as the name of a folder on some disk or object store.
    """
    if not isinstance(name, str) or not name:
        raise InvalidInputError(f"{name!r} is no name for a catalog: it is empty", hint=_HINT)
    if name != name.strip() or name.strip(".") == "" or name.endswith("."):
        raise InvalidInputError(f"{name!r} is no name for a catalog: it begins or ends with nothing", hint=_HINT)
    for mark in name:
        if mark in _FORBIDDEN or unicodedata.category(mark) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            raise InvalidInputError(f"{name!r} is no name for a catalog: it holds {mark!r}", hint=_HINT)
    if len(name.encode()) > LONGEST_BYTES:
        raise InvalidInputError(
            f"{name[:20] + '…'!r} is no name for a catalog: it is longer than {LONGEST_BYTES} bytes", hint=_HINT
        )
    return name


def name_key(name: str) -> str:
    """What two names have in common that would be one folder on a disk that knows no case and no accents' forms."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", name).casefold())


def path_key(path: str) -> str:
    """The same for folders, of any length."""
    return sha256(name_key(path).encode()).hexdigest()
