"""What conflicts with what: one table, and the test that applies it. Pure.

A commit is placed after everything that others committed since its base snapshot. `RULES` says when that would
lose somebody's work. It is DuckDB's own list, and stricter where that loses data: a delete that the catalog
notes itself counts like one in a file, a renamed table is not the table that was looked at, and a rule about
NULL holds only for rows that were there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from quacklake.commit.applied import Applied
from quacklake.errors import Conflict
from quacklake.names import fold

Act = Literal[
    "create namespace",
    "drop namespace",
    "create table or view",
    "drop table",
    "rename table",
    "alter table",
    "forbid NULL",
    "drop view",
    "rename view",
    "alter view",
    "append",
    "insert",
    "insert by condition",
    "delete in files",
    "delete in catalog",
    "flush",
    "compact",
]
Shared = Literal["name", "namespace", "inside it", "table", "file", "view"]


@dataclass(frozen=True, slots=True)
class Rule:
    """What this writer may not do after what another did."""

    mine: Act
    theirs: tuple[str, ...]
    """Words of `changes_made`, and `renamed_table` and `renamed_view`, which it does not tell apart from new ones."""
    shared: Shared
    """What both must be about."""
    reason: str


def _rule(mine: Act, theirs: str, shared: Shared, reason: str) -> Rule:
    return Rule(mine, tuple(theirs.split()), shared, reason)


RULES: tuple[Rule, ...] = (
    _rule("create namespace", "created_schema", "name", "two namespaces would have one name"),
    _rule("drop namespace", "dropped_schema", "namespace", "it is gone already"),
    _rule(
        "drop namespace",
        "created_table created_view created_scalar_macro created_table_macro",
        "inside it",
        "what was made in it would be left without a namespace",
    ),
    _rule(
        "drop namespace",
        "inserted_into_table inlined_insert deleted_from_table inlined_delete altered_table",
        "inside it",
        "work would go that nobody saw",
    ),
    _rule("create table or view", "dropped_schema", "namespace", "its namespace is gone"),
    _rule("create table or view", "created_table created_view", "name", "the name is taken"),
    _rule("drop table", "dropped_table renamed_table", "table", "it is not the table that was looked at"),
    _rule("rename table", "dropped_table renamed_table altered_table", "table", "the table is gone or another"),
    _rule("alter table", "dropped_table renamed_table altered_table", "table", "the table is gone or another"),
    _rule("forbid NULL", "inserted_into_table inlined_insert", "table", "the new rows may hold NULL"),
    _rule("drop view", "dropped_view renamed_view", "view", "it is not the view that was looked at"),
    _rule("rename view", "dropped_view renamed_view altered_view", "view", "the view is gone or another"),
    _rule("alter view", "dropped_view renamed_view altered_view", "view", "the view is gone or another"),
    _rule("append", "dropped_table altered_table", "table", "the rows may not fit the table any more"),
    _rule("insert", "dropped_table altered_table", "table", "the rows may not fit the table any more"),
    _rule("insert", "deleted_from_table inlined_delete", "table", "the rows may stem from rows that are gone"),
    _rule("insert by condition", "dropped_table altered_table", "table", "the rows may not fit the table any more"),
    _rule("insert by condition", "deleted_from_table inlined_delete", "table", "the rows may match no more"),
    _rule("insert by condition", "inserted_into_table inlined_insert", "table", "the new rows may match as well"),
    _rule("delete in files", "dropped_table altered_table", "table", "the table is gone or another"),
    _rule("delete in files", "inserted_into_table inlined_insert", "table", "the new rows may match as well"),
    _rule("delete in files", "merge_adjacent rewrite_delete inline_flush", "table", "the rows moved to other files"),
    _rule("delete in files", "deleted_from_table", "file", "one delete file would hide the other"),
    _rule("delete in files", "inlined_delete", "table", "a row could be deleted twice"),
    _rule("delete in catalog", "dropped_table altered_table", "table", "the table is gone or another"),
    _rule("delete in catalog", "inserted_into_table inlined_insert", "table", "the new rows may match as well"),
    _rule("delete in catalog", "merge_adjacent rewrite_delete inline_flush", "table", "the rows moved to other files"),
    _rule("delete in catalog", "deleted_from_table inlined_delete", "table", "a row could be deleted twice"),
    _rule("flush", "dropped_table", "table", "the table is gone"),
    _rule("flush", "inline_flush rewrite_delete merge_adjacent", "table", "the rows moved to other files"),
    _rule("flush", "deleted_from_table inlined_delete", "table", "a deleted row would come back"),
    _rule("compact", "dropped_table", "table", "the table is gone"),
    _rule("compact", "merge_adjacent rewrite_delete inline_flush", "table", "the rows moved to other files"),
    _rule("compact", "deleted_from_table inlined_delete", "table", "a deleted row would come back"),
)

_DID = {
    "dropped_schema": "dropped the namespace",
    "created_schema": "created a namespace of that name",
    "created_table": "created a table of that name",
    "created_view": "created a view of that name",
    "created_scalar_macro": "created a macro in it",
    "created_table_macro": "created a macro in it",
    "dropped_table": "dropped it",
    "dropped_view": "dropped it",
    "renamed_table": "renamed it",
    "renamed_view": "renamed it",
    "altered_table": "altered it",
    "altered_view": "altered it",
    "inserted_into_table": "inserted rows",
    "inlined_insert": "inserted rows",
    "deleted_from_table": "deleted rows",
    "inlined_delete": "deleted rows",
    "inline_flush": "flushed inlined rows",
    "merge_adjacent": "merged files",
    "rewrite_delete": "rewrote files",
}


@dataclass(frozen=True, slots=True)
class Claim:
    """One thing that this writer wants to do."""

    act: Act
    subject: str
    """For messages."""
    id: int | None = None
    """Of the table or view; for names, of the namespace."""
    namespace: str = ""
    name: str = ""
    files: frozenset[int] = frozenset()
    """Data files that lose rows."""
    inside: frozenset[int] = frozenset()
    """The tables of a namespace."""


@dataclass(frozen=True, slots=True)
class Happened:
    """One thing that another writer did since the base snapshot."""

    snapshot_id: int
    what: Applied
    files: frozenset[int] = frozenset()
    """The data files, among those of our claims, that lost rows."""


def find_conflicts(claims: Sequence[Claim], others: Iterable[Happened]) -> tuple[Conflict, ...]:
    """Every reason why the claims cannot be placed after what happened."""
    found = []
    for other in others:
        for claim in claims:
            reason = _reason(claim, other)
            if reason is not None:
                theirs = _DID.get(other.what.word, f"did {other.what.word!r}, which is not known here")
                found.append(Conflict(f"{claim.act}: {reason}", theirs, claim.subject, other.snapshot_id))
    return tuple(dict.fromkeys(found))


def _reason(claim: Claim, other: Happened) -> str | None:
    if not other.what.is_known:
        # Nobody can say what a newer version did, so nothing but another table's business is safe.
        return None if _is_elsewhere(claim, other.what) else "what happened cannot be judged"
    for rule in _rules_of(claim.act):
        if other.what.word in rule.theirs and _shares(rule.shared, claim, other):
            return rule.reason
    return None


def _rules_of(act: Act) -> Iterator[Rule]:
    return (rule for rule in RULES if rule.mine == act)


def _is_elsewhere(claim: Claim, what: Applied) -> bool:
    return what.id is not None and claim.act in _ON_TABLES and what.id != claim.id


_ON_TABLES = frozenset(rule.mine for rule in RULES if rule.shared in ("table", "file"))


def _shares(shared: Shared, claim: Claim, other: Happened) -> bool:
    what = other.what
    if shared == "file":
        return what.id == claim.id and bool(claim.files & other.files)
    if shared in ("table", "view", "namespace"):
        return what.id == claim.id
    same_namespace = fold(what.namespace or "") == fold(claim.namespace)
    if shared == "inside it":
        return same_namespace if what.id is None else what.id in claim.inside
    return same_namespace and fold(what.name or "") == fold(claim.name)


def render_rules() -> str:
    """The table for people, as `docs/conflicts.md` has it."""
    lines = ["| this writer wants to | another one did | to the same | reason |", "|---|---|---|---|"]
    for rule in RULES:
        words = ", ".join(f"`{word}`" for word in rule.theirs)
        lines.append(f"| {rule.mine} | {words} | {rule.shared} | {rule.reason} |")
    return "\n".join(lines) + "\n"
