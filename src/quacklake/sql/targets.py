"""The table that a statement changes, and its columns: how the statement calls them."""

from __future__ import annotations

from collections.abc import Sequence

from quacklake.errors import InvalidInputError, UnsupportedError
from quacklake.names import fold, split
from quacklake.sql.words import Words


def written(name: Sequence[str], alias: str | None) -> str:
    """A table as it stands in a query."""
    text = ".".join(f"`{part.replace('`', '``')}`" for part in name)
    return text if alias is None else f"{text} AS `{alias.replace('`', '``')}`"


def ways_to_call(name: Sequence[str]) -> list[tuple[str, ...]]:
    """Every way to call a table of that name."""
    return [tuple(name[start:]) for start in range(len(name))]


def alias_of(words: Words, *before: str) -> str | None:
    """Read the alias of a table, if one stands before some words."""
    if words.accept("AS"):
        return words.one_part()
    return None if words.is_over or any(words.sees(word) for word in before) else words.one_part()


def column_name(text: str) -> str:
    """A column in the list of an INSERT."""
    parts = split(text)
    if len(parts) != 1:
        raise InvalidInputError(f"{text} is not a column", hint="columns of an INSERT have one part")
    return parts[0]


def target_of(text: str, owners: set[str]) -> str:
    """The column that is set, without its table.

    Raises:
        UnsupportedError: When it is no whole column.
    """
    parts = split(text)
    if len(parts) > 1 and fold(parts[0]) in owners:
        parts = parts[1:]
    if len(parts) > 1 or text.startswith("("):
        raise UnsupportedError(f"SET {text} = …", hint="set one whole column; of a struct, all fields at once")
    return parts[0]
