"""What DuckDB's text for nested values is made of: quotes, escapes and the bytes of blobs."""

from __future__ import annotations

import re

from quacklake.types import DataType, Primitive

SPACES = " \t\n\v\f\r"
"""What DuckDB skips around a value."""
_SPECIAL = re.compile(r"""["'(),:=\[\]{}]""")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_HEX = re.compile(rb"\\x([0-9A-Fa-f]{2})")


class Mismatch(Exception):
    """The text is not in this form."""


def is_binary(type_: DataType) -> bool:
    """Whether values of the type are bytes, not text."""
    return isinstance(type_, Primitive) and type_.name == "blob"


def needs_quotes(text: str) -> bool:
    """Whether DuckDB puts a value in quotes when it writes it inside a list, a struct or a map."""
    return (
        not text
        or text[0] in SPACES
        or text[-1] in SPACES
        or (len(text) == 4 and text.lower() == "null")
        or _SPECIAL.search(text) is not None
    )


def unescape(text: str) -> str:
    """What stands between quotes, without the backslashes that protect a character."""
    return _ESCAPED.sub(r"\1", text) if "\\" in text else text


def escape(text: str, quote: str) -> str:
    """The text in quotes, a backslash before every backslash and every such quote in it."""
    return quote + text.replace("\\", "\\\\").replace(quote, "\\" + quote) + quote


def plain_value(text: str, binary: bool) -> str | bytes:
    """A leaf: its text, or the bytes that the text of a blob stands for.

    Raises:
        Mismatch: When it is no text of a blob.
    """
    if not binary:
        return text
    try:
        data = text.encode("ascii")
    except UnicodeEncodeError:
        raise Mismatch from None
    if b"\\" in _HEX.sub(b"", data):
        raise Mismatch
    return _HEX.sub(lambda match: bytes.fromhex(match[1].decode()), data)


def blob_text(data: bytes) -> str:
    r"""DuckDB's text for bytes: printable ASCII as it is, the rest as `\xHH`."""
    return "".join(chr(each) if 32 <= each <= 126 and each not in b"\\'\"" else f"\\x{each:02X}" for each in data)
