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


class Digester:
    """Makes digests of streams, in bounded memory. Use it as a context manager: to open what computes takes a while."""

    def __init__(self) -> None:
        self._connection = duckdb.connect(config={"threads": 1})

    def __call__(self, reader: pa.RecordBatchReader, rename: Callable[[int], int] | None = None) -> Digest:
        """The digest of a stream of rows.

        Args:
            reader: The rows, with their row ids and snapshots first.
            rename: Another name for each snapshot.
        """
        stream = _without_names(reader, rename)
        self._connection.register("_quacklake_rows", stream)
        row = self._connection.execute(
            "SELECT count(*), coalesce(sum(h::HUGEINT), 0), coalesce(bit_xor(h), 0)"
            f" FROM (SELECT hash({', '.join(stream.schema.names)}) AS h FROM _quacklake_rows)"
        ).fetchone()
        self._connection.unregister("_quacklake_rows")
        assert row is not None
        return Digest(*(int(each) for each in row))

    def __enter__(self) -> Digester:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()


def _without_names(reader: pa.RecordBatchReader, rename: Callable[[int], int] | None) -> pa.RecordBatchReader:
    names = [f"c{index}" for index in range(len(reader.schema))]
    schema = pa.schema([field.with_name(name) for field, name in zip(reader.schema, names, strict=True)])
    place = reader.schema.names.index(SNAPSHOT_ID)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            columns = list(batch.columns)
            if rename is not None:
                columns[place] = _renamed(columns[place], rename)
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


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
