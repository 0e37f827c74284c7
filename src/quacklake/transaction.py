"""Transactions: any number of changes to any number of tables, seen by nobody else until they are one snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

from quacklake.catalog.lake import TableContents
from quacklake.catalog.load import At
from quacklake.catalog.view import CatalogView, Option, Snapshot, TableEntry
from quacklake.commit.changes import DataChange, Intent, StreamBatch
from quacklake.commit.committer import Committer
from quacklake.commit.next_ids import load_next_column_id
from quacklake.commit.outcome import Commit
from quacklake.commit.overlay import StagedCatalog
from quacklake.commit.settings import Settings, build_write_plan, wanted_inline_limit
from quacklake.commit.staging import Staging
from quacklake.commit.writes import TableWrites
from quacklake.ddl.verbs import LakeVerbs
from quacklake.errors import InvalidInputError, NotFoundError, ReadOnlyError, UnsupportedError
from quacklake.names import TableName, fold
from quacklake.plan.write import WritePlan, WriteResult, WrittenDeletes
from quacklake.predicates import Predicate
from quacklake.sql.door import SqlDoor

if TYPE_CHECKING:
    from quacklake.session import Session
    from quacklake.table import Table


class Transaction(LakeVerbs, SqlDoor):
    """A view of one snapshot that can be changed, and becomes the next snapshot when it ends well.

    Of attached lakes it sees one snapshot each, and it writes to one lake, its own or another.

    Use it as a context manager: it commits when the block ends and rolls back when the block raises. A rollback
    takes away the files that were written. A transaction that changed nothing makes no snapshot.

    Args:
        session: The lake.
        message: What it is for.
        author: Who does it.
        extra: Anything else.
        is_single: It is one statement, which sees the newest snapshot there is when it looks first.
        base: The snapshot that it sees, when an earlier look at the lake has settled that.
        batch: The batch of a stream that it is; it commits once and never again.
    """

    def __init__(
        self,
        session: Session,
        *,
        message: str | None = None,
        author: str | None = None,
        extra: str | None = None,
        is_single: bool = False,
        base: Snapshot | None = None,
        batch: StreamBatch | None = None,
        outer: Transaction | None = None,
    ) -> None:
        elsewhere = any(not each._read_only for each in session._attached.values())
        if is_single or (outer is None and not elsewhere):
            _refuse_reader(session)
        self._session = session
        self._message, self._author, self._extra = message, author, extra
        # A statement on its own is not bound to what it saw first.
        self._is_single = is_single
        self._staging = Staging()
        if base is None and session._at is not None:
            base = session._catalog.snapshot(session._at)
        self._catalog = StagedCatalog(session._catalog, self._staging, base)
        self._batch = batch
        self._outer = outer
        self._inner: dict[str, Transaction] = {}
        """What was begun on attached lakes; at most one of all writes."""
        session._transactions.add(self)
        self._examined: set[int] = set()
        self._done = Commit(None)
        self._ended = False
        self._left_over: list[str] = []

    # --- reading ---------------------------------------------------------------------------------------------

    def table(self, name: str, at: At = None) -> Table:
        """The table of that name as this transaction sees it; with `at`, as it was then."""
        from quacklake.table import Table

        self._refuse_ended()
        parsed = TableName.parse(name)
        lake: Transaction = self._lake(parsed.catalog)
        if lake is not self:
            return lake.table(name, at)
        try:
            entry = self._catalog.view(at, only=parsed).table(parsed)
        except NotFoundError as error:
            raise self._session._about(parsed, error) from None
        return Table(self, replace(entry.name, catalog=self._label), at, entry)

    def _shown(self) -> CatalogView:
        return self._catalog.view()

    @property
    def _label(self) -> str | None:
        return self._session._label

    def _lake(self, catalog: str | None) -> Transaction:
        """The part of the transaction that is about a lake, begun when it is first asked for."""
        session: Session = self._session._lake(catalog)
        if session is self._session:
            return self
        self._refuse_ended()
        key = fold(session._name)
        if key not in self._inner:
            inner = Transaction(session, message=self._message, author=self._author, extra=self._extra, outer=self)
            self._inner[key] = inner.__enter__()
        return self._inner[key]

    def snapshots(self) -> list[Snapshot]:
        """Every snapshot that the transaction sees, oldest first."""
        return self._catalog.snapshots()

    @property
    def current_snapshot(self) -> int:
        """The id of the snapshot that the transaction began at."""
        return self._catalog.base.snapshot_id

    def options(self) -> list[Option]:
        """Every setting of the lake."""
        return list(self._catalog.options())

    # --- writing ---------------------------------------------------------------------------------------------

    @property
    def backend_name(self) -> str:
        """The kind of the catalog database."""
        return self._catalog.backend.name

    def write_plan(self, entry: TableEntry) -> WritePlan:
        """How new files of a table look, for an engine."""
        plan = build_write_plan(
            self._catalog.options(),
            entry,
            encrypted=self._catalog.encrypted,
            inline_rows=self._session._inline_rows,
            backend_name=self._catalog.backend.name,
        )
        return replace(plan, snapshot_id=self._catalog.reserved)

    def examine(self, entry: TableEntry, where: Predicate | None = None) -> TableContents:
        """The rows of a table on which it depends what will be written to it; others must not change them meanwhile."""
        self._refuse_ended()
        self._examined.add(entry.table_id)
        self._catalog.reserve()
        return self._catalog.contents(entry.name, None, where)

    def contents(self, entry: TableEntry) -> TableContents:
        """The files and rows of a table as the transaction sees them."""
        self._refuse_ended()
        return self._catalog.contents(entry.name)

    def stage(self, entry: TableEntry, result: WriteResult) -> Commit:
        """Take over what an engine wrote to a table; it becomes part of the lake when the transaction commits."""
        self._refuse_ended()
        done = Commit(
            None,
            rows_inserted=result.rows_inserted,
            rows_updated=result.rows_updated,
            rows_deleted=result.rows_deleted,
            files_added=len(result.files),
            files_removed=len(result.removed),
        )
        if not result.is_empty:
            self._staging.put_table(entry, self._staging.tables.get(entry.table_id, entry))
            writes = self._staging.writes.setdefault(entry.table_id, TableWrites())
            writes.add(result, self._staging.ids)
        self._done += done
        return done

    def next_column_id(self, table_id: int) -> int:
        """The first id that no column of the table has or ever had."""
        known = self._staging.next_column_ids
        if table_id not in known:
            known[table_id] = load_next_column_id(self._session._catalog, table_id)
        return known[table_id]

    # --- the end ---------------------------------------------------------------------------------------------

    def commit(self) -> Commit:
        """Make one snapshot of all changes.

        Raises:
            ConflictError: When another writer did what these changes cannot be placed after.
            CatalogError: When the catalog database fails.
        """
        self._refuse_ended()
        writer = next((each for each in self._inner.values() if each._staging.changes()), None)
        if writer is not None:
            try:
                self._done += writer.commit()
            finally:
                self._end(keep=())
            return self._done
        intent = self._intent()
        if not intent.changes:
            self._end(keep=())
            return self._done
        self._refuse_unsigned()
        self._session._ensure_indexes(self._catalog.base)
        committer = Committer(self._session._catalog, intent, self._restamp, self._catalog.reserved)
        try:
            outcome = committer.commit()
        except BaseException:
            # A file that may be part of the lake stays; one that is not is found by the clean-up later.
            self._end(keep=None if committer.state == "unknown" else ())
            raise
        self._done += Commit(outcome.snapshot_id)
        self._end(keep=self._written())
        return self._done

    def rollback(self) -> None:
        """Forget all changes and take away the files that were written."""
        if not self._ended:
            self._end(keep=())

    def __enter__(self) -> Transaction:
        if not self._is_single:
            # From here on others may commit what they like.
            _ = self._catalog.base
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ended:
            return
        if kind is None:
            self.commit()
        else:
            self.rollback()

    @property
    def done(self) -> Commit:
        """What the transaction did so far; with the id of its snapshot once it has committed."""
        return self._done

    def _intent(self) -> Intent:
        staging = self._staging
        changes = staging.changes()
        data = {change.table_id for change in changes if isinstance(change, DataChange)}
        return Intent(
            base=self._catalog.base.snapshot_id,
            changes=changes,
            entries=dict(staging.tables),
            row_ids={table_id: staging.writes[table_id].row_ids for table_id in data},
            inlines=frozenset(id_ for id_, entry in staging.tables.items() if self.inlines(entry)),
            blind=frozenset(data - self._examined) if self._is_single else frozenset(),
            examined=frozenset(self._examined),
            author=self._author,
            message=self._message,
            extra=self._extra,
            batch=self._batch,
        )

    def inlines(self, entry: TableEntry) -> bool:
        """Whether small writes to a table are to go into the catalog."""
        settings = Settings(self._catalog.options(), entry)
        return wanted_inline_limit(settings, self._session._inline_rows) > 0

    def _refuse_unsigned(self) -> None:
        required = next((each for each in self._catalog.options() if each.name == "require_commit_message"), None)
        if required is not None and required.value == "true" and self._message is None:
            raise InvalidInputError(
                "the lake wants a message with every commit", hint="session.transaction(message='…')"
            )

    def _refuse_second(self) -> None:
        """Refuse to write when another lake of the transaction is written already."""
        whole = self._outer or self
        for each in (whole, *whole._inner.values()):
            if each is not self and each._staging.changes():
                wrote, wanted = each._session._name, self._session._name
                raise UnsupportedError(
                    f"the transaction writes to the lake {wrote!r} and cannot write to {wanted!r} as well",
                    hint="commit first: one transaction writes to one lake",
                )

    def _refuse_ended(self) -> None:
        if self._ended:
            raise InvalidInputError("the transaction is over", hint="begin another one with session.transaction()")

    def _written(self) -> tuple[str, ...]:
        return tuple(path for writes in self._staging.writes.values() for path in writes.paths)

    def _end(self, keep: tuple[str, ...] | None) -> None:
        """Take away every file that was written and is not kept; with None, touch nothing."""
        self._ended = True
        for inner in self._inner.values():
            inner.rollback()
        if keep is None:
            return
        staging = self._staging
        garbage = [path for writes in staging.writes.values() for path in writes.garbage]
        gone = {*self._written(), *garbage, *staging.garbage, *self._left_over} - set(keep)
        if gone:
            from quacklake.storage.placement import remove
            from quacklake.storage.stores import Stores

            remove(sorted(gone), Stores(self._session._secrets))

    def _restamp(self, table_id: int, deletes: WrittenDeletes, snapshot_id: int) -> WrittenDeletes:
        """Write a delete file anew, because the snapshot gets another id than it says."""
        from quacklake.restamping import restamp

        entry = self._staging.tables[table_id]
        files = {file.file_id: file.path for file in self._catalog.contents(entry.name).files}
        fresh = restamp(
            deletes,
            self.write_plan(entry),
            self.current_snapshot,
            snapshot_id,
            self._session._secrets,
            files[deletes.data_file_id],
        )
        self._left_over.append(deletes.path)
        self._staging.writes[table_id].deletes[deletes.data_file_id].deletes = fresh
        return fresh

    # --- what tables and verbs ask of a session --------------------------------------------------------------

    def _sql_target(self) -> Transaction:
        return self

    def _sql_begin(self) -> None:
        raise InvalidInputError("a transaction is open already", hint="COMMIT or ROLLBACK first")

    def _sql_end(self, commits: bool) -> Commit:
        if self._session._open is not self:
            raise InvalidInputError("this transaction ends with its block", hint="leave it, or call rollback()")
        self._session._open = None
        if commits:
            return self.commit()
        self.rollback()
        return Commit(None)

    @property
    def _at(self) -> At:
        return None

    @property
    def _used(self) -> tuple[str | None, str] | None:
        return self._session._used

    def _engine(self, name: Any = None) -> Any:
        return self._session._engine(name)

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        self._refuse_ended()
        _refuse_reader(self._session)
        self._refuse_second()
        yield self


def _refuse_reader(session: Session) -> None:
    """Refuse to write to a lake that is only read, or is of another version than the current one."""
    if session._read_only:
        who = "the session" if session._home is None else f"the attached lake {session._name!r}"
        raise ReadOnlyError(
            f"{who} only reads" if session._at is None else f"{who} reads snapshot {session._at}",
            hint=f"{'connect' if session._home is None else 'attach it'} again without at= and read_only=",
        )
    session._catalog.check_writable()
