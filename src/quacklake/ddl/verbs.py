"""The verbs that change what a lake consists of, on sessions, transactions and tables.

Outside of a transaction each verb is one of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from types import EllipsisType
from typing import TYPE_CHECKING, Any

from quacklake.catalog.view import TableEntry
from quacklake.commit.outcome import Commit
from quacklake.errors import InvalidInputError, NotFoundError, ReadOnlyError
from quacklake.lakes import LakeNames
from quacklake.names import quote
from quacklake.types import DataType

if TYPE_CHECKING:
    from quacklake.catalog.load import At
    from quacklake.ddl.options import Value
    from quacklake.table import Table
    from quacklake.transaction import Transaction


class LakeVerbs(LakeNames):
    """What a session and a transaction can do to a lake."""

    def _writing(self) -> AbstractContextManager[Transaction]:
        raise NotImplementedError

    def table(self, name: str, at: At = None) -> Table:
        """The table of that name."""
        raise NotImplementedError

    def _writing_to(self, name: str) -> AbstractContextManager[Transaction]:
        lake: LakeVerbs = self._lake_of(name)
        return lake._writing()

    def create_namespace(self, name: str, if_not_exists: bool = False) -> Commit:
        """Make a namespace."""
        from quacklake.ddl.objects import create_namespace

        lake: LakeVerbs
        try:
            lake, name = self._namespace(name)
        except NotFoundError as error:
            raise InvalidInputError(
                f"{name!r} is no name for a namespace", hint=f"namespaces do not nest, and {error.message}"
            ) from None
        with lake._writing() as tx:
            create_namespace(tx, quote(name), if_not_exists=if_not_exists)
        return tx.done

    def drop_namespace(self, name: str, cascade: bool = False, if_exists: bool = False) -> Commit:
        """Drop a namespace; with `cascade`, also when it is not empty."""
        from quacklake.ddl.objects import drop_namespace

        lake: LakeVerbs
        lake, name = self._namespace(name)
        with lake._writing() as tx:
            drop_namespace(tx, quote(name), cascade=cascade, if_exists=if_exists)
        return tx.done

    def create_table(
        self,
        name: str,
        schema: Any,
        partition_by: Sequence[str] = (),
        sort_by: Sequence[str] = (),
        if_not_exists: bool = False,
        or_replace: bool = False,
        comment: str | None = None,
    ) -> Table:
        """Make a table.

        Args:
            name: `table`, `namespace.table` or `catalog.namespace.table`.
            schema: An Arrow schema, a Spark `StructType`, or columns as text: `id BIGINT NOT NULL, tags ARRAY<STRING>`.
            partition_by: Keys such as `country`, `month(ts)`, `bucket(16, id)`.
            sort_by: Keys such as `ts desc`.
            if_not_exists: Leave a table of that name as it is.
            or_replace: Drop a table of that name first.
            comment: For people.
        """
        from quacklake.ddl.objects import create_table

        with self._writing_to(name) as tx:
            entry = create_table(
                tx,
                name,
                schema,
                partition_by=partition_by,
                sort_by=sort_by,
                comment=comment,
                if_not_exists=if_not_exists,
                or_replace=or_replace,
            )
        return self.table(str(replace(entry.name, catalog=tx._label)))

    def drop_table(self, name: str, if_exists: bool = False) -> Commit:
        """Drop a table. Older snapshots still have it."""
        from quacklake.ddl.objects import drop_table

        with self._writing_to(name) as tx:
            drop_table(tx, name, if_exists=if_exists)
        return tx.done

    def create_view(
        self,
        name: str,
        sql: str,
        or_replace: bool = False,
        columns: Sequence[str] = (),
        comment: str | None = None,
    ) -> Commit:
        """Make a view of a query in Spark's dialect."""
        from quacklake.ddl.objects import create_view

        with self._writing_to(name) as tx:
            create_view(tx, name, sql, columns=columns, comment=comment, or_replace=or_replace)
        return tx.done

    def drop_view(self, name: str, if_exists: bool = False) -> Commit:
        """Drop a view."""
        from quacklake.ddl.objects import drop_view

        with self._writing_to(name) as tx:
            drop_view(tx, name, if_exists=if_exists)
        return tx.done

    def rename_view(self, name: str, new_name: str) -> Commit:
        """Give a view another name in its namespace."""
        from quacklake.ddl.objects import rename_view

        with self._writing_to(name) as tx:
            rename_view(tx, name, new_name)
        return tx.done

    def set_view_comment(self, name: str, text: str | None) -> Commit:
        """Set the comment of a view; None takes it away."""
        from quacklake.ddl.objects import set_view_comment

        with self._writing_to(name) as tx:
            set_view_comment(tx, name, text)
        return tx.done


class OptionVerbs(LakeNames):
    """What a session can set."""

    _catalog: Any
    _read_only: bool

    def set_option(
        self,
        name: str,
        value: Value,
        namespace: str | None = None,
        table: str | None = None,
        catalog: str | None = None,
    ) -> None:
        """Set an option of the lake, of a namespace or of a table. It takes effect at once and makes no snapshot.

        Args:
            name: Of the option.
            value: Its value.
            namespace: The namespace that it is for.
            table: The table that it is for.
            catalog: The attached lake that it is for; the names of namespaces and tables may say it as well.
        """
        from quacklake.ddl.objects import object_name
        from quacklake.ddl.options import stored_value, write_option

        stored = stored_value(name, value, scoped=namespace is not None or table is not None)
        lake = self._lake(catalog)
        if namespace is not None:
            lake, namespace = lake._namespace(namespace)
        parsed = None
        if table is not None:
            parsed = object_name(table if namespace is None else f"{quote(namespace)}.{table}")
            lake = lake._lake(parsed.catalog)
        if lake._read_only:
            raise ReadOnlyError("the session only reads", hint="connect again without at= and read_only=")
        lake._catalog.check_writable()
        if parsed is not None:
            entry = lake._catalog.view(only=parsed).table(parsed)
            write_option(lake._catalog, name, stored, "table", entry.table_id)
        elif namespace is not None:
            found = lake._catalog.view().namespace(namespace)
            write_option(lake._catalog, name, stored, "schema", found.namespace_id)
        else:
            write_option(lake._catalog, name, stored, None, None)


class TableVerbs:
    """What can be done to a table besides its rows."""

    _session: Any
    _entry: TableEntry
    _at: At
    name: str

    def _altering(self) -> AbstractContextManager[Transaction]:
        if self._at is not None:
            raise ReadOnlyError(f"{self.name} is shown as of {self._at}", hint="use the table without at=")
        writing: AbstractContextManager[Transaction] = self._session._writing()
        return writing

    def _newest(self, tx: Transaction) -> TableEntry:
        from quacklake.names import TableName

        name = TableName.parse(self.name)
        return tx._catalog.view(only=name).table(name)

    def _altered(self, tx: Transaction, entry: TableEntry) -> Commit:
        # The id of a new table is only known once it is committed.
        found = self._session._catalog.view(only=entry.name).table(entry.name)
        self._entry, self.name = found, str(replace(found.name, catalog=self._session._label))
        return tx.done

    def add_column(
        self,
        name: str,
        type: DataType | str,
        default: Any = None,
        comment: str | None = None,
        if_not_exists: bool = False,
    ) -> Commit:
        """Add a column, or a field to a struct (`address.zip`, `lines.element.price`).

        Args:
            name: Its name.
            type: A type of Spark or DuckDB, as text.
            default: A value. Rows that are there show it, and inserts without the column store it.
            comment: For people.
            if_not_exists: Leave a column of that name as it is.
        """
        from quacklake.ddl.columns import add_column

        with self._altering() as tx:
            entry = self._newest(tx)
            entry = add_column(tx, entry, name, type, default=default, comment=comment, if_not_exists=if_not_exists)
        return self._altered(tx, entry)

    def drop_column(self, name: str, if_exists: bool = False) -> Commit:
        """Drop a column, or a field of a struct."""
        from quacklake.ddl.columns import drop_column

        with self._altering() as tx:
            entry = drop_column(tx, self._newest(tx), name, if_exists=if_exists)
        return self._altered(tx, entry)

    def rename_column(self, name: str, new_name: str) -> Commit:
        """Give a column or a field of a struct another name."""
        from quacklake.ddl.columns import rename_column

        with self._altering() as tx:
            entry = rename_column(tx, self._newest(tx), name, new_name)
        return self._altered(tx, entry)

    def alter_column(
        self,
        name: str,
        type: DataType | str | None = None,
        default: Any | EllipsisType = ...,
        nullable: bool | None = None,
        comment: str | EllipsisType | None = ...,
    ) -> Commit:
        """Change a column.

        Args:
            name: The column, or a nested field.
            type: A wider type. A struct's fields are compared by name.
            default: What inserts without the column store; None for nothing.
            nullable: Whether it takes NULL. False needs a column without NULLs.
            comment: For people; None takes it away.
        """
        from quacklake.ddl.columns import alter_column

        with self._altering() as tx:
            entry = alter_column(
                tx, self._newest(tx), name, type_=type, default=default, nullable=nullable, comment=comment
            )
        return self._altered(tx, entry)

    def set_partition_by(self, keys: Sequence[str]) -> Commit:
        """Spread new files by keys such as `country`, `month(ts)`, `bucket(16, id)`; no keys for not at all."""
        from quacklake.ddl.columns import set_partition_by

        with self._altering() as tx:
            entry = set_partition_by(tx, self._newest(tx), keys)
        return self._altered(tx, entry)

    def set_sort_by(self, keys: Sequence[str]) -> Commit:
        """Order the rows of new files by keys such as `ts desc`; no keys for not at all."""
        from quacklake.ddl.columns import set_sort_by

        with self._altering() as tx:
            entry = set_sort_by(tx, self._newest(tx), keys)
        return self._altered(tx, entry)

    def set_comment(self, text: str | None) -> Commit:
        """Set the comment of the table; None takes it away."""
        from quacklake.ddl.columns import set_comment

        with self._altering() as tx:
            entry = set_comment(tx, self._newest(tx), text)
        return self._altered(tx, entry)

    def rename(self, new_name: str) -> Commit:
        """Give the table another name in its namespace."""
        from quacklake.ddl.objects import rename_table

        with self._altering() as tx:
            entry = rename_table(tx, self._newest(tx), new_name)
        return self._altered(tx, entry)
