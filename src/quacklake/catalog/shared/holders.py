"""Who else needs a file: the one place that says whether a catalog may delete it.

What a catalog has written itself and shares with nobody is not noted here. What several need is noted once for each of
them; so is what a catalog shows and has not written: files that were added, and those of the lake that it came from.
What is also needed by somebody outside of the database (that lake, or one that the catalog was copied to) is noted for
nobody in particular. A file is deleted by the last who needs it, and never when somebody outside does.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from hashlib import sha256

import sqlalchemy as sa

from quacklake.catalog.shared.layout import SharedTables
from quacklake.catalog.shared.names import path_key
from quacklake.catalog.shared.ownership import OPTION
from quacklake.catalog.shared.registry import load_data_path
from quacklake.catalog.tables import CatalogTables
from quacklake.storage.paths import absolute
from quacklake.storage.stores import is_remote, local_path, store_url

OUTSIDE = -1
"""Somebody who is none of the catalogs."""
NOBODY = -2
"""Whose files are asked for by those who look after catalogs that are gone."""
_AT_ONCE = 500


def note_holders(
    connection: sa.Connection, tables: CatalogTables, paths: Iterable[str], holders: Sequence[int]
) -> None:
    """Note that each of some files is needed by each of some catalogs, as far as that is not noted yet."""
    holder = _shared(tables).holder
    for chunk in _chunks(paths):
        known = _load(connection, tables, chunk)
        rows = [
            {"path_key": key, "path": path, "catalog_id": catalog_id}
            for path in chunk
            for key in [_key(path)]
            for catalog_id in holders
            if catalog_id not in known[key]
        ]
        if rows:
            connection.execute(holder.insert(), rows)


def note_added(connection: sa.Connection, tables: CatalogTables, own_folder: str, paths: Sequence[str]) -> None:
    """Note that the catalog that a connection is bound to shows files that somebody else has written.

    Who has written a file into the folder of another catalog needs it, and has noted nothing as long as nobody else
    did: that is noted too.

    Args:
        connection: In the transaction that adds them.
        tables: The tables of the database.
        own_folder: That of the catalog.
        paths: The files.
    """
    catalog_id = connection.get_execution_options()[OPTION]
    folder, own = _place(absolute(load_data_path(connection, tables))), _place(own_folder)
    others = [path for path in paths if _is_below(path, folder) and not _is_below(path, own)]
    for chunk in _chunks(others):
        known = _load(connection, tables, chunk)
        for path in chunk:
            if not known[_key(path)]:
                note_holders(connection, tables, [path], [_load_owner(connection, tables, folder, path)])
    note_holders(connection, tables, paths, [catalog_id])


def _load_owner(connection: sa.Connection, tables: CatalogTables, folder: str, path: str) -> int:
    """The catalog that a file below the folder of the database belongs to, if this role may see which."""
    name = _place(path).removeprefix(f"{folder.rstrip('/')}/").split("/", 1)[0]
    tenant = _shared(tables).tenant.c
    query = sa.select(tenant.catalog_id).where(tenant.path_key == path_key(f"{name}/"))
    found: int | None = connection.execute(query).scalar()
    return OUTSIDE if found is None else found


def find_held(
    connection: sa.Connection, tables: CatalogTables, catalog_id: int, paths: Iterable[str]
) -> frozenset[str]:
    """Which of the files somebody other than the catalog needs: it must not delete them."""
    if tables.shared is None:
        return frozenset()
    held: set[str] = set()
    for chunk in _chunks(paths):
        known = _load(connection, tables, chunk)
        held.update(path for path in chunk if known[_key(path)] - {catalog_id})
    return frozenset(held)


def let_go(connection: sa.Connection, tables: CatalogTables, catalog_id: int, paths: Iterable[str]) -> frozenset[str]:
    """Note that a catalog needs files no more; which of them others need, and must stay."""
    if tables.shared is None:
        return frozenset()
    holder, held = _shared(tables).holder, set[str]()
    for chunk in _chunks(paths):
        known = _load(connection, tables, chunk)
        others = {path: known[_key(path)] - {catalog_id} for path in chunk}
        held.update(path for path, left in others.items() if left)
        # What somebody outside needs is noted for good: it may lie where a catalog looks for what nobody knows.
        mine = [_key(path) for path in chunk if catalog_id in known[_key(path)]]
        if mine:
            connection.execute(holder.delete().where(holder.c.path_key.in_(mine), holder.c.catalog_id == catalog_id))
    return frozenset(held)


def _load(connection: sa.Connection, tables: CatalogTables, paths: Sequence[str]) -> defaultdict[str, set[int]]:
    holder = _shared(tables).holder.c
    found: defaultdict[str, set[int]] = defaultdict(set)
    query = sa.select(holder.path_key, holder.catalog_id).where(holder.path_key.in_([_key(path) for path in paths]))
    for key, catalog_id in connection.execute(query):
        found[key].add(catalog_id)
    return found


def _shared(tables: CatalogTables) -> SharedTables:
    assert tables.shared is not None, "the database is shared"
    return tables.shared


def _key(path: str) -> str:
    return sha256(_place(path).encode()).hexdigest()


def _place(path: str) -> str:
    """The same for every spelling of a path, by whatever links."""
    return store_url(path) if is_remote(path) else os.path.realpath(local_path(path))


def _is_below(path: str, folder: str) -> bool:
    return _place(path).startswith(folder.rstrip("/") + "/")


def _chunks(paths: Iterable[str]) -> Iterable[list[str]]:
    chunk: list[str] = []
    for path in paths:
        chunk.append(path)
        if len(chunk) == _AT_ONCE:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
