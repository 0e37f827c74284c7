"""Delete files that are in the lake's folder and in no snapshot.

They are left behind by writers that were killed, and by connections that broke. Only files that DuckDB or we could
have written are taken, told by their names: whatever else somebody keeps in the folder is not ours to delete. DuckDB
takes every Parquet file there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import islice

import sqlalchemy as sa

from quacklake.catalog.lake import Catalog
from quacklake.catalog.load import load_options
from quacklake.commit.state import Turn
from quacklake.maintenance.ages import OlderThan, find_limit
from quacklake.maintenance.cleanup import AGE_OPTION, DEFAULT_AGE, PAGE
from quacklake.maintenance.known import KnownFiles
from quacklake.maintenance.reports import Removed
from quacklake.maintenance.turns import in_turn
from quacklake.storage.listing import walk_files
from quacklake.storage.placement import delete_files
from quacklake.storage.stores import Stores

_OURS = re.compile(r"(\.staging-|tmp_)?ducklake-.*\.(parquet|puffin)")
# A job of Spark has a folder of its own, whose name is a UUID.
_JOB = re.compile(r"(^|/)[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}/(.*/)?(\.?part-\d{5}[^/]*|\.?_SUCCESS(\.crc)?)")


def remove_orphans(catalog: Catalog, stores: Stores, older_than: OlderThan = None, *, dry_run: bool = False) -> Removed:
    """Delete files below the data path that the catalog does not know, in any snapshot.

    Args:
        catalog: The lake.
        stores: Where its files are.
        older_than: How long ago they must have been written; without it, as long as the lake says. A transaction
            that is under way has files that the catalog does not know yet.
        dry_run: Only say which.

    Raises:
        InvalidInputError: When the age makes no sense.
    """
    known = KnownFiles(catalog, with_paths=True)
    with catalog.backend.read() as connection:
        options = load_options(connection, catalog.tables)
        known.look(connection)
    # The stores stamp files, not the catalog.
    limit = find_limit(older_than, datetime.now(UTC), AGE_OPTION, options, DEFAULT_AGE)
    report = Removed(dry_run=dry_run)
    found = _find(catalog.data_path, stores, limit, known)
    while paths := list(islice(found, PAGE)):
        report = in_turn(catalog, partial(_delete, stores=stores, known=known, paths=paths, report=report))
    return report


def _find(data_path: str, stores: Stores, limit: datetime, known: KnownFiles) -> Iterator[str]:
    for found in walk_files(data_path, stores):
        if is_ours(found.path[len(data_path) :]) and found.modified < limit and not known.knows(found.path):
            yield found.path


def is_ours(path: str) -> bool:
    """Whether a file of that path, below the data path, could be one that DuckDB or we wrote."""
    return _OURS.fullmatch(path.rsplit("/", 1)[-1]) is not None or _JOB.search(path) is not None


def _delete(
    connection: sa.Connection, _: Turn, *, stores: Stores, known: KnownFiles, paths: Sequence[str], report: Removed
) -> Removed:
    """Look once more, now that nobody can commit, and delete."""
    held = known.find_held(connection, paths)
    doomed = [path for path in paths if path not in held and not known.knows(path)]
    return report.add(doomed, {} if report.dry_run else delete_files(doomed, stores))
