"""What can be said with `.option(…)`, read once and checked: a misspelt option is an error, never a silence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal

from quacklake.catalog.stream_batches import LONGEST_QUERY_ID
from quacklake.errors import InvalidInputError
from quacklake.secrets.keyring import Keyring

if TYPE_CHECKING:
    from quacklake.session import Session

Door = Literal["load", "read", "write", "stream read", "stream write"]
"""Where options are for; `load` is before Spark says whether it is a stream."""

STORAGE = "storage."
"""What the names of settings for object stores begin with."""

_READS: tuple[Door, ...] = ("load", "read")
_STREAMS: tuple[Door, ...] = ("load", "stream read")
_WRITES: tuple[Door, ...] = ("write", "stream write")


def _text(value: str) -> str:
    return value


def _name(value: str) -> str:
    if not 0 < len(value) <= LONGEST_QUERY_ID:
        raise ValueError(value)
    return value


def _number(value: str) -> int:
    number = int(value)
    if number < 0:
        raise ValueError(value)
    return number


def _count(value: str) -> int:
    number = int(value)
    if number < 1:
        raise ValueError(value)
    return number


def _flag(value: str) -> bool:
    known = {"true": True, "false": False}
    return known[value.strip().lower()]


def _moment(value: str) -> int | datetime:
    text = value.strip()
    if text.isascii() and text.isdigit():
        return int(text)
    found = datetime.fromisoformat(text)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _start(value: str) -> int | Literal["latest"]:
    return "latest" if value.strip().lower() == "latest" else _number(value)


def _mode(value: str) -> bool:
    known = {"merge": True, "strict": False}
    return known[value.strip().lower()]


_FLAG, _NUMBER = "true or false", "a number"

# By the name as people write it: what it means, what it may be, and at which doors; at all of them when none is named.
_KNOWN: dict[str, tuple[Callable[[str], Any], str, tuple[Door, ...]]] = {
    "url": (_text, "an address", ()),
    "dataPath": (_text, "a path", ()),
    "catalog": (_text, "a name", ()),
    "metadataSchema": (_text, "a name", ()),
    "overrideDataPath": (_flag, _FLAG, ()),
    "migrate": (_flag, _FLAG, ()),
    "path": (_text, "a table", ()),
    "table": (_text, "a table", ()),
    "at": (_moment, "the id of a snapshot or a moment", _READS),
    "rowIds": (_flag, _FLAG, _READS),
    "where": (_text, "a predicate", ("load", "read", "stream read")),
    "readChanges": (_flag, _FLAG, _STREAMS),
    "skipChangeCommits": (_flag, _FLAG, _STREAMS),
    "ignoreChanges": (_flag, _FLAG, _STREAMS),
    "maxSnapshotsPerTrigger": (_count, "a number from 1 on", _STREAMS),
    "startingSnapshot": (_start, "the id of a snapshot, or 'latest'", _STREAMS),
    "inlineRows": (_number, _NUMBER, _WRITES),
    "mergeSchema": (_flag, _FLAG, _WRITES),
    "schema": (_mode, "'strict' or 'merge'", _WRITES),
    "commitMessage": (_text, "a text", _WRITES),
    "commitAuthor": (_text, "a text", _WRITES),
    "txnAppId": (_name, "a text of at most 200 letters", ("write",)),
    "txnVersion": (_number, _NUMBER, ("write",)),
}
_SPARKS = frozenset(("checkpointlocation", "queryname"))
"""What Spark itself passes on."""
_CONNECT = {
    "url": "url",
    "dataPath": "data_path",
    "catalog": "catalog",
    "metadataSchema": "metadata_schema",
    "overrideDataPath": "override_data_path",
    "migrate": "migrate",
    "inlineRows": "inline_rows",
}
"""The options that `connect` takes, and what it calls them."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one DataFrame or query. Holds what opens the catalog: never for tasks."""

    table: str
    connection: Mapping[str, Any] = field(repr=False)
    """The arguments of `connect`."""
    storage: Mapping[str, str] = field(repr=False)
    """Settings for object stores."""
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What else was said, by its name."""

    @property
    def secrets(self) -> Keyring:
        """What opens object stores, which tasks need as well."""
        return Keyring(self.storage)

    def get(self, name: str, default: Any = None) -> Any:
        """An option that `connect` does not know."""
        return self.values.get(name, default)

    @property
    def merges_schema(self) -> bool:
        """Whether new columns of the data become columns of the table."""
        return bool(self.get("mergeSchema") or self.get("schema"))

    @contextmanager
    def open_lake(self) -> Iterator[Session]:
        """The lake, open for as long as one question takes: a catalog that is a file is often open only once."""
        from quacklake.session import connect

        with connect(**self.connection, engine="local", create=False, storage_options=self.storage) as session:
            yield session


def read_options(given: Mapping[str, str], door: Door) -> Options:
    """Take options in.

    Raises:
        InvalidInputError: For one that nobody knows, that makes no sense here, or that is missing.
    """
    known = {_plain(name): name for name in _KNOWN}
    values: dict[str, Any] = {}
    storage: dict[str, str] = {}
    for key, value in given.items():
        if key.lower().startswith(STORAGE):
            storage[key[len(STORAGE) :]] = value
        elif _plain(key) in known:
            name = known[_plain(key)]
            values[name] = _read_value(name, value, door)
        elif _plain(key) not in _SPARKS:
            raise _unknown(key)
    if "url" not in values:
        raise InvalidInputError("the option 'url' is missing", hint=".option('url', 'sqlite:///lake.db')")
    connection = {argument: values.pop(name) for name, argument in _CONNECT.items() if name in values}
    return Options(_table(values), connection, storage, values)


def _read_value(name: str, value: str, door: Door) -> Any:
    read, form, doors = _KNOWN[name]
    if doors and door not in doors:
        raise InvalidInputError(
            f"the option {name!r} means nothing to a {door}",
            hint=f"it is for: {', '.join(each for each in doors if each != 'load')}",
        )
    try:
        return read(value)
    except (ValueError, KeyError):
        raise InvalidInputError(f"the option {name!r} is {value!r}", hint=f"give {form}") from None


def _table(values: dict[str, Any]) -> str:
    path, table = values.pop("path", None), values.pop("table", None)
    if path is not None and table is not None and path != table:
        raise InvalidInputError(f"the table is {path!r} and {table!r} at once", hint="name it once")
    found = table if path is None else path
    if not found:
        raise InvalidInputError("no table is named", hint="load('namespace.table'), or .option('table', …)")
    return str(found)


def _unknown(key: str) -> InvalidInputError:
    names = {_plain(name): name for name in _KNOWN}
    near = get_close_matches(_plain(key), names, n=1)
    hint = f"did you mean {names[near[0]]!r}?" if near else f"there are {', '.join(_KNOWN)}, and {STORAGE}…"
    return InvalidInputError(f"there is no option {key!r}", hint=hint)


def _plain(name: str) -> str:
    """Options are `dataPath` in Spark's manner and `data_path` in Python's, and both are one."""
    return name.replace("_", "").lower()
