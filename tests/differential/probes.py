"""Predicates made from the rows of a table, so that every kind of column is filtered at its edges."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence

Probe = tuple[str, str]
"""The same predicate in Spark's words and in DuckDB's."""

_INTEGERS = frozenset("TINYINT SMALLINT INTEGER BIGINT UTINYINT USMALLINT UINTEGER UBIGINT".split())
_FLOATS = frozenset(("FLOAT", "DOUBLE"))
_TIMESTAMPS = frozenset(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP WITH TIME ZONE"))
_DECIMAL = re.compile(r"DECIMAL\(\d+,\d+\)")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)(?:\+00)?")


def make_probes(
    columns: Sequence[str], types: Sequence[str], rows: Sequence[tuple[str | None, ...]], most: int, seed: str
) -> list[Probe]:
    """At most so many predicates, the same ones every time."""
    chance = random.Random(seed)
    found: list[Probe] = []
    for index, (name, type_) in enumerate(zip(columns, types, strict=True)):
        texts = {text for row in rows if (text := row[index]) is not None}
        found += _of_column(name, type_, sorted(texts), chance)
    return found if len(found) <= most else chance.sample(found, most)


def _of_column(name: str, type_: str, texts: Sequence[str], chance: random.Random) -> Iterator[Probe]:
    spark, duck = "`" + name.replace("`", "``") + "`", '"' + name.replace('"', '""') + '"'
    for test in ("IS NULL", "IS NOT NULL"):
        yield f"{spark} {test}", f"{duck} {test}"
    values = [value for text in texts if (value := _literal(type_, text)) is not None]
    for value in chance.sample(values, min(2, len(values))):
        for sign in ("=", "<", ">=", "<>"):
            yield f"{spark} {sign} {value[0]}", f"{duck} {sign} {value[1]}"
        other = chance.choice(values)
        yield f"{spark} IN ({value[0]}, {other[0]})", f"{duck} IN ({value[1]}, {other[1]})"
        yield f"NOT ({spark} > {value[0]})", f"NOT ({duck} > {value[1]})"


def _literal(type_: str, text: str) -> Probe | None:
    if type_ in _INTEGERS or _DECIMAL.fullmatch(type_):
        return text, text
    if type_ in _FLOATS:
        return f"CAST('{text}' AS DOUBLE)", f"CAST('{text}' AS DOUBLE)"
    if type_ == "BOOLEAN":
        return text, text
    if type_ == "VARCHAR":
        if "\0" in text:
            return None
        escaped = text.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'", "'" + text.replace("'", "''") + "'"
    if type_ == "DATE" and _DATE.fullmatch(text):
        return f"DATE '{text}'", f"DATE '{text}'"
    match = _TIMESTAMP.fullmatch(text) if type_ in _TIMESTAMPS else None
    return (f"TIMESTAMP '{match[1]}'", f"TIMESTAMP '{match[1]}'") if match else None
