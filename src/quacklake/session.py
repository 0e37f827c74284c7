"""The front door: a URL becomes a session that holds a lake, and others beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakSet

from quacklake.catalog.indexes import ensure_indexes, is_large
from quacklake.catalog.lake import Catalog
from quacklake.catalog.load import At
from quacklake.catalog.open import open_catalog
from quacklake.catalog.version import CURRENT
from quacklake.catalog.view import CatalogView, Option, Snapshot
from quacklake.commit.outcome import Commit
from quacklake.ddl.verbs import LakeVerbs, OptionVerbs
from quacklake.engine.protocol import Engine
from quacklake.errors import InvalidInputError, NotFoundError
from quacklake.lakes import OWN, HeldLakes, check_catalog_name
from quacklake.names import TableName
from quacklake.secrets.keyring import Keyring
from quacklake.secrets.secret import SecretInfo
from quacklake.sql.door import SqlDoor
from quacklake.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from quacklake.catalog.audit import Finding
    from quacklake.maintenance.verbs import Maintenance
    from quacklake.transaction import Transaction

EngineName = Literal["spark", "local"]


def connect(
    url: str | Path,
    data_path: str | Path | None = None,
    *,
    catalog: str | None = None,
    metadata_schema: str | None = None,
    engine: EngineName = "spark",
    spark: SparkSession | None = None,
    at: At = None,
    read_only: bool = False,
    create: bool = True,
    encrypted: bool = False,
    override_data_path: bool = False,
    migrate: bool = False,
    inline_rows: int | None = None,
    storage_options: Mapping[str, object] | None = None,
    name: str = OWN,
) -> Session:
    """Open a lake, or make it when it is not there.

    Args:
        url: `sqlite:///f`, `duckdb:///f`, `postgresql://u:p@h/db`, `mysql://u:p@h/db`, a bare path, or
            `ducklake:…` as DuckDB spells it.
        data_path: Where the files go. Beside the catalog for catalogs that are files; others need it once.
        catalog: One of many catalogs that share the database, as `tenants` manages them.
        metadata_schema: The SQL schema (PostgreSQL) or database (MySQL) that holds the metadata tables.
        engine: What runs queries that bring no data of their own.
        spark: The Spark session to use; else the active one; else one is started when first needed.
        at: A snapshot id or a moment: the whole session reads as of then, and only reads.
        read_only: Refuse to write.
        create: Make the lake when the database holds none, or the catalog when those that share it have none such.
        encrypted: Encrypt the files of a lake that is made now.
        override_data_path: Use `data_path` for this session though the lake says otherwise.
        migrate: Upgrade a lake of an older version of the format. Never done without being asked.
        inline_rows: Writes of at most so many rows go into the catalog, where the lake does not say otherwise.
        storage_options: Credentials and endpoints for object stores, by any of the names in docs/object_stores.md.
        name: What the lake is called where names of three parts are written, beside others that are attached.
    """
    check_catalog_name(name)
    if engine not in ("spark", "local"):
        raise InvalidInputError(f"there is no engine {engine!r}", hint="choose 'spark' or 'local'")
    secrets = Keyring(storage_options)
    opened = open_catalog(
        str(url),
        catalog=catalog,
        data_path=None if data_path is None else str(data_path),
        metadata_schema=metadata_schema,
        create=create and not read_only and at is None,
        encrypted=encrypted,
        override_data_path=override_data_path,
        migrate=migrate,
        read_only=read_only or at is not None,
    )
    try:
        return Session(
            opened,
            engine=engine,
            spark=spark,
            at=at,
            read_only=read_only,
            inline_rows=inline_rows,
            secrets=secrets,
            name=name,
        )
    except BaseException:
        # There may be no such snapshot: what was opened to find that out is closed again.
        opened.close()
        raise


class Session(HeldLakes, LakeVerbs, OptionVerbs, SqlDoor):
    """A lake, open, and those that are attached to it. Use it as a context manager, or close it."""

    def __init__(
        self,
        catalog: Catalog,
        *,
        engine: EngineName,
        spark: SparkSession | None,
        at: At,
        read_only: bool,
        inline_rows: int | None,
        secrets: Keyring,
        name: str,
    ) -> None:
        self._name = name
        self._home = None
        self._attached = {}
        self._transactions: WeakSet[Transaction] = WeakSet()
        self._catalog = catalog
        self._engine_name: EngineName = engine
        self._given_spark = spark
        # A moment is looked up once, so that every read of the session sees the same snapshot.
        self._at: At = catalog.snapshot(at).snapshot_id if isinstance(at, datetime) else at
        if self._at is not None:
            catalog.snapshot(self._at)
        self._read_only = read_only or at is not None
        self._inline_rows = inline_rows
        self._secrets = secrets
        self._engines: dict[str, Engine] = {}
        self._places = [catalog.data_path]
        self._is_indexed = False
        self._open: Transaction | None = None
        """The transaction that a BEGIN has opened."""
        self._used: tuple[str | None, str] | None = None
        """The catalog and the namespace that a USE has named."""

    def table(self, name: str, at: At = None) -> Table:
        """The table of that name, at a snapshot when one is given.

        Raises:
            NotFoundError: When there is no such table or snapshot.
        """
        parsed = TableName.parse(name)
        lake: Session = self._lake(parsed.catalog)
        if lake is not self:
            return lake.table(name, at)
        moment = self._at if at is None else at
        view = self._catalog.view(moment, only=parsed)
        self._ensure_indexes(view.snapshot)
        try:
            entry = view.table(parsed)
        except NotFoundError as error:
            raise self._about(parsed, error) from None
        return Table(self, replace(entry.name, catalog=self._label), moment, entry)

    def _shown(self) -> CatalogView:
        shown: CatalogView = self._catalog.view(self._at)
        return shown

    def transaction(
        self, message: str | None = None, author: str | None = None, extra: str | None = None
    ) -> Transaction:
        """Changes that become one snapshot, or nothing.

        Args:
            message: What it is for; kept with the snapshot.
            author: Who does it.
            extra: Anything else, as text.
        """
        from quacklake.transaction import Transaction

        return Transaction(self, message=message, author=author, extra=extra)

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        from quacklake.transaction import Transaction

        with Transaction(self, is_single=True) as tx:
            yield tx

    def _sql_target(self) -> Session | Transaction:
        return self if self._open is None else self._open

    def _sql_begin(self) -> None:
        self._open = self.transaction().__enter__()

    def _sql_end(self, commits: bool) -> Commit:
        raise InvalidInputError("there is no transaction to end", hint="BEGIN opens one")

    def _ensure_indexes(self, snapshot: Snapshot) -> None:
        """Give a large lake indexes that it has from nobody yet; those that we made have had them from the start."""
        if not self._is_indexed and not self._read_only and is_large(snapshot):
            self._is_indexed = True
            if self._catalog.version == CURRENT:
                ensure_indexes(self._catalog.backend)

    def snapshots(self) -> list[Snapshot]:
        """Every snapshot, oldest first; those after the session's own are not shown."""
        found = self._catalog.snapshots()
        return [each for each in found if not isinstance(self._at, int) or each.snapshot_id <= self._at]

    @property
    def current_snapshot(self) -> int:
        """The id of the snapshot that the session reads."""
        newest: Snapshot = self._catalog.snapshot(self._at)
        return newest.snapshot_id

    def options(self) -> list[Option]:
        """Every setting of the lake, of its namespaces and of its tables."""
        return list(self._catalog.options())

    def create_secret(
        self, name: str, *, type: str, scope: str | None = None, replace: bool = False, **settings: object
    ) -> None:
        """Give both engines what opens object stores of one type. It is kept in memory, as long as the session.

        Args:
            name: What it is called.
            type: `s3`, `gcs` or `azure`.
            scope: The one bucket that it is for, as a URL; else it is for all of the type.
            replace: Take the place of a secret of the same name.
            **settings: By any of the names in docs/object_stores.md: `key_id`, `secret`, `endpoint`, …

        Raises:
            AlreadyExistsError: When there is a secret of that name.
            InvalidInputError: For a type, a scope or a setting that makes no sense.
        """
        self._secrets.create(name, type, scope, settings, replace=replace)

    def drop_secret(self, name: str) -> None:
        """Forget a secret.

        Raises:
            NotFoundError: When there is none of that name.
        """
        self._secrets.drop(name)

    def secrets(self) -> list[SecretInfo]:
        """What opens object stores, `storage_options` among them. Values are hidden."""
        return self._secrets.list()

    def check(self) -> list[Finding]:
        """What is wrong with the lake: ids, counters, rows that lead nowhere, files that are not there.

        An empty list says that all is well. Nothing is changed.
        """
        from quacklake.checking import check_lake
        from quacklake.storage.stores import Stores

        self._catalog.check_writable()
        return check_lake(self._catalog, Stores(self._secrets))

    @property
    def maintain(self) -> Maintenance:
        """Keeps the lake small: expires snapshots and deletes files that nothing needs any more."""
        from quacklake.maintenance.verbs import Maintenance

        refusal = "the session only reads" if self._at is None else f"the session reads snapshot {self._at}"
        return Maintenance(self._catalog, self._secrets, refusal if self._read_only else None)

    @property
    def spark(self) -> Any:
        """The Spark session in use; one is started when there is none."""
        return self._engine("spark").spark

    def close(self) -> None:
        """Let go of the catalog and of what the engines hold. The user's Spark session stays open.

        A transaction that a BEGIN has opened and nothing has ended is rolled back.
        """
        if self._open is not None:
            self._open.rollback()
            self._open = None
        for lake in self._attached.values():
            lake.close()
        self._attached.clear()
        for engine in self._engines.values():
            engine.close()
        self._engines.clear()
        self._catalog.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<quacklake session {self._catalog.backend.display}, data in {self._catalog.data_path}>"

    def _join(self, home: Session) -> None:
        """Become a lake that is attached to a session, and use what the session has."""
        self._home, self._secrets = home, home._secrets
        if self._inline_rows is None:
            self._inline_rows = home._inline_rows
        home._places.append(self._catalog.data_path)

    def _engine(self, name: EngineName | None = None) -> Any:
        if self._home is not None:
            return self._home._engine(name)
        chosen = name or self._engine_name
        if chosen not in self._engines:
            self._engines[chosen] = self._start(chosen)
        return self._engines[chosen]

    def _start(self, name: EngineName) -> Engine:
        if name == "local":
            from quacklake.engine.local.engine import LocalEngine

            return LocalEngine(self._secrets)
        from quacklake.engine.spark.engine import SparkEngine

        return SparkEngine(self._given_spark, self._secrets, places=self._places)
