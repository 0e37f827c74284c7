"""Write a delete file anew for another snapshot.

A delete file that takes the place of an older one says for each position which snapshot deleted it. The new ones
carry the id that the transaction expected to get; when others commit first, it gets another.
"""

from __future__ import annotations

from dataclasses import replace

from quacklake.plan.scan import DeleteFile, ScanFile
from quacklake.plan.write import WritePlan, WrittenDeletes
from quacklake.secrets.keyring import Keyring


def restamp(
    deletes: WrittenDeletes,
    plan: WritePlan,
    base: int,
    snapshot_id: int,
    secrets: Keyring,
    data_file: str,
) -> WrittenDeletes:
    """The same positions; those of the transaction itself with the snapshot that it really gets.

    Args:
        deletes: The delete file as it is.
        plan: How delete files of the table look.
        base: The snapshot that the transaction began at: whatever is newer is its own.
        snapshot_id: What it gets.
        secrets: For the object store.
        data_file: The path of the file whose rows are dead.
    """
    import duckdb
    import numpy as np

    from quacklake.engine.local.removal import write_delete_file
    from quacklake.storage.positions import read_history
    from quacklake.storage.stores import Stores

    stores = Stores(secrets)
    old = DeleteFile(deletes.path, deletes.format, deletes.encryption_key, begin_snapshot=base + 1, size=deletes.size)
    positions, stamps = read_history(old, stores)
    fresh = np.where(stamps > base, snapshot_id, stamps)
    file = ScanFile(deletes.data_file_id, data_file, 0, None, 0)
    with duckdb.connect() as connection:
        written = write_delete_file(connection, file, plan, stores, positions, fresh)
    return replace(
        written,
        replaces=deletes.replaces,
        stamp=snapshot_id,
        begin_snapshot=int(fresh.min()),
    )
