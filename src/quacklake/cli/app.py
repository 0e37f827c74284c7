"""The `quacklake` command: its global options and the list of its commands."""

from __future__ import annotations

from typing import Annotated

import typer

from quacklake.cli import listings, maintaining, moves, scans, statements, tenant_roles, tenants, writes
from quacklake.cli.edge import Edge
from quacklake.cli.options import AtOption, EngineChoice, EngineOption, JsonOption, LakeOption, Settings, TenantOption

app = typer.Typer(
    name="quacklake",
    cls=Edge,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from quacklake import __version__

        typer.echo(f"quacklake {__version__}")
        raise typer.Exit


@app.callback()
def set_up(
    ctx: typer.Context,
    lake: LakeOption = None,
    tenant: TenantOption = None,
    engine: EngineOption = EngineChoice.local,
    at: AtOption = None,
    json: JsonOption = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Look into a DuckLake lake: its tables, snapshots, files and rows; change it with SQL.

    Data goes to stdout, words go to stderr. Nothing but `sql`, `append`, `maintain` and `tenants` changes anything.

    Example: `quacklake --lake sqlite:///lake.db scan events --where "country = 'DE'" --limit 5`
    """
    ctx.obj = Settings(lake, engine, None if at is None else at.at, json, tenant)


for command in (
    listings.tables,
    listings.show,
    listings.snapshots,
    listings.check,
    scans.scan,
    scans.files,
    scans.explain,
    scans.changes,
    statements.sql,
    writes.append,
):
    app.command()(command)
app.add_typer(maintaining.app, name="maintain")
app.add_typer(tenants.group, name="tenants")
tenant_roles.add_to(tenants.group)
moves.add_to(tenants.group)


def main() -> None:
    """Run the command line."""
    app(prog_name="quacklake")
