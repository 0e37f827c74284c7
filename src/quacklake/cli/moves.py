"""Commands that move whole lakes: `tenants migrate`, `export` and `clone`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from quacklake.cli.options import JsonOption, settings_of
from quacklake.cli.output import print_json, say, working
from quacklake.cli.tenants import NameArgument, open_tenants

if TYPE_CHECKING:
    from quacklake.tenancy.reports import Move

DryOption = Annotated[bool, typer.Option("--dry-run", help="Say what would be copied, and change nothing.")]


def _report(ctx: typer.Context, move: Move, json: bool, done: str) -> None:
    if json or settings_of(ctx).json:
        print_json([asdict(move)])
        return
    what = f"{move.tables} tables, {move.snapshots} snapshots, {move.files} files, {move.bytes} bytes"
    say(f"{'Would copy' if move.dry_run else done}: {what}.")
    if move.written_files:
        say(f"{move.written_files} files ({move.written_bytes} bytes) name snapshots inside and are written anew.")
    for problem in move.problems:
        say(f"Problem: {problem}")


def migrate(
    ctx: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="A lake that has its database for itself.")],
    name: NameArgument,
    dry_run: DryOption = False,
    owns_files: Annotated[
        bool, typer.Option("--owns-files", help="Let the catalog delete files of the lake, which nobody will use.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Make a catalog of a lake, with all its snapshots; the lake stays as it is.

    Example: `quacklake --lake postgresql://…/shared tenants migrate sqlite:///old.db wb_old --dry-run`
    """
    with working("Copying the lake"), open_tenants(ctx) as tenants:
        move = tenants.migrate(url, name, dry_run=dry_run, owns_files=owns_files)
    _report(ctx, move, json, f"The lake is the catalog {name} now")


def export(
    ctx: typer.Context,
    name: NameArgument,
    url: Annotated[str, typer.Argument(metavar="URL", help="Where the lake will be.")],
    data_path: Annotated[str | None, typer.Option("--data-path", help="Where its files go.")] = None,
    in_place: Annotated[bool, typer.Option("--in-place", help="Leave the files where they are, for both.")] = False,
    dry_run: DryOption = False,
    json: JsonOption = False,
) -> None:
    """Make a lake of a catalog, with all its snapshots, that DuckDB opens.

    Example: `quacklake --lake postgresql://…/shared tenants export wb_old sqlite:///back.db`
    """
    with working("Copying the catalog"), open_tenants(ctx) as tenants:
        move = tenants.export(name, url, data_path, copy_files=not in_place, dry_run=dry_run)
    _report(ctx, move, json, f"The catalog {name} is a lake of its own now")


def clone(ctx: typer.Context, old: NameArgument, new: NameArgument) -> None:
    """Make a second catalog of one; both show the same files.

    Example: `quacklake --lake postgresql://…/shared tenants clone wb_abc wb_try`
    """
    with working("Copying the catalog"), open_tenants(ctx) as tenants:
        tenants.clone(old, new)
    say(f"The catalog {new} shows what {old} shows.")


def add_to(group: typer.Typer) -> None:
    """Put the commands beside the others about tenants."""
    for command in (migrate, export, clone):
        group.command()(command)
