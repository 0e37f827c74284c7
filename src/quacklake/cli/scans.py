"""Commands that read a table: `scan`, `changes`, `files` and `explain`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from enum import StrEnum
from itertools import chain, islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quacklake.cli.options import (
    ColumnsOption,
    EngineChoice,
    JsonOption,
    ScanAtOption,
    Settings,
    TableArgument,
    When,
    WhereOption,
    parse_when,
    settings_of,
    split_columns,
)
from quacklake.cli.output import (
    Progress,
    as_text,
    print_csv,
    print_json,
    print_json_lines,
    print_table,
    say,
    working,
)

if TYPE_CHECKING:
    from quacklake import Scan
    from quacklake.plan.scan import ScanFile

PAGE_ROWS = 1000
"""Rows per table when very many are asked for: the widths of the columns are settled per page."""

SCREEN_ROWS = 100
"""Rows shown to a terminal when nobody said how many. Pipes and files always get all."""


class Format(StrEnum):
    """How rows are written."""

    table = "table"
    json = "json"
    csv = "csv"


def scan(
    ctx: typer.Context,
    table: TableArgument,
    columns: ColumnsOption = None,
    where: WhereOption = None,
    limit: Annotated[int | None, typer.Option("--limit", min=0, help="At most so many rows.")] = None,
    at: ScanAtOption = None,
    row_ids: Annotated[bool, typer.Option("--row-ids", help="Put rowid and snapshot_id first.")] = False,
    count: Annotated[bool, typer.Option("--count", help="Only say how many rows there are.")] = False,
    format_: Annotated[Format | None, typer.Option("--format", help="How rows are written [default: table].")] = None,
    json: JsonOption = False,
) -> None:
    """Print rows of a table as they stream in.

    JSON is one object per line. A terminal gets the first 100 rows unless `--limit` says otherwise; a pipe gets all.

    Example: `quacklake --lake sqlite:///lake.db scan events --columns id,amount --where "amount > 10" --format csv`
    """
    settings = settings_of(ctx)
    chosen = choose_format(settings, format_, json)
    screen = limit is None and not count and chosen is Format.table and sys.stdout.isatty()
    with working(f"Reading {table}") as progress, settings.open() as session:
        # Asked for at its snapshot, a table is found though it was renamed or dropped since.
        wanted = session.table(table, at=None if at is None else at.at).scan(
            split_columns(columns), where, SCREEN_ROWS + 1 if screen else limit, row_ids=row_ids
        )
        if count:
            if settings.engine is EngineChoice.spark:
                progress.stop()  # Spark draws a bar of its own
            found = wanted.count()
            progress.stop()
            _print_count(found, chosen)
            return
        _show(wanted, chosen, progress, screen=screen)


def changes(
    ctx: typer.Context,
    table: TableArgument,
    start: Annotated[When, typer.Option("--from", parser=parse_when, metavar="SNAPSHOT|TIME", help="The first.")],
    end: Annotated[
        When | None, typer.Option("--to", parser=parse_when, metavar="SNAPSHOT|TIME", help="The last [default: now].")
    ] = None,
    columns: ColumnsOption = None,
    where: WhereOption = None,
    limit: Annotated[int | None, typer.Option("--limit", min=0, help="At most so many rows.")] = None,
    format_: Annotated[Format | None, typer.Option("--format", help="How rows are written [default: table].")] = None,
    json: JsonOption = False,
) -> None:
    """Print what happened to the rows of a table, from one snapshot to another, both included.

    Example: `quacklake --lake sqlite:///lake.db changes events --from 3 --to 5`
    """
    settings = settings_of(ctx)
    chosen = choose_format(settings, format_, json)
    screen = limit is None and chosen is Format.table and sys.stdout.isatty()
    with working(f"Reading {table}") as progress, settings.open() as session:
        last = None if end is None else end.at
        wanted = session.table(table).changes(
            start.at, last, columns=split_columns(columns), where=where, limit=SCREEN_ROWS + 1 if screen else limit
        )
        _show(wanted, chosen, progress, screen=screen)


def _show(wanted: Scan, chosen: Format, progress: Progress, *, screen: bool) -> None:
    written = write_rows(
        wanted.to_batches(), lambda: wanted.plan().output_names, chosen, progress, SCREEN_ROWS if screen else None
    )
    if screen and written > SCREEN_ROWS:
        say(f"The first {SCREEN_ROWS} rows. For more: --limit N, or send the output to a file.")


def files(
    ctx: typer.Context,
    table: TableArgument,
    where: WhereOption = None,
    json: JsonOption = False,
) -> None:
    """List the data files that a scan would read.

    Example: `quacklake --lake sqlite:///lake.db files events --where "day = DATE '2026-01-31'"`
    """
    settings = settings_of(ctx)
    with working("Reading the catalog"), settings.open() as session:
        found = session.table(table).scan(where=where).files()
    rows = [_describe_file(each) for each in found]
    if json or settings.json:
        print_json(rows)
    elif rows:
        print_table(
            list(rows[0]), [[as_cell(value) for value in row.values()] for row in rows], right=list(rows[0])[1:]
        )
    else:
        say("No file would be read.")


def explain(
    ctx: typer.Context,
    table: TableArgument,
    where: WhereOption = None,
    columns: ColumnsOption = None,
    json: JsonOption = False,
) -> None:
    """Say which files a scan would read and why the others are left out.

    Example: `quacklake --lake sqlite:///lake.db explain events --where "id = 7"`
    """
    settings = settings_of(ctx)
    with working("Planning"), settings.open() as session:
        wanted = session.table(table).scan(split_columns(columns), where)
        if json or settings.json:
            plan = wanted.plan(count=True)
            document = {"table": plan.table, "snapshot_id": plan.snapshot_id, **asdict(plan.report)}
        else:
            text = wanted.explain()
    if json or settings.json:
        print_json(document)
    else:
        typer.echo(text)


def _describe_file(file: ScanFile) -> dict[str, Any]:
    return {
        "path": file.path,
        "rows": file.record_count,
        "bytes": file.size,
        "snapshot_id": file.begin_snapshot,
        "delete_files": len(file.delete_files),
    }


def choose_format(settings: Settings, format_: Format | None, json: bool) -> Format:
    """How rows are written, by what was said before and after the command."""
    if format_ is None:
        return Format.json if json or settings.json else Format.table
    if json and format_ is not Format.json:
        raise typer.BadParameter(f"--json and --format {format_.value} cannot go together", param_hint="--format")
    return format_


def _print_count(found: int, chosen: Format) -> None:
    if chosen is Format.json:
        print_json_lines([{"count": found}])
    else:
        typer.echo(found)


def write_rows(
    given: Iterable[Any], no_rows: Callable[[], Sequence[str]], chosen: Format, progress: Progress, most: int | None
) -> int:
    """Write the rows of Arrow batches, at most so many of them; return how many were read.

    Args:
        given: The batches.
        no_rows: The names of the columns, asked for when there is no batch to say them.
        chosen: How.
        progress: What tells how far it is.
        most: How many; all without it. One more is read.
    """
    from quacklake.cli.values import rows_of

    batches = iter(given)
    first = next(batches, None)
    # A stream without a single batch has no names; asking the plan for them each time would plan twice.
    names = _apart(list(no_rows() if first is None else first.schema.names))
    every = (row for batch in chain(() if first is None else (first,), batches) for row in rows_of(batch))
    # One more than is shown tells that there are more, and what comes after it need not be read.
    rows = islice(every, None if most is None else most + 1)
    written = 0
    while page := list(islice(rows, PAGE_ROWS)):
        if sys.stdout.isatty():
            progress.stop()
        _write_page(names, page[: None if most is None else most - written], chosen, first=written == 0)
        written += len(page)
        progress.update(f"{written:,} rows")
    if not written:
        progress.stop()
        _write_page(names, [], chosen, first=True)
    sys.stdout.flush()
    return written


def _apart(names: list[str]) -> list[str]:
    """The names, each once: a query may give two columns one name, and an object of JSON has room for one."""
    return [
        f"{name}_{names[:place].count(name)}" if name in names[:place] else name for place, name in enumerate(names)
    ]


def _write_page(names: list[str], page: list[tuple[Any, ...]], chosen: Format, *, first: bool) -> None:
    if chosen is Format.json:
        print_json_lines(dict(zip(names, row, strict=True)) for row in page)
    elif chosen is Format.csv:
        print_csv(_with_heads(names, page) if first else iter(page))
    else:
        right = [name for name, value in zip(names, page[0], strict=True) if _is_number(value)] if page else []
        print_table(names, ([as_cell(value) for value in row] for row in page), right=right)


def _with_heads(names: list[str], page: list[tuple[Any, ...]]) -> Iterator[Any]:
    yield names
    yield from page


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def as_cell(value: Any) -> str:
    """One value for people: NULL is a word of its own, as SQL shells write it."""
    return "NULL" if value is None else as_text(value)
