"""The local engine: plans run in this process, rows leave as a stream of Arrow batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Literal

from quacklake.engine.local import duckdb_hand, polars_hand
from quacklake.engine.local.changes import count_changes, read_changes
from quacklake.engine.local.choice import why_not_polars
from quacklake.engine.local.conditions import Condition, simple_condition
from quacklake.engine.local.groups import FileGroup, group_files, wanted_columns
from quacklake.engine.local.types import in_views, output_schema
from quacklake.engine.protocol import Dialect
from quacklake.errors import UnsupportedError
from quacklake.plan.changes import ChangePlan
from quacklake.plan.query import Query
from quacklake.plan.scan import ScanPlan
from quacklake.plan.write import WritePlan
from quacklake.schema import Column
from quacklake.secrets.keyring import Keyring
from quacklake.storage.stores import Stores

if TYPE_CHECKING:
    import pyarrow as pa

    from quacklake.engine.local.dml import LocalWriter
    from quacklake.engine.local.sql import LocalRows

Hand = Literal["polars", "duckdb"]


class LocalEngine:
    """Runs plans with Polars where it gives exactly what DuckDB gives, with DuckDB otherwise.

    Args:
        secrets: The secrets of a session, or settings for object stores by any of their names.
        hand: Read files with this hand only, and refuse what it cannot read.
    """

    name = "local"
    dialect: Dialect = "duckdb"

    def __init__(self, secrets: Keyring | Mapping[str, object] | None = None, *, hand: Hand | None = None) -> None:
        self.stores = Stores(secrets)
        self._hand = hand

    def read(self, plan: ScanPlan | ChangePlan, *, views: bool = False) -> pa.RecordBatchReader:
        """The rows, as a stream that holds a few batches at a time.

        Args:
            plan: What to read.
            views: Give the texts of a table as views, the form in which Polars has them.
        """
        import pyarrow as pa

        if isinstance(plan, ChangePlan):
            return read_changes(plan, self.stores)

        schema = in_views(output_schema(plan)) if views else output_schema(plan)
        if not plan.output_names:
            raise UnsupportedError(f"a scan of {plan.table} without columns", hint="use count()")
        columns = wanted_columns(plan)
        groups = group_files(plan, columns, self.stores)
        return pa.RecordBatchReader.from_batches(schema, self._batches(plan, groups, columns, schema))

    def query(self, query: Query) -> LocalRows:
        """The rows of a SELECT, run when they are asked for."""
        from quacklake.engine.local.sql import LocalRows

        return LocalRows(query, self.stores)

    def count(self, plan: ScanPlan | ChangePlan) -> int:
        """How many rows `read` would give."""
        if isinstance(plan, ChangePlan):
            return count_changes(plan, self.stores)
        columns = wanted_columns(plan)
        groups = group_files(plan, columns, self.stores)
        if plan.where is None and not any(group.is_partial for group in groups):
            rows = sum(group.live_rows for group in groups) + sum(rows.data.num_rows for rows in plan.inlined)
            return rows if plan.limit is None else min(rows, plan.limit)
        return duckdb_hand.count_rows(plan, groups, columns, self.stores)

    def writer(self, plan: WritePlan) -> LocalWriter:
        """What makes changes of one table."""
        from quacklake.engine.local.dml import LocalWriter

        return LocalWriter(plan, self.stores)

    def close(self) -> None:
        """Let go of what the engine holds. It can be used again."""
        self.stores.close()

    def _batches(
        self, plan: ScanPlan, groups: Sequence[FileGroup], columns: Sequence[Column], schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        condition = None if self._hand == "duckdb" else simple_condition(plan)
        plain, others = self._divide(plan, groups, condition)
        if plain:
            constants = lru_cache(maxsize=None)(partial(duckdb_hand.evaluate, stores=self.stores))
            yield from polars_hand.read_batches(plan, plain, condition, constants, self.stores, schema)
        if others or any(rows.data.num_rows for rows in plan.inlined):
            yield from duckdb_hand.read_batches(plan, others, columns, self.stores, schema)

    def _divide(
        self, plan: ScanPlan, groups: Sequence[FileGroup], condition: Condition | None
    ) -> tuple[Sequence[FileGroup], Sequence[FileGroup]]:
        """The groups that Polars reads and those that DuckDB reads."""
        if self._hand == "duckdb":
            return (), groups
        reasons = [why_not_polars(plan, group, condition) for group in groups]
        refused = next((reason for reason in reasons if reason is not None), None)
        if self._hand == "polars" and refused is not None:
            raise UnsupportedError(f"Polars cannot read {plan.table}: {refused}")
        pairs = list(zip(groups, reasons, strict=True))
        return [group for group, reason in pairs if reason is None], [group for group, reason in pairs if reason]
