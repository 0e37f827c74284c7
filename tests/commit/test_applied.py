"""The words in which a snapshot keeps what it did."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quacklake.commit.applied import WORDS, Applied, parse_applied, write_applied
from quacklake.errors import CatalogError


def test_what_duckdb_writes_is_understood() -> None:
    text = 'dropped_table:52,created_table:"main"."t",inserted_into_table:232'
    assert parse_applied(text) == (
        Applied("dropped_table", 52),
        Applied("created_table", namespace="main", name="t"),
        Applied("inserted_into_table", 232),
    )


def test_names_may_hold_every_mark_of_the_grammar() -> None:
    text = 'created_schema:"a,b",created_view:"a,""b"".c"."d:e,f"'
    assert parse_applied(text) == (
        Applied("created_schema", namespace="a,b"),
        Applied("created_view", namespace='a,"b".c', name="d:e,f"),
    )


@pytest.mark.parametrize("text", [None, "", " "])
def test_nothing_is_nothing(text: str | None) -> None:
    assert parse_applied(text) == ()


def test_older_words_mean_what_newer_ones_mean() -> None:
    assert parse_applied("compacted_table:3,flushed_inlined:4") == (
        Applied("merge_adjacent", 3),
        Applied("inline_flush", 4),
    )


@pytest.mark.parametrize(
    "text", ["brand_new:7", 'brand_new:"x"."y"', "brand_new", "altered_table:x", 'created_table:"x"']
)
def test_what_is_not_understood_is_kept_as_unknown(text: str) -> None:
    (found,) = parse_applied(text)
    assert not found.is_known


def test_entries_are_written_in_the_order_that_duckdb_has_and_once_each() -> None:
    entries = [
        Applied("inlined_insert", 1),
        Applied("altered_table", 1),
        Applied("created_view", namespace="main", name="v"),
        Applied("created_table", namespace="main", name="t"),
        Applied("inserted_into_table", 2),
        Applied("altered_table", 1),
        Applied("dropped_table", 9),
        Applied("created_schema", namespace="s"),
    ]
    assert write_applied(entries) == (
        'dropped_table:9,created_schema:"s",created_view:"main"."v",created_table:"main"."t",'
        "inserted_into_table:2,altered_table:1,inlined_insert:1"
    )


def test_an_object_without_a_real_id_is_never_written() -> None:
    with pytest.raises(CatalogError):
        write_applied([Applied("altered_table", -1)])


names = st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1)
entries = st.sampled_from([word for word in WORDS if word not in ("flushed_inlined", "compacted_table")]).flatmap(
    lambda word: {
        "id": st.builds(lambda id_: Applied(word, id_), st.integers(0, 2**62)),
        "namespace": st.builds(lambda name: Applied(word, namespace=name), names),
        "name": st.builds(lambda one, two: Applied(word, namespace=one, name=two), names, names),
    }[WORDS[word]]
)


@given(st.lists(entries))
def test_what_is_written_is_read_back(found: list[Applied]) -> None:
    assert set(parse_applied(write_applied(found))) == set(found)
