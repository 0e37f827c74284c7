"""Commands about who else may see a catalog of a shared PostgreSQL: `tenants bridge`, `secure`, `grant`, `revoke`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from quacklake.cli.options import JsonOption, settings_of
from quacklake.cli.output import print_json, say
from quacklake.cli.tenants import NameArgument

if TYPE_CHECKING:
    from quacklake import Tenants

RoleOption = Annotated[str, typer.Option("--role", metavar="ROLE", help="A role of the database.")]


def _open(ctx: typer.Context) -> Tenants:
    from quacklake.tenancy.tenants import tenants

    return tenants(settings_of(ctx).url, create=False)


def bridge(
    ctx: typer.Context,
    name: NameArgument,
    reader: Annotated[
        str | None, typer.Option("--reader", metavar="ROLE", help="A role that may read it, and needs no other rights.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Let stock DuckDB read a catalog: print the schema to attach as METADATA_SCHEMA.

    Example: `quacklake --lake postgresql://…/shared tenants bridge wb_abc --reader analyst`
    """
    with _open(ctx) as tenants:
        schema = tenants.bridge(name, reader=reader)
    if json or settings_of(ctx).json:
        print_json({"name": name, "schema": schema})
    else:
        typer.echo(schema)


def secure(ctx: typer.Context) -> None:
    """Let PostgreSQL itself keep roles to the catalogs that they are bound to.

    Example: `quacklake --lake postgresql://…/shared tenants secure`
    """
    with _open(ctx) as tenants:
        tenants.secure()
    say("Roles see the catalogs that they are bound to, and no others.")


def grant(ctx: typer.Context, name: NameArgument, role: RoleOption) -> None:
    """Bind a role of the database to a catalog.

    Example: `quacklake --lake postgresql://…/shared tenants grant wb_abc --role wb_abc_user`
    """
    with _open(ctx) as tenants:
        tenants.grant(name, role)
    say(f"The role {role} reads and writes the catalog {name}.")


def revoke(ctx: typer.Context, name: NameArgument, role: RoleOption) -> None:
    """Let go of a role of the database.

    Example: `quacklake --lake postgresql://…/shared tenants revoke wb_abc --role wb_abc_user`
    """
    with _open(ctx) as tenants:
        tenants.revoke(name, role)
    say(f"The role {role} sees nothing of the catalog {name} any more.")


def add_to(group: typer.Typer) -> None:
    """Make these commands part of a group."""
    group.command()(bridge)
    group.command()(secure)
    group.command()(grant)
    group.command()(revoke)
