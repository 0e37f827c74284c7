"""Where errors leave the program: words on stderr, an exit code, and no secret in either."""

from __future__ import annotations

import os
import re
import sys
from typing import Any
from urllib.parse import quote, unquote

import typer
from typer.core import TyperGroup

from quacklake.errors import QuacklakeError

DEBUG_VARIABLE = "QUACKLAKE_DEBUG"
"""Set to 1, it shows the traceback of an error; for people who work on quacklake."""

BROKEN_PIPE = 141
"""What a shell reports of a program that wrote to a closed pipe: 128 and the number of SIGPIPE."""

_URL_PASSWORD = re.compile(r"(\w[\w+.-]*://[^\s/?#@]*?:)([^\s/?#]+)@")
_KEYED_SECRET = re.compile(
    r"(?i)\b(password|passwd|pwd|secret|token|[a-z_]*access_key)(\s*=\s*)('[^']*'|\"[^\"]*\"|[^\s&;,'\"]+)"
)


class Edge(TyperGroup):
    """The group of all commands. Whatever goes wrong below it becomes words for people and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (typer.TyperException, typer.Exit, typer.Abort):
            raise
        except BrokenPipeError:
            leave_pipe()
            raise typer.Exit(BROKEN_PIPE) from None
        except Exception as error:
            if os.environ.get(DEBUG_VARIABLE) == "1":
                raise
            say_error(error, secrets_of(ctx.params.get("lake")))
            raise typer.Exit(1) from None


def say_error(error: Exception, secrets: tuple[str, ...] = ()) -> None:
    """Print `Error: …` and, where there is one, the next step."""
    if isinstance(error, QuacklakeError):
        message, hint = error.message, error.hint
    else:
        message = f"{type(error).__name__}: {error}"
        hint = f"this should not happen; set {DEBUG_VARIABLE}=1 to see where it came from"
    typer.echo(redact(f"Error: {message}", secrets), err=True)
    if hint:
        typer.echo(redact(f"Hint: {hint}", secrets), err=True)


def secrets_of(url: str | None) -> tuple[str, ...]:
    """The password in a URL, as it is written there and as the database gets it."""
    found = _URL_PASSWORD.search(url or "")
    if found is None:
        return ()
    written = found[2]
    return tuple({written, unquote(written), quote(unquote(written), safe="")})


def redact(text: str, secrets: tuple[str, ...] = ()) -> str:
    """The text without passwords: those given, those in URLs and those after `password=` and its like."""
    text = _URL_PASSWORD.sub(r"\1***@", text)
    text = _KEYED_SECRET.sub(r"\1\2***", text)
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def leave_pipe() -> None:
    """Point stdout at nothing, so that Python's last flush does not complain about the closed pipe."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    finally:
        os.close(nowhere)
