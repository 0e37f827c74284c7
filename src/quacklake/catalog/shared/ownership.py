"""Keep to the rows of one catalog, in the one place that every statement passes: where it becomes text.

Statements are built as if there were one catalog. Where one reads a table whose rows belong to catalogs, the text
reads those of one catalog; where one changes such rows, it changes those of one; what it inserts, belongs to it. The
id is a parameter, so that catalogs share the text. A connection that is bound to a catalog gives it; without one,
such a statement is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql.compiler import SQLCompiler

from quacklake.catalog.shared.layout import CATALOG, HANGS_ON, IS_OWNED, IS_SETTINGS

OPTION = CATALOG.key
"""The option of a connection that says to which catalog it is bound."""


class OwnRows(SQLCompiler):
    """Turns statements into text that keeps to the rows of one catalog. Plain tables are left as they are."""

    def visit_table(self, table: Any, *arguments: Any, **kw: Any) -> str:
        text: str = super().visit_table(table, *arguments, **kw)  # type: ignore[no-untyped-call]
        if not kw.get("asfrom") or kw.get("iscrud") or not _is_marked(table):
            return text
        rows = f"SELECT * FROM {text} WHERE catalog_id = {self._catalog()}"
        if IS_SETTINGS in table.info:
            rows = self._settings(text, table.info[IS_SETTINGS])
        alias = kw.get("enclosing_alias")
        is_named = alias is not None and alias.element is table
        return f"({rows})" if is_named else f"({rows}) AS {self.preparer.quote(table.name)}"

    def visit_column(self, column: Any, *arguments: Any, **kw: Any) -> str:
        text: str = super().visit_column(column, *arguments, **kw)
        table = column.table
        if table is not None and _is_marked(table) and table.schema:
            # What stands for the table has its name, and is in no schema.
            return text.removeprefix(f"{self.preparer.quote_schema(table.schema)}.")
        return text

    def visit_update(self, update_stmt: Any, *arguments: Any, **kw: Any) -> str:
        return super().visit_update(_of_catalog(update_stmt), *arguments, **kw)

    def visit_delete(self, delete_stmt: Any, *arguments: Any, **kw: Any) -> str:
        return str(super().visit_delete(_of_catalog(delete_stmt), *arguments, **kw))  # type: ignore[no-untyped-call]

    def update_tables_clause(self, update_stmt: Any, from_table: Any, extra_froms: Any, **kw: Any) -> Any:
        if not _is_marked(from_table):
            return super().update_tables_clause(update_stmt, from_table, extra_froms, **kw)  # type: ignore[no-untyped-call]
        # MySQL's way to read other tables in the same breath would read this one, too.
        assert not extra_froms, "a statement changes one table"
        return from_table._compiler_dispatch(self, **{**kw, "asfrom": True, "iscrud": True})

    def _catalog(self) -> str:
        return self.process(CATALOG)

    def _settings(self, metadata: str, sql_schema: str | None) -> str:
        """The settings of a catalog as a lake of its own would have them.

        Those of the whole catalog have a scope of their own, for the table knows no catalogs. Those of the database
        hold where the catalog has none, and the data path is that of the catalog.
        """
        prepare = self.preparer
        place = f"{prepare.quote_schema(sql_schema)}." if sql_schema else ""
        key, id_ = prepare.quote("key"), self._catalog()
        full = "m.value || t.path" if self.dialect.name in ("sqlite", "duckdb") else "CONCAT(m.value, t.path)"
        of_database = "m.scope_id IS NULL AND m.scope IS NULL"
        parts = [
            f"SELECT m.{key}, m.value, m.scope, m.scope_id FROM {metadata} m"
            f" WHERE {of_database} AND m.{key} <> 'data_path' AND NOT EXISTS (SELECT 1 FROM {metadata} o"
            f" WHERE o.scope = 'catalog' AND o.scope_id = {id_} AND o.{key} = m.{key})",
            f"SELECT m.{key}, CASE WHEN t.path_is_relative THEN {full} ELSE t.path END, m.scope, m.scope_id"
            f" FROM {metadata} m, {place}quacklake_tenant t"
            f" WHERE {of_database} AND m.{key} = 'data_path' AND t.catalog_id = {id_}",
            f"SELECT m.{key}, m.value, NULL, NULL FROM {metadata} m WHERE m.scope = 'catalog' AND m.scope_id = {id_}",
            *(
                f"SELECT m.{key}, m.value, m.scope, m.scope_id FROM {metadata} m WHERE m.scope = '{scope}'"
                f" AND m.scope_id IN (SELECT {scope}_id FROM {place}ducklake_{scope} WHERE catalog_id = {id_})"
                for scope in ("schema", "table")
            ),
        ]
        return " UNION ALL ".join(parts)


def _is_marked(table: Any) -> bool:
    info = getattr(table, "info", {})
    return IS_OWNED in info or IS_SETTINGS in info


def _of_catalog(statement: Any) -> Any:
    info = getattr(statement.table, "info", {})
    if IS_OWNED in info:
        return statement.where(statement.table.c.catalog_id == CATALOG)
    return statement.where(info[HANGS_ON]) if HANGS_ON in info else statement


def keep_own_rows(dialect: sa.Dialect) -> None:
    """Let a dialect turn statements into text that keeps to the rows of one catalog."""
    known = dialect.statement_compiler
    dialect.statement_compiler = type(f"OwnRows{known.__name__}", (OwnRows, known), {})


def bind(engine: sa.Engine, catalog_id: int) -> sa.Engine:
    """The same database, for one catalog: every statement is about its rows."""
    bound = engine.execution_options(**{OPTION: catalog_id})
    sa.event.listen(bound, "before_execute", give_catalog, retval=True)
    return bound


def bind_connection(connection: sa.Connection, catalog_id: int) -> None:
    """The same for one connection, as long as it is open."""
    connection.execution_options(**{OPTION: catalog_id})
    sa.event.listen(connection, "before_execute", give_catalog, retval=True)


@contextmanager
def bound_otherwise(connection: sa.Connection, catalog_id: int) -> Iterator[None]:
    """A connection that is bound to a catalog, for a while bound to another one."""
    before = connection.get_execution_options()[OPTION]
    connection.execution_options(**{OPTION: catalog_id})
    try:
        yield
    finally:
        connection.execution_options(**{OPTION: before})


def bound_to(connection: sa.Connection) -> dict[str, int]:
    """The parameter that a connection gives to its statements, if it is bound to a catalog."""
    catalog_id = connection.get_execution_options().get(OPTION)
    return {} if catalog_id is None else {OPTION: catalog_id}


def give_catalog(
    connection: sa.Connection,
    statement: Any,
    multiparams: Sequence[Mapping[str, Any]],
    params: Mapping[str, Any],
    execution_options: Mapping[str, Any],
) -> tuple[Any, Sequence[Mapping[str, Any]], Mapping[str, Any]]:
    """Before a statement runs: give it the catalog that its connection is bound to."""
    more = bound_to(connection)
    if multiparams:
        return statement, [{**each, **more} for each in multiparams], params
    return statement, multiparams, {**params, **more}
