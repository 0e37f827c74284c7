"""What a snapshot did, in the words of the format (`changes_made`), read and written.

    created_table:"main"."t",inserted_into_table:1

DuckDB refuses a lake with words that it does not know, so nothing is ever added to them. Words that we do not
know are kept as they are: a newer writer was there, and whatever it did counts as touching everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from quacklake.commit.changes import (
    AddDeletes,
    AddFiles,
    AlterColumns,
    Change,
    CreateNamespace,
    CreateTable,
    CreateView,
    DropMacro,
    DropNamespace,
    DropTable,
    DropView,
    InlineDeletes,
    InlineRows,
    NewLayout,
    RemoveFiles,
    RenameTable,
    RenameView,
    SetColumnComment,
    SetComment,
    SetPartition,
    SetSort,
)
from quacklake.errors import CatalogError
from quacklake.names import quote

# Every word, in the order in which DuckDB writes them, with what stands behind the colon.
WORDS: Mapping[str, Literal["id", "namespace", "name"]] = {
    "dropped_schema": "id",
    "dropped_table": "id",
    "dropped_view": "id",
    "created_schema": "namespace",
    "created_table": "name",
    "created_view": "name",
    "created_scalar_macro": "name",
    "created_table_macro": "name",
    "dropped_scalar_macro": "id",
    "dropped_table_macro": "id",
    "inserted_into_table": "id",
    "deleted_from_table": "id",
    "altered_table": "id",
    "altered_view": "id",
    "inlined_insert": "id",
    "inlined_delete": "id",
    "inline_flush": "id",
    "merge_adjacent": "id",
    "rewrite_delete": "id",
    # Only read: older writers.
    "flushed_inlined": "id",
    "compacted_table": "id",
}
_SYNONYMS = {"flushed_inlined": "inline_flush", "compacted_table": "merge_adjacent"}
# DuckDB writes created tables and views in one run, as they come.
_RANK = {word: rank for rank, word in enumerate(WORDS)} | {"created_view": 4}


@dataclass(frozen=True, slots=True)
class Applied:
    """One thing that a snapshot did."""

    word: str
    id: int | None = None
    """Of the table, view, macro or namespace, where the word comes with an id."""
    namespace: str | None = None
    """Where the word comes with a name."""
    name: str | None = None
    is_known: bool = True


@lru_cache(maxsize=256)
def parse_applied(text: str | None) -> tuple[Applied, ...]:
    """Read `changes_made`. A word of a newer version, or one that is not understood, comes back as unknown."""
    return tuple(_parse_entry(entry) for entry in _split(text or "", ",") if entry.strip())


def write_applied(entries: Iterable[Applied]) -> str:
    """Write `changes_made`, in DuckDB's order, each entry once."""
    unique = dict.fromkeys(entries)
    return ",".join(_write_entry(each) for each in sorted(unique, key=lambda each: _RANK[each.word]))


# Which word a change is written as; the comment of a view and macros of either kind are told apart below.
_WORD: Mapping[type, str] = {
    CreateNamespace: "created_schema",
    DropNamespace: "dropped_schema",
    CreateTable: "created_table",
    # A rename says no more than this, so nobody can tell which table it was.
    RenameTable: "created_table",
    DropTable: "dropped_table",
    CreateView: "created_view",
    RenameView: "created_view",
    DropView: "dropped_view",
    AlterColumns: "altered_table",
    SetPartition: "altered_table",
    SetSort: "altered_table",
    SetComment: "altered_table",
    SetColumnComment: "altered_table",
    AddFiles: "inserted_into_table",
    RemoveFiles: "deleted_from_table",
    AddDeletes: "deleted_from_table",
    InlineRows: "inlined_insert",
    InlineDeletes: "inlined_delete",
}


def describe(change: Change, ids: Mapping[int, int]) -> Applied | None:
    """What a change is called, once new objects have their real ids; None for one that has no word."""
    if isinstance(change, NewLayout):
        return None
    if isinstance(change, CreateNamespace):
        return Applied("created_schema", namespace=change.name)
    if isinstance(change, DropMacro):
        return Applied(f"dropped_{change.kind}_macro", change.macro_id)
    if isinstance(change, CreateTable | CreateView):
        return Applied(_WORD[type(change)], namespace=change.name.namespace, name=change.name.table)
    if isinstance(change, RenameTable | RenameView):
        return Applied(_WORD[type(change)], namespace=change.after.namespace, name=change.after.table)
    word, subject = _WORD[type(change)], subject_id(change)
    if isinstance(change, SetComment) and change.kind == "view":
        word = "altered_view"
    if subject < 0 and word.startswith("altered"):
        # The object is new: that it was also altered on the way is nobody's business.
        return None
    return Applied(word, ids.get(subject, subject))


def subject_id(change: Change) -> int:
    """The id of the table, view, macro or namespace that a change is about."""
    if isinstance(change, CreateNamespace | DropNamespace):
        return change.namespace_id
    if isinstance(change, CreateView | DropView | RenameView):
        return change.view_id
    if isinstance(change, DropMacro):
        return change.macro_id
    return change.object_id if isinstance(change, SetComment) else change.table_id


def _write_entry(entry: Applied) -> str:
    form = WORDS[entry.word]
    if form == "id":
        if entry.id is None or entry.id < 0:
            raise CatalogError(f"{entry.word} needs the real id of what it is about")
        return f"{entry.word}:{entry.id}"
    if form == "namespace":
        return f"{entry.word}:{quote(entry.namespace or '')}"
    return f"{entry.word}:{quote(entry.namespace or '')}.{quote(entry.name or '')}"


def _parse_entry(entry: str) -> Applied:
    word, _, value = entry.strip().partition(":")
    word = _SYNONYMS.get(word, word)
    form = WORDS.get(word)
    if form == "id" and value.isdecimal():
        return Applied(word, int(value))
    parts = [_unquote(part) for part in _split(value, ".")]
    if form == "namespace" and len(parts) == 1:
        return Applied(word, namespace=parts[0])
    if form == "name" and len(parts) == 2:
        return Applied(word, namespace=parts[0], name=parts[1])
    return Applied(word, id=int(value) if value.isdecimal() else None, name=value, is_known=False)


def _split(text: str, mark: str) -> list[str]:
    parts, current, quoted = [], "", False
    for letter in text:
        if letter == '"':
            quoted = not quoted
        if letter == mark and not quoted:
            parts.append(current)
            current = ""
        else:
            current += letter
    return [*parts, current]


def _unquote(part: str) -> str:
    text = part.strip()
    if len(text) >= 2 and text.startswith('"') and text.endswith('"'):
        return text[1:-1].replace('""', '"')
    return text
