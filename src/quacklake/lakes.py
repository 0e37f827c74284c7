"""The lakes that a session holds: its own, and those that were attached to it.

A name of one part or two is of the session's own lake, whatever else is attached; one of three parts says its catalog.
So nothing that is attached changes what a name stands for.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from quacklake.catalog.view import CatalogView
from quacklake.errors import AlreadyExistsError, InvalidInputError, NotFoundError, UnsupportedError
from quacklake.names import TableName, fold, split

if TYPE_CHECKING:
    from quacklake.session import Session
    from quacklake.transaction import Transaction

OWN = "lake"
"""What the session's own lake is called when nobody said otherwise."""

_OPTIONS = (
    "data_path",
    "catalog",
    "metadata_schema",
    "at",
    "read_only",
    "create",
    "encrypted",
    "override_data_path",
    "migrate",
    "inline_rows",
    "storage_options",
)
_OTHERS = {
    "thrift": "a Hive Metastore",
    "hive": "a Hive Metastore",
    "glue": "AWS Glue",
    "dataproc": "a Dataproc Metastore",
    "onelake": "OneLake",
    "delta": "a folder of Delta tables",
    "iceberg": "an Iceberg catalog",
}
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9_.-]+)(?:\+\w+)?:")


class LakeNames:
    """What sessions and transactions can be asked about the names of things."""

    def _lake(self, catalog: str | None) -> Any:
        """Who holds the lake of that name: itself, a session or a transaction."""
        raise NotImplementedError

    def _shown(self) -> CatalogView:
        """Everything that the lake shows."""
        raise NotImplementedError

    @property
    def _label(self) -> str | None:
        """What the lake is called in the names of its tables; None for the session's own."""
        raise NotImplementedError

    def namespaces(self, catalog: str | None = None) -> list[str]:
        """The names of all namespaces, of the session's own lake or of an attached one."""
        view: CatalogView = self._lake(catalog)._shown()
        return [each.name for each in view.namespaces]

    def tables(self, namespace: str | None = None, catalog: str | None = None) -> list[str]:
        """The names of all tables, as `namespace.table`, those of an attached lake as `catalog.namespace.table`.

        Args:
            namespace: Only those of this one; `catalog.namespace` for one of an attached lake.
            catalog: An attached lake, instead of the session's own.
        """
        lake, view, wanted = self._listed(namespace, catalog)
        return [
            str(replace(each.name, catalog=lake._label))
            for each in view.tables
            if wanted in (None, fold(each.name.namespace))
        ]

    def views(self, namespace: str | None = None, catalog: str | None = None) -> list[str]:
        """The names of all views, or of some, as for `tables`."""
        lake, view, wanted = self._listed(namespace, catalog)
        return [
            str(replace(each.name, catalog=lake._label))
            for each in view.views
            if wanted in (None, fold(each.name.namespace))
        ]

    def _listed(self, namespace: str | None, catalog: str | None) -> tuple[Any, CatalogView, str | None]:
        """The lake that is asked about, what it shows, and the namespace that is wanted of it."""
        if namespace is None:
            lake = self._lake(catalog)
            return lake, lake._shown(), None
        lake, name = self._namespace(namespace) if catalog is None else (self._lake(catalog), namespace)
        view: CatalogView = lake._shown()
        return lake, view, fold(view.namespace(name).name)

    def _namespace(self, text: str) -> tuple[Any, str]:
        """The lake that a namespace is of, and its name in it: `namespace` or `catalog.namespace`."""
        if any(mark in text for mark in '."`'):
            # Names are listed as they are, dots and all, and what is listed can be asked for.
            own = any(fold(each.name) == fold(text) for each in self._shown().namespaces)
            parts = [text] if own else split(text)
        else:
            parts = split(text)
        if len(parts) > 2:
            raise InvalidInputError(f"{text!r} has {len(parts)} parts", hint="write catalog.namespace at the most")
        return (self, parts[0]) if len(parts) == 1 else (self._lake(parts[0]), parts[1])

    def _lake_of(self, name: str) -> Any:
        """The lake of a table or a view."""
        return self._lake(TableName.parse(name).catalog)


class HeldLakes(LakeNames):
    """What a session can do with lakes beside its own."""

    _name: str
    _home: Session | None
    """The session that this one's lake is attached to."""
    _attached: dict[str, Session]
    _transactions: WeakSet[Transaction]

    def attach(self, url: str, name: str | None = None, **options: Any) -> None:
        """Hold another lake beside the session's own, as long as the session: `name.namespace.table`.

        Engines and secrets are those of the session.

        Args:
            url: As for `connect`.
            name: What the lake is called; without it, what its file or database is called.
            **options: Those of `connect`, except for engines. A lake that is not there is only made with `create=True`.

        Raises:
            AlreadyExistsError: When the session has a lake of that name.
            NotInitializedError: When there is no lake.
            UnsupportedError: For a metastore, or tables of another format.
        """
        session: Any = self
        _refuse_others(str(url))
        unknown = next((each for each in options if each not in _OPTIONS), None)
        if unknown is not None:
            raise InvalidInputError(f"attach takes no option {unknown!r}", hint=f"there is {', '.join(_OPTIONS)}")
        called = _default_name(str(url)) if name is None else name
        check_catalog_name(called)
        if fold(called) in (fold(self._name), *self._attached):
            raise AlreadyExistsError(
                f"the session has a lake {called!r} already", hint="choose another name, or detach that one"
            )
        from quacklake.session import connect

        storage = options.pop("storage_options", None)
        opened = connect(url, name=called, engine=session._engine_name, **{"create": False, **options})
        try:
            if storage:
                session._secrets.add_options(_secret_name(called), storage, opened._catalog.data_path)
        except BaseException:
            opened.close()
            raise
        opened._join(session)
        self._attached[fold(called)] = opened

    def detach(self, name: str) -> None:
        """Let go of an attached lake.

        Raises:
            NotFoundError: When none is attached under that name.
            InvalidInputError: While a transaction has it, or while it is in use.
        """
        session: Any = self
        found = self._attached.get(fold(name))
        if found is None:
            if fold(name) == fold(self._name):
                raise InvalidInputError(f"{name!r} is the session's own lake", hint="close the session")
            raise self._no_catalog(name)
        if any(not each._ended for each in found._transactions):
            raise InvalidInputError(f"a transaction is open on {name!r}", hint="end it first")
        if session._used is not None and fold(session._used[0] or "") == fold(name):
            raise InvalidInputError(f"{name!r} is in use", hint=f"USE {self._name}.main first")
        del self._attached[fold(name)]
        session._secrets.forget(_secret_name(found._name))
        found.close()

    def catalogs(self) -> list[str]:
        """The names of all lakes that the session holds, its own first."""
        return [self._name, *(each._name for each in self._attached.values())]

    @property
    def _label(self) -> str | None:
        return None if self._home is None else self._name

    def _lake(self, catalog: str | None) -> Any:
        if catalog is None or fold(catalog) == fold(self._name):
            return self
        found = self._attached.get(fold(catalog))
        if found is None:
            raise self._no_catalog(catalog)
        return found

    def _no_catalog(self, name: str) -> NotFoundError:
        return NotFoundError(f"there is no catalog {name!r}", hint=f"there is {', '.join(self.catalogs())}")

    def _about(self, name: TableName, error: NotFoundError) -> NotFoundError:
        """An error about a name of two parts, which may have been meant for an attached lake."""
        lake = self._attached.get(fold(name.namespace)) if name.catalog is None else None
        if lake is None:
            return error
        hint = f"{lake._name} is a catalog as well: write {TableName('main', name.table, lake._name)}"
        return NotFoundError(error.message, hint=hint)


def check_catalog_name(name: str) -> None:
    """Refuse what cannot be the name of a lake."""
    if not isinstance(name, str) or not name or name != name.strip() or "\0" in name:
        raise InvalidInputError(f"{name!r} is no name for a catalog", hint="give a word, such as 'other'")


def _refuse_others(url: str) -> None:
    """Refuse what is no lake, by its name."""
    found = _SCHEME.match(url)
    kind = None if found is None else _OTHERS.get(found[1].lower())
    if found is not None and kind is not None:
        raise UnsupportedError(f"{found[1]}: {kind} cannot be attached yet", hint="attach a DuckLake lake")


def _default_name(url: str) -> str:
    """What the lake is called when nobody says so: its file without the ending, or its database."""
    from quacklake.catalog.url import parse_url

    address = parse_url(url)
    found = address.path.stem if address.path is not None else address.database
    if not found:
        raise InvalidInputError("the address says no name for the lake", hint="give one: attach(url, name)")
    return found


def _secret_name(catalog: str) -> str:
    return f"storage_options of {catalog}"
