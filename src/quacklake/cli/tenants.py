"""Commands about the catalogs that share a database: `tenants list`, `create`, `rename` and `drop`."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quacklake.cli.options import JsonOption, settings_of
from quacklake.cli.output import print_json, print_table, say, working

if TYPE_CHECKING:
    from quacklake import Tenants

group = typer.Typer(no_args_is_help=True, help="The catalogs that share a database.")

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The name of a catalog.")]
_PAGE = 1000


def open_tenants(ctx: typer.Context, *, create: bool = False, data_path: str | None = None) -> Tenants:
    """The catalogs of the database that the command line names."""
    from quacklake.tenancy.tenants import tenants

    return tenants(settings_of(ctx).url, data_path, create=create)


@group.command("list")
def list_(
    ctx: typer.Context,
    prefix: Annotated[str | None, typer.Option("--prefix", help="Those whose names begin so.")] = None,
    after: Annotated[str | None, typer.Option("--after", metavar="NAME", help="Those behind this name.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many.")] = _PAGE,
    sizes: Annotated[bool, typer.Option("--sizes", help="Count rows, files and bytes.")] = False,
    json: JsonOption = False,
) -> None:
    """List catalogs in the order of their names.

    Example: `quacklake --lake postgresql://…/shared tenants list --prefix wb_ --sizes`
    """
    with working("Reading the database"), open_tenants(ctx) as tenants:
        found = tenants.list(after=after, limit=limit, prefix=prefix, sizes=sizes)
    heads = ("name", "catalog_id", "created", *(("rows", "files", "bytes") if sizes else ()))
    rows: list[dict[str, Any]] = [{head: getattr(each, head) for head in heads} for each in found]
    for row in rows:
        moment = row["created"]
        row["created"] = None if moment is None else moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if json or settings_of(ctx).json:
        print_json(rows)
    elif rows:
        texts = [tuple("" if row[head] is None else str(row[head]) for head in heads) for row in rows]
        print_table(heads, texts, right=("catalog_id", *heads[3:]))
    else:
        say("There are no catalogs.")


@group.command()
def create(
    ctx: typer.Context,
    name: NameArgument,
    data_path: Annotated[
        str | None, typer.Option("--data-path", help="Where files go, when the database is empty yet.")
    ] = None,
    encrypted: Annotated[bool, typer.Option("--encrypted", help="Encrypt its files.")] = False,
) -> None:
    """Make a catalog, and the tables for all of them when the database is empty.

    Example: `quacklake --lake postgresql://…/shared tenants create wb_abc --data-path s3://bucket/lakes/`
    """
    with open_tenants(ctx, create=True, data_path=data_path) as tenants:
        made = tenants.create(name, encrypted=encrypted)
    say(f"Made the catalog {made.name}.")


@group.command()
def rename(ctx: typer.Context, old: NameArgument, new: NameArgument) -> None:
    """Give a catalog another name; its files stay where they are.

    Example: `quacklake --lake postgresql://…/shared tenants rename wb_abc wb_def`
    """
    with open_tenants(ctx) as tenants:
        tenants.rename(old, new)
    say(f"The catalog {old} is called {new} now.")


@group.command()
def drop(
    ctx: typer.Context,
    name: NameArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    cleanup: Annotated[bool, typer.Option("--cleanup", help="Delete the files of dropped catalogs at once.")] = False,
) -> None:
    """Forget a catalog with all its tables and snapshots.

    Example: `quacklake --lake postgresql://…/shared tenants drop wb_def --yes`
    """
    with open_tenants(ctx) as tenants:
        tenants.get(name)
        if not yes:
            typer.confirm(f"Forget the catalog {name} with all its tables?", abort=True, err=True)
        tenants.drop(name)
        gone = len(tenants.cleanup()) if cleanup else None
    say(f"Dropped the catalog {name}." + ("" if gone is None else f" {gone} files are gone."))
