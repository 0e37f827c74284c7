"""Where a commit gets its ids from in a database that many catalogs share.

They are taken in the turn of the commit, so that those of one catalog grow with its snapshots. What an attempt took
is used again by the next one, as long as no other commit of the catalog came in between.
"""

from __future__ import annotations

import sqlalchemy as sa

from quacklake.catalog.lake import Catalog
from quacklake.catalog.shared.counters import Kind, is_part_of_commit, peek_snapshot_id, take_ids
from quacklake.commit.ids import Taken


class Supply:
    """The ids of one commit.

    Args:
        catalog: The lake, one of many in its database.
        reserved: The id that the snapshot gets unless others of the catalog commit before.
    """

    def __init__(self, catalog: Catalog, reserved: int | None) -> None:
        self._catalog = catalog
        # Ids that are given back when a transaction fails were not taken before it began.
        self._reserved = None if is_part_of_commit(catalog.backend) else reserved
        self._taken: Taken | None = None

    def expect(self, connection: sa.Connection, newest: int) -> int:
        """The id that the snapshot gets, for files that have to say it.

        Args:
            connection: In the transaction of the commit.
            newest: The snapshot that it comes after.
        """
        catalog = self._catalog
        if is_part_of_commit(catalog.backend):
            return peek_snapshot_id(connection, catalog.tables)
        if self._reserved is None or self._reserved <= newest:
            self._reserved = take_ids(connection, catalog.backend, catalog.tables, {"snapshot": 1})["snapshot"][0]
        return self._reserved

    def take(self, connection: sa.Connection, newest: int, entries: int, files: int) -> Taken:
        """So many ids, none of which the catalog has used.

        Args:
            connection: In the transaction of the commit.
            newest: The snapshot that it comes after.
            entries: How many for namespaces, tables and the like.
            files: How many for files and name mappings.
        """
        catalog, known = self._catalog, self._taken
        is_ours = not is_part_of_commit(catalog.backend)
        if known is not None and is_ours and known.fits(newest, entries, files):
            return known
        reserved = self._reserved if self._reserved is not None and self._reserved > newest else None
        wanted: dict[Kind, int] = {"snapshot": int(reserved is None), "entry": entries, "file": files}
        taken = take_ids(connection, catalog.backend, catalog.tables, wanted)
        self._taken = Taken(taken["snapshot"][0] if reserved is None else reserved, taken["entry"], taken["file"])
        if is_ours:
            self._reserved = self._taken.snapshot_id
        return self._taken
