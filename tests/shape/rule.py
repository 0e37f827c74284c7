"""The import rule: who may know whom, and where each library lives. ARCHITECTURE.md shows the same tables."""

from __future__ import annotations

from collections.abc import Mapping

GROUND = ("errors", "names", "types", "schema", "promotions", "evolution", "predicates", "storage.paths")
FRONT = (
    "__init__",
    "session",
    "lakes",
    "table",
    "scan",
    "history",
    "transaction",
    "restamping",
    "checking",
    "ddl",
    "dml",
    "sql",
    "source",
    "tenancy",
)

MAY_IMPORT: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(GROUND, GROUND),
    "secrets": GROUND,
    "plan": GROUND,
    "storage": (*GROUND, "secrets", "plan"),
    "catalog": (*GROUND, "plan", "storage"),
    "engine": (*GROUND, "secrets", "plan", "storage"),
    "commit": (*GROUND, "plan", "storage", "catalog"),
    "maintenance": (*GROUND, "secrets", "storage", "catalog", "commit"),
    **dict.fromkeys(
        FRONT, (*GROUND, "secrets", "plan", "storage", "catalog", "engine", "commit", "maintenance", *FRONT)
    ),
    "cli": (*GROUND, "plan", "maintenance", *FRONT),
}
"""For each part of the package, the other parts that it may import. Every part may import itself."""

HOMES: Mapping[str, tuple[str, ...]] = {
    "cryptography": ("storage",),
    "duckdb": ("engine.local", "storage", "catalog.backends", "ddl.literals", "restamping"),
    "duckdb_engine": ("catalog.backends",),
    "duckdb_extensions": ("storage.encryption",),
    "mmh3": ("engine.local",),
    "numpy": ("engine", "storage", "restamping"),
    "obstore": ("storage",),
    "polars": ("engine.local", "scan", "sql.result"),
    "psycopg": ("catalog.backends.bundle", "catalog.backends.postgresql"),
    "py4j": ("engine.spark",),
    "pyarrow": ("plan", "engine", "storage", "catalog", "commit", "ddl", "scan", "cli.values", "sql", "source"),
    "pymysql": ("catalog.backends.mysql",),
    "pyroaring": ("storage",),
    "pyspark": ("engine.spark", "source"),
    "rich": ("cli",),
    "sqlalchemy": ("catalog", "commit", "maintenance", "ddl.options"),
    "sqlglot": ("predicates", "plan", "engine", "ddl", "sql"),
    "typer": ("cli",),
}
"""For each library that is not Python's own, the parts that may load it. Type-only imports are free."""

NEVER_AT_IMPORT = ("duckdb", "pandas", "polars", "pyarrow", "pyspark", "rich", "sqlalchemy", "sqlglot", "typer")
"""What `import quacklake` must not load."""


def part_of(name: str, parts: Mapping[str, object] | tuple[str, ...]) -> str | None:
    """The longest of the parts that a module is or is in."""
    found = [part for part in parts if name == part or name.startswith(f"{part}.")]
    return max(found, key=len, default=None)


def render_parts() -> str:
    """The first table, as ARCHITECTURE.md shows it."""
    rows = [
        ("ground: " + _words(GROUND), "ground"),
        *((f"`{part}`", _allowed(part)) for part in MAY_IMPORT if part not in (*GROUND, *FRONT)),
        ("front door: " + _words(FRONT), _allowed("session")),
    ]
    return "\n".join(["| part | may import |", "|---|---|", *(f"| {part} | {allowed} |" for part, allowed in rows)])


def _allowed(part: str) -> str:
    below = [each for each in MAY_IMPORT[part] if each not in (*GROUND, *FRONT)]
    front = ["front door"] if "session" in MAY_IMPORT[part] and part not in FRONT else []
    return ", ".join(["ground", *(f"`{each}`" for each in below), *front])


def render_homes() -> str:
    """The second table, as ARCHITECTURE.md shows it."""
    rows = [f"| {library} | {_words(homes)} |" for library, homes in HOMES.items()]
    return "\n".join(["| library | home |", "|---|---|", *rows])


def _words(names: tuple[str, ...]) -> str:
    return " ".join(f"`{name}`" for name in names)
