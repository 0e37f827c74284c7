"""Who else needs a file: the one place that says whether a catalog may delete it.

A file that belongs to one catalog is not noted here. What several need is noted once for each of them, and what is
also needed by somebody outside of the database (the lake that a catalog came from, or one it was copied to) is noted
for nobody in particular. A file is deleted by the last who needs it, and never while somebody outside does.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from hashlib import sha256

import sqlalchemy as sa

from quacklake.catalog.shared.layout import SharedTables
from quacklake.catalog.tables import CatalogTables
from quacklake.storage.stores import is_remote, local_path, store_url

OUTSIDE = -1
"""Somebody who is none of the catalogs."""
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
        # When nobody inside is left, nobody will ask any more.
        done = [_key(path) for path, left in others.items() if left <= {OUTSIDE} and known[_key(path)]]
        mine = [_key(path) for path in chunk if catalog_id in known[_key(path)]]
        if done:
            connection.execute(holder.delete().where(holder.c.path_key.in_(done)))
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
    """The same for every spelling of a path, by whatever links."""
    place = store_url(path) if is_remote(path) else os.path.realpath(local_path(path))
    return sha256(place.encode()).hexdigest()


def _chunks(paths: Iterable[str]) -> Iterable[list[str]]:
    chunk: list[str] = []
    for path in paths:
        chunk.append(path)
        if len(chunk) == _AT_ONCE:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
