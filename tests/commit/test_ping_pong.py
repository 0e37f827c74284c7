"""DuckDB, kept alive, and we change one lake in turns; after every step both see the same.

DuckDB keeps what it knows of the catalog until a counter moves, so every one of our commits has to move the right
ones; and whatever it writes on top of ours has to be right too.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa
import pytest

import quacklake as ql
from tests.conftest import Duck
from tests.lakes import Place, as_text, difference, quoted

KINDS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.server)]
TYPES = {"int": "INTEGER", "bigint": "BIGINT", "string": "VARCHAR", "double": "DOUBLE", "date": "DATE"}
DEFAULTS = {"int": 7, "bigint": 8, "string": "it's", "double": 1.5, "date": "2020-02-29"}
WIDER = {"int": "bigint"}


@dataclass
class Game:
    """The lake and both players."""

    session: ql.Session
    con: duckdb.DuckDBPyConnection
    chance: random.Random
    tables: dict[str, dict[str, str]] = field(default_factory=dict)
    """Every table with its columns and their types."""
    made: int = 0
    log: list[str] = field(default_factory=list)

    def name(self, prefix: str) -> str:
        self.made += 1
        return f"{prefix}{self.made}"

    def pick(self) -> tuple[str, dict[str, str]]:
        return self.chance.choice(list(self.tables.items()))

    def play(self, sql: str, ours: Callable[[], object]) -> None:
        """Let one of the two do it."""
        if self.chance.random() < 0.5:
            self.log.append(f"duckdb: {sql}")
            self.con.execute(sql).fetchall()
        else:
            self.log.append(f"ours: {sql}")
            ours()


def create(game: Game) -> None:
    name = game.name("t")
    columns = {"id": "int", **{game.name("c"): game.chance.choice(list(TYPES)) for _ in range(2)}}
    sql = ", ".join(f"{column} {TYPES[type_]}" for column, type_ in columns.items())
    ddl = ", ".join(f"{column} {type_}" for column, type_ in columns.items())
    game.play(f"CREATE TABLE {name}({sql})", lambda: game.session.create_table(name, ddl))
    game.tables[name] = columns


def drop(game: Game) -> None:
    if len(game.tables) > 2:
        name, _ = game.pick()
        game.play(f"DROP TABLE {name}", lambda: game.session.drop_table(name))
        del game.tables[name]


def rename(game: Game) -> None:
    name, columns = game.pick()
    new = game.name("t")
    game.play(f"ALTER TABLE {name} RENAME TO {new}", lambda: game.session.table(name).rename(new))
    game.tables[new] = columns
    del game.tables[name]


def add_column(game: Game) -> None:
    name, columns = game.pick()
    column, type_ = game.name("c"), game.chance.choice(list(TYPES))
    default = DEFAULTS[type_]
    literal = "'" + default.replace("'", "''") + "'" if isinstance(default, str) else str(default)
    game.play(
        f"ALTER TABLE {name} ADD COLUMN {column} {TYPES[type_]} DEFAULT {literal}",
        lambda: game.session.table(name).add_column(column, type_, default=default),
    )
    columns[column] = type_


def change_column(game: Game) -> None:
    name, columns = game.pick()
    column = game.chance.choice([each for each in columns if each != "id"] or ["id"])
    verb = game.chance.choice(["drop", "rename", "widen", "default", "comment"])
    table = f"ALTER TABLE {name}"
    if verb == "drop" and len(columns) > 2 and column != "id":
        game.play(f"{table} DROP COLUMN {column}", lambda: game.session.table(name).drop_column(column))
        del columns[column]
    elif verb == "rename" and column != "id":
        new = game.name("c")
        game.play(f"{table} RENAME {column} TO {new}", lambda: game.session.table(name).rename_column(column, new))
        columns[new] = columns.pop(column)
    elif verb == "widen" and columns[column] in WIDER:
        wider = WIDER[columns[column]]
        game.play(
            f"{table} ALTER {column} SET DATA TYPE {TYPES[wider]}",
            lambda: game.session.table(name).alter_column(column, wider),
        )
        columns[column] = wider
    elif verb == "default":
        game.play(
            f"{table} ALTER {column} SET DEFAULT NULL",
            lambda: game.session.table(name).alter_column(column, default=None),
        )
    elif verb == "comment":
        game.play(f"COMMENT ON TABLE {name} IS 'c'", lambda: game.session.table(name).set_comment("c"))


def change_layout(game: Game) -> None:
    name, _ = game.pick()
    table = f"ALTER TABLE {name}"
    sql, ours = game.chance.choice(
        [
            (f"{table} SET PARTITIONED BY (id)", lambda: game.session.table(name).set_partition_by(["id"])),
            (f"{table} RESET PARTITIONED BY", lambda: game.session.table(name).set_partition_by([])),
            (f"{table} SET SORTED BY (id DESC)", lambda: game.session.table(name).set_sort_by(["id desc"])),
            (f"{table} RESET SORTED BY", lambda: game.session.table(name).set_sort_by([])),
        ]
    )
    game.play(sql, ours)


def insert(game: Game) -> None:
    name, columns = game.pick()
    start, count = game.chance.randrange(10_000), game.chance.choice([1, 3, 25])
    type_ = pa.int64() if columns["id"] == "bigint" else pa.int32()
    frame = pa.table({"id": pa.array(range(start, start + count), type_)})
    game.play(
        f"INSERT INTO {name} (id) SELECT i FROM range({start}, {start + count}) r(i)",
        lambda: game.session.table(name).append(frame),
    )


def delete(game: Game) -> None:
    name, _ = game.pick()
    edge, width = game.chance.randrange(10_000), game.chance.choice([5, 2000])
    where = f"id BETWEEN {edge} AND {edge + width}"
    game.play(f"DELETE FROM {name} WHERE {where}", lambda: game.session.table(name).delete(where))


def flush(game: Game) -> None:
    game.log.append("duckdb: flush")
    game.con.execute("CALL ducklake_flush_inlined_data('lk')").fetchall()


MOVES: dict[Callable[[Game], None], int] = {
    create: 2,
    drop: 1,
    rename: 2,
    add_column: 4,
    change_column: 6,
    change_layout: 3,
    insert: 10,
    delete: 5,
    flush: 1,
}


def compare(game: Game) -> None:
    """Both see the same tables, columns, rows, counts, ranges and matches."""
    shown = {
        row[0]
        for row in game.con.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'lk'").fetchall()
    }
    assert shown == {name.removeprefix("main.") for name in game.session.tables()} == set(game.tables)
    for name, columns in game.tables.items():
        described = game.con.execute(f"DESCRIBE {name}").fetchall()
        assert [row[0] for row in described] == list(game.session.table(name).schema.names)
        assert {row[0] for row in described} == set(columns)
        rows = game.session.table(name).to_arrow()
        casts = ", ".join(f"CAST({quoted(row[0])} AS VARCHAR)" for row in described)
        theirs = game.con.execute(f"SELECT {casts} FROM {name}").fetchall()
        mine = as_text(rows, [row[1] for row in described])
        assert difference(mine, type(mine)(theirs)) is None, name
        ids = [id_ for id_ in rows["id"].to_pylist() if id_ is not None]
        asked = game.con.execute(f"SELECT count(*), min(id), max(id) FROM {name}").fetchall()
        assert asked == [(len(ids), min(ids, default=None), max(ids, default=None))], name
        edge = game.chance.randrange(10_000)
        matches = game.con.execute(f"SELECT count(*) FROM {name} WHERE id > {edge}").fetchone()
        assert matches == (sum(id_ > edge for id_ in ids),), name


@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [1, 2])
def test_both_see_the_same_after_every_step(
    seed: int, kind: str, new_place: Callable[[str], Place], duck: Duck
) -> None:
    place = new_place(kind)
    with ql.connect(place.url, place.data_path, engine="local") as session, duck(place) as con:
        game = Game(session, con, random.Random(seed))
        create(game)
        create(game)
        for _ in range(60):
            (move,) = game.chance.choices(list(MOVES), list(MOVES.values()))
            move(game)
            print(game.log[-1])  # noqa: T201 - shown when a comparison fails
            compare(game)
