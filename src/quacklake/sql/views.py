"""The query of a view, as the lake keeps it: in DuckDB's SQL, every table of another namespace with that.

A name of one part is looked for in the view's own namespace first, by DuckDB and by us, so there it stays as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quacklake.errors import InvalidInputError, UnsupportedError
from quacklake.names import fold
from quacklake.sql.aliases import Aliases, Named
from quacklake.sql.expressions import Edit, edit
from quacklake.sql.items import refuse_items
from quacklake.sql.names import Names
from quacklake.sql.references import Reference, find_references
from quacklake.sql.stars import settle_stars
from quacklake.sql.text import parse

if TYPE_CHECKING:
    from quacklake.names import TableName


def stored_query(text: str, names: Names, view: TableName) -> str:
    """The query of a view for the catalog.

    Args:
        text: The query, in Spark's dialect.
        names: What its names stand for.
        view: The view itself.

    Raises:
        InvalidInputError: When it is no query, or has parameters.
        UnsupportedError: When it reads a lake that is attached to this session only.
    """
    from sqlglot import errors, exp

    statement = parse(text)
    if not isinstance(statement.tree, exp.Query):
        raise InvalidInputError(f"a view is one query, and {text!r} is not")
    if statement.tree.find(exp.Placeholder) is not None:
        raise InvalidInputError(f"the view {view} has parameters", hint="write the values themselves")
    tables = [each for each in find_references(statement.tree, statement.tokens) if each.arguments is None]
    plain = [Named(each, names.whole(names.table(each.parts))) for each in tables if each.alias is None]
    aliases = Aliases(statement.tree, plain, "quacklake_", names.home)
    edits: list[Edit] = [*aliases.edits()]
    for each in tables:
        edits += _qualified(each, names, view, aliases)
    tree = parse(edit(text, edits)).tree
    settle_stars(tree)
    refuse_items(tree)
    try:
        return tree.sql("duckdb", comments=False, unsupported_level=errors.ErrorLevel.RAISE)
    except errors.UnsupportedError as error:
        first = str(error).splitlines()[0]
        raise UnsupportedError(f"the view {view} cannot be said in DuckDB's SQL: {first}") from error


def _qualified(table: Reference, names: Names, view: TableName, aliases: Aliases) -> list[Edit]:
    name = names.table(table.parts)
    if name.catalog != view.catalog:
        raise UnsupportedError(
            f"the view {view} cannot read {name}, which is another lake", hint="a view reads tables of its own lake"
        )
    is_near = len(table.parts) == 1 and fold(name.namespace) == fold(view.namespace)
    parts = table.parts if is_near else (name.namespace, name.table)
    marked = ".".join("`" + part.replace("`", "``") + "`" for part in parts)
    for word, moment in (("VERSION", table.version), ("TIMESTAMP", table.timestamp)):
        if moment is not None:
            marked += f" AT ({word} => {moment.sql('spark')})"
    alias = aliases.alias(table)
    is_plain = is_near and table.version is None and table.timestamp is None
    found: list[Edit] = [] if is_plain else [(table.start, table.end, marked)]
    if table.alias is None and alias != table.parts[-1]:
        found.append((table.after, table.after, f" AS {alias}"))
    return found
