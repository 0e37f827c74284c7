"""How schemas change, as pure functions of what they were."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quacklake.ddl.schemas import read_schema
from quacklake.ddl.text import parse_type
from quacklake.errors import AlreadyExistsError, InvalidInputError, NotFoundError
from quacklake.evolution import add_field, drop_field, find_field, parse_path, rename_field, retype_field
from quacklake.schema import Column, Schema
from quacklake.types import Primitive

TEXT = "id INT, s STRUCT<a: INT, b: STRUCT<c: STRING, d: INT>>, l ARRAY<STRUCT<x: INT>>, m MAP<STRING, STRUCT<k: INT>>"


@pytest.fixture
def schema() -> Schema:
    return read_schema(TEXT)


def columns(schema: Schema) -> list[tuple[int, str, str]]:
    return [(column.id, column.name, str(column.type)) for column in schema]


def fresh(name: str, type_: str = "int") -> Column:
    return Column(0, name, parse_type(type_))


@pytest.mark.parametrize("path", ["id", "s.b.c", "l.element.x", "m.value.k", "m.key", "S.B", '"s"."a"', "`l`.ELEMENT"])
def test_fields_are_found_at_any_depth(path: str, schema: Schema) -> None:
    assert find_field(schema, parse_path(path)).id > 0


@pytest.mark.parametrize(
    ("path", "hint"), [("nope", "id, s, l, m"), ("s.nope", "it has a, b"), ("l.x", "it has element"), ("id.x", "int32")]
)
def test_what_is_not_there_is_said_with_what_is(path: str, hint: str, schema: Schema) -> None:
    with pytest.raises(NotFoundError) as raised:
        find_field(schema, parse_path(path))
    assert hint in str(raised.value)


def test_a_field_joins_the_end_of_its_struct_with_ids_that_were_never_used(schema: Schema) -> None:
    changed, following = add_field(schema, ("l", "element", "y"), fresh("y", "struct<p: int, q: array<int>>"), 40)
    assert following == 44
    assert [(column.id, column.name) for column in changed.walk() if column.id >= 40] == [
        (40, "y"),
        (41, "p"),
        (42, "q"),
        (43, "element"),
    ]
    assert str(find_field(changed, ("l",)).type) == "list<struct<x: int32, y: struct<p: int32, q: list<int32>>>>"
    assert columns(schema) == columns(read_schema(TEXT))


def test_a_field_that_goes_leaves_the_others_alone(schema: Schema) -> None:
    changed = drop_field(schema, ("s", "b", "c"))
    assert str(find_field(changed, ("s",)).type) == "struct<a: int32, b: struct<d: int32>>"
    assert {column.id for column in schema.walk()} - {column.id for column in changed.walk()} == {5}


def test_a_field_keeps_its_id_under_another_name(schema: Schema) -> None:
    changed = rename_field(schema, ("m", "value", "k"), "key")
    assert find_field(changed, ("m", "value", "key")).id == find_field(schema, ("m", "value", "k")).id


def test_a_whole_type_is_compared_by_the_names_of_its_fields(schema: Schema) -> None:
    changed, following = retype_field(
        schema, ("s",), parse_type("struct<b: struct<d: bigint>, z: string, A: bigint>"), 40
    )
    assert following == 41
    assert str(changed.column("s").type) == "struct<a: int64, b: struct<d: int64>, z: varchar>"
    assert find_field(changed, ("s", "a")).id == find_field(schema, ("s", "a")).id
    assert find_field(changed, ("s", "z")).id == 40


def test_elements_and_values_grow_in_place(schema: Schema) -> None:
    changed, _ = retype_field(schema, ("m",), parse_type("map<string, struct<k: double>>"), 40)
    assert str(changed.column("m").type) == "map<varchar, struct<k: float64>>"
    changed, _ = retype_field(changed, ("l", "element", "x"), Primitive("int64"), 40)
    assert str(changed.column("l").type) == "list<struct<x: int64>>"


@pytest.mark.parametrize(
    ("path", "type_"),
    [
        ("id", "smallint"),
        ("id", "struct<a: int>"),
        ("s", "int"),
        ("s", "struct<a: smallint>"),
        ("s", "struct<z: int>"),
        ("s", "struct<a: int, A: int>"),
        ("l", "array<struct<x: tinyint>>"),
        ("l", "map<int, int>"),
        ("m", "map<int, struct<k: int>>"),
    ],
)
def test_a_type_that_loses_something_is_refused(path: str, type_: str, schema: Schema) -> None:
    with pytest.raises(InvalidInputError):
        retype_field(schema, parse_path(path), parse_type(type_), 40)


def test_names_are_taken_whatever_their_case(schema: Schema) -> None:
    with pytest.raises(AlreadyExistsError):
        add_field(schema, ("ID",), fresh("ID"), 40)
    with pytest.raises(AlreadyExistsError):
        rename_field(schema, ("s", "a"), "B")
    assert str(rename_field(schema, ("s", "a"), "A").column("s").type).startswith("struct<A: ")


steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from(["", "s.", "s.b.", "l.element.", "m.value."]), st.integers(0, 9)),
        st.tuples(st.just("drop"), st.integers(0, 30), st.just(0)),
        st.tuples(st.just("rename"), st.integers(0, 30), st.integers(0, 9)),
        st.tuples(st.just("widen"), st.integers(0, 30), st.just(0)),
    ),
    max_size=30,
)


def paths(schema: Schema) -> list[tuple[str, ...]]:
    def below(column: Column, path: tuple[str, ...]) -> list[tuple[str, ...]]:
        from quacklake.types import children

        here = (*path, column.name)
        return [here, *(each for child in children(column.type) for each in below(child, here))]

    return [path for column in schema for path in below(column, ())]


@given(steps)
def test_ids_are_unique_for_ever_whatever_is_done(done: list[tuple[str, str | int, int]]) -> None:
    schema, next_id = read_schema(TEXT), 100
    seen = {column.id: column.id for column in schema.walk()}
    for verb, where, number in done:
        known = paths(schema)
        try:
            if verb == "add":
                path = parse_path(f"{where}f{number}")
                schema, next_id = add_field(schema, path, fresh(path[-1], "struct<p: int>"), next_id)
            elif verb == "drop":
                schema = drop_field(schema, known[int(where) % len(known)])
            elif verb == "rename":
                schema = rename_field(schema, known[int(where) % len(known)], f"f{number}")
            else:
                schema, next_id = retype_field(schema, known[int(where) % len(known)], Primitive("int64"), next_id)
        except (AlreadyExistsError, InvalidInputError, NotFoundError):
            continue
        ids = [column.id for column in schema.walk()]
        assert len(ids) == len(set(ids))
        assert max(ids) < next_id
        assert all(id_ in seen or id_ >= 100 for id_ in ids)
        assert all(column.id < below.id for column in schema.walk() for below in column.walk() if below is not column)
