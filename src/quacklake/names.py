"""Names of things in a lake: quoting, splitting and comparing them."""

from __future__ import annotations

from dataclasses import dataclass

from quacklake.errors import InvalidInputError

DEFAULT_NAMESPACE = "main"


def quote(name: str) -> str:
    """The name as a double-quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def fold(name: str) -> str:
    """The form in which two names are compared: names are stored as typed and compared without case."""
    return name.lower()


def split(text: str) -> list[str]:
    """Split a dotted name; parts may be quoted with double quotes or backticks.

    Raises:
        InvalidInputError: When a part is empty or a quote is left open; quote parts that contain dots.
    """
    parts: list[str] = []
    position, length = 0, len(text)
    while True:
        if position < length and text[position] in '"`':
            part, position = _quoted(text, position)
        else:
            end = text.find(".", position)
            end = length if end < 0 else end
            part, position = text[position:end].strip(), end
        if not part:
            raise InvalidInputError(f"{text!r} is not a name: a part of it is empty", hint="write namespace.table")
        parts.append(part)
        if position >= length:
            return parts
        if text[position] != ".":
            raise InvalidInputError(f"{text!r} is not a name", hint="put a dot after a quoted part")
        position += 1


def _quoted(text: str, start: int) -> tuple[str, int]:
    mark = text[start]
    position, out = start + 1, ""
    while position < len(text):
        if text[position] != mark:
            out += text[position]
            position += 1
        elif text[position + 1 : position + 2] == mark:
            out += mark
            position += 2
        else:
            return out, position + 1
    raise InvalidInputError(f"{text!r} is not a name: the quote {mark} is left open", hint=f"close it with {mark}")


@dataclass(frozen=True, slots=True)
class TableName:
    """Where a table is: `catalog.namespace.table`, the catalog left out for the lake itself."""

    namespace: str
    table: str
    catalog: str | None = None

    @classmethod
    def parse(cls, text: str) -> TableName:
        """Read `table`, `namespace.table` or `catalog.namespace.table`."""
        parts = split(text)
        if len(parts) == 1:
            return cls(DEFAULT_NAMESPACE, parts[0])
        if len(parts) == 2:
            return cls(parts[0], parts[1])
        if len(parts) == 3:
            return cls(parts[1], parts[2], parts[0])
        raise InvalidInputError(f"{text!r} has {len(parts)} parts", hint="write catalog.namespace.table at the most")

    def __str__(self) -> str:
        parts = (self.namespace, self.table) if self.catalog is None else (self.catalog, self.namespace, self.table)
        return ".".join(part if part.replace("_", "a").isalnum() else quote(part) for part in parts)
