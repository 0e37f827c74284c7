"""The changes that migrations make to a catalog, in the SQL of each database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.create import create_statement
from quacklake.catalog.tables import LAYOUT, TYPES, CatalogTables, build_tables
from quacklake.errors import CatalogError


class CatalogEditor:
    """Reshapes the tables of a lake. Names are those of the format, without their prefix."""

    def __init__(self, backend: Backend, connection: sa.Connection) -> None:
        self._backend = backend
        self._connection = connection
        self._columns = {table: list(columns) for table, columns in backend.columns(connection).items()}

    @property
    def every_step_is_final(self) -> bool:
        """Whether an interruption leaves what was done so far."""
        return not self._backend.transactional_ddl

    @property
    def tables(self) -> CatalogTables:
        """The tables of the current version; use only what is there already."""
        return build_tables(self._backend.sql_schema)

    def version(self) -> str:
        """What the catalog says it is."""
        metadata = self.tables.metadata.c
        found = self.execute(sa.select(metadata.value).where(metadata.key == "version")).scalar()
        if not isinstance(found, str):
            raise CatalogError(f"the lake in {self._backend.display} does not say its version")
        return found

    def set_version(self, version: str) -> str:
        """Let the catalog say that it is of another version; returns it."""
        metadata = self.tables.metadata
        self.execute(metadata.update().where(metadata.c.key == "version").values(value=version))
        return version

    def has(self, name: str, column: str | None = None) -> bool:
        """Whether there is such a table, or such a column of it."""
        columns = self._columns.get(f"ducklake_{name}")
        return columns is not None and (column is None or column in columns)

    def old_table(self, name: str) -> sa.TableClause:
        """A table as it is now."""
        stored = f"ducklake_{name}"
        known = dict(word.rstrip("!*").split(":") for word in LAYOUT.get(name, "").split())
        columns: list[sa.ColumnClause[Any]] = [
            sa.column(column, TYPES[known.get(column, "text")]) for column in self._columns[stored]
        ]
        return sa.table(stored, *columns, schema=self._backend.sql_schema)

    def create(self, name: str) -> None:
        """Make a table of the current version, unless it is there."""
        if not self.has(name):
            table: sa.Table = getattr(self.tables, name)
            self._run(create_statement(table, self._connection.dialect))
            self._columns[table.name] = [column.name for column in table.columns]

    def add_column(self, name: str, column: str) -> bool:
        """Add a column of the current version at the end of its table, unless it is there; whether it was added."""
        if self.has(name, column):
            return False
        kind = dict(word.rstrip("!*").split(":") for word in LAYOUT[name].split())[column]
        type_ = TYPES[kind].compile(self._connection.dialect)
        self._run(f"ALTER TABLE {self._quoted(f'ducklake_{name}')} ADD COLUMN {self._plain(column)} {type_}")
        self._columns[f"ducklake_{name}"].append(column)
        return True

    def drop_column(self, name: str, column: str) -> None:
        """Drop a column that the current version has no more."""
        if self.has(name, column):
            self._run(f"ALTER TABLE {self._quoted(f'ducklake_{name}')} DROP COLUMN {self._plain(column)}")
            self._columns[f"ducklake_{name}"].remove(column)

    def rename(self, name: str, new: str) -> None:
        """Rename a table that has another name in the current version."""
        old_name, new_name = f"ducklake_{name}", f"ducklake_{new}"
        if old_name in self._columns and new_name not in self._columns:
            in_place = self._quoted(new_name) if self._backend.name == "mysql" else self._plain(new_name)
            self._run(f"ALTER TABLE {self._quoted(old_name)} RENAME TO {in_place}")
            self._columns[new_name] = self._columns.pop(old_name)

    def execute(
        self, statement: sa.Executable, parameters: Mapping[str, Any] | None = None
    ) -> sa.CursorResult[*tuple[Any, ...]]:
        """Run a statement on rows."""
        return self._connection.execute(statement, parameters or {})

    @contextmanager
    def together(self) -> Iterator[None]:
        """Changes of rows that come true all at once, also where changes of tables end the transaction."""
        if not self.every_step_is_final:
            yield
            return
        self._run("START TRANSACTION")
        yield
        self._run("COMMIT")

    def _run(self, statement: str) -> None:
        self._connection.exec_driver_sql(statement)

    def _plain(self, name: str) -> str:
        return self._connection.dialect.identifier_preparer.quote(name)

    def _quoted(self, name: str) -> str:
        place = self._backend.sql_schema
        prefix = f"{self._connection.dialect.identifier_preparer.quote_schema(place)}." if place else ""
        return prefix + self._plain(name)
