"""Tables for inlined rows in a database that commits with every CREATE TABLE.

MySQL does. So the tables are made before the transaction that registers them, by one writer at a time. One that was
made and never registered stays behind; whoever gets its name next drops it first, for it may have other columns.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import sqlalchemy as sa

from quacklake.catalog.inlined_write import inlined_ddl, inlined_name
from quacklake.commit.apply.attempt import Attempt
from quacklake.commit.apply.inlined import positions_table
from quacklake.commit.changes import InlineDeletes, NewLayout

_BEGIN = ("SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "START TRANSACTION")

Made = tuple[str, str]
"""The name of a table and the statement that makes it."""


def missing_tables(attempt: Attempt, made: Collection[Made] = ()) -> list[Made]:
    """The tables that the commit needs, without those that were made for it already."""
    tables, needed = attempt.tables, list[Made]()
    for change in attempt.of(NewLayout):
        table_id, version = attempt.ids.object_id(change.table_id), attempt.ids.schema_version
        ddl = inlined_ddl(attempt.backend.name, table_id, version, change.schema.columns, tables.sql_schema)
        needed.append((inlined_name(table_id, version), ddl))
    for deletes in attempt.of(InlineDeletes):
        table = positions_table(attempt.ids.object_id(deletes.table_id), tables.sql_schema)
        if deletes.positions and not attempt.backend.has_table(attempt.connection, table.name):
            needed.append((table.name, str(sa.schema.CreateTable(table).compile(attempt.connection))))
    return [each for each in needed if each not in made]


def make_tables(attempt: Attempt, missing: Sequence[Made]) -> None:
    """Make the tables, each of which ends the transaction."""
    connection, schema = attempt.connection, attempt.tables.sql_schema
    quoted = connection.dialect.identifier_preparer.quote
    place = "" if schema is None else f"{quoted(schema)}."
    # Names may have percent signs, which the driver takes for places of parameters.
    plain = {"no_parameters": True}
    for name, ddl in missing:
        connection.exec_driver_sql(f"DROP TABLE IF EXISTS {place}{quoted(name)}", execution_options=plain)
        connection.exec_driver_sql(ddl, execution_options=plain)


def begin_again(connection: sa.Connection) -> None:
    """Begin another transaction on the same connection."""
    for statement in _BEGIN:
        connection.exec_driver_sql(statement)
