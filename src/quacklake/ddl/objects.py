"""Namespaces, tables and views: making them, dropping them, giving them other names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from quacklake.catalog.view import CatalogView, Namespace, PartitionSpec, SortSpec, TableEntry, ViewEntry
from quacklake.ddl.ids import new_uuid
from quacklake.ddl.partitions import read_partition_keys, read_sort_keys
from quacklake.ddl.schemas import check_inlined_names, check_name, read_schema
from quacklake.errors import AlreadyExistsError, InvalidInputError, NotFoundError, UnsupportedError
from quacklake.names import DEFAULT_NAMESPACE, TableName, fold, split

if TYPE_CHECKING:
    from quacklake.sql.names import Names
    from quacklake.transaction import Transaction

_PLAIN = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def create_namespace(tx: Transaction, name: str, *, if_not_exists: bool) -> None:
    """Make a namespace."""
    name = namespace_name(name)
    view = tx._catalog.lookup(TableName(name, name))
    if any(fold(each.name) == fold(name) for each in view.namespaces):
        if if_not_exists:
            return
        raise AlreadyExistsError(f"there is a namespace {name!r} already", hint="names ignore case")
    id_, uuid = next(tx._staging.ids), new_uuid()
    path = _folder(name, uuid)
    tx._staging.paths[id_] = path
    tx._staging.namespaces[id_] = Namespace(id_, name, view.data_path + path, uuid)


def drop_namespace(tx: Transaction, name: str, *, cascade: bool, if_exists: bool) -> None:
    """Drop a namespace, and with `cascade` everything in it."""
    view = tx._catalog.view()
    try:
        namespace = view.namespace(namespace_name(name))
    except NotFoundError:
        if if_exists:
            return
        raise
    if fold(namespace.name) == DEFAULT_NAMESPACE:
        raise InvalidInputError(f"the namespace {namespace.name!r} is the default one and stays")
    id_ = namespace.namespace_id
    tables = [each for each in view.tables if each.namespace_id == id_]
    views = [each for each in view.views if each.namespace_id == id_]
    macros = [each for each in view.macros if each.namespace_id == id_]
    if (tables or views or macros) and not cascade:
        names = [str(table.name) for table in tables] + [str(each.name) for each in views]
        names += [macro.name for macro in macros]
        raise InvalidInputError(
            f"the namespace {namespace.name!r} is not empty: it has {', '.join(names[:5])}", hint="pass cascade=True"
        )
    for table in tables:
        tx._staging.drop_table(table)
    for each in views:
        tx._staging.drop_view(each)
    for macro in macros:
        tx._staging.dropped_macros[macro.macro_id] = macro
    tx._staging.drop_namespace(namespace, tuple(table.table_id for table in tables if table.table_id >= 0))


def create_table(
    tx: Transaction,
    name: str,
    schema: Any,
    *,
    partition_by: Sequence[str],
    sort_by: Sequence[str],
    comment: str | None,
    if_not_exists: bool,
    or_replace: bool,
) -> TableEntry:
    """Make a table; the entry of the one that is there when it need not be made."""
    if if_not_exists and or_replace:
        raise InvalidInputError("a table cannot be both left as it is and replaced")
    parsed = object_name(name)
    view = tx._catalog.lookup(parsed)
    namespace = view.namespace(parsed.namespace)
    existing = view.find_table(parsed)
    if existing is not None and if_not_exists:
        return existing
    columns = read_schema(schema)
    partition, sort = read_partition_keys(partition_by, columns), read_sort_keys(sort_by, columns)
    if existing is not None and or_replace:
        tx._staging.drop_table(existing)
    else:
        refuse_taken(view, parsed)
    ids, uuid = tx._staging.ids, new_uuid()
    path = _folder(parsed.table, uuid)
    entry = TableEntry(
        table_id=next(ids),
        name=TableName(namespace.name, parsed.table),
        namespace_id=namespace.namespace_id,
        path=namespace.path + path,
        schema=columns,
        uuid=uuid,
        begin_snapshot=tx._catalog.base.snapshot_id + 1,
        partition=PartitionSpec(next(ids), partition) if partition else None,
        sort=SortSpec(next(ids), sort) if sort else None,
        tags={} if comment is None else {"comment": comment},
    )
    if tx.inlines(entry):
        check_inlined_names(columns.columns, str(entry.name))
    tx._staging.paths[entry.table_id] = path
    tx._staging.next_column_ids[entry.table_id] = max(column.id for column in columns.walk()) + 1
    tx._staging.put_table(None, entry)
    return entry


def drop_table(tx: Transaction, name: str, *, if_exists: bool) -> None:
    """Drop a table."""
    parsed = object_name(name)
    view = tx._catalog.view(only=parsed)
    found = view.find_table(parsed)
    if found is None:
        if if_exists and view.find_view(parsed) is None:
            return
        found = view.table(parsed)
    tx._staging.drop_table(found)


def rename_table(tx: Transaction, entry: TableEntry, name: str) -> TableEntry:
    """Give a table another name in its namespace."""
    after = _renamed(tx, entry.name, name)
    renamed = replace(entry, name=after)
    tx._staging.put_table(entry, renamed)
    return renamed


def create_view(
    tx: Transaction,
    name: str,
    sql: str,
    *,
    columns: Sequence[str],
    comment: str | None,
    or_replace: bool,
    names: Names | None = None,
) -> None:
    """Make a view of a query in Spark's dialect; it is kept in DuckDB's, so that both can use it."""
    from quacklake.sql.names import Names
    from quacklake.sql.views import stored_query

    parsed = replace(object_name(name), catalog=tx._label)
    view = tx._catalog.lookup(parsed)
    namespace = view.namespace(parsed.namespace)
    query = stored_query(sql, names or Names(tx, tx._label), parsed)
    for alias in columns:
        check_name(alias, "column")
    existing = view.find_view(parsed)
    if existing is not None and or_replace:
        tx._staging.drop_view(existing)
    else:
        refuse_taken(view, parsed)
    entry = ViewEntry(
        view_id=next(tx._staging.ids),
        name=TableName(namespace.name, parsed.table),
        namespace_id=namespace.namespace_id,
        sql=query,
        dialect="duckdb",
        column_aliases=tuple(columns),
        uuid=new_uuid(),
        begin_snapshot=tx._catalog.base.snapshot_id + 1,
        tags={} if comment is None else {"comment": comment},
    )
    tx._staging.put_view(None, entry)


def drop_view(tx: Transaction, name: str, *, if_exists: bool) -> None:
    """Drop a view."""
    parsed = object_name(name)
    view = tx._catalog.view(only=parsed)
    found = view.find_view(parsed)
    if found is None and if_exists and view.find_table(parsed) is None:
        return
    tx._staging.drop_view(found if found is not None else find_view(tx, name))


def rename_view(tx: Transaction, name: str, after: str) -> None:
    """Give a view another name in its namespace."""
    found = find_view(tx, name)
    tx._staging.put_view(found, replace(found, name=_renamed(tx, found.name, after)))


def find_view(tx: Transaction, name: str) -> ViewEntry:
    """The view of that name.

    Raises:
        NotFoundError: When there is none.
    """
    parsed = object_name(name)
    view = tx._catalog.view(only=parsed)
    found = view.find_view(parsed)
    if found is None:
        view.namespace(parsed.namespace)
        what = "is a table, not a view" if view.find_table(parsed) is not None else "does not exist"
        raise NotFoundError(f"the view {parsed} {what}", hint="session.views() lists what there is")
    return found


def set_view_comment(tx: Transaction, name: str, text: str | None) -> None:
    """Set the comment of a view, or take it away."""
    found = find_view(tx, name)
    tags = {key: value for key, value in found.tags.items() if key != "comment"}
    tx._staging.put_view(found, replace(found, tags=tags if text is None else {**tags, "comment": text}))


def refuse_taken(view: CatalogView, name: TableName) -> None:
    """Refuse a name that a table or a view has already: they share their names."""
    for kind, found in (("table", view.find_table(name)), ("view", view.find_view(name))):
        if found is not None:
            raise AlreadyExistsError(f"there is a {kind} {found.name} already", hint="names ignore case")


def object_name(text: str) -> TableName:
    """The name of a table or view of this lake."""
    name = TableName.parse(text)
    check_name(name.table, "table")
    return name


def namespace_name(text: str) -> str:
    """The name of a namespace of this lake."""
    parts = split(text)
    if len(parts) != 1:
        raise InvalidInputError(f"{text!r} is no name for a namespace", hint="namespaces do not nest")
    check_name(parts[0], "namespace")
    return parts[0]


def _renamed(tx: Transaction, before: TableName, text: str) -> TableName:
    parts = split(text)
    if len(parts) == 3 and fold(parts[0]) == fold(tx._session._name):
        parts = parts[1:]
    if len(parts) > 2 or (len(parts) == 2 and fold(parts[0]) != fold(before.namespace)):
        raise UnsupportedError(f"{before} cannot move to {text}: a rename stays in the namespace")
    check_name(parts[-1], "table")
    after = TableName(before.namespace, parts[-1])
    if fold(after.table) != fold(before.table):
        refuse_taken(tx._catalog.lookup(after), after)
    return after


def _folder(name: str, uuid: str) -> str:
    """The folder of a new namespace or table: its name, where that makes a good one."""
    return f"{name if _PLAIN.fullmatch(name) else uuid}/"
