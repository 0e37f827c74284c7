"""How the commands print: tables for people, JSON and CSV for programs, words on stderr."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import typer

_VISIBLE = {code: f"\\x{code:02x}" for code in (*range(32), *range(0x7F, 0xA0))} | {9: "\\t", 10: "\\n", 13: "\\r"}

_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_QUOTED = re.compile(r'[,"\n\r]|^\s|\s$|^$')


def say(text: str) -> None:
    """Words for the person at the terminal."""
    typer.echo(text, err=True)


def print_json(document: object) -> None:
    """One JSON document."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    sys.stdout.flush()


def print_json_lines(rows: Iterable[dict[str, Any]]) -> None:
    """One JSON object per line."""
    sys.stdout.writelines(_ENCODE(row) + "\n" for row in rows)


def print_csv(rows: Iterable[Sequence[Any]]) -> None:
    """Comma-separated lines; an absent value is nothing at all, an empty text is a pair of quotes."""
    sys.stdout.writelines(",".join(map(_csv_field, row)) + "\n" for row in rows)


def _csv_field(value: Any) -> str:
    if value is None:
        return ""
    text = as_text(value)
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


def as_text(value: Any) -> str:
    """One value as text: a text as it is, anything else as JSON writes it."""
    if isinstance(value, str):
        return value
    return repr(value) if type(value) in (int, float) else _ENCODE(value)


def print_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = (), before: str = ""
) -> None:
    """A table for people.

    Args:
        heads: The names of the columns; none prints the rows alone.
        rows: Texts. Characters that would move the cursor are shown as escapes.
        right: The columns that line up on the right.
        before: Printed first.
    """
    sys.stdout.write(before)
    shown = [[visible(value) for value in row] for row in rows]
    if sys.stdout.isatty():
        _print_to_terminal([visible(head) for head in heads], shown, [head in right for head in heads])
    else:
        _print_to_pipe([visible(head) for head in heads], shown, [head in right for head in heads])
    sys.stdout.flush()


def _print_to_terminal(heads: list[str], rows: list[list[str]], right: list[bool]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_header=bool(heads), pad_edge=False, padding=(0, 2, 0, 0))
    for head, on_the_right in zip(heads, right, strict=True):
        table.add_column(Text(head), justify="right" if on_the_right else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    Console(file=sys.stdout, highlight=False).print(table)


def _print_to_pipe(heads: list[str], rows: list[list[str]], right: list[bool]) -> None:
    """Lines that are never cut or wrapped, the columns under each other."""
    from rich.cells import cell_len

    lines = [heads, *rows] if heads else rows
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    sides = right or [False] * len(widths)
    for line in lines:
        gaps = [" " * (width - cell_len(cell)) for width, cell in zip(widths, line, strict=True)]
        cells = [gap + cell if side else cell + gap for gap, cell, side in zip(gaps, line, sides, strict=True)]
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def visible(text: str) -> str:
    """The text with control characters as escapes, so that data cannot drive the terminal."""
    return text.translate(_VISIBLE)


class Progress(Protocol):
    """Something that can say how far the work is."""

    def update(self, status: str) -> None: ...

    def stop(self) -> None: ...


class _Silence:
    def update(self, status: str) -> None:
        """Nobody is watching."""

    def stop(self) -> None:
        """There is nothing to stop."""


@contextmanager
def working(what: str) -> Iterator[Progress]:
    """A spinner on stderr for as long as the block takes, when a person is there to see it."""
    if not sys.stderr.isatty():
        yield _Silence()
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status(escape(what)) as status:
        yield status
