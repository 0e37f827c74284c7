"""Commands that say what there is: `tables`, `show`, `snapshots` and `check`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quacklake.cli.options import JsonOption, TableArgument, settings_of
from quacklake.cli.output import print_json, print_table, say, working

if TYPE_CHECKING:
    from quacklake import Table
    from quacklake.schema import Column


def tables(
    ctx: typer.Context,
    namespace: Annotated[str | None, typer.Option("--namespace", metavar="NAME", help="Only this one.")] = None,
    json: JsonOption = False,
) -> None:
    """List the tables and views.

    Example: `quacklake --lake sqlite:///lake.db tables`
    """
    settings = settings_of(ctx)
    with working("Reading the catalog"), settings.open() as session:
        rows = [{"name": name, "kind": "table"} for name in sorted(session.tables(namespace))]
        rows += [{"name": name, "kind": "view"} for name in sorted(session.views(namespace))]
    if json or settings.json:
        print_json(rows)
    elif rows:
        print_table(("name", "kind"), [(row["name"], row["kind"]) for row in rows])
    else:
        say("There are no tables.")


def show(ctx: typer.Context, table: TableArgument, json: JsonOption = False) -> None:
    """Describe a table: columns, types, partitions, order.

    Example: `quacklake --lake sqlite:///lake.db show analytics.events`
    """
    settings = settings_of(ctx)
    with working("Reading the catalog"), settings.open() as session:
        described = _describe(session.table(table), session.current_snapshot)
    if json or settings.json:
        print_json(described)
        return
    facts = [(name, described[name]) for name in ("name", "comment", "format", "snapshot_id")]
    facts += [(name, ", ".join(described[name])) for name in ("partition_by", "sort_by")]
    print_table((), [(name, str(value)) for name, value in facts if value not in (None, "")])
    heads = ("name", "type", "nullable", "default", "comment")
    print_table(
        ("column", *heads[1:]),
        [tuple(_word(column[head]) for head in heads) for column in described["columns"]],
        before="\n",
    )


def snapshots(
    ctx: typer.Context,
    limit: Annotated[int | None, typer.Option("--limit", min=0, help="Only the newest so many.")] = None,
    json: JsonOption = False,
) -> None:
    """List the snapshots, oldest first.

    Example: `quacklake --lake sqlite:///lake.db snapshots --limit 10`
    """
    settings = settings_of(ctx)
    with working("Reading the catalog"), settings.open() as session:
        found = session.snapshots()
    heads = ("snapshot_id", "time", "author", "message", "changes")
    rows = [
        {head: _moment(each.time) if head == "time" else getattr(each, head) for head in heads}
        for each in found[len(found) - min(limit, len(found)) if limit is not None else 0 :]
    ]
    if json or settings.json:
        print_json(rows)
    else:
        print_table(heads, [tuple(_word(row[head]) for head in heads) for row in rows], right=("snapshot_id",))


def _describe(table: Table, snapshot_id: int) -> dict[str, Any]:
    return {
        "name": table.name,
        "comment": table.comment,
        "format": table.format,
        "snapshot_id": snapshot_id,
        "partition_by": list(table.partition_by),
        "sort_by": list(table.sort_by),
        "columns": [_describe_column(column) for column in table.schema],
    }


def _describe_column(column: Column) -> dict[str, Any]:
    return {
        "id": column.id,
        "name": column.name,
        "type": str(column.type),
        "nullable": column.nullable,
        "default": None if column.default is None else column.default.text,
        "comment": column.comment,
    }


def _moment(time: datetime) -> str:
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _word(value: object) -> str:
    if value is None:
        return ""
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def check(ctx: typer.Context, json: JsonOption = False) -> None:
    """Look the lake over: ids, counters, and whether every file is there. Ends with 1 when something is wrong.

    Example: `quacklake --lake sqlite:///lake.db check`
    """
    settings = settings_of(ctx)
    with working("Looking at every file"), settings.open() as session:
        found = session.check()
    if json or settings.json:
        print_json([{"kind": each.kind, "subject": each.subject, "reason": each.reason} for each in found])
    elif found:
        print_table(("kind", "subject", "reason"), [(each.kind, each.subject, each.reason) for each in found])
    else:
        say("All is well.")
    if found:
        raise typer.Exit(1)
