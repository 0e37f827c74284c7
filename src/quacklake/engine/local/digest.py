"""A few numbers that are the same for two streams of rows when the rows are, in whatever order they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa

from quacklake.engine.local.types import duckdb_type
from quacklake.names import quote
from quacklake.plan.scan import SNAPSHOT_ID, InlinedRows
from quacklake.schema import Schema


@dataclass(frozen=True, slots=True)
class Digest:
    """What rows come to."""

    rows: int
    total: int
    mixed: int


def digest_rows(reader: pa.RecordBatchReader, rename: Callable[[int], int] | None = None) -> Digest:
    """The digest of a stream of rows, in bounded memory.

    Args:
        reader: The rows, with their row ids and snapshots first.
        rename: Another name for each snapshot.
    """
    names = [f"c{index}" for index in range(len(reader.schema))]
    schema = pa.schema([field.with_name(name) for field, name in zip(reader.schema, names, strict=True)])
    place = reader.schema.names.index(SNAPSHOT_ID)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            columns = list(batch.columns)
            if rename is not None:
                columns[place] = _renamed(columns[place], rename)
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    stream = pa.RecordBatchReader.from_batches(schema, batches())
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("_quacklake_rows", stream)
        row = connection.execute(
            "SELECT count(*), coalesce(sum(h::HUGEINT), 0), coalesce(bit_xor(h), 0)"
            f" FROM (SELECT hash({', '.join(names)}) AS h FROM _quacklake_rows)"
        ).fetchone()
    assert row is not None
    return Digest(*(int(each) for each in row))


def _renamed(column: pa.Array, rename: Callable[[int], int]) -> pa.Array:  # type: ignore[type-arg]
    old, places = np.unique(column.to_numpy(zero_copy_only=False), return_inverse=True)
    new = np.asarray([rename(int(each)) for each in old], np.int64)
    return pa.array(new[places] if len(old) else np.empty(0, np.int64))


def settle_rows(rows: InlinedRows) -> pa.Table:
    """Inlined rows, as some database holds them, in Arrow's own types, in the same order."""
    from quacklake.engine.local.inlining import inlined_insert

    order = pa.array(range(rows.data.num_rows), pa.int64())
    values = ", ".join(
        f"CAST(c{column.id} AS {duckdb_type(column.type)}) AS {quote(column.name)}" for column in rows.columns
    )
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("_quacklake_data", rows.data.append_column("_quacklake_order", order))
        connection.execute("CREATE TEMP TABLE _quacklake_held AS FROM _quacklake_data")
        query = f"SELECT {values} FROM _quacklake_held ORDER BY _quacklake_order"
        return inlined_insert(connection, Schema(rows.columns), query).data
