"""The command `sql`: statements from the line, from a file or from a pipe."""

from __future__ import annotations

import json as json_
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quacklake.cli.options import EngineChoice, JsonOption, settings_of
from quacklake.cli.output import Progress, print_json_lines, say, working
from quacklake.cli.scans import SCREEN_ROWS, Format, choose_format, write_rows

if TYPE_CHECKING:
    from quacklake import Commit
    from quacklake.session import Session


def sql(
    ctx: typer.Context,
    text: Annotated[str | None, typer.Argument(metavar="[SQL]", help="Statements, with ; between them.")] = None,
    file: Annotated[
        str | None, typer.Option("--file", "-f", metavar="FILE", help="A file of statements; - for stdin.")
    ] = None,
    param: Annotated[
        list[str] | None, typer.Option("--param", metavar="NAME=VALUE", help="A value for :name. May repeat.")
    ] = None,
    engine: Annotated[EngineChoice | None, typer.Option("--engine", help="What runs the statements.")] = None,
    format_: Annotated[Format | None, typer.Option("--format", help="How rows are written [default: table].")] = None,
    json: JsonOption = False,
) -> None:
    """Run statements in Spark's dialect; the lake can be changed.

    They run one after the other, and the first that fails is the last. A value is a number, true, false or null when it
    looks like one, and a text otherwise; in double quotes it is always a text.

    Example: `quacklake --lake sqlite:///lake.db sql "SELECT * FROM events WHERE id > :low" --param low=10`
    """
    given = settings_of(ctx)
    settings = given if engine is None else replace(given, engine=engine)
    chosen = choose_format(settings, format_, json)
    values = dict(map(parse_param, param or ()))
    script = _script(text, file)
    from quacklake.sql.text import split_statements

    statements = split_statements(script)
    if not statements:
        raise typer.BadParameter("there is no statement", param_hint="SQL")
    with settings.open(writes=settings.at is None) as session:
        for number, statement in enumerate(statements, 1):
            _run(session, statement, values, chosen, f"{number} of {len(statements)}" if len(statements) > 1 else "")
        if session._open is not None:
            say("The transaction was not committed and is rolled back.")
            raise typer.Exit(1)


def parse_param(text: str) -> tuple[str, Any]:
    """Read `name=value`."""
    name, mark, value = text.partition("=")
    if not mark or not name.isidentifier():
        raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--param")
    try:
        read = json_.loads(value)
    except ValueError:
        return name, value
    return name, value if isinstance(read, list | dict) else read


def _script(text: str | None, file: str | None) -> str:
    if text is not None and file is not None:
        raise typer.BadParameter("give the statements or a file of them, not both", param_hint="--file")
    if text is not None:
        return text
    if file is None and sys.stdin.isatty():
        raise typer.BadParameter("give a statement, --file FILE, or statements on stdin", param_hint="SQL")
    if file in (None, "-"):
        return sys.stdin.read()
    assert file is not None
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{file} cannot be read: {error}", param_hint="--file") from error


def _run(session: Session, statement: str, values: dict[str, Any], chosen: Format, which: str) -> None:
    from quacklake.errors import QuacklakeError

    with working("Running") as progress:
        try:
            result = session.sql(statement, values)
            if result.has_rows:
                _write(result, chosen, progress)
                return
        except QuacklakeError as error:
            if which:
                error.message = f"statement {which}: {error.message}"
            raise
    if result.commit is not None:
        _tell(result.commit, chosen)


def _write(result: Any, chosen: Format, progress: Progress) -> None:
    screen = SCREEN_ROWS if chosen is Format.table and sys.stdout.isatty() else None
    batches: Iterator[Any] = result.to_batches()
    schema = next(batches)
    written = write_rows(batches, lambda: schema.names, chosen, progress, screen)
    if screen is not None and written > screen:
        say(f"The first {screen} rows. For more, send the output to a file.")


def _tell(commit: Commit, chosen: Format) -> None:
    done = asdict(commit)
    if chosen is Format.json:
        print_json_lines([done])
        return
    told = [f"{count:,} {name.replace('_', ' ')}" for name, count in done.items() if name != "snapshot_id" and count]
    snapshot = "" if commit.snapshot_id is None else f"snapshot {commit.snapshot_id}"
    say(", ".join(each for each in (snapshot, *told) if each) or "Nothing changed.")
