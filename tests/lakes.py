"""Lakes made by DuckDB's own extension, what it answers, and the comparison with what quacklake reads.

Values are compared as DuckDB's text for them in UTC: it tells every type apart and loses nothing.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb

from tests.differential.probes import make_probes

if TYPE_CHECKING:
    import pyarrow as pa

    from quacklake.session import Session

LAKE = "lk"
"""The name under which the lake is attached."""
HIDDEN = ("rowid", "snapshot_id")
EXTENSIONS = {"sqlite": "sqlite", "postgres": "postgres", "mysql": "mysql"}

Row = tuple[str | None, ...]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a lake is, in DuckDB's words and in ours."""

    kind: str
    """`sqlite`, `duckdb`, `postgres` or `mysql`."""
    attach: str
    """What stands after `ducklake:`."""
    url: str
    data_path: str
    options: str = ""
    """More options for ATTACH that the place itself needs."""

    @classmethod
    def in_folder(cls, kind: str, folder: Path) -> Place:
        """A catalog that is a file."""
        catalog = folder / f"catalog.{kind}"
        prefix = "sqlite:" if kind == "sqlite" else ""
        return cls(kind, f"{prefix}{catalog}", f"{kind}:///{catalog}", f"{folder / 'data'}/")


@dataclass(frozen=True, slots=True)
class Question:
    """A predicate, and the rows that DuckDB finds when it tests every single row."""

    where: str
    rows: Counter[Row]


@dataclass(frozen=True, slots=True)
class Answer:
    """What DuckDB reads from one table at one snapshot."""

    snapshot_id: int
    namespace: str
    table: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: Counter[Row]
    """Row id and snapshot id, unless columns of these names hide them, then the columns, as text."""
    shows_ids: bool
    questions: tuple[Question, ...] = ()
    impossible: tuple[str, ...] = ()
    """Predicates on columns that the table does not have at this snapshot."""
    error: str | None = None

    @property
    def name(self) -> str:
        """The table's name, quoted."""
        return f"{quoted(self.namespace)}.{quoted(self.table)}"

    @property
    def all_types(self) -> tuple[str, ...]:
        """The types of what comes out, ids first."""
        return ("BIGINT", "BIGINT", *self.types) if self.shows_ids else self.types

    def __str__(self) -> str:
        return f"{self.name} at {self.snapshot_id}"


def quoted(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def duck(*extensions: str) -> duckdb.DuckDBPyConnection:
    """A DuckDB in UTC with extensions from their wheels."""
    import duckdb_extensions

    # To look at the signature of an extension takes longer than most tests, and the wheels are pinned. Tables are
    # small, and threads that wait for each other cost more than they bring.
    con = duckdb.connect(config={"threads": 1, "allow_unsigned_extensions": True})
    for extension in extensions:
        duckdb_extensions.import_extension(extension, con=con)
        con.execute(f"LOAD {extension}")
    con.execute("SET TimeZone='UTC'")
    # Else DuckDB reads encrypted files but writes none without an extension that is not on the package index.
    con.execute("SET force_mbedtls_unsafe='true'")
    return con


@contextlib.contextmanager
def attached(place: Place, options: str = "") -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB with the lake attached as `lk` and in use; let go of at the end, for a file may be open only once."""
    needed = (EXTENSIONS[place.kind],) if place.kind in EXTENSIONS else ()
    con = duck("ducklake", *needed)
    try:
        settings = ", ".join(each for each in (f"DATA_PATH '{place.data_path}'", options, place.options) if each)
        con.execute(f"ATTACH 'ducklake:{place.attach}' AS {LAKE} ({settings})")
        con.execute(f"USE {LAKE}")
        yield con
    finally:
        con.close()


def run(con: duckdb.DuckDBPyConnection, statement: str, files: Path | None = None) -> None:
    """One statement of a life; its result is fetched, for an open one keeps the catalog locked."""
    con.execute(Template(statement).safe_substitute(lake=LAKE, files=str(files or ""))).fetchall()


def answers(
    con: duckdb.DuckDBPyConnection,
    questions: Sequence[tuple[str, str]] = (),
    probes: int = 0,
    metadata_schema: str | None = None,
    *,
    at_turns: bool = False,
) -> list[Answer]:
    """What DuckDB reads from every table at every snapshot.

    Args:
        con: A connection from `attached`.
        questions: Table and predicate, asked wherever the table has the columns.
        probes: How many predicates to make from the rows of each table, besides.
        metadata_schema: Where the metadata is, when not in the default place.
        at_turns: Ask only half-way through the life of each table, and at its end.
    """
    place = f"__ducklake_metadata_{LAKE}" + ("" if metadata_schema is None else f".{quoted(metadata_schema)}")
    visible = con.execute(
        f"""SELECT n.snapshot_id, s.schema_name, t.table_name
        FROM {place}.ducklake_snapshot n, {place}.ducklake_schema s, {place}.ducklake_table t
        WHERE t.schema_id = s.schema_id
          AND n.snapshot_id >= t.begin_snapshot AND (t.end_snapshot IS NULL OR n.snapshot_id < t.end_snapshot)
        ORDER BY ALL"""
    ).fetchall()
    asked = turns(visible, lambda seen: seen[1:]) if at_turns else visible
    found = []
    for snapshot, schema, table in visible:
        is_asked = (snapshot, schema, table) in asked
        found.append(_answer(con, snapshot, schema, table, questions if is_asked else (), probes if is_asked else 0))
    con.execute("DROP TABLE IF EXISTS memory.copy").fetchall()
    return found


def turns(seen: Iterable[T], name: Callable[[T], object]) -> tuple[T, ...]:
    """For every name, the one half-way through its life, if it was seen more than twice, and the last one."""
    by_name: dict[object, list[T]] = {}
    for each in seen:
        by_name.setdefault(name(each), []).append(each)
    middle = [found[len(found) // 2] for found in by_name.values() if len(found) > 2]
    return (*middle, *(found[-1] for found in by_name.values()))


def _answer(
    con: duckdb.DuckDBPyConnection,
    snapshot: int,
    namespace: str,
    table: str,
    questions: Sequence[tuple[str, str]],
    probes: int,
) -> Answer:
    source = f"{LAKE}.{quoted(namespace)}.{quoted(table)} AT (VERSION => {snapshot})"
    described = con.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
    columns, types = tuple(row[0] for row in described), tuple(row[1] for row in described)
    shows_ids = not set(HIDDEN) & {column.lower() for column in columns}
    ids = "rowid AS _the_rowid, snapshot_id AS _the_snapshot, " if shows_ids else ""
    # Predicates are tested on a copy, where nothing prunes: DuckDB itself loses rows when it prunes by bucket,
    # and in filtered time travel after a rewrite.
    try:
        con.execute(f"CREATE OR REPLACE TABLE memory.copy AS SELECT {ids}* FROM {source}").fetchall()
    except duckdb.Error as error:
        return Answer(snapshot, namespace, table, columns, types, Counter(), shows_ids, error=str(error))
    names = ["_the_rowid", "_the_snapshot", *columns] if shows_ids else list(columns)
    rows = _copied(con, names)
    plain = [row[2:] if shows_ids else row for row in rows]
    wheres = [(where, _in_duckdb(where)) for name, where in questions if name == table]
    wheres += make_probes(columns, types, plain, probes, f"{namespace}.{table} {snapshot}")
    asked, impossible = _ask(con, names, wheres)
    return Answer(snapshot, namespace, table, columns, types, rows, shows_ids, asked, impossible)


def _ask(
    con: duckdb.DuckDBPyConnection, names: Sequence[str], wheres: Iterable[tuple[str, str]]
) -> tuple[tuple[Question, ...], tuple[str, ...]]:
    asked, impossible = [], []
    for where, in_duckdb in dict(wheres).items():
        try:
            asked.append(Question(where, _copied(con, names, in_duckdb)))
        except duckdb.ConversionException:
            continue  # the column has another type here, and the question no meaning
        except duckdb.BinderException as error:
            if "not found" not in str(error) and "Could not find key" not in str(error):
                raise
            impossible.append(where)
    return tuple(asked), tuple(impossible)


def _in_duckdb(where: str) -> str:
    return re.sub(r"`((?:[^`]|``)*)`", lambda match: quoted(match[1].replace("``", "`")), where)


def _copied(con: duckdb.DuckDBPyConnection, names: Iterable[str], where: str = "true") -> Counter[Row]:
    casts = ", ".join(f"CAST({quoted(name)} AS VARCHAR)" for name in names)
    return Counter(con.execute(f"SELECT {casts} FROM memory.copy WHERE {where}").fetchall())


def as_text(arrow: pa.Table, types: Sequence[str]) -> Counter[Row]:
    """Rows as DuckDB's text, after a cast to the types that DuckDB gives the columns."""
    names = [f"c{index}" for index in range(arrow.num_columns)]
    casts = ", ".join(
        f"CAST({name} AS VARCHAR)" if type_ == "BLOB" else f"CAST(CAST({name} AS {type_}) AS VARCHAR)"
        for name, type_ in zip(names, types, strict=True)
    )
    con = _writer_of_text().cursor()
    con.register("t", arrow.rename_columns(names))
    try:
        return Counter(con.execute(f"SELECT {casts} FROM t").fetchall())
    finally:
        con.unregister("t")
        con.close()


@lru_cache(maxsize=1)
def _writer_of_text() -> duckdb.DuckDBPyConnection:
    """One for all: to open a DuckDB takes longer than most of what it is asked here."""
    con = duckdb.connect(config={"threads": 1})
    con.execute("SET GLOBAL TimeZone='UTC'")
    return con


def read(session: Session, engine: str, answer: Answer, **scan: Any) -> pa.Table:
    """The rows of one table as quacklake reads them."""
    found = session.table(answer.name, at=answer.snapshot_id).scan(**scan)
    return found.to_arrow() if engine == "local" else found.to_spark().toArrow()


def folder_of(session: Session) -> Path:
    """Where a lake has its files, in the words in which it tells of them."""
    return Path(session._catalog.data_path)


def snapshot_ids(session: Session) -> list[int]:
    """The snapshots of a lake: 0, 1, 2 and so on where it has a database for itself, and with gaps elsewhere."""
    return [each.snapshot_id for each in session.snapshots()]


def spread_moments(session: Session) -> list[datetime]:
    """Put a day between any two snapshots, for MySQL knows but seconds; the moments."""
    table, ids = session._catalog.tables.snapshot, snapshot_ids(session)
    moments = [datetime(2024, 1, 1, 12, tzinfo=UTC) + timedelta(days=index) for index in range(len(ids))]
    with session._catalog.backend.write() as connection:
        for id_, moment in zip(ids, moments, strict=True):
            connection.execute(table.update().values(snapshot_time=moment).where(table.c.snapshot_id == id_))
    return moments


def difference(got: Counter[Row], want: Counter[Row]) -> str | None:
    """What is missing and what is too much, in few words; None when all is well."""
    if got == want:
        return None
    missing, extra = list((want - got).elements()), list((got - want).elements())
    return f"{len(missing)} missing, as {missing[:2]}; {len(extra)} too many, as {extra[:2]}"


def without_repeats(answers: Iterable[Answer]) -> tuple[Answer, ...]:
    """The first and the last of the snapshots at which a table looks the same."""
    kept: dict[tuple[object, ...], list[Answer]] = {}
    for answer in answers:
        look = (answer.name, answer.columns, answer.types, frozenset(answer.rows.items()))
        kept.setdefault(look, []).append(answer)
    return tuple(each for same in kept.values() for each in ((same[0], same[-1]) if len(same) > 1 else same))
