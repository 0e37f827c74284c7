"""Patterns: Java's regular expressions for DuckDB's RE2, and LIKE. Only what both understand alike gets through."""

from __future__ import annotations

import re

from quacklake.predicates.literals import Malformed

# Java's line terminators. RE2 knows one of them, so that `.` and `$` would differ on the others.
_LINE_ENDS = r"\n\r\x{85}\x{2028}\x{2029}"
_ANY = f"[^{_LINE_ENDS}]"
_END = rf"(?:\r\n|[{_LINE_ENDS}])?\z"
_SPACE = r"\t\n\x0B\f\r "
_CLASSES = {"d": "0-9", "w": "a-zA-Z_0-9", "s": _SPACE}
_CONTROLS = {"t": r"\t", "n": r"\n", "r": r"\r", "f": r"\f"}
_COUNT = re.compile(r"\{([0-9]+)(,[0-9]*)?\}")
_MOST_REPEATS = 1000


def translate_regex(pattern: str) -> str:
    """The pattern for RE2.

    Raises:
        Malformed: When a part of it means another thing there, or nothing; it names the part.
    """
    out, position, depth = [], 0, 0
    while position < len(pattern):
        mark = pattern[position]
        taken, text = _next(pattern, position, mark)
        depth += (mark == "(") - (mark == ")")
        if mark == "$" and (depth or position + 1 != len(pattern)):
            raise Malformed("$ elsewhere than at the end")
        if mark == "^" and position:
            raise Malformed("^ elsewhere than at the start")
        out.append(text)
        position += taken
    return "".join(out)


def _next(pattern: str, position: int, mark: str) -> tuple[int, str]:
    rest = pattern[position:]
    match mark:
        case "\\":
            return 2, _escaped(rest[1:2], inside=False)
        case "[":
            return _bracket(rest)
        case ".":
            return 1, _ANY
        case "$":
            return 1, _END
        case "(":
            if rest.startswith("(?:"):
                return 3, "(?:"
            if rest.startswith("(?"):
                raise Malformed(f"{rest[:4]}, a look around, a flag or a named group")
            return 1, "(?:"
        case "*" | "+" | "?":
            return _repeated(rest, 1, mark)
        case "{":
            return _counted(rest)
        case "}" | "]":
            return 1, f"\\{mark}"
        case _:
            return 1, mark


def _repeated(rest: str, taken: int, text: str) -> tuple[int, str]:
    if rest[taken : taken + 1] == "+":
        raise Malformed(f"{rest[: taken + 1]}, a possessive quantifier")
    # Whether it takes little or much does not matter: the question is only if there is a match.
    return (taken + 1, text) if rest[taken : taken + 1] == "?" else (taken, text)


def _counted(rest: str) -> tuple[int, str]:
    found = _COUNT.match(rest)
    if found is None or max(int(each) for each in re.findall("[0-9]+", found[0])) > _MOST_REPEATS:
        raise Malformed(f"{rest[:8]}, a count that RE2 does not take")
    return _repeated(rest, len(found[0]), found[0])


def _escaped(char: str, *, inside: bool) -> str:
    if char in _CLASSES:
        return _CLASSES[char] if inside else f"[{_CLASSES[char]}]"
    if char.lower() in _CLASSES and char and not inside:
        return f"[^{_CLASSES[char.lower()]}]"
    if char in _CONTROLS:
        return _CONTROLS[char]
    if char and not char.isalnum() and char.isascii():
        return f"\\{char}"
    raise Malformed(f"\\{char}")


def _bracket(rest: str) -> tuple[int, str]:
    """A class of characters; in Java it may hold others and intersections, which RE2 takes for characters."""
    out, position = "[", 1
    if rest[1:2] == "^":
        out, position = "[^", 2
    start = position
    while position < len(rest):
        char = rest[position]
        if char == "]" and position > start:
            return position + 1, out + "]"
        if char in "[]" or rest.startswith("&&", position):
            raise Malformed(f"{rest[: position + 1]}, a class within a class")
        if char == "\\":
            out += _escaped(rest[position + 1 : position + 2], inside=True)
            position += 2
            continue
        out += f"\\{char}" if char in "^&~" else char
        position += 1
    raise Malformed(f"{rest}, a class that is never closed")


def check_like(pattern: str, escape: str) -> None:
    """Refuse a pattern whose escapes mean nothing, as Spark does.

    Raises:
        Malformed: When the escape stands at the end or before a character that needs none.
    """
    position = 0
    while position < len(pattern):
        if pattern[position] == escape:
            following = pattern[position + 1 : position + 2]
            if not following or following not in ("%", "_", escape):
                raise Malformed(f"{escape}{following}")
            position += 1
        position += 1


def like_prefix(pattern: str, escape: str) -> tuple[str, bool]:
    """What every match begins with, and whether the pattern is nothing but that text."""
    out, position = "", 0
    while position < len(pattern):
        char = pattern[position]
        if char in "%_" and char != escape:
            return out, False
        if char == escape:
            position += 1
        out += pattern[position : position + 1]
        position += 1
    return out, True
