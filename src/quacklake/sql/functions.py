"""Functions in FROM that tell about the lake itself: `table_changes` and `snapshots`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from quacklake.errors import InvalidInputError
from quacklake.names import fold, split

if TYPE_CHECKING:
    from quacklake.session import Session
    from quacklake.sql.names import Names
    from quacklake.transaction import Transaction


def find_function(name: str) -> Callable[[Session | Transaction, Names, Sequence[Any]], Any] | None:
    """The function of that name, if it is one of ours."""
    return _FUNCTIONS.get(fold(name))


def _table_changes(session: Session | Transaction, names: Names, arguments: Sequence[Any]) -> Any:
    if not 2 <= len(arguments) <= 3:
        raise InvalidInputError(
            f"table_changes takes a table and one or two snapshots, and was given {len(arguments)} arguments",
            hint="write table_changes('namespace.table', 3, 5)",
        )
    name, *bounds = arguments
    from quacklake.sql.select import as_bound

    found = names.table(split(str(name)))
    return session.table(str(found)).changes(*map(as_bound, bounds)).plan()


def _snapshots(session: Session | Transaction, names: Names, arguments: Sequence[Any]) -> Any:
    import pyarrow as pa

    if len(arguments) > 1:
        raise InvalidInputError("snapshots() takes nothing, or the name of a catalog")
    found = session._lake(str(arguments[0]) if arguments else names.catalog).snapshots()
    return pa.table(
        {
            "snapshot_id": pa.array([each.snapshot_id for each in found], pa.int64()),
            "snapshot_time": pa.array([each.time for each in found], pa.timestamp("us", "UTC")),
            "changes": pa.array([each.changes for each in found], pa.string()),
            "author": pa.array([each.author for each in found], pa.string()),
            "message": pa.array([each.message for each in found], pa.string()),
        }
    )


_FUNCTIONS = {"table_changes": _table_changes, "snapshots": _snapshots}
