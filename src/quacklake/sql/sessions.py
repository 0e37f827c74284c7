"""Statements about the session: ATTACH, DETACH, USE, SET, and secrets."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from quacklake.errors import AlreadyExistsError, InvalidInputError, NotFoundError, UnsupportedError
from quacklake.names import DEFAULT_NAMESPACE, fold
from quacklake.plan.query import Arguments
from quacklake.sql.names import Names, home_of
from quacklake.sql.shows import FewRows
from quacklake.sql.words import Words

if TYPE_CHECKING:
    from quacklake.session import Session
    from quacklake.transaction import Transaction

Home = Any
"""The session; that of the transaction, inside of one."""

_LAKES = ("ducklake", "quacklake")
_ATTACH: dict[str, str] = {
    "data_path": "data_path",
    "metadata_schema": "metadata_schema",
    "catalog": "catalog",
    "read_only": "read_only",
    "create": "create",
    "create_if_not_exists": "create",
    "encrypted": "encrypted",
    "override_data_path": "override_data_path",
    "migrate": "migrate",
    "automatic_migration": "migrate",
    "inline_rows": "inline_rows",
    "data_inlining_row_limit": "inline_rows",
    "at": "at",
    "snapshot_version": "at",
    "snapshot_time": "at",
}
"""The options of ATTACH, in our words and in DuckDB's."""
_SET_OTHERS = ("TIME", "VAR", "VARIABLE", "CATALOG", "ROLE", "PATH")


def run_attach(session: Session | Transaction, words: Words, arguments: Arguments) -> None:
    """ATTACH 'url' AS name (options)."""
    words.expect("ATTACH")
    words.accept("DATABASE")
    lenient = words.accept("IF", "NOT", "EXISTS")
    url = words.value(arguments)
    name = words.one_part() if words.accept("AS") else None
    options = words.options(arguments) if words.sees("(") else {}
    words.end()
    kind = options.pop("type", "ducklake")
    if fold(str(kind)) not in _LAKES:
        raise UnsupportedError(f"ATTACH … (TYPE {kind})", hint="only DuckLake lakes can be attached yet")
    try:
        home_of(session).attach(str(url), name, **dict(_attach_option(*each) for each in options.items()))
    except AlreadyExistsError:
        if not lenient:
            raise


def _attach_option(name: str, value: Any) -> tuple[str, Any]:
    known = _ATTACH.get(name)
    if known is None:
        raise InvalidInputError(f"ATTACH takes no option {name.upper()}", hint=f"there is {', '.join(_ATTACH).upper()}")
    if known in ("read_only", "create", "encrypted", "override_data_path", "migrate"):
        if fold(str(value)) not in ("true", "false"):
            raise InvalidInputError(f"{name.upper()} {value!r} is neither true nor false")
        return known, fold(str(value)) == "true"
    if known == "at" and not isinstance(value, int | datetime):
        from quacklake.sql.select import as_bound

        return known, int(value) if str(value).isdecimal() else as_bound(value)
    return known, int(value) if known == "inline_rows" and str(value).isdecimal() else value


def run_detach(session: Session | Transaction, words: Words) -> None:
    """DETACH name."""
    words.expect("DETACH")
    words.accept("DATABASE")
    lenient = words.accept("IF", "EXISTS")
    name = words.one_part()
    words.end()
    if lenient and fold(name) not in map(fold, home_of(session).catalogs()):
        return
    home_of(session).detach(name)


def run_use(session: Session | Transaction, words: Words) -> None:
    """USE namespace, or catalog.namespace: what names of one part or two are looked up in, in later statements."""
    words.expect("USE")
    if words.accept("CATALOG"):
        parts: tuple[str, ...] = (words.one_part(), DEFAULT_NAMESPACE)
    else:
        _ = words.accept("SCHEMA") or words.accept("DATABASE") or words.accept("NAMESPACE")
        parts = words.name()
    words.end()
    catalog, namespace = Names.of(session).namespace_of(parts)
    lake = session._lake(catalog)
    found = lake._shown().namespace(namespace).name
    home_of(session)._used = (catalog, found)


def run_set(session: Session | Transaction, words: Words, arguments: Arguments) -> FewRows | None:
    """SET name = value, for the options of the lake; SET alone shows them."""
    words.expect("SET")
    if words.is_over:
        found = session._lake(Names.of(session).catalog).options()
        rows = [(each.name, each.value, each.scope) for each in found]
        return FewRows(session, ("name", "value", "scope"), rows)
    other = next((word for word in _SET_OTHERS if words.sees(word)), None)
    if other is not None:
        raise UnsupportedError(f"SET {other} is not handled", hint="SET sets options of the lake")
    name = ".".join(words.name())
    if fold(name).startswith("spark."):
        raise UnsupportedError(
            f"SET {name}: settings of Spark are its own", hint=f"session.spark.conf.set({name!r}, …)"
        )
    if not words.accept("="):
        words.expect("TO")
    value = words.value(arguments)
    words.end()
    home = home_of(session)
    if hasattr(session, "_session"):
        raise InvalidInputError(f"SET {name} is no part of a transaction", hint="COMMIT first")
    home.set_option(fold(name), value, catalog=Names.of(session).catalog)
    return None


def is_secret(words: Words) -> bool:
    """Whether a CREATE or DROP is about a secret."""
    kinds: tuple[tuple[str, ...], ...] = (("SECRET",), ("PERSISTENT", "SECRET"), ("TEMPORARY", "SECRET"))
    starts = [("CREATE", *kind) for kind in kinds] + [("CREATE", "OR", "REPLACE", *kind) for kind in kinds]
    return any(words.sees(*start) for start in (*starts, *(("DROP", *kind) for kind in kinds)))


def run_secret(session: Session | Transaction, words: Words, arguments: Arguments) -> None:
    """CREATE SECRET name (TYPE s3, …) and DROP SECRET name."""
    drops = words.accept("DROP")
    if not drops:
        words.expect("CREATE")
    replaces = words.accept("OR", "REPLACE")
    if words.accept("PERSISTENT"):
        raise UnsupportedError("PERSISTENT SECRET: secrets live as long as the session", hint="leave out PERSISTENT")
    words.accept("TEMPORARY")
    words.expect("SECRET")
    act = _drop_secret if drops else _create_secret
    # Nothing of the statement may be shown in an error, for it has the secret in it.
    with words.silent():
        act(home_of(session), words, arguments, replaces)


def _create_secret(home: Home, words: Words, arguments: Arguments, replaces: bool) -> None:
    lenient = words.accept("IF", "NOT", "EXISTS")
    name = None if words.sees("(") else words.one_part()
    options = words.options(arguments)
    words.end()
    kind = options.pop("type", None)
    if kind is None:
        raise InvalidInputError("CREATE SECRET needs a TYPE", hint="write CREATE SECRET name (TYPE s3, …)")
    scope = options.pop("scope", None)
    called = f"__default_{fold(str(kind))}" if name is None else name
    _quietly(
        AlreadyExistsError if lenient else None,
        lambda: home.create_secret(called, type=str(kind), scope=scope, replace=replaces, **options),
    )


def _drop_secret(home: Home, words: Words, arguments: Arguments, replaces: bool) -> None:
    lenient = words.accept("IF", "EXISTS")
    name = words.one_part()
    words.end()
    _quietly(NotFoundError if lenient else None, lambda: home.drop_secret(name))


def _quietly(error: type[Exception] | None, act: Callable[[], None]) -> None:
    try:
        act()
    except (AlreadyExistsError, NotFoundError) as raised:
        if error is None or not isinstance(raised, error):
            raise
