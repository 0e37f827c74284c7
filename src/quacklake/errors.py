"""Every error a caller can see, in one tree, grouped by what the caller would do about it.

QuacklakeError
├── NotFoundError (KeyError)           a namespace, table, column, snapshot or file that is not there
├── AlreadyExistsError                 the name is taken
├── InvalidInputError (ValueError)     a bad name, type, predicate, URL or setting
│   └── MergeCardinalityError          several source rows for one target row
├── ConflictError                      another writer got there first; `.conflicts` says what
├── ReadOnlyError                      a past snapshot, or a session opened read-only
├── CatalogError                       the catalog database failed
│   ├── NotInitializedError            there is no lake in that database
│   └── VersionError                   the lake's format is older or newer than what is asked for
├── StorageError (OSError)             a data file is missing, damaged or out of reach
├── AuthError                          credentials were refused
├── UnsupportedError (NotImplementedError)
├── DestructiveOperationError          needs to be allowed by name first
└── MissingExtraError (ImportError)    an optional package is not installed
"""

from __future__ import annotations

from dataclasses import dataclass


class QuacklakeError(Exception):
    """The root of the tree.

    Args:
        message: Names the thing and the reason.
        hint: The next step, in words a person can follow.
    """

    kind: str = "error"

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def __reduce__(self) -> tuple[object, ...]:
        # The default would call the class with the arguments of Exception and lose the hint.
        return (_rebuild, (type(self), self.message, self.hint, self.__dict__.copy()))


def _rebuild(cls: type[QuacklakeError], message: str, hint: str | None, state: dict[str, object]) -> QuacklakeError:
    error = cls(message, hint=hint)
    error.__dict__.update(state)
    return error


class NotFoundError(QuacklakeError, KeyError):
    """Something named does not exist at the snapshot that was asked for."""

    kind = "not_found"


class AlreadyExistsError(QuacklakeError):
    """The name is taken."""

    kind = "already_exists"


class InvalidInputError(QuacklakeError, ValueError):
    """What was passed cannot be right, whatever the state of the lake."""

    kind = "invalid_input"


class MergeCardinalityError(InvalidInputError):
    """Several source rows match one target row, so the result would depend on their order."""

    kind = "merge_cardinality"


@dataclass(frozen=True, slots=True)
class Conflict:
    """One reason why a commit cannot be replayed on top of what others committed."""

    mine: str
    """What this transaction did, in words."""
    theirs: str
    """What the other one did, in words."""
    subject: str
    """The table, view or namespace both touched."""
    snapshot_id: int | None = None
    """The snapshot of the other change, where it is known."""

    def __str__(self) -> str:
        where = f" in snapshot {self.snapshot_id}" if self.snapshot_id is not None else ""
        return f"{self.subject}: {self.mine}, but another writer {self.theirs}{where}"


class ConflictError(QuacklakeError):
    """Another writer committed something that this transaction cannot be placed after."""

    kind = "conflict"

    def __init__(self, message: str, *, hint: str | None = None, conflicts: tuple[Conflict, ...] = ()) -> None:
        super().__init__(message, hint=hint)
        self.conflicts = conflicts


class ReadOnlyError(QuacklakeError):
    """A write through a session or at a snapshot that only reads."""

    kind = "read_only"


class CatalogError(QuacklakeError):
    """The catalog database could not be reached or answered with an error."""

    kind = "catalog"


class NotInitializedError(CatalogError):
    """The database is there, but it holds no lake."""

    kind = "not_initialized"


class VersionError(CatalogError):
    """The lake's format version is not one this operation handles."""

    kind = "version"


class StorageError(QuacklakeError, OSError):
    """A data file is missing, damaged or out of reach."""

    kind = "storage"


class AuthError(QuacklakeError):
    """Credentials are missing or were refused."""

    kind = "auth"


class UnsupportedError(QuacklakeError, NotImplementedError):
    """This engine, backend or format cannot do it."""

    kind = "unsupported"


class DestructiveOperationError(QuacklakeError):
    """The operation destroys data and was not allowed by name."""

    kind = "destructive"


class MissingExtraError(QuacklakeError, ImportError):
    """An optional package is missing; the message has the line that installs it."""

    kind = "missing_extra"

    @classmethod
    def for_extra(cls, package: str, extra: str) -> MissingExtraError:
        """The error for a missing package of one of our extras."""
        return cls(f"{package} is not installed", hint=f"pip install 'quacklake[{extra}]'")
