"""Deletes, updates and merges on Spark do to a lake of DuckDB's what the local engine does, and DuckDB sees it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import duckdb
import pyarrow as pa
import pytest

import quacklake as ql
from quacklake.engine.local.dml import LocalWriter
from tests.conftest import Duck
from tests.lakes import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

Frame = Callable[[pa.Table], Any]
Act = Callable[[ql.Table, Frame], ql.Commit]
FILES = (
    "CREATE TABLE t (id BIGINT, name VARCHAR, amount DECIMAL(9,2), f DOUBLE)",
    "INSERT INTO t SELECT i, 'n' || i % 9, i / 4, i / 8 FROM range(80) r(i)",
    "INSERT INTO t SELECT i, 'n' || i % 9, NULL, 'nan' FROM range(80, 160) r(i)",
)


@dataclass(frozen=True, slots=True)
class Case:
    """A lake that DuckDB makes, and what is done to it."""

    statements: tuple[str, ...]
    acts: tuple[Act, ...]
    inline: int = 0
    options: str = ""
    """For ATTACH."""
    is_local: bool = False
    """Whether the local engine may do it on Spark's behalf."""


def source(ids: list[int | None], **columns: Any) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), **columns})


EVERY_CLAUSE: Act = lambda t, frame: t.merge(  # noqa: E731
    frame(source([*range(40, 60), *range(150, 180), None], gone=[i % 2 == 0 for i in range(51)])),
    on="t.id = s.id",
    when=[
        ql.when_matched(delete=True, where="s.gone AND t.id > 45"),
        ql.when_matched(update={"name": "concat(t.name, '+')", "id": "s.id"}, where="t.id <> 50"),
        ql.when_not_matched(insert={"id": "s.id", "name": "'new'"}, where="s.gone"),
        ql.when_not_matched(insert={"id": "s.id"}, where="s.id < 170"),
        ql.when_not_matched_by_source(delete=True, where="t.id < 10"),
        ql.when_not_matched_by_source(update={"name": "'alone'"}, where="t.id > 140"),
    ],
)

CASES = {
    "deletes from files with deletes": Case(
        (*FILES, "DELETE FROM t WHERE id % 10 = 3"),
        (
            lambda t, _: t.delete("id % 7 = 1 OR amount > 19"),
            lambda t, _: t.delete("id >= 80 AND name <> 'n1'"),
            lambda t, _: t.delete("id < 80"),
            lambda t, _: t.delete("id < 0"),
        ),
    ),
    "few deletes go into the catalog": Case(
        (*FILES, "DELETE FROM t WHERE id IN (3, 100)", "INSERT INTO t VALUES (1000, 'in', 1, 1), (1001, 'in', 2, 2)"),
        (
            lambda t, _: t.delete("id IN (4, 90, 1000)"),
            lambda t, _: t.delete("id < 40"),
            lambda t, _: t.delete("f = double('nan') AND id <= 95"),
            lambda t, _: t.delete("id > 0"),
        ),
        inline=10,
    ),
    "updates keep row ids": Case(
        (*FILES, "DELETE FROM t WHERE id % 10 = 3"),
        (
            lambda t, _: t.update({"amount": "amount * 1.15", "name": "concat(name, '!')"}, "id % 3 = 0"),
            lambda t, _: t.update({"name": "NULL", "f": "id"}, "id > 70"),
            lambda t, _: t.update({"amount": "-1"}),
        ),
    ),
    "few updates go into the catalog": Case(
        (*FILES, "INSERT INTO t VALUES (1000, 'in', 1, 1), (1001, 'in', 2, 2)"),
        (
            lambda t, _: t.update({"name": "upper(name)"}, "id IN (1, 100, 1000)"),
            lambda t, _: t.update({"amount": "amount + 0.5"}, "id IN (1, 2, 1001)"),
            lambda t, _: t.update({"f": "1 / 3"}, "id % 4 = 0"),
            lambda t, frame: t.merge(frame(source([1, 1001, 2000], name=["a", "b", "c"])), on="id"),
        ),
        inline=10,
    ),
    "partitions": Case(
        (
            "CREATE TABLE t (id BIGINT, name VARCHAR, day DATE)",
            "ALTER TABLE t SET PARTITIONED BY (name, month(day))",
            "INSERT INTO t SELECT i, CASE WHEN i % 5 > 0 THEN 'n' || i % 5 END, DATE '2024-01-20' + i::INT "
            "FROM range(60) r(i)",
        ),
        (
            lambda t, _: t.delete("name = 'n1' AND id > 9"),
            lambda t, _: t.update({"name": "'moved'"}, "day >= '2024-03-01'"),
            lambda t, frame: t.overwrite_partitions(
                frame(
                    pa.table(
                        {
                            "id": [500, 501, 502],
                            "name": ["n2", None, "fresh"],
                            "day": pa.array([19760, 19780, 19760], pa.int32()).cast(pa.date32()),
                        }
                    )
                )
            ),
        ),
    ),
    "columns that changed": Case(
        (
            "CREATE TABLE t (a INTEGER, b INTEGER, gone VARCHAR, s STRUCT(x INTEGER, y VARCHAR))",
            "INSERT INTO t SELECT i, 100 + i, 'g', {'x': i, 'y': 'y' || i} FROM range(50) r(i)",
            "ALTER TABLE t RENAME COLUMN a TO c",
            "ALTER TABLE t RENAME COLUMN b TO a",
            "ALTER TABLE t RENAME COLUMN c TO id",
            "ALTER TABLE t DROP COLUMN gone",
            "ALTER TABLE t ADD COLUMN late VARCHAR DEFAULT 'it''s'",
            "ALTER TABLE t ALTER a SET TYPE BIGINT",
            "ALTER TABLE t ADD COLUMN s.z BIGINT",
            "INSERT INTO t SELECT i, 5000000000 + i, {'x': i, 'y': NULL, 'z': i}, NULL FROM range(50, 100) r(i)",
        ),
        (
            lambda t, _: t.delete("a = 107 OR s.x = 60"),
            lambda t, _: t.update({"a": "a + id", "late": "concat(late, s.y)"}, "id % 6 < 2"),
            lambda t, frame: t.merge(frame(source([1, 2, 55, 200], a=[7, 8, 9, 10])), on="id"),
        ),
    ),
    "nested columns": Case(
        (
            "CREATE TABLE t (id BIGINT, tags VARCHAR[], facts MAP(VARCHAR, DOUBLE), deep STRUCT(a BIGINT, "
            "items STRUCT(n INTEGER, w VARCHAR)[]))",
            "INSERT INTO t SELECT i, CASE WHEN i % 4 > 0 THEN ['t' || i, NULL] END, MAP {'k': i / 2}, "
            "{'a': i, 'items': [{'n': i, 'w': 'w'}, NULL]} FROM range(60) r(i)",
        ),
        (
            lambda t, _: t.delete("size(tags) = 2 AND deep.a < 12"),
            lambda t, _: t.update({"tags": "NULL", "id": "id + 1000"}, "id > 30"),
            lambda t, _: t.update({"facts": "NULL"}, "deep.a > 50"),
            lambda t, frame: t.merge(
                frame(source([20, 70], tags=pa.array([["m"], None], pa.list_(pa.string())))), on="id"
            ),
        ),
    ),
    "every clause of a merge": Case((*FILES, "DELETE FROM t WHERE id % 10 = 3"), (EVERY_CLAUSE, EVERY_CLAUSE)),
    "every clause of a merge with inlined rows": Case(
        (*FILES, "INSERT INTO t VALUES (3000, 'in', 1, 1), (55, 'in', 2, 2)"), (EVERY_CLAUSE, EVERY_CLAUSE), inline=8
    ),
    "a merge that only inserts, and one that only deletes": Case(
        FILES,
        (
            lambda t, frame: t.merge(
                frame(source([*range(70, 80), *range(200, 240)])), on="id", when=[ql.when_not_matched()]
            ),
            lambda t, frame: t.merge(
                frame(source([*range(100), 4, 4])),
                on="t.id >= s.id AND t.id <= s.id",
                when=[ql.when_not_matched_by_source(delete=True, where="t.id % 2 = 0")],
            ),
        ),
    ),
    "types that Spark has under other names": Case(
        (
            "CREATE TABLE t (id UBIGINT, h HUGEINT, u UUID, j JSON, b BLOB, moment TIMESTAMPTZ, s TIMESTAMP_S, "
            "tiny UTINYINT)",
            "INSERT INTO t SELECT i, i * 10::HUGEINT, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd3800' || (10 + i), '{\"a\": 1}', "
            "'\\x00\\xFF'::BLOB, TIMESTAMPTZ '2024-03-31 00:30:00+00' + i * INTERVAL 1 HOUR, "
            "TIMESTAMP '2024-01-01' + i * INTERVAL 1 SECOND, i FROM range(60) r(i)",
        ),
        (
            lambda t, _: t.delete("h BETWEEN 100 AND 300"),
            lambda t, _: t.update({"tiny": "tiny + 100", "s": "s"}, "moment > TIMESTAMP '2024-04-01T00:00:00Z'"),
            lambda t, _: t.update({"id": "id + 1"}, "u = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380012'"),
        ),
    ),
    "encrypted files": Case(
        (*FILES, "DELETE FROM t WHERE id % 10 = 3"),
        (lambda t, _: t.delete("id IN (1, 100, 101)"), lambda t, _: t.delete("id < 80 OR name = 'n3' AND id > 150")),
        inline=10,
        options="ENCRYPTED",
    ),
    "types that are only texts in Spark": Case(
        (
            "CREATE TABLE t (id BIGINT, moment TIME, long INTERVAL)",
            "INSERT INTO t SELECT i, TIME '10:00:00' + i * INTERVAL 1 MINUTE, i * INTERVAL 1 DAY FROM range(40) r(i)",
        ),
        (
            lambda t, _: t.update({"id": "id + 1000"}, "id < 20"),
            lambda t, frame: t.merge(frame(source([1001, 9])), on="id"),
        ),
        is_local=True,
    ),
}


def make(place: Place, duck: Duck, case: Case) -> int:
    """Make the lake; gives its newest snapshot."""
    Path(place.data_path).parent.mkdir(parents=True)
    with duck(place, case.options) as connection:
        connection.execute(f"CALL lk.set_option('data_inlining_row_limit', {case.inline})").fetchall()
        for statement in case.statements:
            connection.execute(statement).fetchall()
        return int(connection.execute("SELECT max(snapshot_id) FROM ducklake_snapshots('lk')").fetchall()[0][0])


@contextlib.contextmanager
def only_on_spark(monkeypatch: pytest.MonkeyPatch, is_local: bool) -> Iterator[None]:
    """Nothing but Spark may change rows."""

    def refuse(*_: Any) -> None:
        raise AssertionError("the local engine did what Spark should do")

    with monkeypatch.context() as patch:
        if not is_local:
            for verb in ("delete", "update", "merge", "overwrite_partitions"):
                patch.setattr(LocalWriter, verb, refuse)
        yield


def act(
    place: Place, case: Case, engine: Literal["local", "spark"], frame: Frame, **options: Any
) -> list[tuple[Any, ...]]:
    with ql.connect(place.url, engine=engine, **options) as session:
        table = session.table("t")
        done = [each(table, frame) for each in case.acts]
        return [(each.snapshot_id, each.rows_inserted, each.rows_updated, each.rows_deleted) for each in done]


def look(connection: duckdb.DuckDBPyConnection, known: int) -> dict[str, Any]:
    """What DuckDB sees: rows at every snapshot, with the ids of those that were there before."""
    seen: dict[str, Any] = {}
    columns = {row[0]: row[1] for row in connection.execute("DESCRIBE t").fetchall()}
    for (at,) in connection.execute("SELECT snapshot_id FROM ducklake_snapshots('lk') ORDER BY 1").fetchall():
        if at >= known:
            rows = connection.execute(f"SELECT rowid, t::VARCHAR FROM t AT (VERSION => {at})").fetchall()
            seen[f"rows at {at}"] = rows
    ids = [row[0] for row in seen[f"rows at {at}"]]
    assert len(set(ids)) == len(ids)
    connection.execute("CREATE OR REPLACE TABLE memory.copy AS SELECT * FROM t")
    for column, kind in columns.items():
        # From statistics, and from the rows.
        facts = f'count("{column}"), min("{column}")::VARCHAR, max("{column}")::VARCHAR, count(*)'
        assert (
            connection.execute(f"SELECT {facts} FROM t").fetchone()
            == connection.execute(f"SELECT {facts} FROM memory.copy").fetchone()
        ), column
        # DuckDB compares the bounds of a BLOB with its text, and loses rows of its own files.
        for value in ("min", "max") if kind != "BLOB" else ():
            where = f'"{column}" = (SELECT {value}("{column}") FROM memory.copy)'
            assert (
                connection.execute(f"SELECT count(*) FROM t WHERE {where}").fetchone()
                == connection.execute(f"SELECT count(*) FROM memory.copy WHERE {where}").fetchone()
            ), where
    return seen


def forms(connection: duckdb.DuckDBPyConnection, known: int) -> dict[str, Any]:
    """In which form the catalog knows what is dead of the files that were there before."""
    meta = "__ducklake_metadata_lk.main"
    files = f"{meta}.ducklake_data_file"
    found = {
        "removed": connection.execute(
            f"SELECT count(*) FROM {files} WHERE end_snapshot IS NOT NULL AND begin_snapshot <= {known}"
        ).fetchall(),
        "deletes": connection.execute(
            f"SELECT d.begin_snapshot, d.delete_count FROM {meta}.ducklake_delete_file d "
            f"JOIN {files} f USING (data_file_id) WHERE f.begin_snapshot <= {known} ORDER BY ALL"
        ).fetchall(),
    }
    for (name,) in connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'ducklake_inlined_delete%' "
        "OR (table_name LIKE 'ducklake_inlined_data_%' AND table_name <> 'ducklake_inlined_data_tables') ORDER BY 1"
    ).fetchall():
        found[name] = connection.execute(f"SELECT count(*) FROM {meta}.{name}").fetchall()
    return found


@pytest.mark.parametrize("name", CASES)
def test_spark_changes_what_the_local_engine_changes(
    name: str, tmp_path: Path, duck: Duck, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    places = {engine: Place.in_folder("sqlite", tmp_path / engine) for engine in ("local", "spark")}
    known = max(make(place, duck, case) for place in places.values())
    expected = act(places["local"], case, "local", lambda frame: frame)
    with only_on_spark(monkeypatch, case.is_local):
        done = act(places["spark"], case, "spark", spark.createDataFrame, spark=spark)
    assert done == expected
    seen = {}
    for engine, place in places.items():
        with duck(place) as connection:
            seen[engine] = (look(connection, known), forms(connection, known))
    for moment, rows in seen["local"][0].items():
        theirs = seen["spark"][0][moment]
        assert sorted(row[1] for row in theirs) == sorted(row[1] for row in rows), moment
        # Rows that are new get their ids in the order in which tasks write them.
        start = {row[0] for row in next(iter(seen["local"][0].values()))}
        assert sorted(row for row in theirs if row[0] in start) == sorted(row for row in rows if row[0] in start)
    assert seen["spark"][1] == seen["local"][1]
    check_files(places["spark"], duck)
    with ql.connect(places["spark"].url, engine="spark", spark=spark, read_only=True) as session:
        ours = session.table("t")
        assert ours.to_spark().count() == ours.count() == len(theirs)


def check_files(place: Place, duck: Duck) -> None:
    """Nothing is in storage but what the catalog knows."""
    present = {path.name for path in Path(place.data_path).rglob("*") if path.is_file()}
    with duck(place) as connection:
        meta = "__ducklake_metadata_lk.main"
        known = connection.execute(
            f"SELECT path FROM {meta}.ducklake_data_file UNION ALL SELECT path FROM {meta}.ducklake_delete_file "
            f"UNION ALL SELECT path FROM {meta}.ducklake_files_scheduled_for_deletion"
        ).fetchall()
    assert present == {Path(path).name for (path,) in known}


def test_expressions_that_only_spark_has(tmp_path: Path, duck: Duck, spark: SparkSession) -> None:
    place = Place.in_folder("sqlite", tmp_path / "lake")
    make(place, duck, CASES["nested columns"])
    with ql.connect(place.url, engine="spark", spark=spark) as session:
        table = session.table("t")
        values = {"tags": "array('x', CAST(id AS STRING))", "facts": "map('z', 1)"}
        assert table.update(values, "element_at(facts, 'k') > 10").rows_updated == 39
        deep = "named_struct('a', id, 'items', transform(deep.items, x -> named_struct('n', x.n + 1, 'w', 'v')))"
        assert table.update({"deep": deep}, "deep.items[0].n BETWEEN 19 AND 24").rows_updated == 6
        assert table.delete("forall(tags, x -> x LIKE 't%' OR x IS NULL) AND size(tags) > 0").rows_deleted == 15
    with duck(place) as connection:
        found = connection.execute("SELECT rowid, id, tags, facts, deep FROM t ORDER BY id").fetchall()
    for row_id, number, tags, facts, deep in found:
        assert row_id == number
        changed = number > 20
        assert (tags, facts) == ((["x", str(number)], {"z": 1}) if changed else (None, {"k": number / 2}))
        items = [{"n": number, "w": "w"}, None]
        if 19 <= number <= 24:
            items = [{"n": number + 1, "w": "v"}, {"n": None, "w": "v"}]
        assert deep == {"a": number, "items": items}
    assert [row[1] for row in found] == [0, 4, 8, 12, 16, 20, *range(21, 60)]
