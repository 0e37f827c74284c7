"""CALL: the verbs of `session.maintain`, by DuckDB's names for them or by ours."""

from __future__ import annotations

import inspect
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from quacklake.errors import InvalidInputError, UnsupportedError
from quacklake.names import fold
from quacklake.plan.query import Arguments
from quacklake.sql.literals import require
from quacklake.sql.names import Names
from quacklake.sql.shows import FewRows
from quacklake.sql.text import parse_expression
from quacklake.sql.words import Words

if TYPE_CHECKING:
    from sqlglot import exp

    from quacklake.session import Session
    from quacklake.transaction import Transaction

_VERBS = {
    "expire_snapshots": "expire",
    "cleanup_old_files": "cleanup",
    "delete_orphaned_files": "remove_orphans",
    "merge_adjacent_files": "merge_files",
    "rewrite_data_files": "rewrite_files",
    "flush_inlined_data": "flush",
    "checkpoint": "checkpoint",
}


def run_call(session: Session | Transaction, words: Words, arguments: Arguments) -> FewRows:
    """CALL expire_snapshots(older_than => '7 days'), and the other verbs, on the lake in use or catalog.verb."""
    words.expect("CALL")
    name = words.name()
    called = fold(name[-1])
    verb = _VERBS.get(called, called if called in _VERBS.values() else None)
    if verb is None or len(name) > 2:
        raise UnsupportedError(f"CALL {'.'.join(name)} is not handled", hint=f"there is {', '.join(_VERBS)}")
    options = dict(_argument(each, arguments) for each in ([] if words.accept("(", ")") else words.listed()))
    words.end()
    if hasattr(session, "_session"):
        raise InvalidInputError(f"CALL {called} is no part of a transaction", hint="COMMIT first")
    act = getattr(session._lake(name[0] if len(name) == 2 else Names.of(session).catalog).maintain, verb)
    known = list(inspect.signature(act).parameters)
    unknown = next((each for each in options if each not in known), None)
    if unknown is not None:
        raise InvalidInputError(f"{called} takes no {unknown}", hint=f"there is {', '.join(known)}")
    report = asdict(act(**options))
    return FewRows(session, [*report], [tuple(json.dumps(value, default=str) for value in report.values())])


def _argument(text: str, arguments: Arguments) -> tuple[str, Any]:
    words = Words.of(text)
    name = fold(words.one_part())
    words.expect("=>")
    return name, _value(parse_expression(words.rest())[0], arguments)


def _value(node: exp.Expr, arguments: Arguments) -> Any:
    from sqlglot import exp

    match node:
        case exp.Placeholder() if node.name:
            return require(arguments, node.name)
        case exp.Null():
            return None
        case exp.Boolean():
            return bool(node.this)
        case exp.Literal():
            return node.this if node.is_string else float(node.this) if "." in node.this else int(node.this)
        case exp.Array():
            return [_value(each, arguments) for each in node.expressions]
        case exp.Interval():
            return f"{node.name} {node.args['unit'].name if node.args.get('unit') else ''}".strip()
        case exp.Cast() if isinstance(node.this, exp.Literal):
            from quacklake.sql.select import as_bound

            return as_bound(node.this.this)
    raise InvalidInputError(f"{node.sql('spark')} is no value", hint="write a literal or a parameter")
