"""The command `append`: the rows of a file go into a table."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from quacklake.cli.options import JsonOption, TableArgument, settings_of
from quacklake.cli.output import print_json, say, working


def append(
    ctx: typer.Context,
    table: TableArgument,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Parquet, CSV with a line of names, or JSON.")],
    json: JsonOption = False,
) -> None:
    """Add the rows of a file to a table, in one commit.

    Columns are matched by name, and one that the table lacks is an error; those that the file lacks get their default.
    The ending says the format: `.parquet`, `.csv`, `.tsv`, `.json`, `.jsonl` or `.ndjson`, the texts also with `.gz`.

    Example: `quacklake --lake sqlite:///lake.db append events new.parquet`
    """
    settings = settings_of(ctx)
    from quacklake.dml.files import open_file

    with working(f"Appending {file}"), settings.open(writes=True) as session:
        target = session.table(table)
        done = target.append(open_file(file, target.schema))
    if json or settings.json:
        print_json(asdict(done))
    else:
        say(f"{done.rows_inserted:,} rows, snapshot {done.snapshot_id}" if done.rows_inserted else "No rows.")
