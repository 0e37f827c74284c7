"""The tables that a statement names: where in the text each stands, and as of when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quacklake.errors import InvalidInputError, UnsupportedError
from quacklake.names import fold

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.tokenizer_core import Token


@dataclass(frozen=True, slots=True)
class Reference:
    """A table or a function that gives rows, as it stands in a text."""

    parts: tuple[str, ...]
    """Its name; the last part is its own."""
    start: int
    end: int
    """Where the name and the time stand, without an alias; the end is not part of it."""
    alias: str | None
    version: exp.Expr | None = None
    """The snapshot that is asked for."""
    timestamp: exp.Expr | None = None
    """The moment that is asked for."""
    arguments: tuple[exp.Expr, ...] | None = None
    """Those of a function; None for a table."""
    after: int = 0
    """Where an alias may stand: behind a TABLESAMPLE."""
    node: Any = field(default=None, compare=False, repr=False)
    """Where it is in the tree."""


def find_references(tree: exp.Expr, tokens: Sequence[Token]) -> list[Reference]:
    """Every table that is not one of the statement's own WITH, in the order of the text."""
    from sqlglot import exp

    places = {token.start: index for index, token in enumerate(tokens)}
    found = [
        _read(table, tokens, places)
        for table in tree.find_all(exp.Table)
        # A hint is parsed by itself, so that its words have places of their own.
        if table.this is not None and table.find_ancestor(exp.Hint) is None and not _is_own(table)
    ]
    return sorted(found, key=lambda each: each.start)


def _read(table: exp.Table, tokens: Sequence[Token], places: dict[int, int]) -> Reference:
    from sqlglot import exp

    if isinstance(table.this, exp.Func):
        return _read_function(table, tokens, places)
    parts = table.parts
    if not all(isinstance(part, exp.Identifier) and "start" in part.meta for part in parts):
        raise UnsupportedError(f"{table.sql('spark')} is no name of a table")
    start, last = parts[0].meta["start"], parts[-1].meta
    if "start" not in last:
        raise UnsupportedError(f"{table.sql('spark')} is no name of a table")
    end = last["end"] + 1
    version, moment = None, None
    bracketed: exp.Expr | None = table.args.get("when")
    time: exp.Expr | None = bracketed or table.args.get("version")
    if time is not None:
        kind, form = (time.args["kind"], time.this) if bracketed else (time.this, time.args["kind"])
        if form not in ("AT", "AS OF"):
            raise UnsupportedError(f"{table.sql('spark')}: only one moment can be read", hint="write VERSION AS OF 3")
        is_version = str(kind).upper() == "VERSION"
        version, moment = (time.expression, None) if is_version else (None, time.expression)
        end = _end_of_time(tokens, _index_at(tokens, last["end"]), bracketed=bracketed is not None)
    name = tuple(part.name for part in parts)
    after = _end_of_sample(tokens, end)
    return Reference(name, start, end, table.alias or None, version, moment, after=after, node=table)


def _read_function(table: exp.Table, tokens: Sequence[Token], places: dict[int, int]) -> Reference:
    function = table.this
    start = function.meta.get("start")
    if start is None or start not in places:
        # One of Spark's own, which sqlglot knows by name.
        return Reference((function.sql_name().lower(),), 0, 0, table.alias or None, arguments=(), node=table)
    end = _end_of_brackets(tokens, places[start] + 1)
    name = function.name if function.is_type("Anonymous") else function.this
    arguments = tuple(function.expressions)
    return Reference((str(name),), start, end, table.alias or None, arguments=arguments, after=end, node=table)


def _end_of_sample(tokens: Sequence[Token], end: int) -> int:
    """Where a TABLESAMPLE ends that begins behind the name of a table; where the name ends when there is none."""
    index = next((index for index, token in enumerate(tokens) if token.start >= end), None)
    for word in ("tablesample", "repeatable"):
        if index is None or index >= len(tokens) or fold(tokens[index].text) != word:
            break
        end = _end_of_brackets(tokens, index + 1)
        index = next((index for index, token in enumerate(tokens) if token.start >= end), None)
    return end


def _index_at(tokens: Sequence[Token], end: int) -> int:
    return next(index for index, token in enumerate(tokens) if token.end == end)


def _end_of_time(tokens: Sequence[Token], last: int, *, bracketed: bool) -> int:
    """Where the time of a table ends, which begins after its name: `VERSION AS OF x`, `AT (VERSION => x)`."""
    if bracketed:
        return _end_of_brackets(tokens, last + 2)
    index = last + 1
    while fold(tokens[index].text) != "of":
        index += 1
    value = index + 1
    if fold(tokens[value].text) in ("timestamp", "date", ":"):
        value += 1
    elif tokens[value].token_type.name not in ("STRING", "NUMBER", "PLACEHOLDER"):
        raise UnsupportedError(
            "the moment of a table must be a literal or a parameter", hint="write VERSION AS OF 3 or TIMESTAMP AS OF :t"
        )
    return tokens[value].end + 1


def _end_of_brackets(tokens: Sequence[Token], first: int) -> int:
    depth = 0
    for token in tokens[first:]:
        depth += {"(": 1, ")": -1}.get(token.text, 0) if token.token_type.name in ("L_PAREN", "R_PAREN") else 0
        if not depth:
            return int(token.end) + 1
    raise InvalidInputError("a bracket is left open")


def _is_own(table: exp.Table) -> bool:
    """Whether the name is that of a WITH that the place can see."""
    if len(table.parts) > 1 or table.args.get("version") is not None or table.args.get("when") is not None:
        return False
    inside: exp.Expr = table
    node = table.parent
    while node is not None:
        with_ = node.args.get("with_")
        if with_ is not None and any(_sees(with_, cte, table, inside) for cte in with_.expressions):
            return True
        inside, node = node, node.parent
    return False


def _sees(with_: exp.Expr, cte: exp.Expr, table: exp.Table, inside: exp.Expr) -> bool:
    if fold(cte.alias) != fold(table.name):
        return False
    if inside is not with_:
        return True
    # Inside of the WITH itself, a query sees those before it, and itself when that is allowed.
    queries = with_.expressions
    own = next(index for index, each in enumerate(queries) if any(node is table for node in each.walk()))
    place = next(index for index, each in enumerate(queries) if each is cte)
    return place < own or (place == own and bool(with_.args.get("recursive")))
