"""Whose a row is, as conditions in PostgreSQL's words: for views and policies, which know no statements of ours."""

from __future__ import annotations

from quacklake.catalog.shared.layout import OWNED
from quacklake.catalog.tables import LAYOUT
from quacklake.names import quote

SCHEDULED = "files_scheduled_for_deletion"


def columns_of(name: str) -> list[str]:
    """The columns of a table of the format, by its name without prefix, in order."""
    return [word.rstrip("!*").split(":")[0] for word in LAYOUT[name].split()]


def literal(text: str) -> str:
    """A text as PostgreSQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def condition(name: str, sql_schema: str, mine: str) -> str:
    """What is true of the rows of some catalogs.

    Args:
        name: A table of the format, without prefix, but not that of the settings.
        sql_schema: Where the tables are.
        mine: What is true of those catalogs, of a `catalog_id`.
    """
    place = quote(sql_schema)

    def ids(table: str, column: str, where: str = mine) -> str:
        # An array, which is made once, can be looked up in an index, and in a policy nothing else can.
        return f"ANY (ARRAY(SELECT x.{column} FROM {place}.ducklake_{table} x WHERE x.{where}))"

    own = ids("table", "table_id")
    if name in OWNED:
        return mine
    if name == "tag":
        return f"(object_id = {own} OR object_id = {ids('view', 'view_id')})"
    if name == "name_mapping":
        return f"mapping_id = {ids('column_mapping', 'mapping_id', f'table_id = {own}')}"
    if "table_id" in columns_of(name):
        return f"table_id = {own}"
    return f"macro_id = {ids('macro', 'macro_id')}"


def settings_condition(sql_schema: str, mine: str) -> str:
    """What is true of the settings that some catalogs have for themselves."""
    place = quote(sql_schema)
    parts = [f"scope = 'catalog' AND {mine.replace('catalog_id', 'scope_id', 1)}"]
    for scope in ("schema", "table"):
        ids = f"ANY (ARRAY(SELECT x.{scope}_id FROM {place}.ducklake_{scope} x WHERE x.{mine}))"
        parts.append(f"scope = '{scope}' AND scope_id = {ids}")
    return "(" + " OR ".join(f"({part})" for part in parts) + ")"
