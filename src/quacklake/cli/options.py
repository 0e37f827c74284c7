"""The options that every command shares, and the lake they open."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from quacklake import Session


@dataclass(frozen=True, slots=True)
class When:
    """A snapshot id or a moment, as it was typed."""

    at: int | datetime


class EngineChoice(StrEnum):
    """What runs a query."""

    local = "local"
    spark = "spark"


def parse_when(text: str) -> When:
    """Read a snapshot id or a time; a time without a zone is in the zone of this machine."""
    if text.strip().isdecimal():
        return When(int(text))
    try:
        return When(datetime.fromisoformat(text.strip()).astimezone())
    except ValueError as error:
        raise typer.BadParameter(
            f"{text!r} is neither a snapshot id nor a time such as 2026-01-31 or 2026-01-31T12:00:00Z"
        ) from error


def split_columns(texts: list[str] | None) -> list[str] | None:
    """Read `--columns a,b --columns c`; a name with a comma in it is quoted with double quotes."""
    if not texts:
        return None
    import csv

    # Not names.split: that takes names apart at dots, and here a dot is part of nothing but the name.
    return [name.strip() for row in csv.reader(texts, skipinitialspace=True) for name in row if name.strip()]


LakeOption = Annotated[
    str | None,
    typer.Option(
        "--lake", envvar="QUACKLAKE_LAKE", metavar="URL", help="The lake: sqlite:///lake.db, postgresql://…, or a path."
    ),
]
TenantOption = Annotated[
    str | None,
    typer.Option(
        "--tenant", envvar="QUACKLAKE_TENANT", metavar="NAME", help="Which of the catalogs that share the database."
    ),
]
EngineOption = Annotated[
    EngineChoice,
    typer.Option("--engine", envvar="QUACKLAKE_ENGINE", help="What runs counts and SQL; scans stream through local."),
]
AtOption = Annotated[
    When | None,
    typer.Option(
        "--at", envvar="QUACKLAKE_AT", parser=parse_when, metavar="SNAPSHOT|TIME", help="Read the lake as of then."
    ),
]
ScanAtOption = Annotated[
    When | None,
    typer.Option("--at", parser=parse_when, metavar="SNAPSHOT|TIME", help="Read this table as of then."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="JSON on stdout instead of a table.")]
TableArgument = Annotated[str, typer.Argument(metavar="TABLE", help="table, or namespace.table")]
WhereOption = Annotated[
    str | None, typer.Option("--where", metavar="SQL", help='A predicate in the Spark dialect: "amount > 10".')
]
ColumnsOption = Annotated[
    list[str] | None, typer.Option("--columns", metavar="A,B", help="Which columns, in which order. May repeat.")
]


@dataclass(frozen=True, slots=True)
class Settings:
    """What was said before the command."""

    lake: str | None
    engine: EngineChoice = EngineChoice.local
    at: int | datetime | None = None
    json: bool = False
    tenant: str | None = None

    @property
    def url(self) -> str:
        """The lake.

        Raises:
            typer.BadParameter: When nobody said which.
        """
        if not self.lake:
            raise typer.BadParameter("give the lake with --lake URL or in QUACKLAKE_LAKE", param_hint="--lake")
        return self.lake

    def open(self, *, writes: bool = False) -> Session:
        """Open the lake, to read only unless it is to be changed.

        Raises:
            typer.BadParameter: When nobody said which lake.
        """
        from quacklake.session import connect

        return connect(
            self.url, catalog=self.tenant, engine=self.engine.value, at=self.at, read_only=not writes, create=False
        )


def settings_of(ctx: typer.Context) -> Settings:
    """What was said before the command that runs now."""
    found = ctx.obj
    assert isinstance(found, Settings)
    return found
