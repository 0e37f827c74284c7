"""Types and columns, from text, from Arrow and from Spark."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal as Number
from uuid import UUID

import duckdb
import pyarrow as pa
import pytest

from quacklake.ddl.literals import canonical_text, normalize_expression, read_default
from quacklake.ddl.schemas import read_schema, read_type
from quacklake.ddl.text import parse_columns, parse_type
from quacklake.errors import InvalidInputError
from quacklake.promotions import PROMOTIONS, can_promote
from quacklake.types import Decimal, Primitive, parse_leaf

TEXTS = {
    "int": "int32",
    "INTEGER": "int32",
    "bigint": "int64",
    "LONG": "int64",
    "short": "int16",
    "smallint": "int16",
    "byte": "int8",
    "TINYINT": "int8",
    "int8": "int8",
    "int64": "int64",
    "HUGEINT": "int128",
    "uhugeint": "uint128",
    "UINTEGER": "uint32",
    "uint8": "uint8",
    "UBIGINT": "uint64",
    "float": "float32",
    "real": "float32",
    "float64": "float64",
    "double": "float64",
    "decimal": "decimal(10,0)",
    "decimal(7)": "decimal(7,0)",
    "DECIMAL(38, 10)": "decimal(38,10)",
    "numeric(5,2)": "decimal(5,2)",
    "string": "varchar",
    "varchar(20)": "varchar",
    "text": "varchar",
    "binary": "blob",
    "BLOB": "blob",
    "boolean": "boolean",
    "bool": "boolean",
    "date": "date",
    "time": "time",
    "TIMETZ": "timetz",
    "timestamp": "timestamptz",
    "timestamp_ltz": "timestamptz",
    "timestamptz": "timestamptz",
    "timestamp with time zone": "timestamptz",
    "timestamp without time zone": "timestamp",
    "timestamp_ntz": "timestamp",
    "timestamp_us": "timestamp",
    "TIMESTAMP_S": "timestamp_s",
    "timestamp_ms": "timestamp_ms",
    "TIMESTAMP_NS": "timestamp_ns",
    "interval": "interval",
    "uuid": "uuid",
    "JSON": "json",
    "variant": "variant",
    "geometry": "geometry",
    "array<int>": "list<int32>",
    "INT[]": "list<int32>",
    "INT[][]": "list<list<int32>>",
    "list<string>": "list<varchar>",
    "map<string, array<double>>": "map<varchar, list<float64>>",
    "MAP(VARCHAR, INT)": "map<varchar, int32>",
    "struct<a: int, b: struct<c: string>>": "struct<a: int32, b: struct<c: varchar>>",
    "STRUCT(a INT, b UUID[])": "struct<a: int32, b: list<uuid>>",
    "struct<`odd name`: int>": "struct<odd name: int32>",
}


@pytest.mark.parametrize(("text", "type_"), TEXTS.items())
def test_a_type_is_read_from_text(text: str, type_: str) -> None:
    assert str(parse_type(text)) == type_


@pytest.mark.parametrize("text", ["", "int, b int", "int not null", "int default 5", "c int", "1"])
def test_what_is_more_or_less_than_a_type_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError):
        parse_type(text)


def test_columns_are_read_with_all_that_stands_behind_them() -> None:
    found = parse_columns("a INT NOT NULL DEFAULT 5 COMMENT 'it\\'s', `b c` STRING, \"d\" DATE DEFAULT now()")
    assert [(each.column.name, each.column.nullable, each.column.comment) for each in found] == [
        ("a", False, "it's"),
        ("b c", True, None),
        ("d", True, None),
    ]
    assert [each.default is not None for each in found] == [True, False, True]


def test_ids_count_parents_before_children() -> None:
    schema = read_schema("a STRUCT<b: INT, c: ARRAY<STRUCT<d: INT>>>, e MAP<STRING, INT>, f INT")
    assert [(column.id, column.name) for column in schema.walk()] == [
        (1, "a"),
        (2, "b"),
        (3, "c"),
        (4, "element"),
        (5, "d"),
        (6, "e"),
        (7, "key"),
        (8, "value"),
        (9, "f"),
    ]


ARROW = {
    pa.int8(): "int8",
    pa.uint64(): "uint64",
    pa.float16(): "float32",
    pa.float64(): "float64",
    pa.bool_(): "boolean",
    pa.large_string(): "varchar",
    pa.string_view(): "varchar",
    pa.binary(16): "blob",
    pa.large_binary(): "blob",
    pa.date32(): "date",
    pa.date64(): "date",
    pa.time32("s"): "time",
    pa.time64("us"): "time",
    pa.timestamp("s"): "timestamp_s",
    pa.timestamp("ms"): "timestamp_ms",
    pa.timestamp("us"): "timestamp",
    pa.timestamp("ns"): "timestamp_ns",
    pa.timestamp("us", "UTC"): "timestamptz",
    pa.timestamp("ns", "Europe/Berlin"): "timestamptz",
    pa.decimal128(9, 2): "decimal(9,2)",
    pa.month_day_nano_interval(): "interval",
    pa.dictionary(pa.int32(), pa.string()): "varchar",
    pa.list_(pa.int32()): "list<int32>",
    pa.large_list(pa.int32()): "list<int32>",
    pa.list_(pa.int32(), 3): "list<int32>",
    pa.map_(pa.string(), pa.float64()): "map<varchar, float64>",
    pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))]): "struct<a: int32, b: list<varchar>>",
    pa.uuid(): "uuid",
    pa.json_(): "json",
}


@pytest.mark.parametrize(("arrow", "type_"), ARROW.items(), ids=str)
def test_a_type_is_read_from_arrow(arrow: pa.DataType, type_: str) -> None:
    (column,) = read_schema(pa.schema([pa.field("c", arrow, nullable=False)]))
    assert (str(column.type), column.nullable) == (type_, False)
    assert str(read_type(arrow)) == type_  # type: ignore[arg-type]


class SparkSchema:
    """What Spark's StructType answers."""

    fields = ()

    def __init__(self, *fields: Mapping[str, object]) -> None:
        self._fields = fields

    def json(self) -> str:
        return json.dumps({"type": "struct", "fields": self._fields})


def test_columns_are_read_from_spark_without_spark() -> None:
    def field(name: str, type_: object, nullable: bool = True, **metadata: str) -> Mapping[str, object]:
        return {"name": name, "type": type_, "nullable": nullable, "metadata": metadata}

    inner = {"type": "struct", "fields": [field("x", "integer"), field("y", "timestamp_ntz")]}
    schema = read_schema(
        SparkSchema(
            field("id", "long", False, comment="the key"),
            field("amount", "decimal(10,2)"),
            field("ts", "timestamp"),
            field("l", {"type": "array", "elementType": inner, "containsNull": True}),
            field("m", {"type": "map", "keyType": "string", "valueType": "binary", "valueContainsNull": True}),
        )
    )
    assert [(column.name, str(column.type), column.nullable, column.comment) for column in schema] == [
        ("id", "int64", False, "the key"),
        ("amount", "decimal(10,2)", True, None),
        ("ts", "timestamptz", True, None),
        ("l", "list<struct<x: int32, y: timestamp>>", True, None),
        ("m", "map<varchar, blob>", True, None),
    ]


LITERALS: list[tuple[object, str, str]] = [
    (5, "int32", "5"),
    (-(2**63), "int64", "-9223372036854775808"),
    (2**127 - 1, "int128", str(2**127 - 1)),
    (True, "boolean", "true"),
    ("t", "boolean", "true"),
    (1.5, "float64", "1.5"),
    (Number("1.5"), "decimal(9,2)", "1.50"),
    (Number("1E+2"), "decimal(9,2)", "100.00"),
    (3, "decimal(9,2)", "3.00"),
    ("it's", "varchar", "it's"),
    ("", "varchar", ""),
    (b"\x00ab", "blob", "\\x00ab"),
    (date(2020, 1, 2), "date", "2020-01-02"),
    ("2020-01-02", "timestamp", "2020-01-02 00:00:00"),
    (datetime(2020, 1, 2, 3, 4, 5, 600000), "timestamp", "2020-01-02 03:04:05.6"),
    (datetime(2020, 1, 2, 3, tzinfo=UTC), "timestamptz", "2020-01-02 03:00:00+00"),
    ("2020-01-02 03:00:00+02", "timestamptz", "2020-01-02 01:00:00+00"),
    (time(1, 2, 3), "time", "01:02:03"),
    (UUID(int=1), "uuid", "00000000-0000-0000-0000-000000000001"),
    ('{"a": 1}', "json", '{"a": 1}'),
]


@pytest.mark.parametrize(("value", "type_", "text"), LITERALS)
def test_values_become_duckdbs_text(value: object, type_: str, text: str) -> None:
    assert canonical_text(value, parse_leaf(type_), "c") == text


def test_a_literal_in_text_keeps_its_words_and_old_rows_show_its_value() -> None:
    (column,) = read_schema("ts TIMESTAMP_NTZ DEFAULT '2020-01-01'")
    assert column.default is not None
    assert (column.default.text, column.default.is_expression) == ("2020-01-01", False)
    assert column.initial_default == "2020-01-01 00:00:00"


def test_an_expression_is_kept_in_duckdbs_spelling_and_says_nothing_about_old_rows() -> None:
    (column,) = read_schema("n INT DEFAULT greatest(1,2)+1")
    assert column.default is not None
    assert (column.default.text, column.default.is_expression) == ("(greatest(1, 2) + 1)", True)
    assert column.initial_default is None
    assert normalize_expression("NOW( )") == "now()"


def test_null_is_no_default() -> None:
    assert read_default(None, Primitive("int32"), "c").default is None
    (column,) = read_schema("a INT DEFAULT NULL")
    assert (column.default, column.initial_default) == (None, None)


def _duckdb_name(name: str) -> str:
    names = {"int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT", "int128": "HUGEINT"}
    names |= {"uint8": "UTINYINT", "uint16": "USMALLINT", "uint32": "UINTEGER", "uint64": "UBIGINT"}
    names |= {"uint128": "UHUGEINT", "float32": "FLOAT", "float64": "DOUBLE"}
    return names.get(name, name.upper())


@pytest.mark.parametrize("source", PROMOTIONS)
def test_a_promotion_is_a_cast_that_duckdb_makes_by_itself(source: str) -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t(c INTEGER)")
        for target in PROMOTIONS[source]:
            # An implicit cast: a column of the wider type takes the narrower without a word.
            con.execute(f"CREATE OR REPLACE TABLE a(c {_duckdb_name(source)})")
            con.execute(f"CREATE OR REPLACE TABLE b(c {_duckdb_name(target)})")
            con.execute("INSERT INTO b SELECT c FROM a")


@pytest.mark.parametrize(
    ("source", "target", "allowed"),
    [
        ("int32", "int32", True),
        ("int32", "int64", True),
        ("int64", "int32", False),
        ("int32", "uint64", False),
        ("uint32", "int32", False),
        ("int64", "decimal(38,0)", False),
        ("int32", "decimal(10,0)", True),
        ("int32", "decimal(11,2)", False),
        ("int32", "decimal(12,2)", True),
        ("int8", "decimal(3,0)", True),
        ("decimal(9,2)", "decimal(10,2)", True),
        ("decimal(9,2)", "decimal(10,3)", True),
        ("decimal(9,2)", "decimal(9,3)", False),
        ("decimal(9,2)", "decimal(9,1)", False),
        ("decimal(9,2)", "float64", True),
        ("decimal(9,2)", "int64", False),
        ("float64", "float32", False),
        ("date", "timestamptz", True),
        ("timestamp", "timestamp_ms", False),
        ("timestamptz", "timestamp", False),
        ("int32", "varchar", False),
        ("uuid", "json", True),
        ("varchar", "json", True),
        ("json", "varchar", False),
    ],
)
def test_a_type_grows_and_never_shrinks(source: str, target: str, allowed: bool) -> None:
    assert can_promote(parse_leaf(source), parse_leaf(target)) is allowed


def test_digits_are_counted_on_both_sides_of_the_point() -> None:
    assert can_promote(Decimal(9, 2), Decimal(38, 10))
    assert not can_promote(Decimal(38, 10), Decimal(38, 11))
