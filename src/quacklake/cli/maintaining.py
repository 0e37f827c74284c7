"""Commands that keep a lake small: `maintain expire`, `maintain cleanup` and `maintain orphans`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from quacklake.cli.options import JsonOption, Settings, settings_of
from quacklake.cli.output import print_json, print_table, say, working

if TYPE_CHECKING:
    from quacklake.maintenance.reports import Removed

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode="markdown")

OlderThanOption = Annotated[
    str | None, typer.Option("--older-than", metavar="AGE|TIME", help="7d, '12 hours', or a time such as 2026-01-31.")
]
VersionsOption = Annotated[
    list[str] | None, typer.Option("--versions", metavar="ID,ID", help="These snapshots instead. May repeat.")
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")]


@app.callback()
def maintain() -> None:
    """Expire snapshots and delete files that nothing needs any more."""


@app.command()
def expire(
    ctx: typer.Context,
    older_than: OlderThanOption = None,
    versions: VersionsOption = None,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> None:
    """Forget snapshots, and schedule the files that only they showed for deletion. The newest one stays.

    Example: `quacklake --lake sqlite:///lake.db maintain expire --older-than 30d --dry-run`
    """
    settings = settings_of(ctx)
    ids = None if versions is None else [_snapshot_id(each) for text in versions for each in text.split(",")]
    with working("Expiring snapshots"), settings.open(writes=True) as session:
        report = session.maintain.expire(older_than, ids, dry_run=dry_run)
    if json or settings.json:
        print_json(asdict(report))
        return
    print_table(("snapshot_id",), [(str(id_),) for id_ in report.snapshots], right=("snapshot_id",))
    say(
        f"{_would(dry_run)} {_count(report.snapshots, 'snapshot')} and {_count(report.tables, 'table')},"
        f" {_count(report.files_scheduled, 'file')} to delete later."
    )


def _snapshot_id(text: str) -> int:
    if not text.strip().isdecimal():
        raise typer.BadParameter(f"{text!r} is no snapshot id", param_hint="--versions")
    return int(text)


@app.command()
def cleanup(
    ctx: typer.Context, older_than: OlderThanOption = None, dry_run: DryRunOption = False, json: JsonOption = False
) -> None:
    """Delete the files that were scheduled for deletion. Ends with 1 when one could not be deleted.

    Example: `quacklake --lake sqlite:///lake.db maintain cleanup --older-than 7d`
    """
    settings = settings_of(ctx)
    with working("Deleting files"), settings.open(writes=True) as session:
        report = session.maintain.cleanup(older_than, dry_run=dry_run)
    _print_removed(report, settings, json)


@app.command()
def orphans(
    ctx: typer.Context, older_than: OlderThanOption = None, dry_run: DryRunOption = False, json: JsonOption = False
) -> None:
    """Delete files in the lake's folder that are in no snapshot. Ends with 1 when one could not be deleted.

    Example: `quacklake --lake sqlite:///lake.db maintain orphans --dry-run`
    """
    settings = settings_of(ctx)
    with working("Looking at every file"), settings.open(writes=True) as session:
        report = session.maintain.remove_orphans(older_than, dry_run=dry_run)
    _print_removed(report, settings, json)


def _print_removed(report: Removed, settings: Settings, json: bool) -> None:
    if json or settings.json:
        print_json(asdict(report))
    else:
        print_table(("path",), [(path,) for path in report.paths])
        for each in report.failed:
            say(f"{each.path}: {each.reason}")
        say(f"{_would(report.dry_run)} {_count(report.files, 'file')}, {report.files_failed} failed.")
    if report.files_failed:
        raise typer.Exit(1)


def _would(dry_run: bool) -> str:
    return "Would remove" if dry_run else "Removed"


def _count(things: int | tuple[int, ...], word: str) -> str:
    number = things if isinstance(things, int) else len(things)
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
