"""The forms of text in which DuckDB has stored nested values, version by version."""

from __future__ import annotations

from typing import Any

import pytest

from quacklake.catalog.nested_text import NestedText
from quacklake.catalog.text_syntax import Mismatch
from quacklake.schema import Column
from quacklake.types import DataType, Decimal, ListOf, MapOf, Primitive, Struct


def leaf(name: str) -> Primitive:
    return Primitive(name)


def struct(**fields: DataType | str) -> Struct:
    return named_struct(fields)


def named_struct(fields: dict[str, Any]) -> Struct:
    types = {name: leaf(type_) if isinstance(type_, str) else type_ for name, type_ in fields.items()}
    return Struct(tuple(Column(index, name, type_) for index, (name, type_) in enumerate(types.items())))


def list_of(type_: DataType | str) -> ListOf:
    return ListOf(Column(1, "element", leaf(type_) if isinstance(type_, str) else type_))


def map_of(key: DataType | str, value: DataType | str) -> MapOf:
    key, value = (leaf(each) if isinstance(each, str) else each for each in (key, value))
    return MapOf(Column(1, "key", key), Column(2, "value", value))


EVERYTHING = struct(
    d="date", t="timestamp", u="uuid", bl="blob", i="interval", f="float64", de=Decimal(10, 2), bo="boolean"
)
FIRST = {
    "d": "2024-01-01",
    "t": "2024-01-01 10:00:00.5",
    "u": "00000000-0000-0000-0000-000000000001",
    "bl": b"\x00ab,",
    "i": "1 months 2 days 3 microseconds",
    "f": "nan",
    "de": "1.50",
    "bo": "true",
}
LITERALS = {
    "1.5.5 on SQLite": (
        "{'d': CAST('2024-01-01' AS DATE), 't': CAST('2024-01-01 10:00:00.5' AS TIMESTAMP),"
        " 'u': CAST('00000000-0000-0000-0000-000000000001' AS UUID), 'bl': CAST('\\x00ab,' AS BLOB),"
        " 'i': CAST('1 months 2 days 3 microseconds' AS INTERVAL), 'f': CAST('nan' AS VARCHAR), 'de': 1.50, 'bo': true}"
    ),
    "1.5.5 on PostgreSQL": (
        "{'d': CAST('2024-01-01' AS VARCHAR), 't': CAST('2024-01-01 10:00:00.5' AS VARCHAR),"
        " 'u': CAST('00000000-0000-0000-0000-000000000001' AS UUID), 'bl': CAST('\\x00ab,' AS VARCHAR),"
        " 'i': CAST('1 months 2 days 3 microseconds' AS INTERVAL), 'f': CAST('nan' AS DOUBLE PRECISION),"
        " 'de': 1.50, 'bo': true}"
    ),
    "1.5.2 on PostgreSQL": (
        "{'d': '2024-01-01'::VARCHAR, 't': '2024-01-01 10:00:00.5'::VARCHAR,"
        " 'u': '00000000-0000-0000-0000-000000000001'::UUID, 'bl': '\\x00ab,'::VARCHAR,"
        " 'i': '1 months 2 days 3 microseconds'::INTERVAL, 'f': 'nan'::DOUBLE PRECISION, 'de': 1.50, 'bo': true}"
    ),
    "1.4.4 on SQLite": (
        "{'d': 2024-01-01, 't': '2024-01-01 10:00:00.5', 'u': 00000000-0000-0000-0000-000000000001,"
        " 'bl': '\\\\x00ab,', 'i': '1 months 2 days 3 microseconds', 'f': nan, 'de': 1.50, 'bo': true}"
    ),
}


@pytest.mark.parametrize("version", LITERALS)
def test_a_struct_of_many_types_is_read_in_the_form_of_every_version(version: str) -> None:
    assert NestedText(EVERYTHING).read(LITERALS[version]) == FIRST


STRINGS = struct(a="varchar", b="int32")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'a': 'it''s', 'b': 1}", "it's"),
        ("{'a': 'it\\'s', 'b': 1}", "it's"),
        ("{'a': 'back\\slash', 'b': 1}", "back\\slash"),
        ("{'a': back\\slash, 'b': 1}", "back\\slash"),
        ("{'a': x, 'b': 1}", "x"),
        ("{'a': 'x', 'b': 1}", "x"),
        ("{'a': NULL, 'b': 1}", None),
        ("{'a': 'NULL', 'b': 1}", "NULL"),
        ("{'a': '', 'b': 1}", ""),
        ("{'a': ' sp, {x} [y] \"q\" ', 'b': 1}", ' sp, {x} [y] "q" '),
        ("{'a': CONCAT('it''s', chr(0), ''), 'b': 1}", "it's\0"),
        ("{'a': CONCAT('', chr(0), '', chr(0), 'x'), 'b': 1}", "\0\0x"),
        ("{'a': chr(0), 'b': 1}", "\0"),
        ("{'a': 'CONCAT(''a'', chr(0), ''b'')', 'b': 1}", "CONCAT('a', chr(0), 'b')"),
        ("{'a': '''', 'b': 1}", "'"),
        ("{'a': '\\'', 'b': 1}", "'"),
        ("{'a': 'x'', ''b'': 2', 'b': 1}", "x', 'b': 2"),
        ('{"a": "it\'s", "b": 1}', "it's"),
        ('{"a": "say \\"hi\\" \\\\", "b": 1}', 'say "hi" \\'),
        ("{ b : 1 , a : spaced out }", "spaced out"),
    ],
)
def test_a_string_in_a_struct_is_read_in_every_form(text: str, value: str | None) -> None:
    assert NestedText(STRINGS).read(text) == {"a": value, "b": "1"}


def test_a_text_of_two_meanings_has_that_of_the_version_that_writes_structs_as_literals() -> None:
    assert NestedText(struct(a="varchar")).read("{'a': 'C:\\\\dir'}") == {"a": "C:\\\\dir"}
    # A string without quotes tells that the text is not a literal.
    assert NestedText(struct(a="varchar", b="varchar")).read("{'a': 'C:\\\\dir', 'b': x}")["a"] == "C:\\dir"


@pytest.mark.parametrize(
    "text",
    [
        "{'a b': 1, 'it\\'s': 2, 'q\"q': 3, 'c:d': 4}",
        "{'a b': 1, 'it''s': 2, 'q\"q': 3, 'c:d': 4}",
        "{'a b': 1, 'it's': 2, 'q\"q': 3, 'c:d': 4}",
        "{'c:d': 4, \"it's\": 2, a b: 1, 'q\"q': 3}",
    ],
)
def test_odd_field_names_are_read_in_every_form(text: str) -> None:
    type_ = named_struct({"a b": "int32", "it's": "int32", 'q"q': "int32", "c:d": "int32"})
    assert NestedText(type_).read(text) == {"a b": "1", "it's": "2", 'q"q': "3", "c:d": "4"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[]", []),
        ("['it\\'s', a\\b, '', NULL, 'null', 'a,b', 'x]']", ["it's", "a\\b", "", None, "null", "a,b", "x]"]),
        ("['it''s', 'a\\b', '', NULL, 'null', 'a,b', 'x]']", ["it's", "a\\b", "", None, "null", "a,b", "x]"]),
        ("[NULL]", [None]),
        ("['']", [""]),
        ("[\\]", ["\\"]),
        ("[a\\, b]", ["a\\", "b"]),
        ('["a", "b\\"c"]', ["a", 'b"c']),
        ("[ a , null ]", ["a", None]),
    ],
)
def test_a_list_of_strings_is_read_in_every_form(text: str, value: list[str | None]) -> None:
    assert NestedText(list_of("varchar")).read(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "['\\\\x00a,', '', NULL, abc]",
        "['\\x00a,'::BLOB, ''::BLOB, NULL, 'abc'::BLOB]",
        "[\"\\\\x00a,\", '', NULL, abc]",
    ],
)
def test_blobs_become_bytes(text: str) -> None:
    assert NestedText(list_of("blob")).read(text) == [b"\x00a,", b"", None, b"abc"]


def test_a_map_keeps_its_pairs_in_order() -> None:
    reader = NestedText(map_of("varchar", "varchar"))
    assert reader.read("{'k=1'='it\\'s', b=NULL, a\\='x,y'}") == [("k=1", "it's"), ("b", None), ("a\\", "x,y")]
    assert reader.read("{}") == []


def test_a_bracket_in_a_string_of_a_nested_value_ends_nothing() -> None:
    reader = NestedText(list_of(struct(a="varchar", d="date")))
    value = [{"a": "it's }", "d": "2024-01-01"}, None, {"a": None, "d": None}]
    assert reader.read("[{'a': 'it\\'s }', 'd': 2024-01-01}, NULL, {'a': NULL, 'd': NULL}]") == value
    assert reader.read("[{'a': 'it''s }', 'd': '2024-01-01'::DATE}, NULL, {'a': NULL, 'd': NULL}]") == value


def test_lists_and_maps_in_a_literal_struct_are_read_as_the_cast_writes_them() -> None:
    type_ = struct(l=list_of("varchar"), m=map_of("varchar", "int32"), s=struct(x="varchar", y=list_of("date")))
    text = "{'l': ['it\\'s', x], 'm': {'k\\'1'=1}, 's': {'x': 'q''q', 'y': [2024-01-01]}}"
    value = {"l": ["it's", "x"], "m": [("k'1", "1")], "s": {"x": "q'q", "y": ["2024-01-01"]}}
    assert NestedText(type_).read(text) == value


def test_a_nested_value_may_itself_be_in_quotes() -> None:
    assert NestedText(list_of(list_of("varchar"))).read("['[\\'a]\\']', NULL, []]") == [["a]"], None, []]


def test_fields_that_the_text_lacks_are_null() -> None:
    assert NestedText(STRINGS).read("{'b': 1}") == {"a": None, "b": "1"}


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (STRINGS, ""),
        (STRINGS, "{'a': x, 'b': 1"),
        (STRINGS, "{'a': x, 'c': 1}"),
        (STRINGS, "{'a': x, 'a': y}"),
        (STRINGS, "{'a': x, 'b': 1} more"),
        (STRINGS, "[1]"),
        (STRINGS, "{'a': '\\\\'', 'b': 1}"),
        (list_of("varchar"), "[a"),
        (list_of("varchar"), "['a"),
        (list_of("varchar"), "{a}"),
        (list_of("blob"), "[\\xZZ]"),
        (list_of("blob"), "[ä]"),
        (map_of("varchar", "int32"), "{a}"),
        (map_of("varchar", "int32"), "{NULL=1}"),
        (map_of("varchar", "int32"), "{invalid}"),
        (list_of(list_of("int32")), "[1]"),
    ],
)
def test_a_text_that_is_no_value_of_the_type_is_refused(type_: DataType, text: str) -> None:
    with pytest.raises(Mismatch):
        NestedText(type_).read(text)


def test_a_column_becomes_arrow_with_text_for_leaves() -> None:
    type_ = struct(a="int32", b=list_of("blob"), c=map_of("date", "uuid"))
    column = NestedText(type_).read_all(["{'a': 1, 'b': [x], 'c': {2024-01-01=u}}", None])
    assert str(column.type) == "struct<a: string, b: list<element: binary>, c: map<string, string>>"
    assert column.to_pylist() == [{"a": "1", "b": [b"x"], "c": [("2024-01-01", "u")]}, None]
