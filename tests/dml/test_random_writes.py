"""Random changes by us and by a DuckDB that stays attached, each compared with a plain table that gets the same.

After every step both are asked for all rows, counts, ranges and a filter; at the end, for every snapshot there was.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import quacklake as ql
from tests.conftest import Duck
from tests.lakes import Place

SEEDS = range(int(os.environ.get("QUACKLAKE_RANDOM_LIVES", "4")))
MORE = {
    "INTEGER": ("INT", pa.int32(), 7),
    "VARCHAR": ("STRING", pa.string(), "it's"),
    "DATE": ("DATE", pa.date32(), None),
}
"""Types of columns that come and go: in our words, to Arrow, and a default."""
FIELDS: list[tuple[str, pa.DataType]] = [
    ("id", pa.int64()),
    ("name", pa.string()),
    ("amount", pa.decimal128(12, 2)),
    ("tags", pa.list_(pa.string())),
]
SCHEMA = pa.schema(FIELDS)
PREDICATES = (
    "id % 3 = {k}",
    "id BETWEEN {a} AND {b}",
    "name = 'n{a}'",
    "name IS NULL",
    "amount > {a} AND id <> {b}",
    "id = {a} OR id = {b}",
)


class Life:
    """One lake in two hands, or in ours alone, and a table without a lake that should always hold the same."""

    def __init__(
        self, session: ql.Session, live: duckdb.DuckDBPyConnection | None, seed: int, give: Callable[[pa.Table], Any]
    ) -> None:
        self.session, self.give = session, give
        self.is_alone = live is None
        self.live: Any = live
        self.random = random.Random(seed)
        self.plain = duckdb.connect()
        definition = "id BIGINT, name VARCHAR, amount DECIMAL(12,2), tags VARCHAR[]"
        self.plain.execute(f"CREATE TABLE t ({definition})")
        self.session.create_table("t", "id BIGINT, name STRING, amount DECIMAL(12,2), tags ARRAY<STRING>")
        self.next_id = 0
        self.more: dict[str, str] = {}
        """Columns that came later, with their types."""
        self.named = 0
        self.log: list[str] = []
        self.past: dict[int, tuple[list[str], list[tuple[Any, ...]]]] = {}
        """Every snapshot, with the columns and rows that it has to show."""

    def frame(self, rows: int) -> pa.Table:
        ids = list(range(self.next_id, self.next_id + rows))
        self.next_id += rows
        pick = self.random
        frame = pa.table(
            {
                "id": ids,
                "name": [None if pick.random() < 0.1 else f"n{i % 17}" for i in ids],
                "amount": pa.array([i / 4 for i in ids]).cast(pa.decimal128(12, 2)),
                "tags": [[] if pick.random() < 0.2 else [f"it's {i}", None] for i in ids],
            },
            schema=SCHEMA,
        )
        for column, type_ in self.more.items():
            if pick.random() < 0.7:
                values = [None if pick.random() < 0.2 else i % 100 for i in ids]
                frame = frame.append_column(column, _values(values, type_))
        return frame

    def predicate(self) -> str:
        a = self.random.randrange(self.next_id + 1)
        b = a + self.random.randrange(1, 12)
        return self.random.choice(PREDICATES).format(a=a, b=b, k=self.random.randrange(3))

    def insert_plainly(self, frame: pa.Table) -> None:
        self.plain.register("frame", frame)
        self.plain.execute("INSERT INTO t BY NAME SELECT * FROM frame")

    def append(self) -> None:
        frame = self.frame(self.random.choice((1, 3, 40, 200)))
        self.insert_plainly(frame)
        self.session.table("t").append(self.give(frame))

    def append_by_duckdb(self) -> None:
        frame = self.frame(self.random.choice((1, 3, 40)))
        self.insert_plainly(frame)
        self.live.register("frame", frame)
        self.live.execute("INSERT INTO lk.t BY NAME SELECT * FROM frame")

    def delete(self) -> None:
        where = self.predicate()
        gone = self.plain.execute(f"DELETE FROM t WHERE {where}").fetchall()[0][0]
        assert self.session.table("t").delete(where).rows_deleted == gone

    def delete_by_duckdb(self) -> None:
        where = self.predicate()
        self.plain.execute(f"DELETE FROM t WHERE {where}")
        self.live.execute(f"DELETE FROM lk.t WHERE {where}")

    def update(self) -> None:
        where = self.predicate()
        changed = self.plain.execute(f"UPDATE t SET amount = amount + 1, name = name || '!' WHERE {where}").fetchall()
        done = self.session.table("t").update({"amount": "amount + 1", "name": "name || '!'"}, where)
        assert done.rows_updated == changed[0][0]

    def update_by_duckdb(self) -> None:
        where = self.predicate()
        for connection, table in ((self.plain, "t"), (self.live, "lk.t")):
            connection.execute(f"UPDATE {table} SET amount = amount - 1 WHERE {where}")

    def merge(self) -> None:
        known = self.plain.execute(f"SELECT id FROM t ORDER BY hash(id) LIMIT {self.random.choice((2, 30))}").fetchall()
        new = self.frame(self.random.choice((1, 20)))
        source = pa.table(
            {
                "id": [row[0] for row in known] + new.column("id").to_pylist(),
                "name": ["merged"] * (len(known) + new.num_rows),
            }
        )
        self.plain.register("source", source)
        self.plain.execute("UPDATE t SET name = source.name FROM source WHERE t.id = source.id")
        self.plain.execute("INSERT INTO t BY NAME SELECT * FROM source WHERE id NOT IN (SELECT id FROM t)")
        done = self.session.table("t").merge(self.give(source), on="id")
        assert (done.rows_updated, done.rows_inserted) == (len(known), new.num_rows)

    def overwrite(self) -> None:
        where, frame = self.predicate(), self.frame(5)
        self.plain.execute(f"DELETE FROM t WHERE {where}")
        self.insert_plainly(frame)
        self.session.table("t").overwrite(self.give(frame), where)

    def alter(self) -> None:
        """A column more or less, another name, another type, by either of the two."""
        column = self.random.choice([*self.more, None])
        self.named += 1
        name, table = f"c{self.named}", self.session.table("t")
        if column is None:
            type_ = self.random.choice(list(MORE))
            ours, _, default = MORE[type_]
            text = "NULL" if default is None else "'" + str(default).replace("'", "''") + "'"
            sql = f"ADD COLUMN {name} {type_} DEFAULT {text}"
            self.more[name] = type_
            self.play(sql, lambda: table.add_column(name, ours, default=default))
        elif self.more[column] == "INTEGER" and self.random.random() < 0.4:
            self.more[column] = "BIGINT"
            self.play(f"ALTER {column} SET DATA TYPE BIGINT", lambda: table.alter_column(column, "BIGINT"))
        elif self.random.random() < 0.5:
            self.more = {name if each == column else each: type_ for each, type_ in self.more.items()}
            self.play(f"RENAME {column} TO {name}", lambda: table.rename_column(column, name))
        else:
            del self.more[column]
            self.play(f"DROP COLUMN {column}", lambda: table.drop_column(column))

    def play(self, sql: str, ours: Callable[[], object]) -> None:
        self.log.append(sql)
        self.plain.execute(f"ALTER TABLE t {sql}")
        if self.random.random() < 0.5 and not self.is_alone:
            self.live.execute(f"ALTER TABLE lk.t {sql}").fetchall()
        else:
            ours()

    def flush_by_duckdb(self) -> None:
        self.live.execute("CALL ducklake_flush_inlined_data('lk')")

    def merge_files_by_duckdb(self) -> None:
        self.live.execute("CALL ducklake_merge_adjacent_files('lk')")

    def partition(self) -> None:
        keys = self.random.choice(([], ["name"], ["bucket(3, id)"], ["bucket(2, id)", "name"]))
        self.session.table("t").set_partition_by(keys)

    def step(self) -> None:
        steps: dict[Callable[[], Any], int] = {
            self.append: 5,
            self.append_by_duckdb: 3,
            self.delete: 4,
            self.delete_by_duckdb: 2,
            self.update: 4,
            self.update_by_duckdb: 2,
            self.merge: 4,
            self.overwrite: 1,
            self.flush_by_duckdb: 1,
            self.merge_files_by_duckdb: 1,
            self.partition: 1,
            self.alter: 4,
        }
        if self.is_alone:
            steps = {step: weight for step, weight in steps.items() if not step.__name__.endswith("_by_duckdb")}
        chosen = self.random.choices(list(steps), list(steps.values()))[0]
        self.log.append(chosen.__name__)
        chosen()
        self.compare()

    def compare(self) -> None:
        names = ["id", "name", "amount", "tags", *self.more]
        listed = ", ".join(names)
        expected = self.plain.execute(f"SELECT {listed} FROM t ORDER BY id").fetchall()
        self.plain.register("ours", self.session.table("t").scan(row_ids=True).to_arrow())
        ours = self.plain.execute(f"SELECT {listed} FROM ours ORDER BY id").fetchall()
        assert ours == expected, self.log
        ids = self.plain.execute("SELECT rowid, id FROM ours ORDER BY id").fetchall()
        assert len({row_id for row_id, _ in ids}) == len(ids), self.log
        if not self.is_alone:
            self.compare_with_duckdb(listed, expected, ids)
        self.past[self.session.current_snapshot] = names, expected

    def compare_with_duckdb(self, listed: str, expected: list[Any], ids: list[Any]) -> None:
        theirs = self.live.execute(f"SELECT {listed} FROM lk.t ORDER BY id").fetchall()
        assert theirs == expected, self.log
        assert ids == self.live.execute("SELECT rowid, id FROM lk.t ORDER BY id").fetchall(), self.log
        facts = "count(*), count(name), min(id), max(id), min(amount), max(amount)"
        want = self.plain.execute(f"SELECT {facts} FROM t").fetchone()
        assert self.live.execute(f"SELECT {facts} FROM lk.t").fetchone() == want, self.log
        where = self.predicate()
        want = self.plain.execute(f"SELECT count(*), sum(id) FROM t WHERE {where}").fetchone()
        assert self.live.execute(f"SELECT count(*), sum(id) FROM lk.t WHERE {where}").fetchone() == want, self.log

    def compare_past(self, read: Callable[[ql.Session, int], pa.Table]) -> None:
        """Every snapshot still shows what it showed."""
        for snapshot, (names, expected) in self.past.items():
            listed = ", ".join(names)
            self.plain.register("then", read(self.session, snapshot))
            found = self.plain.execute(f'SELECT {listed} FROM "then" ORDER BY id').fetchall()
            assert found == expected, (snapshot, self.log)
            if self.is_alone:
                continue
            query = f"SELECT {listed} FROM lk.t AT (VERSION => {snapshot}) ORDER BY id"
            assert self.live.execute(query).fetchall() == expected, (snapshot, self.log)


def _values(numbers: list[int | None], type_: str) -> Any:
    arrow: Any = pa.int64() if type_ == "BIGINT" else MORE[type_][1]
    if type_ == "VARCHAR":
        return pa.array([None if number is None else f"v{number}" for number in numbers], arrow)
    return pa.array(numbers, pa.int32()).cast(arrow)


@pytest.mark.parametrize("name", ["sqlite", pytest.param("postgresql", marks=pytest.mark.server)])
@pytest.mark.parametrize("seed", SEEDS)
def test_both_writers_always_see_what_both_wrote(
    name: str, seed: int, new_place: Callable[[str], Place], duck: Duck
) -> None:
    place = new_place(name)
    with (
        ql.connect(place.url, place.data_path, engine="local") as session,
        duck(place) as live,
    ):
        life = Life(session, live, seed, lambda frame: frame)
        for _ in range(40):
            life.step()
        life.compare_past(lambda session, snapshot: session.table("t", at=snapshot).to_arrow())
        assert not session.check()
