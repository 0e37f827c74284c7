"""The verbs that change the rows of a table. Outside of a transaction each is one of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from quacklake.catalog.inlined_write import can_inline
from quacklake.catalog.view import TableEntry
from quacklake.commit.outcome import Commit
from quacklake.errors import AlreadyExistsError, InvalidInputError
from quacklake.plan.merge import UPSERT, WhenClause, bind_assignments, bind_merge
from quacklake.plan.scan import ScanPlan
from quacklake.plan.write import WriteResult

if TYPE_CHECKING:
    from quacklake.transaction import Transaction

SchemaMode = Literal["strict", "merge"]
FilePath = str | Path


class DataVerbs:
    """What can be done to the rows of a table."""

    _session: Any
    name: str

    def _altering(self) -> AbstractContextManager[Transaction]:
        raise NotImplementedError

    def _newest(self, tx: Transaction) -> TableEntry:
        raise NotImplementedError

    def append(self, data: Any, *, schema: SchemaMode = "strict") -> Commit:
        """Add rows.

        Args:
            data: A pandas, Polars, Arrow or Spark frame. Columns are matched by name; those that are missing get
                their default.
            schema: `strict` refuses columns and types that do not fit; `merge` adds columns and widens types in the
                same commit.
        """
        return self._write(data, schema, lambda tx, entry, writer, frame: writer.append(frame))

    def overwrite(self, data: Any, where: str | None = None, *, schema: SchemaMode = "strict") -> Commit:
        """Replace all rows, or those that match, by the rows of a frame."""

        def act(tx: Transaction, entry: TableEntry, writer: Any, frame: Any) -> WriteResult:
            result: WriteResult = writer.overwrite(_scan(tx, entry, where), frame)
            return result

        return self._write(data, schema, act)

    def overwrite_partitions(self, data: Any, *, schema: SchemaMode = "strict") -> Commit:
        """Replace the partitions that a frame has rows of by those rows; the others stay."""

        def act(tx: Transaction, entry: TableEntry, writer: Any, frame: Any) -> WriteResult:
            if entry.partition is None:
                raise InvalidInputError(f"{entry.name} has no partitions", hint="overwrite(data) replaces all rows")
            result: WriteResult = writer.overwrite_partitions(_scan(tx, entry, None), frame)
            return result

        return self._write(data, schema, act)

    def add_files(
        self, paths: FilePath | Sequence[FilePath], *, allow_missing: bool = False, ignore_extra_columns: bool = False
    ) -> Commit:
        """Make Parquet files part of the table where they are; the lake owns them from then on.

        Columns are matched by name; a column that a file lacks is taken from its path (`country=DE/`) when it is there.

        Args:
            paths: Files; `*` stands for any name, `**` for any folders.
            allow_missing: Take the default of a column that a file lacks.
            ignore_extra_columns: Leave out columns of a file that the table lacks.
        """
        listed = [paths] if isinstance(paths, FilePath) else paths
        if not isinstance(listed, Sequence) or not all(isinstance(path, FilePath) for path in listed):
            raise InvalidInputError(f"{paths!r} is no list of files", hint="give one path, or several in a list")
        given = [str(path) for path in listed]

        def act(tx: Transaction, entry: TableEntry, writer: Any) -> WriteResult:
            result: WriteResult = writer.add_files(
                given, allow_missing=allow_missing, ignore_extra=ignore_extra_columns
            )
            known = {file.path for file in tx.contents(entry).files}
            again = next((file.path for file in result.files if file.path in known), None)
            if again is not None:
                raise AlreadyExistsError(f"{again} is part of {entry.name} already", hint="leave it out")
            return result

        return self._change(act, engine="local")

    def delete(self, where: str) -> Commit:
        """Delete the rows that match; `truncate()` deletes all."""
        if not isinstance(where, str):
            raise InvalidInputError("delete needs a predicate", hint="truncate() deletes every row")
        return self._change(lambda tx, entry, writer: writer.delete(_scan(tx, entry, where)))

    def truncate(self) -> Commit:
        """Delete every row. Older snapshots still have them."""
        return self._change(lambda tx, entry, writer: writer.truncate(_scan(tx, entry, None)))

    def update(self, values: Mapping[str, str], where: str | None = None) -> Commit:
        """Set columns of the rows that match; they keep their row ids.

        Args:
            values: Column -> SQL expression in the Spark dialect, over the columns as they were.
            where: Which rows; all of them without it.
        """
        if not values:
            raise InvalidInputError("update sets no column", hint="give {column: expression}")

        def act(tx: Transaction, entry: TableEntry, writer: Any) -> WriteResult:
            bound = bind_assignments(values, entry.schema, {None: entry.schema})
            result: WriteResult = writer.update(_scan(tx, entry, where), bound)
            return result

        return self._change(act)

    def merge(
        self,
        data: Any,
        on: str | Sequence[str],
        when: Sequence[WhenClause] | None = None,
        *,
        schema: SchemaMode = "strict",
    ) -> Commit:
        """Merge a frame into the table: update what is there, insert what is not, or whatever the clauses say.

        Args:
            data: The source: a pandas, Polars, Arrow or Spark frame.
            on: A column, several, or a condition over `t` (the table) and `s` (the source).
            when: Clauses in order: `ql.when_matched(…)`, `ql.when_not_matched(…)`, `ql.when_not_matched_by_source(…)`.
                Without them, an upsert of all columns.
            schema: As for `append`.

        Raises:
            MergeCardinalityError: When several rows of the source act on one row of the table.
        """

        def act(tx: Transaction, entry: TableEntry, writer: Any, frame: Any) -> WriteResult:
            from quacklake.dml.frames import read_frame

            clauses = UPSERT if when is None else tuple(when)
            plan = bind_merge(on, clauses, entry.schema, read_frame(frame).schema, table=str(entry.name))
            result: WriteResult = writer.merge(_scan(tx, entry, None), frame, plan)
            return result

        return self._write(data, schema, act)

    def _write(
        self, data: Any, schema: SchemaMode, act: Callable[[Transaction, TableEntry, Any, Any], WriteResult]
    ) -> Commit:
        from quacklake.dml.fitting import grow_to_fit
        from quacklake.dml.frames import read_frame

        if schema not in ("strict", "merge"):
            raise InvalidInputError(f"schema={schema!r} is no mode", hint="choose 'strict' or 'merge'")
        with self._altering() as tx:
            incoming = read_frame(data)
            entry = self._newest(tx)
            if schema == "merge":
                entry = grow_to_fit(tx, entry, incoming.schema)
            writer = self._session._engine(incoming.engine).writer(tx.write_plan(entry))
            staged = tx.stage(entry, self._placed(tx, entry, act(tx, entry, writer, incoming.data)))
        return staged if tx is self._session else tx.done

    def _change(self, act: Callable[[Transaction, TableEntry, Any], WriteResult], engine: str | None = None) -> Commit:
        with self._altering() as tx:
            entry = self._newest(tx)
            writer = self._session._engine(engine).writer(tx.write_plan(entry))
            staged = tx.stage(entry, self._placed(tx, entry, act(tx, entry, writer)))
        return staged if tx is self._session else tx.done

    def _placed(self, tx: Transaction, entry: TableEntry, result: WriteResult) -> WriteResult:
        """What was written, with rows that the catalog would not give back as they are in files instead."""
        insert = result.inserts
        if insert is None or can_inline(tx.backend_name, entry.schema.columns, insert.data) is None:
            return result
        writer = self._session._engine("local").writer(replace(tx.write_plan(entry), inline_limit=0))
        return replace(result, inserts=None, files=(*result.files, *writer.write_out(insert)))


def _scan(tx: Transaction, entry: TableEntry, where: str | None) -> ScanPlan:
    """The rows of a table that match, as the transaction sees them."""
    from quacklake.predicates import parse_predicate

    predicate = None if where is None else parse_predicate(where, entry.schema)
    contents = tx.examine(entry, predicate)
    return ScanPlan(
        table=str(entry.name),
        snapshot_id=contents.snapshot.snapshot_id,
        schema=contents.entry.schema,
        columns=(),
        files=contents.files,
        inlined=contents.inlined,
        where=predicate,
    )
