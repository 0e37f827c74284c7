"""What `session.maintain` can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from quacklake.errors import ReadOnlyError, UnsupportedError
from quacklake.maintenance.ages import OlderThan
from quacklake.maintenance.cleanup import clean_up
from quacklake.maintenance.expire import expire_snapshots
from quacklake.maintenance.orphans import remove_orphans
from quacklake.maintenance.reports import Expired, Removed
from quacklake.storage.stores import Stores

if TYPE_CHECKING:
    from quacklake.catalog.lake import Catalog
    from quacklake.secrets.keyring import Keyring


class Maintenance:
    """Keeps a lake small. Nothing here makes a snapshot or changes what the remaining ones show.

    Every verb takes `dry_run=True`, and then says what it would do and does nothing.

    Args:
        catalog: The lake.
        secrets: What opens its object stores.
        refusal: Why nothing may be changed, if so.
    """

    def __init__(self, catalog: Catalog, secrets: Keyring, refusal: str | None = None) -> None:
        self._catalog = catalog
        self._secrets = secrets
        self._refusal = refusal

    def expire(
        self, older_than: OlderThan = None, versions: Sequence[int] | None = None, *, dry_run: bool = False
    ) -> Expired:
        """Forget snapshots, and what no other snapshot shows. Their files are scheduled for deletion.

        Args:
            older_than: A moment, an age as a timedelta, or words such as `7 days`; without it, what the lake says
                under `expire_older_than`. The newest snapshot always stays.
            versions: The ids of the snapshots instead.
            dry_run: Only say what would go.

        Raises:
            InvalidInputError: When nobody said which snapshots.
            NotFoundError: For ids that the lake never had.
        """
        return expire_snapshots(self._writable(), older_than, versions, dry_run=dry_run)

    def cleanup(self, older_than: OlderThan = None, *, dry_run: bool = False) -> Removed:
        """Delete the files that were scheduled for deletion.

        Args:
            older_than: How long ago; without it, what the lake says under `delete_older_than`, else two days. With
                `timedelta(0)`, all of them.
            dry_run: Only say which.
        """
        return clean_up(self._writable(), Stores(self._secrets), older_than, dry_run=dry_run)

    def remove_orphans(self, older_than: OlderThan = None, *, dry_run: bool = False) -> Removed:
        """Delete files in the lake's folder that are in no snapshot and that DuckDB or Quacklake could have written.

        Args:
            older_than: How long ago they must have been written; without it, what the lake says under
                `delete_older_than`, else two days. It must be longer than any transaction takes.
            dry_run: Only say which.
        """
        return remove_orphans(self._writable(), Stores(self._secrets), older_than, dry_run=dry_run)

    def flush(self, *, dry_run: bool = False, table: str | None = None) -> NoReturn:
        """Not yet: move inlined rows into files."""
        raise _missing("flush", "CALL ducklake_flush_inlined_data('lake')")

    def merge_files(self, *, dry_run: bool = False, table: str | None = None) -> NoReturn:
        """Not yet: make few large files of many small ones."""
        raise _missing("merge_files", "CALL ducklake_merge_adjacent_files('lake')")

    def rewrite_files(self, threshold: float = 0.95, *, dry_run: bool = False, table: str | None = None) -> NoReturn:
        """Not yet: write files anew of which most rows are deleted."""
        raise _missing("rewrite_files", "CALL ducklake_rewrite_data_files('lake')")

    def checkpoint(self, *, dry_run: bool = False) -> NoReturn:
        """Not yet: all of these, one after the other."""
        raise _missing("checkpoint", "CHECKPOINT")

    def _writable(self) -> Catalog:
        if self._refusal is not None:
            raise ReadOnlyError(self._refusal, hint="connect again without at= and read_only=")
        self._catalog.check_writable()
        return self._catalog


def _missing(verb: str, statement: str) -> UnsupportedError:
    return UnsupportedError(
        f"maintain.{verb}() is not there yet", hint=f"DuckDB can do it on the same lake: {statement}"
    )
