"""Files that cannot match are left out by the catalog query, and never one that can."""

from __future__ import annotations

import random
from collections.abc import Callable

import duckdb
import pyarrow as pa
import pytest

import quacklake as ql
from tests.conftest import Duck
from tests.lakes import Place

# Each column with values that sit at the edges of what statistics can say.
COLUMNS = {
    "small": ("TINYINT", ["-128", "-1", "0", "1", "127"]),
    "whole": ("INTEGER", ["-2147483648", "-5", "0", "7", "2147483647"]),
    "long": ("BIGINT", ["-9223372036854775808", "-10", "9", "10", "9223372036854775807"]),
    "unsigned": ("UBIGINT", ["0", "9", "18446744073709551615"]),
    "narrow": ("FLOAT", ["-1.5", "0.1", "-0.0", "'nan'", "'inf'", "16777216"]),
    "wide": ("DOUBLE", ["-1e300", "0.1", "-0.0", "'nan'", "'-inf'", "3.5"]),
    "exact": ("DECIMAL(20,4)", ["-9999999999999999.9999", "0.0001", "-0.0001", "12.5"]),
    "word": ("VARCHAR", ["''", "'a'", "'B'", "'é'", "'ab'", "'a b'", "'z\U0001f986'", "'10'", "'9'"]),
    "day": ("DATE", ["'2024-02-29'", "'1969-12-31'", "'infinity'", "'0044-03-15 (BC)'", "'12024-01-01'"]),
    "moment": ("TIMESTAMP", ["'2024-02-29 23:59:59.5'", "'2024-03-01'", "'1500-01-01'", "'infinity'"]),
    "instant": ("TIMESTAMPTZ", ["'2024-02-29 23:59:59.25+00'", "'2024-03-01 00:00:00+00'", "'-infinity'"]),
    "flag": ("BOOLEAN", ["true", "false"]),
    "key": ("UUID", ["'00000000-0000-0000-0000-000000000001'", "'f0000000-0000-0000-0000-000000000001'"]),
}
QUESTIONS = [
    *(
        f"{column} {operator} {value}"
        for column in ("small", "whole", "long")
        for operator in ("=", "<", ">=", "<>")
        for value in ("-5", "0", "7", "127")
    ),
    "whole BETWEEN 1 AND 8",
    "whole > 6.5",
    "long > 9223372036854775806",
    "unsigned > 10",
    "narrow > 0.1000000005",
    "narrow >= 2",
    "wide > 4",
    "wide = 0",
    "wide < 0.1",
    "exact < 0",
    "exact = 12.5",
    "word = 'B'",
    "word > 'a'",
    "word < 'a'",
    "word LIKE 'a%'",
    "word IN ('9', 'zz')",
    "day = DATE '2024-02-29'",
    "day > '2024-01-01'",
    "day < DATE '1970-01-01'",
    "moment >= TIMESTAMP_NTZ '2024-03-01 00:00:00'",
    "moment < '2024-03-01'",
    "instant > TIMESTAMP '2024-02-29 23:59:59.3+00:00'",
    "flag",
    "NOT flag",
    "word IS NULL",
    "whole IS NOT NULL AND word IS NULL",
    "whole = 7 OR word = 'é'",
    "NOT (whole > 0 OR word = 'a')",
    "key = '00000000-0000-0000-0000-000000000001'",
]


def fill(connection: duckdb.DuckDBPyConnection, seed: int) -> None:
    """A table of many small files, each with few different values in a column, or none but NULL."""
    pick = random.Random(seed)
    connection.execute(
        "CREATE TABLE lk.t (" + ", ".join(f"{name} {type_}" for name, (type_, _) in COLUMNS.items()) + ")"
    )
    for _ in range(12):
        chosen = {name: [*pick.sample(values, 1 + pick.randrange(2)), "NULL"] for name, (_, values) in COLUMNS.items()}
        rows = [
            "("
            + ", ".join(f"CAST({pick.choice(chosen[name])} AS {type_})" for name, (type_, _) in COLUMNS.items())
            + ")"
            for _ in range(3)
        ]
        connection.execute(f"INSERT INTO lk.t VALUES {', '.join(rows)}")


def texts(table: pa.Table) -> list[str]:
    """The rows as text, in order; NaN equals itself there."""
    return sorted(str(list(row.values())) for row in table.to_pylist())


@pytest.mark.parametrize("name", ["sqlite", "duckdb", pytest.param("postgresql", marks=pytest.mark.server)])
@pytest.mark.parametrize("seed", range(2))
def test_no_row_is_lost_and_files_are_left_out(
    name: str, seed: int, new_place: Callable[[str], Place], duck: Duck, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = new_place(name)
    with duck(place, "DATA_INLINING_ROW_LIMIT 0") as connection:
        fill(connection, seed)
    left_out = 0
    with ql.connect(place.url, engine="local") as session:
        table = session.table("t")
        for where in QUESTIONS:
            scan = table.scan(
                columns=[each for each in COLUMNS if each not in ("day", "moment", "instant")], where=where
            )
            plan = scan.plan(count=True)
            left_out += plan.report.files_total - plan.report.files_kept
            pruned = texts(scan.to_arrow())
            with monkeypatch.context() as patch:
                patch.setattr("quacklake.catalog.lake.kept_files", lambda *_: None)
                assert len(scan.plan().files) == 12
                assert pruned == texts(scan.to_arrow()), where
    assert left_out > 200


@pytest.mark.server
def test_mysql_leaves_out_the_same_files(new_place: Callable[[str], Place]) -> None:
    kept: dict[str, list[list[int]]] = {}
    for name in ("sqlite", "mysql"):
        place = new_place(name)
        data = f"{place.data_path}{name}/"
        with ql.connect(place.url, data, engine="local", inline_rows=0) as session:
            table = session.create_table("t", "whole INT, word STRING, wide DOUBLE, moment TIMESTAMP_NTZ")
            for index in range(6):
                table.append(
                    pa.table(
                        {
                            "whole": [index * 10, index * 10 + 5],
                            "word": [["a", "B", "é", "Z", "10", "9"][index]] * 2,
                            "wide": [index / 4, float("nan") if index == 3 else index],
                            "moment": pa.array([index * 10**12] * 2, pa.timestamp("us")),
                        }
                    )
                )
            kept[name] = [
                [file.row_id_start or 0 for file in table.scan(where=where).files()]
                for where in ("whole > 35", "word = 'a'", "word > 'Z'", "wide > 4", "moment < '1970-01-20'")
            ]
    assert kept["mysql"] == kept["sqlite"]
    assert kept["sqlite"] == [[8, 10], [0], [0, 4, 6], [6, 8, 10], [0, 2]]


def test_buckets_are_told_apart_by_the_spec_a_file_was_written_with(
    new_place: Callable[[str], Place], duck: Duck
) -> None:
    place = new_place("sqlite")
    with duck(place, "DATA_INLINING_ROW_LIMIT 0") as connection:
        connection.execute("CREATE TABLE lk.t (id BIGINT, word VARCHAR)")
        insert = "INSERT INTO lk.t SELECT i, 'w' || i FROM range(40) r(i)"
        connection.execute(insert)
        for keys in ("bucket(4, id)", "bucket(3, id)", "bucket(5, word)"):
            connection.execute(f"ALTER TABLE lk.t SET PARTITIONED BY ({keys})")
            connection.execute(insert)
    with ql.connect(place.url, engine="local") as session:
        table = session.table("t")
        assert len(table.scan().files()) == 1 + 4 + 3 + 5
        for number in (0, 7, 39):
            scan = table.scan(where=f"id = {number}")
            assert scan.count() == 4
            # The file without buckets, one file of each spec on the column, and the five of the other column.
            assert len(scan.files()) <= 1 + 1 + 1 + 5
        assert table.scan(where="word = 'w7'").count() == 4
        assert table.scan(where="id IN (1, 2)").count() == 8


def test_explain_says_what_is_read_and_why(new_place: Callable[[str], Place], duck: Duck) -> None:
    place = new_place("sqlite")
    with duck(place, "DATA_INLINING_ROW_LIMIT 0") as connection:
        connection.execute("CREATE TABLE lk.t (id BIGINT, word VARCHAR)")
        for start in range(0, 50, 10):
            connection.execute(f"INSERT INTO lk.t SELECT i, 'w' FROM range({start}, {start + 10}) r(i)")
    with ql.connect(place.url, engine="local") as session:
        text = session.table("t").scan(where="id > 44 AND length(word) = 1").explain()
    assert "files: 1 of 5" in text
    assert "id > 44" in text
    assert "leaves out no file: = " in text
