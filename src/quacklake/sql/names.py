"""What the names in a statement stand for: of one part, two or three."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from quacklake.errors import InvalidInputError
from quacklake.names import DEFAULT_NAMESPACE, TableName, fold

if TYPE_CHECKING:
    from quacklake.session import Session
    from quacklake.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Names:
    """Where the parts of a name that are left out are looked up.

    Args:
        session: Holds the lakes.
        catalog: The lake of names of one part or two; None for the session's own.
        namespace: The namespace of names of one part.
        falls_back: Whether a name of one part may also be one of the default namespace, as inside of a view.
    """

    session: Session | Transaction
    catalog: str | None = None
    namespace: str = DEFAULT_NAMESPACE
    falls_back: bool = False

    @classmethod
    def of(cls, session: Session | Transaction) -> Names:
        """Those of a statement: what a USE has said holds."""
        catalog, namespace = session._used or (None, DEFAULT_NAMESPACE)
        return cls(session, catalog, namespace)

    def inside(self, view: TableName) -> Names:
        """Those of the text of a view: names are of its own lake, and of its own namespace first."""
        falls_back = fold(view.namespace) != DEFAULT_NAMESPACE
        return replace(self, catalog=view.catalog, namespace=view.namespace, falls_back=falls_back)

    def table(self, parts: Sequence[str]) -> TableName:
        """The table or view that a name stands for; its catalog is None for the session's own lake."""
        return self.candidates(parts)[0]

    def candidates(self, parts: Sequence[str]) -> list[TableName]:
        """What a name may stand for; the first that is there counts."""
        if len(parts) > 3:
            raise InvalidInputError(f"{'.'.join(parts)} has {len(parts)} parts", hint="write catalog.namespace.table")
        label = self.session._lake(parts[0] if len(parts) == 3 else self.catalog)._label
        if len(parts) > 1:
            return [TableName(parts[-2], parts[-1], label)]
        spaces = (self.namespace, DEFAULT_NAMESPACE) if self.falls_back else (self.namespace,)
        return [TableName(space, parts[0], label) for space in spaces]

    def namespace_of(self, parts: Sequence[str]) -> tuple[str | None, str]:
        """The catalog and the namespace that a name of one part or two stands for."""
        if len(parts) > 2:
            raise InvalidInputError(f"{'.'.join(parts)} has {len(parts)} parts", hint="write catalog.namespace")
        label = self.session._lake(parts[0] if len(parts) == 2 else self.catalog)._label
        return label, parts[-1]

    def whole(self, name: TableName) -> tuple[str, str, str]:
        """Every part of a name, for comparing."""
        return fold(name.catalog or self.own), fold(name.namespace), fold(name.table)

    @property
    def home(self) -> str:
        """The lake of names of two parts, for comparing."""
        return fold(self.catalog or self.own)

    @property
    def own(self) -> str:
        """What the session's own lake is called."""
        name: str = home_of(self.session)._name
        return name


def home_of(session: Session | Transaction) -> Any:
    """The session itself; that of a transaction."""
    return getattr(session, "_session", session)
