"""Turn a lake of an old version into one of the current version, one step per version."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import sqlalchemy as sa

from quacklake.catalog.backends.protocol import Backend
from quacklake.catalog.migrations import v01, v02, v03, v04
from quacklake.catalog.migrations.editor import CatalogEditor
from quacklake.catalog.version import CURRENT

STEPS: Mapping[str, Callable[[CatalogEditor], str]] = {
    "0.1": v01.upgrade,
    "0.2": v02.upgrade,
    "0.3-dev1": v02.upgrade,
    "0.3": v03.upgrade,
    "0.4-dev1": v03.upgrade,
    "0.4": v04.upgrade,
}
"""What to do with a lake of each old version; each step says which version it has made.

A step looks before it acts: versions that were in the making have parts of the next one already, and so has a
lake in MySQL whose migration was interrupted.
"""


def migrate_lake(backend: Backend) -> None:
    """Bring the lake to the current version, in one transaction where the database has such transactions."""
    try:
        with backend.write() as connection, backend.exclusive(connection):
            editor = CatalogEditor(backend, connection)
            version = editor.version()
            while version != CURRENT and version in STEPS:
                version = STEPS[version](editor)
    except sa.exc.SQLAlchemyError as error:
        raise backend.translate(error) from error
