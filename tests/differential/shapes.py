"""Types that random tables have, how they grow, and SQL that makes values of them."""

from __future__ import annotations

import random
from dataclasses import dataclass

INSIDE = "INTEGER BIGINT SMALLINT DOUBLE FLOAT VARCHAR BOOLEAN DECIMAL(9,2)".split()
"""What may be inside a struct: DuckDB misreads its own text for dates and blobs there, when the catalog holds it."""
SCALARS = [*INSIDE, *"DATE TIMESTAMP UINTEGER TIMESTAMPTZ UUID BLOB".split()]
SCALARS = [*INSIDE, *"DATE TIMESTAMP UINTEGER TIMESTAMPTZ UUID BLOB".split()]
SCALARS = [*INSIDE, *"DATE TIMESTAMP UINTEGER TIMESTAMPTZ UUID BLOB".split()]
WIDER = {
    "SMALLINT": "INTEGER",
    "INTEGER": "BIGINT",
    "FLOAT": "DOUBLE",
    "DECIMAL(9,2)": "DECIMAL(18,3)",
    "UINTEGER": "BIGINT",
    "DATE": "TIMESTAMP",
}
DEFAULTS = {
    "INTEGER": "42",
    "BIGINT": "-9000000000",
    "SMALLINT": "7",
    "DOUBLE": "2.5",
    "FLOAT": "0.5",
    "VARCHAR": "'it''s'",
    "DATE": "'2001-02-03'",
    "TIMESTAMP": "'2001-02-03 04:05:06'",
    "BOOLEAN": "'true'",
    "DECIMAL(9,2)": "12.34",
}
_VALUES = {
    "INTEGER": "((i * 7919) % 2001 - 1000)::INTEGER",
    "BIGINT": "(i * 1000000007 - 5)::BIGINT",
    "SMALLINT": "(i % 300 - 150)::SMALLINT",
    "DOUBLE": "CASE WHEN i % 13 = 0 THEN 'nan'::DOUBLE WHEN i % 17 = 0 THEN '-inf'::DOUBLE ELSE (i - 50) / 3 END",
    "FLOAT": "CASE WHEN i % 11 = 0 THEN 'nan'::FLOAT ELSE (i / 4)::FLOAT END",
    "DATE": "DATE '1999-12-25' + (i * 11 % 5000)::INTEGER",
    "TIMESTAMP": "TIMESTAMP '2020-02-28 23:30:00.123' + to_minutes((i * 97)::INTEGER)",
    "TIMESTAMPTZ": "TIMESTAMPTZ '2020-02-28 23:30:00+00' + to_hours((i * 5)::INTEGER)",
    "BOOLEAN": "(i % 3 = 0)",
    "DECIMAL(9,2)": "((i * 31 % 100000) / 100)::DECIMAL(9,2)",
    "DECIMAL(18,3)": "((i * 31 % 100000) / 1000)::DECIMAL(18,3)",
    "UINTEGER": "(i * 40009 % 4294967295)::UINTEGER",
    "UUID": "md5(i::VARCHAR)::UUID",
    "BLOB": "unhex(md5(i::VARCHAR))",
}
_PLAIN = {"DOUBLE": "(i - 50) / 3", "FLOAT": "(i / 4)::FLOAT"}
"""Inside of others there is no NaN: DuckDB misreads that too."""
_TEXTS = (
    "'t' || i",
    "repeat('x', (i % 5)::INTEGER) || chr((97 + i % 26)::INTEGER)",
    "CASE i % 4 WHEN 0 THEN '' WHEN 1 THEN 'a/b ü' ELSE 'k' || i % 6 END",
)


@dataclass(slots=True)
class Shape:
    """A type that can change: a scalar, or a struct, list or map of others."""

    kind: str
    """A scalar's SQL name, or `struct`, `list`, `map`."""
    fields: list[tuple[str, Shape]]

    @property
    def sql(self) -> str:
        """The type in SQL."""
        inside = [f"{name} {shape.sql}" for name, shape in self.fields]
        match self.kind:
            case "struct":
                return f"STRUCT({', '.join(inside)})"
            case "list":
                return f"{self.fields[0][1].sql}[]"
            case "map":
                return f"MAP(VARCHAR, {self.fields[0][1].sql})"
        return self.kind

    @property
    def is_scalar(self) -> bool:
        """Whether there is nothing inside."""
        return not self.fields

    def value(self, chance: random.Random, inside: bool = False) -> str:
        """An SQL expression over the number `i`; NULL now and then, at every depth."""
        made = self._made(chance, inside)
        return (
            f"CASE WHEN (i + {chance.randrange(9)}) % 9 = 0 THEN NULL ELSE {made} END"
            if chance.random() < 0.5
            else made
        )

    def _made(self, chance: random.Random, inside: bool) -> str:
        if self.kind == "struct":
            return "{" + ", ".join(f"'{name}': {shape.value(chance, True)}" for name, shape in self.fields) + "}"
        if self.kind == "list":
            inner = self.fields[0][1].value(chance, True)
            return chance.choice((f"[{inner}, NULL]", f"[{inner}]", f"CASE WHEN i % 2 = 0 THEN [] ELSE [{inner}] END"))
        if self.kind == "map":
            return f"MAP {{'k' || (i % 3): {self.fields[0][1].value(chance, True)}}}"
        if inside and self.kind in _PLAIN:
            return _PLAIN[self.kind]
        return chance.choice(_TEXTS) if self.kind == "VARCHAR" else _VALUES[self.kind]

    def structs(self, path: str) -> list[tuple[str, Shape]]:
        """Every struct at or below, with the dotted path ALTER TABLE calls it by."""
        here = [(path, self)] if self.kind == "struct" else []
        step = {"list": "element", "map": "value"}.get(self.kind)
        for name, shape in self.fields:
            here += shape.structs(f"{path}.{step or name}")
        return here


def any_shape(chance: random.Random, depth: int = 0) -> Shape:
    """A random type, nested three deep at the most."""
    if chance.random() < (0.65 if depth == 0 else 0.75) or depth == 3:
        return Shape(chance.choice(SCALARS if depth == 0 else INSIDE), [])
    kind = chance.choice(("struct", "struct", "list", "map"))
    count = chance.randint(1, 3) if kind == "struct" else 1
    return Shape(kind, [(f"f{index}", any_shape(chance, depth + 1)) for index in range(count)])
